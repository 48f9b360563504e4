"""Starts the agent from the library that an image carries, compiled (python/install.py), or asks for one.

It goes ahead of the bootstrap to environments that may have it, and must parse on Python 3.4 like that.
"""

import os
import stat
import sys

# The greeting, and a WANT frame (kind 5): see frames.py.
_WANT = b"\x00\xff\x02HX\x01\r\n" + b"\x05\0\xf5\xfa" + bytes(8)


def offer(library: str, lease: float, volatile: str) -> None:
    """Does not return where the library can be trusted. The lease and volatile are the bootstrap's."""
    if _trusted(library):
        sys.path.insert(0, library)
        from _hermes_exec.bootstrap import boot  # type: ignore[import]

        sys.path.remove(library)
        boot("", 0, lease, library, volatile)
    os.write(1, _WANT)


def _trusted(path: str) -> bool:
    """Whether a library is there that nobody but the administrator can have put there."""
    try:
        info = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISDIR(info.st_mode) and info.st_uid == 0 and not info.st_mode & 0o022
