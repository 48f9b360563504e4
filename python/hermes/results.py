"""Which expressions of a script are the results of tools, and what is sure of these."""

from __future__ import annotations

import ast
import builtins
from collections import Counter

from . import nodes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Container, Dict, Iterator, List, Optional, Set, Tuple

    Scope = Tuple[nodes.Place, nodes.Place, bool]  # of a function or a class, and whether of one
    Tool = Callable[[ast.Call], Tuple[str, bool]]  # the tool that is called, "" if it is none, and whether by aio
    Function = Callable[[Any], str]  # what a function is that is no tool, with its dots; "" if nobody knows

ASKS = ("isinstance", "hasattr", "getattr", "type", "callable")  # a script that asks what a name holds has its reasons
_SHOWS = frozenset(("print", "pprint.pprint", "pprint.pp", "json.dump"))  # what shows its arguments, and tells the script nothing
_COUNTS = frozenset(("len", "bool"))  # what tells nothing of keys
# What has all keys of its argument.
_LISTS = frozenset(("list", "sorted", "tuple", "set", "str", "repr", "json.dumps", "pprint.pformat"))
_READERS = frozenset(name.rpartition(".")[2] for name in _SHOWS | _COUNTS)


def of_dict(name: str) -> bool:
    """Tells whether a dict has this method, here or in another version of Python."""
    return name.startswith("__") or hasattr(dict, name)


