"""What the agent tells of its environment in HELLO."""

from __future__ import annotations

import os
import sys

from . import frames

TYPE_CHECKING = False  # typing costs 10 ms at start
if TYPE_CHECKING:
    from typing import List, Tuple


def hello(temp: str, scratch: str, library: str, sockets: str) -> List[Tuple[str, frames.Value]]:
    fields = [
        ("version", frames.VERSION),
        ("python", os.path.abspath(sys.executable) if sys.executable else ""),
        ("python_version", "%d.%d.%d" % sys.version_info[:3]),
        ("os", "linux" if sys.platform.startswith("linux") else sys.platform),
        ("pid", os.getpid()),
        ("uid", os.geteuid()),
        ("gid", os.getegid()),
        ("no_home", int(not os.access(os.environ.get("HOME") or "", os.W_OK | os.X_OK))),
        ("dir", os.getcwdb()),
        ("temp", temp),
        ("scratch", scratch),
        ("library", library),
        ("sockets", sockets),
    ]  # type: List[Tuple[str, frames.Value]]
    for name, value in os.environb.items():
        fields.append(("env", name + b"=" + value))
    return fields
