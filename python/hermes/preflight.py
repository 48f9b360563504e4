"""Looks at a script without running it: what models get wrong most about the tools.

stdin gets a JSON object: "code" (base64), the "name" that it has for a person, "tools" (a list of "name", perhaps
"alias", "params" in order, "required", "types" by the names of params: "type", "nullable", "enum"; "keys" that a result
can have, [] if nobody knows, "holds", what is said of where its content is, and perhaps "rows": the keys "in" which it
has a list of dicts, and their "keys"), "helpers", "others" (tools that are not enabled), "alone" (false for a cell,
which may use what earlier cells have defined) and "known" (the names of tools, and of hermes_tools, that those have
imported, with what they are; None if nobody knows). stdout gets {"findings": [{"line", "message", "fatal", "raises"}]},
where "raises" are other lines in which an exception may tell of it. A finding is certain or it is none.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections import Counter

from . import near, nodes, parsed
from .arguments import Arguments
from .finding import Finding, listed
from .results import ASKS, Results, of_dict
from .rows import Rows
from .takers import DICT, KEYS, Takers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Set, Tuple

    Tool = Dict[str, Any]

_MODULE = "hermes_tools"
_PARTS = _MODULE + "."
_NO_PARTS = "hermes_tools is no package: from hermes_tools import aio, and then await aio.read_file(...), or any other tool"
_TEXT_METHODS = frozenset(n for n in dir(str) if not n.startswith("_")) - frozenset(dir(dict))
_DICT_METHODS = frozenset(n for n in dir(dict) if not n.startswith("_")) - frozenset(dir(str))
_LISTED = ("list", "sorted", "tuple", "set")  # what may well be given a dict for its keys
_THROUGH = ("enumerate", "reversed", "iter", "zip", *_LISTED)  # what goes through its argument


def check(request: Dict[str, Any]) -> List[Finding]:
    """All findings, in the order of their lines."""
    try:
        tree = parsed.tree(request)
        return _look(request, tree) if tree else []
    except Finding as e:
        return [e]
    except RecursionError:  # what is deeper than this can go may well run
        return []


def _look(request: Dict[str, Any], tree: ast.Module) -> List[Finding]:
    look = _Look(request, tree)
    look.script()
    unique = {}  # type: Dict[Tuple[int, str], Finding]
    for f in look.findings():
        unique.setdefault((f.line, f.message), f).raises.update(f.raises)
    return sorted(unique.values(), key=lambda f: f.line)


class _Look:
    """Looks at a script, once: script() finds what is wrong, then findings() is what of that to tell.

    The request is what stdin gets, and the tree that of its code."""

    def __init__(self, request: Dict[str, Any], tree: ast.Module) -> None:
        self._said = []  # type: List[Tuple[ast.AST, str, str, Any]]
        self._tools = {t[key]: t for t in request["tools"] for key in ("name", "alias") if t.get(key)}  # type: Dict[str, Tool]
        self._helpers = set(request["helpers"])
        self._others = set(request["others"])
        self._alone = request["alone"]
        self._known = request["known"] or {}  # type: Dict[str, str]
        self._nodes = nodes.by_type(tree)
        self._bound = nodes.bound(self._nodes)
        self._used = Counter([n.id for n in self._nodes[ast.Name]])
        self._imports = nodes.imports(self._nodes, self._bound)
        self._results = Results(self._nodes, self._used, self._bound, self._alone, self._tool, self._function)
        self._takers = Takers(self._results, self._function, self._imports, self._not)
        self._arguments = Arguments(self._nodes, self._bound, self._alone, self._results, self._say, self._not)
        self._modules = set()  # type: Set[str]  # what hermes_tools is called
        self._names = {}  # type: Dict[str, str]  # what a tool is called
        self._aio = set()  # type: Set[str]  # what hermes_tools.aio is called
        self._own = set()  # type: Set[str]  # attributes of hermes_tools that the script asks for or sets
        self._keys = {}  # type: Dict[str, Tuple[ast.AST, str]]  # names that hold a key, and the loops that do it

    def _say(self, node: ast.AST, message: str, raised: str = "", at: Optional[ast.AST] = None) -> None:
        """Records what is wrong at a node, what that raises, and at which other node it does."""
        self._said.append((node, message, raised, at))

    def findings(self) -> List[Finding]:
        """What was said, but for what the script itself is ready for."""
        ready = nodes.ready(self._nodes) if self._said else {}
        found, tried = [], set()
        for node, message, raised, at in self._said:
            name = getattr(getattr(node, "value", None), "id", None)  # what it tries there, it may know elsewhere
            if raised not in ready or not nodes.within(nodes.start(node), ready[raised]):
                found.append((node, name, message, {at.lineno} if at else None))
            elif name:
                tried.add((name, message))
        return [Finding(getattr(node, "lineno", 1), text, False, at) for node, name, text, at in found if (name, text) not in tried]

    def script(self) -> None:
        for node in self._nodes[ast.Import]:
            self._import(node)
        for node in self._nodes[ast.ImportFrom]:
            self._import_from(node)
        self._import_known()
        if nodes.anything(self._nodes, self._used, _MODULE):
            return
        if nodes.starred(self._nodes):
            self._import_all()
        self._asked_modules()
        self._undefined()
        if self._names or self._modules or self._aio:
            self._results.find()
            self._uses()
            if self._alone:
                Rows(self._nodes, self._bound, self._results, self._function, self._tools).look(self._say)

    # What the script calls the tools.

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            name = alias.asname or alias.name
            if alias.name == _MODULE and self._bound[name] == 1:
                self._modules.add(name)
            elif alias.name.startswith(_PARTS):
                self._say(node, _NO_PARTS, "ImportError")

    def _import_from(self, node: ast.ImportFrom) -> None:
        if not node.level and (node.module or "").startswith(_PARTS):
            self._say(node, _NO_PARTS, "ImportError")
        for alias in node.names:
            if node.module != _MODULE or node.level or alias.name == "*":
                continue
            name = alias.asname or alias.name
            if self._bound[name] == 1 and alias.name in self._tools:
                self._names[name] = alias.name
            elif self._bound[name] == 1 and alias.name == "aio":
                self._aio.add(name)
            if alias.name not in self._tools and alias.name not in self._helpers:
                self._say(node, self._unknown(alias.name), "ImportError")

    def _import_known(self) -> None:
        """What earlier cells have imported and this one gives no other meaning."""
        for name, what in self._known.items():
            if self._bound[name]:
                continue
            if what == _MODULE:
                self._modules.add(name)
            elif what == "aio":
                self._aio.add(name)
            elif what in self._tools:
                self._names[name] = what

    def _import_all(self) -> None:
        """What `from hermes_tools import *` makes of names that have no other meaning."""
        self._names.update((name, name) for name in self._tools if not self._bound[name])
        self._imports.update((name, _PARTS + name) for name in self._helpers if not self._bound[name])
        if not self._bound["aio"]:
            self._aio.add("aio")
        for node in self._nodes[ast.Name]:
            if node.id in self._others and not self._bound[node.id] and self._alone:
                self._say(node, self._unknown(node.id), "NameError")

    def _unknown(self, name: str) -> str:
        if name in self._others:
            return "%s is not enabled; enabled are: %s" % (name, ", ".join(sorted(self._tools)) or "none")
        meant = near.one(name, self._helpers.union(self._tools, self._others))
        if meant in self._others:
            return "%s has no %s; %s" % (_MODULE, name, self._unknown(meant))
        return "%s has no %s%s" % (_MODULE, name, "; did you mean %s?" % meant if meant else "")

    def _asked_modules(self) -> None:
        """Finds the attributes of hermes_tools that the script sets, or asks for before it uses them."""
        for node in self._nodes[ast.Attribute]:
            if getattr(node.value, "id", "") in self._modules and (node.attr == "__dict__" or not isinstance(node.ctx, ast.Load)):
                self._modules.discard(node.value.id if node.attr == "__dict__" else "")
                self._own.add(node.attr)
        for call in self._nodes[ast.Call]:
            name = getattr(call.args[0], "id", "") if call.args else ""
            if name not in self._modules:
                continue
            if getattr(call.func, "id", "") in ASKS and len(call.args) > 1:
                self._own.add(nodes.text(call.args[1]) or "")
            else:
                self._modules.discard(name)  # it is handed to what may change it

    def _undefined(self) -> None:
        """Tools and helpers that are used and not imported."""
        if not self._alone or nodes.starred(self._nodes):
            return
        ours = {n for n in self._helpers.union(self._tools) if self._used[n] and not self._bound[n] and not hasattr(builtins, n)}
        for node in [n for n in self._nodes[ast.Name] if n.id in ours] if ours else []:
            self._say(node, "%s is used, but not imported: from %s import %s" % (node.id, _MODULE, node.id), "NameError")

    # Which expressions are results.

    def _tool(self, call: ast.Call) -> Tuple[str, bool]:
        """The tool that is called, "" if it is none, and whether by aio."""
        fn = call.func  # type: Any
        if fn.__class__ is ast.Name:
            return self._names.get(fn.id, ""), False
        if not isinstance(fn, ast.Attribute) or fn.attr not in self._tools or fn.attr in self._own:
            return "", False
        of = fn.value
        if isinstance(of, ast.Name):
            return (fn.attr if of.id in self._modules or of.id in self._aio else ""), of.id in self._aio
        if isinstance(of, ast.Attribute) and of.attr == "aio" and isinstance(of.value, ast.Name) and of.value.id in self._modules:
            return fn.attr, True
        return "", False

    def _function(self, fn: Any) -> str:
        """What a function is, with its dots, that is imported or built in; "" if nobody knows."""
        if fn.__class__ is ast.Name:
            return self._imports.get(fn.id, "") or (fn.id if not self._bound[fn.id] and hasattr(builtins, fn.id) else "")
        module = self._imports.get(getattr(fn.value, "id", ""), "") if fn.__class__ is ast.Attribute else ""
        return "%s.%s" % (module, fn.attr) if module else ""

    # What the script does with them.

    def _uses(self) -> None:
        for kind, look in (
            (ast.For, self._loop),
            (ast.comprehension, self._loop),
            (ast.Assign, self._unpacking),
            (ast.Call, self._call),
            (ast.Attribute, self._attribute),
            (ast.Subscript, self._subscript),
            (ast.Await, self._await),
            (ast.BinOp, self._sum),
            (ast.AugAssign, self._sum),
            (ast.Compare, self._compare),
            (ast.If, self._test),
            (ast.IfExp, self._test),
            (ast.While, self._test),
        ):  # type: Tuple[type, Any]
            for node in self._nodes[kind]:
                look(node)

    def _not(self, node: ast.AST, tool: str, what: str, raised: str, at: Optional[ast.AST] = None) -> None:
        known = self._tools[tool]
        where = known.get("holds") or listed(known.get("keys"))
        self._say(node, "what %s returns is %s%s" % (tool, what, ": " + where if where else ""), raised, at)

    def _no_key(self, node: ast.AST, of: Any, key: Optional[str], raised: str) -> None:
        """Complains of a key that the result of a tool never has."""
        tool = self._results.of(of)
        if not tool or key is None or not self._lacks(tool, key) or not self._results.sure(of, key):
            return
        known = self._tools[tool]
        where = "; ".join(w for w in (known.get("holds"), listed(known["keys"])) if w)
        self._say(node, 'what %s returns has no "%s": %s' % (tool, key, where), raised)

    def _lacks(self, tool: str, key: str) -> bool:
        """Tells whether a tool is sure to return no such key."""
        keys = self._tools[tool].get("keys") or [key]  # nobody knows
        return key not in keys and key != "error"

    def _loop(self, node: Any) -> None:
        of = node.iter
        through = self._function(of.func) if of.__class__ is ast.Call and len(of.args) == 1 else ""
        if through in _THROUGH:
            of = of.args[0]
        tool = self._results.of(of)
        if not tool:
            return
        keys = through in _LISTED
        same = keys or of is node.iter  # the keys themselves are what the loop has
        if (of.__class__ is not ast.Name and not keys) or (same and nodes.unpacks(node.target)):
            self._not(of, tool, KEYS, "TypeError")
        target = node.target
        if through == "enumerate" and nodes.unpacks(target) and len(target.elts) == 2:
            target, same = target.elts[1], True
        if self._alone and target.__class__ is ast.Name and same and self._bound[target.id] == 1:
            self._keys[target.id] = (of, tool)

    def _unpacking(self, node: ast.Assign) -> None:
        tool = self._results.of(node.value)
        if tool and any(map(nodes.unpacks, node.targets)):
            self._not(node.value, tool, KEYS, "ValueError")

    def _call(self, node: ast.Call) -> None:
        tool = self._tool(node)[0]
        if tool:
            self._arguments.call(node, self._tools[tool])
        else:
            self._takers.call(node)

    def _test(self, node: Any) -> None:
        test = node.test.operand if isinstance(node.test, ast.UnaryOp) and isinstance(node.test.op, ast.Not) else node.test
        tool = self._results.called(test)
        if tool:
            self._not(test, tool, "a dict, which is true whatever came of the call", "")

    def _attribute(self, node: ast.Attribute) -> None:
        of = node.value  # type: Any
        if isinstance(of, ast.Name):
            if of.id in self._modules and isinstance(node.ctx, ast.Load) and node.attr not in self._own:
                if node.attr not in self._tools and node.attr not in self._helpers and not node.attr.startswith("_"):
                    self._say(node, self._unknown(node.attr), "AttributeError")
            if of.id in self._keys and node.attr in _DICT_METHODS:
                loop, tool = self._keys[of.id]
                self._not(loop, tool, KEYS, "AttributeError", node)
        if node.attr in _TEXT_METHODS or not of_dict(node.attr):
            tool = self._results.of(of)
            if tool and node.attr in _TEXT_METHODS:
                self._not(node, tool, DICT, "AttributeError")
            elif tool and node.attr in (self._tools[tool].get("keys") or ()):
                self._say(node, 'what %s returns is a dict: write ["%s"], not .%s' % (tool, node.attr, node.attr), "AttributeError")
            elif tool:
                self._not(node, tool, "a dict, which has no .%s" % node.attr, "AttributeError")
        if of.__class__ is ast.Call:
            self._got(node, of, "AttributeError")

    def _got(self, node: ast.AST, of: Any, raised: str) -> None:
        """Complains of what is taken from the None that .get has for a key which is not there."""
        if getattr(of.func, "attr", "") == "get" and len(of.args) == 1 and not of.keywords:
            self._no_key(node, of.func.value, nodes.text(of.args[0]), raised)

    def _subscript(self, node: ast.Subscript) -> None:
        of = node.value  # type: Any
        index = nodes.index(node)
        if isinstance(of, ast.Name) and of.id in self._keys and nodes.text(index) is not None:
            loop, tool = self._keys[of.id]
            self._not(loop, tool, KEYS, "TypeError", node)
        if not isinstance(node.ctx, ast.Load):
            return
        if isinstance(index, ast.Slice) or (isinstance(index, ast.Constant) and isinstance(index.value, int)):
            tool = self._results.of(of)
            if tool:
                self._not(node, tool, DICT, "KeyError" if isinstance(index, ast.Constant) else "TypeError")
        elif isinstance(index, ast.Constant):
            self._no_key(node, of, nodes.text(index), "KeyError")
        if of.__class__ is ast.Call:
            self._got(node, of, "TypeError")

    def _await(self, node: ast.Await) -> None:
        tool, later = self._tool(node.value) if isinstance(node.value, ast.Call) else ("", False)
        if tool and not later:
            self._say(node, "%s returns its result without await; what is awaited is aio.%s(...): from %s import aio" % (tool, tool, _MODULE), "TypeError")

    def _sum(self, node: Any) -> None:
        if isinstance(node.op, ast.Add):
            of = self._results.of if isinstance(node, ast.BinOp) else self._results.called  # a list takes the keys of a dict
            for side in (node.left, node.right) if isinstance(node, ast.BinOp) else (node.value,):
                tool = of(side)
                if tool:
                    self._not(node, tool, DICT, "TypeError")

    def _compare(self, node: ast.Compare) -> None:
        if len(node.ops) != 1:
            return
        left, op, right = node.left, node.ops[0], node.comparators[0]  # type: Any, Any, Any
        text = nodes.text(left)
        if isinstance(op, (ast.In, ast.NotIn)):
            tool = self._results.of(right) if text is not None else ""
            if tool and self._lacks(tool, text or "") and self._results.only_asked(right, text or ""):
                self._not(node, tool, "a dict, and in looks at its keys", "")
            return
        tool = self._results.of(left if text is None else right)
        other = nodes.text(right) if text is None else text
        if tool and other is not None:
            self._not(node, tool, DICT, "TypeError")


def main() -> int:
    import gc
    import json

    gc.disable()  # a tree has no circles, and this ends soon
    sys.setrecursionlimit(sys.getrecursionlimit() + 100)  # what calls the parser here is no part of the script's depth
    request = json.load(sys.stdin.buffer)
    json.dump({"findings": [f.row() for f in check(request)]}, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
