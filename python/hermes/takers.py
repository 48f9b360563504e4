"""What calls are given the result of a tool where they take something else."""

from __future__ import annotations

import ast

from . import nodes
from .results import Results

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict

    Complain = Callable[[ast.AST, str, str, str], None]  # of a node: the tool, what its result is, and what that raises

DICT = "a dict, not a text"
KEYS = "a dict, and this gives its keys"
_CALLED = "a dict, and retry calls what it gets, as in retry(lambda: terminal(command))"
_TEXT = frozenset(("json.loads", "hermes_tools.json_parse", "int", "float", "open"))  # what takes a text first
_WORDS = frozenset(name.rpartition(".")[2] for name in _TEXT)


class Takers:
    """Looks at calls that are of no tool: call(), once for each, after the find() of results.

    Function tells what such a call is of, and imports are all that the script imports."""

    def __init__(self, results: Results, function: Callable[[Any], str], imports: Dict[str, str], complain: Complain) -> None:
        self._results, self._function, self._complain = results, function, complain
        self._re = any(what.partition(".")[0] == "re" for what in imports.values())

    def call(self, node: ast.Call) -> None:
        """Complains of what a call gets."""
        if not node.args:
            return
        fn, first = node.func, node.args[0]  # type: Any, ast.expr
        method = fn.__class__ is ast.Attribute
        name = fn.attr if method else getattr(fn, "id", "")
        if name in _WORDS:
            if self._function(fn) in _TEXT:
                self._not(node, self._results.of(first), DICT, "TypeError")
        elif name == "len":
            if self._function(fn) == name:
                self._not(node, self._results.called(first), "a dict, and len counts its keys", "")
        elif name == "retry":
            if self._function(fn) == "hermes_tools.retry":
                self._not(node, self._results.called(first), _CALLED, "TypeError")
        elif method and name == "join" and nodes.text(fn.value) is not None:
            self._not(node, self._results.called(first), KEYS, "")
        elif method and name == "write" and fn.value.__class__ is ast.Call and self._function(fn.value.func) == "open":
            self._not(node, self._results.of(first), DICT, "TypeError")
        elif self._re and len(node.args) > 1 and self._function(fn).startswith("re."):
            for arg in node.args[1:]:
                self._not(node, self._results.of(arg), DICT, "TypeError")

    def _not(self, node: ast.AST, tool: str, what: str, raised: str) -> None:
        if tool:
            self._complain(node, tool, what, raised)
