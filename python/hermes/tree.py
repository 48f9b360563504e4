"""Finds and ends the descendants of a supervisor."""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False  # typing costs 10 ms at start
if TYPE_CHECKING:
    from typing import Collection, Dict, List, Optional

SIGKILL = 9
SIGTERM = 15
SIGCONT = 18

_LINUX = sys.platform.startswith("linux")
_PF_EXITING = 4

# The fields of /proc/PID/stat, with the name put in front of the state.
_NAME, _STATE, _PARENT, _FLAGS, _STARTED = 0, 1, 2, 7, 20

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_CHILD_SUBREAPER = 36


class Proc:
    def __init__(self, pid: int, stat: List[bytes]) -> None:
        self.pid = pid
        self.started = stat[_STARTED]  # clock ticks since boot: with the pid it names a process for good
        self.name = stat[_NAME].decode("utf-8", "replace")


def prctl(option: int, value: int) -> bool:
    """The Linux system call, for which the standard library has no other way. False where it
    cannot be made."""
    if not _LINUX:
        return False
    try:
        return _prctl(option, value) == 0
    except (ImportError, OSError, AttributeError):
        return False


def _prctl(option: int, value: int) -> int:
    arguments = (option, value, 0, 0, 0)
    try:  # what ctypes is made of: all of it costs 1.5 ms at start
        from _ctypes import call_function, dlopen, dlsym  # type: ignore[attr-defined]
    except ImportError:  # not CPython
        import ctypes

        return int(ctypes.CDLL(None).prctl(*arguments))
    return int(call_function(dlsym(dlopen(None, 0), "prctl"), arguments))


def become_subreaper() -> bool:
    return prctl(_PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent() -> bool:
    """Has the kernel kill this process when its parent dies, across exec."""
    return prctl(_PR_SET_PDEATHSIG, SIGKILL)


def hide() -> bool:
    """Keeps other processes of this user out of /proc/self: their way to our descriptors."""
    return prctl(_PR_SET_DUMPABLE, 0)


def _stat(pid: int) -> Optional[List[bytes]]:
    """What the system tells of a process, None if there is none."""
    try:
        fd = os.open("/proc/%d/stat" % pid, os.O_RDONLY)
    except OSError:
        return None
    try:
        data = os.read(fd, 1024)
    except OSError:
        return None
    finally:
        os.close(fd)
    # The name may hold spaces and parentheses; the last one closes it.
    name, _, rest = data.partition(b"(")[2].rpartition(b")")
    fields = [name] + rest.split()
    return fields if len(fields) > _STARTED else None


def exiting(pid: int) -> bool:
    """Tells whether a process has ended or is about to: its descriptors are closed before its
    children are given away."""
    stat = _stat(pid)
    return not stat or stat[_STATE] in (b"Z", b"X") or bool(int(stat[_FLAGS]) & _PF_EXITING)


def _pids() -> List[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []


def descendants(root: int, skip: Collection[int] = ()) -> List[Proc]:
    """All descendants of root, parents first, zombies too: the leader of a process whose other
    threads go on looks like one. Those below a pid of skip are left out."""
    children = {}  # type: Dict[int, List[Proc]]
    for pid in _pids():
        stat = _stat(pid)
        if stat:
            children.setdefault(int(stat[_PARENT]), []).append(Proc(pid, stat))
    found = []  # type: List[Proc]
    queue = [root]
    while queue:
        for proc in children.get(queue.pop(0), ()):
            if proc.pid in skip:
                continue
            found.append(proc)
            queue.append(proc.pid)
    return found


def send(proc: Proc, signal: int) -> None:
    """Signals proc unless its pid belongs to another process by now."""
    stat = _stat(proc.pid)
    if stat and stat[_STARTED] == proc.started:
        try:
            os.kill(proc.pid, signal)
        except OSError:
            pass


def end_marked(mark: bytes, grace: float, patience: float) -> None:
    """Ends every process of this user whose environment has the mark: by KILL, when those who may
    end some in order have had their grace."""
    begun = time.monotonic()
    pause = 0.001
    while time.monotonic() < begun + grace + patience:
        found = _marked(mark)
        if not found:
            return
        if time.monotonic() >= begun + grace:
            for proc in found:
                send(proc, SIGKILL)
        time.sleep(pause)
        pause = min(pause * 2, 0.02)


def _marked(mark: bytes) -> List[Proc]:
    """Those of others cannot be read, and of a zombie there is nothing to read."""
    found = []  # type: List[Proc]
    for pid in _pids():
        stat = _stat(pid)
        if pid == os.getpid() or not stat:
            continue
        try:
            with open("/proc/%d/environ" % pid, "rb") as f:
                marked = mark in f.read()
        except OSError:
            continue
        if marked:
            found.append(Proc(pid, stat))
    return found


class Tree:
    """The processes below a supervisor, whose child leads the group."""

    def __init__(self, group: int, reaper: bool) -> None:
        self._group = group
        self._reaper = reaper  # orphans come to us, so that none is missed
        self.statuses = {}  # type: Dict[int, int]  # of the dead, by pid

    def empty(self) -> bool:
        """Collects the dead. True if no child is left: for a subreaper that means no descendant,
        and costs a system call instead of a walk over /proc."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return True
            if pid == 0:
                return False
            self.statuses[pid] = status

    def signal(self, signal: int) -> None:
        """Signals every process once, the group first: that is one call, which no fork escapes."""
        others = []
        grouped = not self._reaper
        for proc in descendants(os.getpid()) if self._reaper else ():
            try:
                if os.getpgid(proc.pid) == self._group:
                    grouped = True
                else:
                    others.append(proc)
            except OSError:
                pass
        if grouped:  # an empty group's number may be somebody else's by now
            try:
                os.killpg(self._group, signal)
            except OSError:
                pass
        for proc in others:
            send(proc, signal)

    def kill(self, patience: float) -> List[str]:
        """Kills until none is left, for at most patience seconds; returns who is left."""
        deadline = time.monotonic() + patience
        while True:
            self.signal(SIGKILL)
            if self._wait_empty(min(deadline, time.monotonic() + 0.05)):
                return []
            if time.monotonic() >= deadline:
                return ["%d %s" % (p.pid, p.name) for p in descendants(os.getpid())]

    def end(self, grace: float, patience: float) -> List[str]:
        """TERM, grace seconds, then kill; returns who is left."""
        if self.empty():
            return []
        self.signal(SIGTERM)
        self.signal(SIGCONT)  # a stopped process does not see the other
        if self._wait_empty(time.monotonic() + grace):
            return []
        return self.kill(patience)

    def _wait_empty(self, deadline: float) -> bool:
        pause = 0.001
        while not self.empty():
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            time.sleep(min(pause, left))
            pause = min(pause * 2, 0.02)
        return True
