"""Tells whether the kernel ended something for want of memory, by the counters of cgroup v1 and v2."""

from __future__ import annotations

import os

TYPE_CHECKING = False  # typing costs 10 ms at start
if TYPE_CHECKING:
    from typing import List, Optional


class Counter:
    """Tells how many processes of the cgroup that this one is in when it is made have been killed so far.
    Root is where the system's files are."""

    def __init__(self, root: str = "") -> None:
        self._file = _counter_file(root)

    def kills(self) -> int:
        """0 where nobody counts."""
        return _oom_kills(self._file) if self._file else 0


def _counter_file(root: str) -> Optional[str]:
    for path in _candidates(root):
        if os.path.exists(path):
            return path
    return None


def _candidates(root: str) -> List[str]:
    found = []
    try:
        with open(root + "/proc/self/cgroup", "rb") as f:
            lines = f.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return []
    for line in lines:
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers == "":
            found.append("/sys/fs/cgroup" + path.rstrip("/") + "/memory.events")
        elif "memory" in controllers.split(","):
            found.append("/sys/fs/cgroup/memory" + path.rstrip("/") + "/memory.oom_control")
    # In a container without a cgroup namespace the path is the host's, and the files are at the root.
    found += ["/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"]
    return [root + path for path in found]


def _oom_kills(path: str) -> int:
    try:
        with open(path, "rb") as f:
            for line in f:
                key, _, value = line.partition(b" ")
                if key == b"oom_kill":
                    return int(value)
    except (OSError, ValueError):
        pass
    return 0
