"""Looks at a script without running it: what models get wrong most about the tools.

stdin gets a JSON object: "code" (base64), "tools" (a list of "name", perhaps "alias", "params" in order, "required", and
"text", the key of the result that holds text), "helpers", "others" (tools that are not enabled) and "alone" (false for a
cell, which may use what earlier cells have defined). stdout gets {"findings": [{"line", "message", "fatal"}]}. A
finding is certain or it is none.
"""

from __future__ import annotations

import ast
import binascii
import builtins
import sys
from collections import Counter

from . import cellcode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Set

    Tool = Dict[str, Any]

_MODULE = "hermes_tools"
_TEXT_METHODS = frozenset(n for n in dir(str) if not n.startswith("_")) - frozenset(dir(dict))
_PARSERS = ("loads", "json_parse")  # what is given a text to parse


class Finding(Exception):
    def __init__(self, line: int, message: str, fatal: bool = False) -> None:
        super().__init__(message)
        self.line, self.message, self.fatal = line, message, fatal

    def row(self) -> Dict[str, Any]:
        return {"line": self.line, "message": self.message, "fatal": self.fatal}


def check(request: Dict[str, Any]) -> List[Finding]:
    """All findings, in the order of their lines."""
    try:
        text = cellcode.decode(binascii.a2b_base64(request["code"]), "script")
        tree = ast.parse(text, "script")
        compile(tree, "script", "exec", dont_inherit=True)
    except SyntaxError as e:
        return [Finding(e.lineno or 1, "syntax error: %s" % e.msg, True)]
    except (ValueError, RecursionError, MemoryError) as e:  # as for a NUL in it
        return [Finding(1, str(e) or type(e).__name__, True)]
    look = _Look(request, tree)
    look.scope(tree)
    unique = {(f.line, f.message): f for f in look.findings}
    return sorted(unique.values(), key=lambda f: f.line)


