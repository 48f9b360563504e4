"""What a session knows of the tools: the names by which its cells have imported them."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List

_MODULE = "hermes_tools"
_OTHERS = (bool, type, type(sys))  # what the stubs have beside the tools
_MOST = 200  # names
_LONGEST = 100  # bytes of one: all of them fit a message to the host, which is of 64 KiB at most


def tools(namespace: Dict[str, Any]) -> List[str]:
    """NAME=TOOL for what is a tool in a namespace, and NAME=hermes_tools for the module. Only what the stubs
    have defined themselves is one: a cell may put something else under a name that a tool has, there too."""
    module = sys.modules.get(_MODULE)
    if module is None:
        return []
    own = vars(module)
    known = {}  # type: Dict[int, str]  # by identity: what has user code in it is not asked whether it is equal
    whole = True
    for name, value in list(own.items()):
        if getattr(value, "__globals__", None) is own and _usable(value.__name__):
            known[id(value)] = value.__name__  # it has an alias, too
        elif name == "aio" and type(value).__module__ == _MODULE:
            known[id(value)] = name
        elif not name.startswith("_") and type(value) not in _OTHERS:
            whole = False  # somebody has changed it
    if whole:
        known[id(module)] = _MODULE
    found = [(name, known[id(value)]) for name, value in list(namespace.items()) if id(value) in known]
    return ["%s=%s" % pair for pair in found if _usable(pair[0])][:_MOST]


def _usable(name: object) -> bool:
    """Whether code can have a name. A cell can put anything at its place."""
    return type(name) is str and name.isidentifier() and len(name.encode()) <= _LONGEST
