"""Puts the agent's modules, compiled, into one file of the library, from which bootstrap.py loads them.

What is not in it is imported from the files as ever. It belongs to one interpreter, by its name, and to
one library, by where it lies.
"""

from __future__ import annotations

import importlib.util
import marshal
import os

from .bootstrap import bundle_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict

# What the agent imports, sooner or later, and of the standard library what it alone would open a file for.
MODULES = (
    "agent", "dial", "facts", "frames", "loop", "oom", "process", "relay", "scratch", "share", "source", "spare",
    "supervisor", "transfer", "tree",
)  # fmt: skip
_STANDARD = ("__future__", "struct")


def write(library: str) -> None:
    """Makes the bundle, for whoever may read the library. Raises OSError if it cannot be written."""
    path, data = bundle_path(library), marshal.dumps(_compiled())
    fresh = "%s.%s" % (path, os.urandom(6).hex())
    fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    try:
        with open(fd, "wb") as f:
            f.write(data)
            f.flush()
            os.fsync(f.fileno())  # what is lost inside of it would be found out at its import alone
        os.rename(fresh, path)
    except BaseException:
        os.unlink(fresh)
        raise


def _compiled() -> Dict[str, bytes]:
    package = __name__.rpartition(".")[0]
    names = [package] + ["%s.%s" % (package, m) for m in MODULES] + list(_STANDARD)
    found = {}
    for name in names:
        spec = importlib.util.find_spec(name)
        get_code = getattr(spec and spec.loader, "get_code", None)
        code = get_code(name) if get_code else None
        if code:
            found[name] = marshal.dumps(code)
    return found
