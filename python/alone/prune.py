"""Removes what dead agents have left on a machine, and lists what it has looked at. It runs without the
library: the disk may be full."""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, List, Optional, Tuple, Union

    Mark = Tuple[int, str, str, str, str]  # as internal/owner has it
    Seen = Dict[str, Union[str, bool]]

_PREFIX = "hermes_sandbox_"
_UNKNOWN = "-"
_UNMARKED_FOR = 24 * 3600.0  # seconds from which on what does not say whose it is may go
_LONGEST = 600  # seconds that all of it may take: nobody may wait for it any more


def main(mark: str, everything: bool) -> None:
    """Prints mark, and in a line behind it what was seen. Everything removes too what does not say whose it
    is and was not touched for a day."""
    import _signal  # type: ignore[import]

    _signal.alarm(_LONGEST)
    roots = [os.environ.get(k) or "" for k in ("TMPDIR", "TEMP", "TMP")] + ["/tmp", "/var/tmp", "/dev/shm"]
    print(mark + json.dumps(prune(roots, everything)), flush=True)


def prune(roots: List[str], everything: bool) -> List[Seen]:
    seen = []  # type: List[Seen]
    for path in _scratches(roots):
        dead, reason = condition(path, everything)
        if dead:
            remove(path)
        seen.append({"path": path, "removed": dead and not os.path.lexists(path), "reason": reason})
    return seen


def _scratches(roots: List[str]) -> List[str]:
    """The directories of this user that agents may have made."""
    found = set()
    for root in roots:
        if not os.path.isabs(root):
            continue
        try:
            names = os.listdir(root)
        except OSError:
            continue
        for name in names:
            path = os.path.join(os.path.realpath(root), name)
            if name.startswith(_PREFIX) and _private(path):
                found.add(path)
    return sorted(found)


def _private(path: str) -> bool:
    try:
        info = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISDIR(info.st_mode) and info.st_uid == os.geteuid() and not stat.S_IMODE(info.st_mode) & 0o077


def condition(path: str, everything: bool) -> Tuple[bool, str]:
    """Whether a directory may go, and why. Two things tell whose it is: the mark of its agent, and a lock
    that the agent holds as long as it lives. Neither may speak against it."""
    mark, held = _read_mark(path), _held(path)
    if mark is None and held is None:
        try:
            untouched = time.time() - os.lstat(path).st_mtime
        except OSError:
            return False, "it is gone"
        if everything and untouched > _UNMARKED_FOR:
            return True, "it does not say whose it is, and nobody has touched it for a day"
        return False, "it does not say whose it is"
    process = "process %d" % mark[0] if mark else "its agent"
    if held:
        return False, process + " lives and uses it"
    ended, known = _fate(mark) if mark else (None, "cannot be told to have ended")
    if ended is None and held is False:
        ended, known = True, "has ended"
    return bool(ended), process + " " + known


def _read_mark(path: str) -> Optional[Mark]:
    text = _read(os.path.join(path, ".owner"), os.O_RDONLY)
    parts = (text or b"").decode("utf-8", "surrogateescape").split()
    if len(parts) != 5 or not parts[0].isdigit() or int(parts[0]) <= 0:
        return None
    return int(parts[0]), parts[1], parts[2], parts[3], parts[4]


def _read(path: str, flags: int) -> Optional[bytes]:
    try:
        fd = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        return os.read(fd, 1024)
    except OSError:
        return None
    finally:
        os.close(fd)


def _held(path: str) -> Optional[bool]:
    """Whether somebody of this machine holds the lock in a directory; None if that cannot be told."""
    import fcntl

    try:
        fd = os.open(os.path.join(path, ".alive"), os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # The locks of other machines may not be seen here.
        return False if os.read(fd, 1024) == os.fsencode(os.uname().nodename) else None
    except BlockingIOError:
        return True
    except OSError:
        return None
    finally:
        os.close(fd)


def _fate(mark: Mark) -> Tuple[Optional[bool], str]:
    """Whether a process has ended beyond doubt, or lives; None if that cannot be told from here. And what is
    known of it, in the words of internal/owner."""
    pid, start, boot, space, node = mark
    if node == _UNKNOWN or node != (os.uname().nodename or _UNKNOWN):
        return None, "of another machine, " + node + ", cannot be told to have ended"
    now = _line("/proc/sys/kernel/random/boot_id")
    if _UNKNOWN not in (boot, now) and boot != now:
        return True, "has ended"
    if boot != now:
        return None, "of an unknown boot of this machine cannot be told to have ended"
    if space != _link("/proc/self/ns/pid"):
        return None, "of another pid namespace cannot be told to have ended"
    if _exists(pid, start):
        return False, "lives and uses it"
    return True, "has ended"


def _exists(pid: int, start: str) -> bool:
    """Whether that very process lives: another one may have its identifier."""
    try:
        os.kill(pid, 0)
    except OSError as e:
        if e.errno == errno.ESRCH:
            return False
    state, started = _stat(pid)
    return state != "Z" and (_UNKNOWN in (start, started) or start == started)


def _stat(pid: int) -> Tuple[str, str]:
    text = _line("/proc/%d/stat" % pid).rpartition(")")[2].split()
    return (text[0], text[19]) if len(text) > 19 else (_UNKNOWN, _UNKNOWN)


def _line(path: str) -> str:
    text = _read(path, os.O_RDONLY)
    return text.decode("utf-8", "replace").strip() if text else _UNKNOWN


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return _UNKNOWN


def remove(path: str) -> None:
    """Removes a directory with all that is in it, following no link. Directories that were closed are opened
    up first."""
    for folder, names, _ in os.walk(path):
        for name in names:
            below = os.path.join(folder, name)
            try:
                if not os.path.islink(below):
                    os.chmod(below, 0o700)
            except OSError:
                pass
    shutil.rmtree(path, ignore_errors=True)
