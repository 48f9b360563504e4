"""What the agent tells of its environment in HELLO."""

from __future__ import annotations

import os
import sys

from . import frames

TYPE_CHECKING = False  # typing costs 10 ms at start
if TYPE_CHECKING:
    from typing import List, Tuple


# Where C libraries look for the rules of time zones.
_ZONES = ("/usr/share/zoneinfo", "/share/zoneinfo", "/etc/zoneinfo", "/usr/lib/zoneinfo")


def hello(temp: str, scratch: str, library: str, sockets: str) -> List[Tuple[str, frames.Value]]:
    fields = [
        ("version", frames.VERSION),
        ("python", _executable()),
        ("python_version", "%d.%d.%d" % sys.version_info[:3]),
        ("os", "linux" if sys.platform.startswith("linux") else sys.platform),
        ("pid", os.getpid()),
        ("uid", os.geteuid()),
        ("gid", os.getegid()),
        ("no_home", int(not os.access(os.environ.get("HOME") or "", os.W_OK | os.X_OK))),
        ("no_zones", int(not any(map(_filled, _ZONES)))),
        ("dir", os.getcwdb()),
        ("temp", temp),
        ("scratch", scratch),
        ("library", library),
        ("sockets", sockets),
    ]  # type: List[Tuple[str, frames.Value]]
    for name, value in os.environb.items():
        fields.append(("env", name + b"=" + value))
    return fields


def _filled(folder: str) -> bool:
    try:
        with os.scandir(folder) as entries:
            return next(entries, None) is not None
    except OSError:
        return False


def _executable() -> str:
    """How this interpreter is started again. Python knows no more of itself than its name, and takes the
    first file on PATH that has it: where the system could not execute that, it took a later one."""
    named = os.path.abspath(sys.executable) if sys.executable else ""
    real = "/proc/self/exe"
    if _same(named, real) or not os.path.exists(real) or _starts(named):
        return named
    name = os.path.basename(named)
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep) if name else []:
        path = os.path.join(os.path.abspath(folder), name)
        if _same(path, real):
            return path
    return os.readlink(real)


def _same(path: str, other: str) -> bool:
    try:
        return os.path.samefile(path, other)
    except OSError:
        return False


def _starts(path: str) -> bool:
    """Tells whether a program can be executed: one that is not this interpreter may lead to it."""
    try:
        pid = os.posix_spawn(path, [path, "-I", "-S", "-c", ""], os.environ)
    except OSError:
        return False
    return os.waitpid(pid, 0)[1] == 0
