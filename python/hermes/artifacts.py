"""Sends the files that a script has left in a directory, as a tar archive on stdout, and removes them.

Arguments: the directory, and how many files and bytes there may be at most. What is no regular file is
passed over, and so is what is too much; stderr gets how many files and bytes that was.
"""

from __future__ import annotations

import os
import stat
import sys

from .scratch import remove_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Iterator, List, Tuple

KEEP = ".hermes_keep"  # the host put it there to make the directory


def main() -> int:
    import tarfile

    root, most, room = sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    left, lost = 0, 0
    unseen = []  # type: List[str]
    with tarfile.open(fileobj=sys.stdout.buffer, mode="w|", format=tarfile.PAX_FORMAT) as archive:
        for path, name in files(root, unseen):
            try:
                fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            except OSError:
                left += 1
                continue
            with open(fd, "rb") as file:
                size = os.fstat(fd).st_size
                if most <= 0 or size > room:
                    left, lost = left + 1, lost + size
                    continue
                most, room = most - 1, room - size
                info = tarfile.TarInfo(name)
                info.size = size
                archive.addfile(info, file)
    remove_tree(os.fsencode(root))
    left += len(unseen)
    if left:
        sys.stderr.write("%d %d\n" % (left, lost))
    return 0


def files(root: str, lost: List[str]) -> Iterator[Tuple[str, str]]:
    """The regular files below a directory, in order, with their names there. Links are not followed. What
    cannot be looked at goes to lost."""
    rest = [(root, "")]  # and not a call for each level: there may be more of them than Python has room for
    while rest:
        path, name = rest.pop()
        try:
            mode = os.stat(path, follow_symlinks=False).st_mode
            if stat.S_ISREG(mode) and name != KEEP:
                yield path, name
            elif stat.S_ISDIR(mode):
                for entry in sorted(os.listdir(path), reverse=True):
                    rest.append((os.path.join(path, entry), name + "/" + entry if name else entry))
        except OSError:
            if name:
                lost.append(name)


if __name__ == "__main__":
    sys.exit(main())
