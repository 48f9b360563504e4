"""The directories that belong to one environment and go with it."""

from __future__ import annotations

import os
import stat
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Iterable, List

_PREFIX = "hermes_sandbox_"
_ALIVE = ".alive"
_YOUNG = 300.0  # seconds in which whoever made a directory puts something into it
_SOCKET_ROOM = 80  # bytes of a directory below which a socket's path fits the 104 of macOS


def socket_dir(scratch: str) -> str:
    """A private directory whose path leaves room for a socket's name: the scratch, else one of its
    own."""
    if len(os.fsencode(scratch)) <= _SOCKET_ROOM:
        return scratch
    for root in ("/tmp", "/dev/shm", "/var/tmp"):
        path = os.path.join(root, _PREFIX + os.urandom(6).hex())
        try:
            os.mkdir(path, 0o700)
            own(path)
            return path
        except OSError:
            continue
    return scratch


def given_dir(given: List[str]) -> str:
    """A directory for sockets that whoever started this has made before; "" if it is not there, or
    somebody else's."""
    for path in given[:1]:
        try:
            info = os.lstat(path)
            if stat.S_ISDIR(info.st_mode) and info.st_uid == os.geteuid() and not stat.S_IMODE(info.st_mode) & 0o077:
                own(path)
                return path
        except OSError:
            pass
    return ""


def own(path: str) -> None:
    """Says in a directory whose it is, so that it can be removed when this process was killed: its
    id, when it started, the machine's boot, the namespace of the id, the machine. The host reads it
    (internal/owner); what is not known is "-"."""
    start = boot = space = "-"
    try:
        with open("/proc/self/stat", "rb") as f:
            start = f.read().rpartition(b")")[2].split()[19].decode()
        with open("/proc/sys/kernel/random/boot_id") as g:
            boot = g.read().strip()
        space = os.readlink("/proc/self/ns/pid")
    except (OSError, IndexError):
        pass
    _stay(path)
    mark = "%d %s %s %s %s\n" % (os.getpid(), start, boot, space, os.uname().nodename or "-")
    try:
        fd = os.open(os.path.join(path, ".owner"), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError:  # then nobody removes it, which is the safe side
        return
    try:
        os.write(fd, mark.encode())
    except OSError:
        pass
    finally:
        os.close(fd)


def _stay(path: str) -> None:
    """Holds a lock in a directory as long as this process lives: on a file with the name of the machine.
    That tells it across containers and their restarts, where a process id means nothing. Where nothing
    can be locked nobody is told."""
    import fcntl

    name = os.path.join(path, _ALIVE)
    try:
        # Under another name until it is locked. It is never closed: that is the point of it.
        fd = os.open(name + "_", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.write(fd, os.fsencode(os.uname().nodename))
        os.rename(name + "_", name)
    except OSError:
        pass


def sweep(roots: Iterable[str]) -> None:
    """Removes the directories in these that killed agents of this user and machine have left."""
    for root in set(roots):
        try:
            with os.scandir(root) as entries:
                paths = [e.path for e in entries if e.name.startswith(_PREFIX)]
        except OSError:
            continue
        for path in paths:
            _remove_left(path)


def _remove_left(path: str) -> None:
    import fcntl

    try:
        info = os.lstat(path)
        if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.geteuid() or stat.S_IMODE(info.st_mode) & 0o077:
            return  # nobody's scratch, or somebody else's
        if time.time() - info.st_mtime > _YOUNG:
            try:
                os.rmdir(path)  # it is empty: nobody took it over
            except OSError:
                pass
        fd = os.open(os.path.join(path, _ALIVE), os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.read(fd, 1024) == os.fsencode(os.uname().nodename):  # the locks of others may not be seen here
            remove_tree(os.fsencode(path))
    except OSError:
        pass  # its agent lives
    finally:
        os.close(fd)


def make_dirs(path: bytes) -> None:
    """Makes a directory with its parents, all of them private. os.makedirs gives its mode to the
    last one alone."""
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        pass  # whatever it is: who wants to use it will see
    except FileNotFoundError:
        make_dirs(os.path.dirname(path))
        os.mkdir(path, 0o700)


def remove_trees(paths: Iterable[bytes]) -> None:
    for path in set(paths):
        remove_tree(path)


def remove_tree(path: bytes) -> None:
    """Removes a directory with all that is in it, following no link. Directories that their owner
    made unreadable are opened up first."""
    folders = []
    rest = [path]  # and not a call for each level: there may be more of them than Python has room for
    while rest:
        path = rest.pop()
        try:
            if not stat.S_ISDIR(os.lstat(path).st_mode):
                os.unlink(path)
                continue
            os.chmod(path, 0o700)
            rest += [os.path.join(path, name) for name in os.listdir(path)]
        except OSError:
            continue
        folders.append(path)
    for path in reversed(folders):
        try:
            os.rmdir(path)
        except OSError:
            pass
