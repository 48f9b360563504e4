"""The dicts in the lists that results have, such as the matches of a search, and what is sure of them.

A script may change such a dict wherever it gets hold of it. So there is a finding only where all of them, and the
lists that they are in, are no more than read in all of the script.
"""

from __future__ import annotations

import ast
import builtins
from collections import Counter

from . import nodes
from .finding import listed
from .results import Results, of_dict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterator, List, Optional, Set, Tuple

    Tool = Dict[str, Any]
    Place = Tuple[str, int]  # a tool, and how far in its result towards its rows
    Say = Callable[[ast.AST, str, str], None]

_READERS = frozenset(("len", "bool", "print", "str", "repr", "json.dumps", "pprint.pprint"))  # what only reads its arguments
_COPIES = frozenset(("list", "tuple", "reversed"))  # what has the same rows
_KINDS = frozenset((ast.Name, ast.Subscript, ast.Call, ast.Await, ast.BoolOp))  # of what may be a part of a result
_TESTS = (ast.If, ast.While, ast.IfExp)


class Rows:
    """Looks at the rows of results: look(), once, after the find() of results.

    Of the script it has what nodes has found, and how often each name is bound; function tells what
    its calls are of that are of no tool, and tools are those of the request, by name."""

    def __init__(self, found: nodes.Nodes, bound: Counter[str], results: Results, function: Callable[[Any], str], tools: Dict[str, Tool]) -> None:
        self._nodes, self._bound, self._results, self._function = found, bound, results, function
        self._tools = {name: t["rows"] for name, t in tools.items() if t.get("rows")}
        self._lists = {}  # type: Dict[str, Place]  # names that hold a list of rows, or what leads to one
        self._names = {}  # type: Dict[str, str]  # names that hold a row, and its tool
        self._places = {}  # type: Dict[int, Optional[Place]]  # what _place knows
        self._tried = set()  # type: Set[Tuple[str, Optional[str]]]  # names of rows, and keys that the script looks for in them

    def look(self, say: Say) -> None:
        """Complains of keys that rows never have, and of what is a dict and not yet their list."""
        if not self._results.calls(self._tools):
            return
        self._find_lists()
        if not self._find_rows() or not self._only_read():
            return
        for node in self._nodes[ast.Subscript]:
            self._subscript(node, say)
        for node in self._nodes[ast.Attribute]:
            tool = self._row(node.value)
            if tool and node.attr in self._tools[tool]["keys"] and not of_dict(node.attr):
                say(node, 'what %s has in %s are dicts: write ["%s"], not .%s' % (tool, self._path(tool), node.attr, node.attr), "AttributeError")
        for of, _ in self._loops():
            at = self._place(of)
            if at and 0 < at[1] < self._depth(at[0]):
                self._not(of, at, "is a dict, and this gives its keys", "TypeError", say)

    def _subscript(self, node: ast.Subscript, say: Say) -> None:
        of, index = node.value, nodes.index(node)  # type: Any, Any
        key = nodes.text(index)
        if node.ctx.__class__ is not ast.Load:
            return
        tool = self._row(of)
        name = getattr(of, "id", "")
        tried = (name, key) in self._tried or (name, None) in self._tried
        if tool and key is not None and not tried and key not in self._tools[tool]["keys"]:
            keys = listed(self._tools[tool]["keys"])
            say(node, 'what %s has in %s has no "%s": %s' % (tool, self._path(tool), key, keys), "KeyError")
        at = self._place(of)
        if at and at[1] == self._depth(at[0]) and key is not None:
            path = self._path(at[0])
            say(node, 'what %s has in %s is a list: take one of it, as in %s[0]["%s"], or go through it' % (at[0], path, path, key), "TypeError")
        if at and 0 < at[1] < self._depth(at[0]) and self._place(node) is None:
            if key is not None:
                self._not(node, at, 'has no "%s"' % key, "KeyError", say)
            elif index.__class__ in (ast.Slice, ast.Constant):
                self._not(node, at, "is a dict", "KeyError", say)

    def _not(self, node: ast.AST, at: Place, what: str, raised: str, say: Say) -> None:
        tool, depth = at
        say(node, "what %s has in %s %s: its list is in %s" % (tool, self._path(tool, depth), what, self._path(tool)), raised)

    def _path(self, tool: str, depth: Optional[int] = None) -> str:
        return "".join('["%s"]' % key for key in self._tools[tool]["in"][:depth])

    def _depth(self, tool: str) -> int:
        return len(self._tools[tool]["in"])

    # What expressions are.

    def _place(self, node: Any) -> Optional[Place]:
        """How far an expression has come in the result of a tool; None if it is no part of one, or more."""
        if node.__class__ not in _KINDS:
            return None
        if id(node) not in self._places:
            self._places[id(node)] = self._placed(node)
        return self._places[id(node)]

    def _placed(self, node: Any) -> Optional[Place]:
        kind = node.__class__
        if kind is ast.Name and node.id in self._lists:
            return self._lists[node.id]
        tool = self._results.of(node)
        if tool:
            return (tool, 0) if tool in self._tools and self._results.unchanged(node) else None
        if kind is ast.BoolOp and node.op.__class__ is ast.Or and all(map(_empty, node.values[1:])):
            return self._place(node.values[0])
        of, key = None, None  # type: Any, Optional[str]
        if kind is ast.Subscript and node.ctx.__class__ is ast.Load:
            of, key = node.value, nodes.text(nodes.index(node))
            if nodes.index(node).__class__ is ast.Slice:
                return self._full(of)
        elif kind is ast.Call and node.args and not node.keywords:
            if getattr(node.func, "attr", "") == "get" and all(map(_empty, node.args[1:])):
                of, key = node.func.value, nodes.text(node.args[0])
            elif len(node.args) == 1 and self._function(node.func) in _COPIES:
                return self._full(node.args[0])
        at = self._place(of) if key is not None else None
        if at and at[1] < self._depth(at[0]) and self._tools[at[0]]["in"][at[1]] == key:
            return at[0], at[1] + 1
        return None

    def _full(self, node: Any) -> Optional[Place]:
        """The place of an expression that is a list of rows, None if it is none."""
        at = self._place(node)
        return at if at and at[1] == self._depth(at[0]) else None

    def _row(self, node: Any) -> str:
        """The tool of which an expression is a row; "" if it is none."""
        if node.__class__ is ast.Name:
            return self._names.get(node.id, "")
        if node.__class__ is not ast.Subscript or nodes.text(nodes.index(node)) is not None or nodes.index(node).__class__ is ast.Slice:
            return ""
        at = self._full(node.value)
        return at[0] if at else ""

    def _loops(self) -> Iterator[Tuple[Any, Any]]:
        """What the script goes through, and the target that has one of that at a time."""
        for kind in (ast.For, ast.comprehension):  # type: type
            for node in self._nodes[kind]:
                of, target = node.iter, node.target
                if of.__class__ is ast.Call and of.args and self._function(of.func) == "enumerate":
                    pair = nodes.unpacks(target) and len(target.elts) == 2
                    of, target = of.args[0], target.elts[1] if pair else None
                yield of, target

    def _assigned(self) -> Iterator[Tuple[Any, Any]]:
        for node in self._nodes[ast.Assign]:
            if len(node.targets) == 1:
                yield node.value, node.targets[0]

    def _find_lists(self) -> None:
        for _ in range(3):  # the list of a list's name
            for value, target in self._assigned():
                if target.__class__ is ast.Name and self._bound[target.id] == 1 and not hasattr(builtins, target.id):
                    at = self._place(value)
                    if at and at[1]:
                        self._lists[target.id] = at
            self._places.clear()  # a name may be one now

    def _find_rows(self) -> bool:
        """Finds the names that hold rows, and tells whether all rows that the script goes through have one."""
        had = []  # type: List[Tuple[str, str]]
        for of, target in self._loops():
            at = self._full(of)
            if at and target.__class__ is not ast.Name:
                return False
            if at:
                had.append((target.id, at[0]))
        for value, target in self._assigned():
            tool = self._row(value)
            if tool and target.__class__ is not ast.Name:
                return False
            if tool:
                had.append((target.id, tool))
        times = Counter(had)
        self._names = {name: tool for name, tool in had if times[name, tool] == self._bound[name]}
        return len({name for name, _ in had}) == len(self._names) and not any(hasattr(builtins, name) for name in self._names)

    # What becomes of them.

    def _only_read(self) -> bool:
        found = self._nodes
        parts = [n for kind in (ast.Subscript, ast.Call, ast.BoolOp) for n in found[kind] if self._deep(n)]  # type: List[Any]
        parts += [n for n in found[ast.Name] if n.ctx.__class__ is ast.Load and (n.id in self._lists or n.id in self._names)]
        read = {id(n) for n in self._read()}
        whole = any(n.attr == "values" and self._results.of(n.value) for n in found[ast.Attribute])
        return not whole and all(id(n) in read for n in parts)

    def _deep(self, node: Any) -> bool:
        at = self._place(node)
        return bool(at and at[1]) or bool(self._row(node))

    def _read(self) -> Iterator[Any]:
        found = self._nodes
        for of, _ in self._loops():
            yield of
        for value, target in self._assigned():
            if target.__class__ is ast.Name and (target.id in self._lists or target.id in self._names):
                yield value
        for node in found[ast.Subscript]:
            of_list = self._full(node.value) and nodes.text(nodes.index(node)) is None
            if node.ctx.__class__ is ast.Load and (self._deep(node) or not of_list):
                yield node.value
        for node in found[ast.Call]:
            if getattr(node.func, "attr", "") == "get" and node.args:
                yield node.func.value
                self._tried.add((getattr(node.func.value, "id", ""), nodes.text(node.args[0])))
            elif self._function(node.func) in _READERS or self._place(node):
                yield from node.args
        for node in found[ast.Attribute]:
            if not of_dict(node.attr) and not hasattr(list, node.attr):
                yield node.value
        for kind in _TESTS:
            for node in found[kind]:
                yield node.test
        for node in found[ast.UnaryOp]:
            yield node.operand
        for node in found[ast.BoolOp]:
            if self._place(node):
                yield node.values[0]
        for kind in (ast.FormattedValue, ast.Expr):
            for node in found[kind]:
                yield node.value


def _empty(node: Any) -> bool:
    if node.__class__ is ast.Constant:
        return node.value is None
    return (node.__class__ is ast.List and not node.elts) or (node.__class__ is ast.Dict and not node.keys)
