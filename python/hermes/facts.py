"""What the agent tells of its environment in HELLO."""

from __future__ import annotations

import os
import sys

from . import frames

TYPE_CHECKING = False  # typing costs 10 ms at start
if TYPE_CHECKING:
    from typing import List, Tuple

_SOCKET_ROOM = 80  # bytes of a directory below which a socket's path fits the 104 of macOS


def hello(temp: str, scratch: str, library: str, sockets: str) -> List[Tuple[str, frames.Value]]:
    fields = [
        ("version", frames.VERSION),
        ("python", os.path.abspath(sys.executable) if sys.executable else ""),
        ("python_version", "%d.%d.%d" % sys.version_info[:3]),
        ("os", "linux" if sys.platform.startswith("linux") else sys.platform),
        ("pid", os.getpid()),
        ("uid", os.geteuid()),
        ("dir", os.getcwdb()),
        ("temp", temp),
        ("scratch", scratch),
        ("library", library),
        ("sockets", sockets),
    ]  # type: List[Tuple[str, frames.Value]]
    for name, value in os.environb.items():
        fields.append(("env", name + b"=" + value))
    return fields


def socket_dir(scratch: str) -> str:
    """A private directory whose path leaves room for a socket's name: the scratch, else one of its
    own."""
    if len(os.fsencode(scratch)) <= _SOCKET_ROOM:
        return scratch
    for root in ("/tmp", "/dev/shm", "/var/tmp"):
        path = os.path.join(root, "hermes_sandbox_" + os.urandom(6).hex())
        try:
            os.mkdir(path, 0o700)
            return path
        except OSError:
            continue
    return scratch