class _Look:
    def __init__(self, request: Dict[str, Any], tree: ast.Module) -> None:
        self.findings = []  # type: List[Finding]
        self._tools = {t[key]: t for t in request["tools"] for key in ("name", "alias") if t.get(key)}  # type: Dict[str, Tool]
        self._helpers = set(request["helpers"])
        self._others = set(request["others"])
        self._alone = request["alone"]
        self._bound = _bound(tree)
        self._modules = set()  # type: Set[str]  # what hermes_tools is called
        self._names = {}  # type: Dict[str, str]  # what a tool is called
        self._starred = False
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                self._import(node)
            elif isinstance(node, ast.ImportFrom):
                self._import_from(node)

    def _say(self, node: ast.AST, message: str) -> None:
        self.findings.append(Finding(getattr(node, "lineno", 1), message))

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            name = alias.asname or alias.name
            if alias.name == _MODULE and self._bound[name] == 1:
                self._modules.add(name)

    def _import_from(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            if alias.name == "*":
                self._starred = True
            if node.module != _MODULE or node.level or alias.name == "*":
                continue
            name = alias.asname or alias.name
            if alias.name in self._tools:
                if self._bound[name] == 1:
                    self._names[name] = alias.name
            elif alias.name not in self._helpers:
                self._say(node, self._unknown(alias.name))

    def _unknown(self, name: str) -> str:
        if name in self._others:
            return "%s is not enabled; enabled are: %s" % (name, ", ".join(sorted(self._tools)) or "none")
        import difflib

        near = difflib.get_close_matches(name, list(self._tools) + sorted(self._helpers), 1)
        return "%s has no %s%s" % (_MODULE, name, "; did you mean %s?" % near[0] if near else "")

    def scope(self, node: ast.AST) -> None:
        """Looks at a module or function, where a name that is set once keeps its meaning."""
        inner = []  # type: List[ast.AST]
        own = []  # type: List[ast.AST]
        todo = list(ast.iter_child_nodes(node))
        while todo:
            child = todo.pop()
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
                inner.append(child)
            else:
                own.append(child)
                todo.extend(ast.iter_child_nodes(child))
        results = self._results(own)
        for child in own:
            self._node(child, results)
        for child in inner:
            self.scope(child)

    def _results(self, nodes: List[ast.AST]) -> Dict[str, str]:
        """The names that hold the result of a tool, and nothing else in all of the script."""
        found = {}
        for node in nodes:
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                tool = self._called(node.value)
                if tool and self._bound[node.targets[0].id] == 1:
                    found[node.targets[0].id] = tool
        return found

    def _called(self, node: ast.AST) -> Optional[str]:
        """The tool that an expression calls."""
        if not isinstance(node, ast.Call):
            return None
        fn = node.func
        if isinstance(fn, ast.Name):
            return self._names.get(fn.id)
        if isinstance(fn, ast.Attribute) and isinstance(fn.value, ast.Name) and fn.value.id in self._modules:
            return fn.attr if fn.attr in self._tools else None
        return None

    def _result(self, node: ast.AST, results: Dict[str, str]) -> Optional[str]:
        """The tool whose result an expression is."""
        if isinstance(node, ast.Name):
            return results.get(node.id)
        return self._called(node)

    def _node(self, node: ast.AST, results: Dict[str, str]) -> None:
        if isinstance(node, ast.Call):
            self._call(node, results)
        elif isinstance(node, ast.Attribute):
            self._attribute(node, results)
        elif isinstance(node, ast.Subscript):
            tool = self._result(node.value, results)
            index = node.slice
            if type(index).__name__ == "Index":  # until Python 3.8
                index = index.value  # type: ignore[attr-defined]
            number = isinstance(index, ast.Constant) and isinstance(index.value, int)
            if tool and (number or isinstance(index, ast.Slice)):
                self._not_text(node, tool)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            for side in (node.left, node.right):
                tool = self._result(side, results)
                if tool:
                    self._not_text(node, tool)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            self._use(node)

    def _use(self, node: ast.Name) -> None:
        name = node.id
        ours = name in self._tools or name in self._helpers
        if ours and self._alone and not self._starred and not self._bound[name] and not hasattr(builtins, name):
            self._say(node, "%s is used, but not imported: from %s import %s" % (name, _MODULE, name))

    def _attribute(self, node: ast.Attribute, results: Dict[str, str]) -> None:
        tool = self._result(node.value, results)
        if tool and node.attr in _TEXT_METHODS:
            self._not_text(node, tool)
        if isinstance(node.value, ast.Name) and node.value.id in self._modules and isinstance(node.ctx, ast.Load):
            if node.attr not in self._tools and node.attr not in self._helpers and not node.attr.startswith("_"):
                self._say(node, self._unknown(node.attr))

    def _not_text(self, node: ast.AST, tool: str) -> None:
        key = self._tools[tool].get("text")
        use = ': its text is in ["%s"]' % key if key else ""
        self._say(node, "what %s returns is a dict, not a text%s" % (tool, use))

    def _call(self, node: ast.Call, results: Dict[str, str]) -> None:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in _PARSERS and node.args:
            tool = self._result(node.args[0], results)
            if tool:
                self._not_text(node, tool)
        tool = self._called(node)
        if tool:
            self._arguments(node, self._tools[tool])

    def _arguments(self, node: ast.Call, tool: Tool) -> None:
        params = tool["params"]  # type: List[str]
        listed = "%s takes %s" % (tool["name"], ", ".join(params) or "nothing")
        given = {k.arg for k in node.keywords}
        for keyword in node.keywords:
            if keyword.arg and keyword.arg not in params:
                self._say(keyword.value, "%s has no parameter %s: %s" % (tool["name"], keyword.arg, listed))
        if any(isinstance(a, ast.Starred) for a in node.args) or None in given:
            return
        if len(node.args) > len(params):
            self._say(node, "%s gets %d arguments: %s" % (tool["name"], len(node.args), listed))
        missing = [p for p in tool["required"] if p not in given and p not in params[: len(node.args)]]
        if missing:
            self._say(node, "%s lacks %s: %s" % (tool["name"], ", ".join(missing), listed))


def _bound(tree: ast.Module) -> Counter[str]:
    """How often each name gets a meaning, anywhere in the script."""
    bound = Counter()  # type: Counter[str]
    for node in ast.walk(tree):
        names = []  # type: List[Optional[str]]
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names = [node.id]
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names = [node.name]
        elif isinstance(node, ast.arg):
            names = [node.arg]
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [a.asname or a.name.partition(".")[0] for a in node.names]
        elif isinstance(node, ast.ExceptHandler):
            names = [node.name]
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            names = list(node.names)
        elif type(node).__name__.startswith("Match"):  # a pattern, since Python 3.10
            names = [n for n in (getattr(node, "name", None), getattr(node, "rest", None)) if isinstance(n, str)]
        for name in names:
            if name:
                bound[name] += 1
    return bound


def main() -> int:
    import json

    request = json.load(sys.stdin.buffer)
    json.dump({"findings": [f.row() for f in check(request)]}, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