class Results:
    """Knows which expressions are results: called() at once, the rest after find(), once.

    Of the script it has what nodes has found, how often each name is used and bound, and whether it
    is alone, with no cells before it; tool and function tell what its calls are of."""

    def __init__(self, found: nodes.Nodes, used: Counter[str], bound: Counter[str], alone: bool, tool: Tool, function: Function) -> None:
        self._nodes, self._used, self._bound, self._alone = found, used, bound, alone
        self._tool, self._function = tool, function
        self._results = {}  # type: Dict[str, Tuple[str, nodes.Span]]  # names that hold a result, and where
        self._scopes = []  # type: List[Scope]
        self._top = {id(n) for module in found[ast.Module] for n in module.body}  # what always runs
        self._changed = set()  # type: Set[str]  # names whose results may have got other keys, or are looked through
        self._tried = set()  # type: Set[Tuple[str, str]]  # names and keys that the script looks for in them
        self._takes = None  # type: Optional[Set[Tuple[str, Optional[str]]]]  # what _taken has found

    def called(self, node: Any) -> str:
        """The tool that an expression calls and waits for; "" if it is none."""
        waits = node.__class__ is ast.Await
        call = node.value if waits else node
        if call.__class__ is not ast.Call:
            return ""
        tool, later = self._tool(call)
        return tool if later == waits else ""

    def of(self, node: Any) -> str:
        """The tool whose result an expression is; "" if it is none."""
        if node.__class__ is ast.Name:
            tool, (first, last) = self._results.get(node.id, ("", (nodes.END, nodes.END)))
            return tool if tool and first <= nodes.start(node) < last else ""
        return self.called(node)

    def calls(self, tools: Container[str]) -> bool:
        """Tells whether the script calls one of these tools."""
        return any(self._tool(call)[0] in tools for call in self._nodes[ast.Call])

    def find(self) -> None:
        """Finds the names that hold the result of a tool, and nothing else in all of the script."""
        for kind in (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef):  # type: type
            self._scopes += [(nodes.start(n), nodes.end(n), kind is ast.ClassDef) for n in self._nodes[kind]]
        self._scopes.sort()
        bindings = [(n.targets[0], n) for n in self._nodes[ast.Assign] if len(n.targets) == 1]
        bindings += [(n.target, n) for kind in (ast.AnnAssign, ast.NamedExpr) for n in self._nodes[kind]]
        once = [(t.id, n) for t, n in bindings if t.__class__ is ast.Name and self._bound[t.id] == 1 and not hasattr(builtins, t.id)]
        held = [(name, n) for name, n in once if self.called(n.value)]
        held.sort(key=lambda h: nodes.start(h[1]))
        for (name, node), scope in zip(held, self._innermost([nodes.start(n) for _, n in held])):
            span = self._span(node, scope)
            if span:
                self._results[name] = (self.called(node.value), span)
        self._asked()
        self._change()

    def _innermost(self, places: List[nodes.Place]) -> Iterator[Optional[Scope]]:
        """The innermost scope of each of some places, which are in order as the scopes are."""
        around, began = [], 0  # type: List[Scope], int
        for place in places:
            while began < len(self._scopes) and self._scopes[began][0] <= place:
                around.append(self._scopes[began])
                began += 1
            while around and around[-1][1] <= place:  # what begins last is innermost, until it ends
                around.pop()
            yield around[-1] if around else None

    def _span(self, node: Any, scope: Optional[Scope]) -> Optional[nodes.Span]:
        """Where a name that is bound at a node has that meaning: in its function, or in all of the script."""
        if scope:
            first, last, is_class = scope
            return None if is_class else (first, last)
        if self._alone:
            return ((0, 0), nodes.END)
        # An earlier cell may have given the name another meaning, which it has where this was not run.
        return (nodes.end(node), nodes.END) if id(node) in self._top else None

    def _asked(self) -> None:
        """Forgets names whose type the script asks for."""
        for call in self._nodes[ast.Call]:
            if call.func.__class__ is ast.Name and call.func.id in ASKS:
                for arg in call.args[:1]:
                    if arg.__class__ is ast.Name:
                        self._results.pop(arg.id, None)
        for node in self._nodes[ast.Attribute]:
            if node.attr == "__class__":
                self._results.pop(getattr(node.value, "id", ""), None)
        for kind, found in self._nodes.items():
            if kind.__name__ == "Match":  # since Python 3.10
                for node in found:
                    self._results.pop(getattr(node.subject, "id", ""), None)

    def _change(self) -> None:
        """Finds the names of which a script may change the results, or learn the keys: it does more with them than reading."""
        held = self._results
        if not held:
            return
        read = self._read() + self._read_by_calls() + self._compared()
        reads = Counter([n.id for n in read if n.__class__ is ast.Name])
        self._changed.update(n for n in held if self._used[n] > reads[n] + 1)  # it is bound once

    def _read(self) -> List[Any]:
        """What is only read, and tells the script nothing of its keys, but for arguments and what is compared."""
        found = self._nodes
        name, held = ast.Name, self._results
        read = [n.value for n in found[ast.Subscript] if n.value.__class__ is name and n.ctx.__class__ is ast.Load]  # type: List[Any]
        for node in found[ast.Attribute]:
            if node.value.__class__ is name and node.value.id in held and (node.attr == "values" or not of_dict(node.attr)):
                read.append(node.value)
        tests = [n.test for kind in (ast.If, ast.While, ast.IfExp, ast.Assert) for n in found[kind]]
        for test in tests:  # it grows
            if test.__class__ is ast.BoolOp:
                tests += test.values
        read += tests
        read += [n.operand for n in found[ast.UnaryOp]]
        read += [n.value for n in found[ast.Expr]]
        read += [self._listed(n.value) for n in found[ast.FormattedValue]]
        for node in found[ast.BinOp]:
            text = node.op.__class__ in (ast.Add, ast.Mod)
            read += [self._listed(side) if text else side for side in (node.left, node.right)]
        return read

    def _read_by_calls(self) -> List[Any]:
        """What calls only read. A key that they get is one that the script asks for, but where it takes it apart at once."""
        read, held = [], self._results  # type: List[Any], Dict[str, Tuple[str, nodes.Span]]
        gets = []
        for node in self._nodes[ast.Call]:
            if not node.args:
                continue
            fn = node.func
            word = getattr(fn, "id", getattr(fn, "attr", ""))
            if word == "get":
                of, key = getattr(fn, "value", None), nodes.text(node.args[0])  # type: Any, Optional[str]
                if of.__class__ is ast.Name and of.id in held and key is not None:
                    read.append(of)
                    gets.append((node, of.id, key))
            elif word in _READERS:
                what = self._function(fn)
                if what in _SHOWS:
                    read += [self._listed(arg) for arg in node.args]
                elif what in _COUNTS:
                    read += node.args
            elif any(arg.__class__ is ast.Name and arg.id in held for arg in node.args) and self._tool(node)[0]:
                read += node.args
        if gets:
            apart = {id(n.value) for kind in (ast.Attribute, ast.Subscript) for n in self._nodes[kind]}
            self._tried.update((name, key) for node, name, key in gets if len(node.args) > 1 or id(node) not in apart)
        return read

    def _compared(self) -> List[Any]:
        """The names in comparisons that tell the script nothing of their keys, but of one: it asks for that."""
        read = []  # type: List[Any]
        for node in self._nodes[ast.Compare]:
            sides = [node.left, *node.comparators]
            if node.ops[0].__class__ in (ast.In, ast.NotIn) or len(node.ops) > 1:
                of, key = self._listed(node.comparators[0]), nodes.text(node.left)
                if of is None or key is None or len(sides) > 2:
                    sides = sides[:1]
                else:
                    self._tried.add((of.id, key))
                    sides = [of]
            read += sides
        return read

    def _listed(self, node: Any) -> Any:
        """The name of a result of which an expression has all keys, as list(x.keys()) has; None if there is none."""
        while node.__class__ is not ast.Name:
            if node.__class__ is ast.Subscript and node.value.__class__ is ast.Call:  # a part of a text
                node = node.value
            elif node.__class__ is not ast.Call:
                return None
            elif not node.args and node.func.__class__ is ast.Attribute and node.func.attr in ("keys", "items"):
                node = node.func.value
            elif len(node.args) != 1:
                return None
            elif self._function(node.func) in _LISTS or _joins(node.func):
                node = node.args[0]
            else:
                return None
        return node if node.id in self._results else None

    def unchanged(self, of: Any) -> bool:
        """Tells whether the result of an expression is sure to be as the tool has returned it."""
        return of.__class__ is not ast.Name or of.id not in self._changed

    def sure(self, of: Any, key: str) -> bool:
        """Tells whether a key that the result of an expression lacks at first is sure to stay away."""
        return of.__class__ is not ast.Name or not (of.id in self._changed or (of.id, key) in self._tried)

    def only_asked(self, of: Any, key: str) -> bool:
        """Tells whether a script that looks for such a key does not take it later."""
        return of.__class__ is not ast.Name or (of.id not in self._changed and (of.id, key) not in self._taken())

    def _taken(self) -> Set[Tuple[str, Optional[str]]]:
        """Names, and the keys that the script takes of them."""
        if self._takes is not None:
            return self._takes
        taken = {(getattr(n.value, "id", ""), nodes.text(nodes.index(n))) for n in self._nodes[ast.Subscript]}
        for node in self._nodes[ast.Call]:
            if getattr(node.func, "attr", "") == "get" and node.args:
                taken.add((getattr(node.func.value, "id", ""), nodes.text(node.args[0])))
        self._takes = taken
        return taken


def _joins(fn: Any) -> bool:
    return fn.__class__ is ast.Attribute and fn.attr == "join" and nodes.text(fn.value) is not None
