"""What a script hands to the tools: the names of the parameters, and of literals whether they can be what a tool takes."""

from __future__ import annotations

import ast
import builtins

from .finding import takes
from .results import ASKS, Results

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections import Counter
    from typing import Any, Callable, Dict, List, Optional, Set, Tuple

    from . import nodes

    Tool = Dict[str, Any]
    Say = Callable[[ast.AST, str, str, ast.AST], None]
    Handed = Callable[[ast.AST, str, str, str], None]

_KINDS = {
    ast.Dict: "a dict", ast.DictComp: "a dict", ast.List: "a list", ast.ListComp: "a list", ast.Tuple: "a tuple", ast.JoinedStr: "a string",
}  # type: Dict[Any, str]  # fmt: skip
_MUTABLE = frozenset((ast.Dict, ast.DictComp, ast.List, ast.ListComp))
_LISTS = ("a list", "a tuple")
_WANTED = {
    "string": ("a string",), "integer": ("an integer",), "number": ("an integer", "a number"), "boolean": ("a boolean",),
    "string list": ("a string", *_LISTS),
}  # fmt: skip
_WORDS = {"string": "a string", "integer": "an integer", "number": "a number", "boolean": "a boolean", "string list": "a string or a list of strings"}


class Arguments:
    """Looks at the calls of tools: call() for each, after the find() of results.

    Of the script it has what nodes has found, how often each name is bound, and whether it is alone,
    with no cells before it; say is told what is wrong, and handed of an argument that is a result."""

    def __init__(self, found: nodes.Nodes, bound: Counter[str], alone: bool, results: Results, say: Say, handed: Handed) -> None:
        self._nodes, self._bound, self._alone = found, bound, alone
        self._results, self._say, self._handed = results, say, handed
        self._held = None  # type: Optional[Dict[str, Any]]  # what _literal has found

    def call(self, node: ast.Call, tool: Tool) -> None:
        """Complains of what is wrong in a call of a tool."""
        params = tool["params"]  # type: List[str]
        given = {k.arg for k in node.keywords}
        for keyword in node.keywords:
            if keyword.arg and keyword.arg not in params:
                self._say(keyword.value, "%s has no parameter %s: %s" % (tool["name"], keyword.arg, takes(tool)), "TypeError", node)
            elif keyword.arg:
                self._argument(keyword.value, tool, keyword.arg)
        if any(isinstance(a, ast.Starred) for a in node.args):
            return
        for name, value in zip(params, node.args):
            self._argument(value, tool, name)
        if None in given:
            return
        if len(node.args) > len(params):
            self._say(node, "%s gets %d arguments: %s" % (tool["name"], len(node.args), takes(tool)), "TypeError", node)
        missing = [p for p in tool["required"] if p not in given and p not in params[: len(node.args)]]
        if missing:
            self._say(node, "%s lacks %s: %s" % (tool["name"], ", ".join(missing), takes(tool)), "TypeError", node)

    def _argument(self, value: ast.AST, tool: Tool, name: str) -> None:
        given = self._results.of(value)
        if given:  # no parameter can be a dict
            self._handed(value, given, "a dict, which %s of %s cannot be" % (name, tool["name"]), "")
            return
        takes = tool.get("types", {}).get(name)
        wrong = _wrong(self._literal(value), takes, name in tool["required"]) if takes else ""
        if wrong:
            self._say(value, "%s of %s must be %s" % (name, tool["name"], wrong), "", value)

    def _literal(self, value: Any) -> Any:
        """The dict or list that a name holds, which is given to it once and whose type nobody asks for; else the expression itself."""
        if value.__class__ is not ast.Name or not self._alone or self._bound[value.id] != 1:
            return value
        if self._held is None:
            asked = self._asked()
            targets = [(n.targets[0], n.value) for n in self._nodes[ast.Assign] if len(n.targets) == 1]
            held = {t.id: of for t, of in targets if t.__class__ is ast.Name and of.__class__ in _MUTABLE}
            self._held = {name: of for name, of in held.items() if name not in asked and not hasattr(builtins, name)}
        return self._held.get(value.id, value)

    def _asked(self) -> Set[str]:
        calls = [c for c in self._nodes[ast.Call] if getattr(c.func, "id", "") in ASKS and c.args]
        names = {getattr(c.args[0], "id", "") for c in calls}
        for kind, found in self._nodes.items():
            if kind.__name__ == "Match":  # since Python 3.10
                names |= {getattr(node.subject, "id", "") for node in found}
        return names


def _wrong(value: Any, takes: Dict[str, Any], required: bool) -> str:
    """What an argument must be and a literal is not; "" if that is not certain."""
    of = value.value if value.__class__ is ast.Constant else None
    kind, shown = _kind(value)
    wanted = _WANTED.get(takes["type"])
    if not kind or wanted is None or (of is None and kind == "None" and (takes.get("nullable") or not required)):
        return ""
    if kind not in wanted:
        return "%s, not %s" % (_WORDS[takes["type"]], shown)
    enum = takes.get("enum")
    if enum and isinstance(of, str) and of not in enum:
        return "one of %s, not %s" % (", ".join(enum), shown if len(of) > 60 else repr(of))
    return ""


def _kind(node: Any) -> Tuple[str, str]:
    """What an expression is, and how that is said; "" if it is not known."""
    if node.__class__ is ast.UnaryOp and isinstance(node.op, (ast.USub, ast.UAdd)):
        kind, _ = _kind(node.operand)
        return (kind, "a number") if kind in ("an integer", "a number") else ("", "")
    if node.__class__ is not ast.Constant:
        kind = _KINDS.get(node.__class__, "")
        return kind, kind
    value = node.value
    if value is None:
        return "None", "None"
    if isinstance(value, bool):
        return "a boolean", "the boolean %s" % value
    if isinstance(value, str):
        return "a string", "a string"
    if isinstance(value, (int, float)):
        whole = isinstance(value, int) or value.is_integer()
        return "an integer" if whole else "a number", "the number %r" % value if abs(value) < 1e15 else "such a number"
    return "", ""
