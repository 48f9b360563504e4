"""What the tree of a script says, whatever the script is about.

The tree is walked once, into a list of nodes for each type of node: all else looks at the few lists that matter.
"""

from __future__ import annotations

import ast
import bisect
import builtins
import sys
from collections import Counter, defaultdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Set, Tuple

    Place = Tuple[int, int]  # line, column
    Span = Tuple[Place, Place]
    Nodes = Dict[type, List[Any]]

END = (sys.maxsize, 0)  # behind every place
_BINDERS = frozenset(("globals", "locals", "vars", "dir", "exec", "eval"))
_PLAIN = frozenset("id attr arg names ctx op ops n s kind level module type_comment type_ignores kwd_attrs".split())
_LEAVES = frozenset((str, int, float, bool, bytes, type(None), ast.Constant))


def by_type(tree: ast.AST) -> Nodes:
    """The nodes of a tree by their type, but for constants, which are many. ast.walk takes four times as long."""
    found = defaultdict(list)  # type: Nodes
    todo = [tree]  # type: List[Any]
    add, extend = todo.append, todo.extend
    fields = {}  # type: Dict[type, List[str]]  # those that lead to nodes
    leaves = _LEAVES
    for node in todo:  # it grows
        kind = node.__class__
        found[kind].append(node)
        if kind not in fields:
            fields[kind] = [f for f in getattr(kind, "_fields", ()) if f not in _PLAIN]
        for name in fields[kind]:
            value = getattr(node, name, None)
            of = value.__class__
            if of is list:
                extend(value)  # type: ignore[arg-type]
            elif of not in leaves:
                add(value)
    return found


def start(node: Any) -> Place:
    return (node.lineno, node.col_offset)


def end(node: Any) -> Place:
    return (node.end_lineno, node.end_col_offset)


def text(node: Any) -> Optional[str]:
    """The text that an expression is, None if it is none."""
    value = node.value if node.__class__ is ast.Constant else None
    return value if isinstance(value, str) else None


def index(node: ast.Subscript) -> Any:
    index = node.slice  # type: Any
    return index.value if index.__class__.__name__ == "Index" else index  # until Python 3.8


def unpacks(target: ast.AST) -> bool:
    return isinstance(target, (ast.Tuple, ast.List))


_RAISED = (AttributeError, ImportError, KeyError, NameError, TypeError, ValueError)


def within(place: Place, spans: List[Span]) -> bool:
    """Tells whether a place is in one of some spans, as merged has them."""
    before = bisect.bisect(spans, (place, END)) - 1
    return before >= 0 and place < spans[before][1]


def merged(spans: List[Span]) -> List[Span]:
    """Spans in order, those that overlap as one."""
    found = []  # type: List[Span]
    for first, last in sorted(spans):
        if found and first <= found[-1][1]:
            found[-1] = (found[-1][0], max(last, found[-1][1]))
        else:
            found.append((first, last))
    return found


def ready(nodes: Nodes) -> Dict[str, List[Span]]:
    """Where a script is ready for an exception: it tries what may fail, and knows another way."""
    spans = []
    for kind in [k for k in nodes if k.__name__ in ("Try", "TryStar")]:
        for node in nodes[kind]:
            if node.handlers:
                caught = set()  # type: Set[str]
                for handler in node.handlers:
                    caught |= _caught([handler.type], len(node.body) == 1)
                spans.append((start(node), start(node.handlers[0]), caught))
    for node in nodes[ast.With]:
        for call in [item.context_expr for item in node.items]:
            if isinstance(call, ast.Call) and "suppress" in (getattr(call.func, "id", ""), getattr(call.func, "attr", "")):
                spans.append((start(node), end(node), _caught(call.args, len(node.body) == 1)))
    for node in nodes[ast.If]:
        if "TYPE_CHECKING" in (getattr(node.test, "id", ""), getattr(node.test, "attr", "")):
            spans.append((start(node), end(node.body[-1]), {"ImportError"}))
    of = defaultdict(list)  # type: Dict[str, List[Span]]
    for first, last, caught in spans:
        for raised in caught:
            of[raised].append((first, last))
    return {raised: merged(found) for raised, found in of.items()}


def _caught(kinds: List[Any], alone: bool) -> Set[str]:
    """Which of _RAISED a handler is for. One for all exceptions is so for an import, and for a statement that is alone:
    around much else it only tells of what went wrong."""
    names = set()
    for kind in kinds:
        for part in kind.elts if isinstance(kind, ast.Tuple) else [kind]:
            known = getattr(builtins, getattr(part, "id", "BaseException" if part is None else ""), None)
            for raised in _RAISED:
                if isinstance(known, type) and issubclass(raised, known):
                    if alone or raised is ImportError or not issubclass(Exception, known):
                        names.add(raised.__name__)
    return names


def bound(nodes: Nodes) -> Counter[str]:
    """How often each name gets a meaning, anywhere in the script."""
    names = [n.id for n in nodes[ast.Name] if n.ctx.__class__ is not ast.Load]  # type: List[Optional[str]]
    for kind in (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler):
        names += [n.name for n in nodes[kind]]
    names += [n.arg for n in nodes[ast.arg]]
    for module in (ast.Import, ast.ImportFrom):
        names += [a.asname or a.name.partition(".")[0] for n in nodes[module] for a in n.names]
    for outer in (ast.Global, ast.Nonlocal):
        names += [name for n in nodes[outer] for name in n.names]
    for pattern in [k for k in nodes if k.__name__.startswith("Match")]:  # patterns, since Python 3.10
        names += [name for n in nodes[pattern] for name in (getattr(n, "name", None), getattr(n, "rest", None))]
    return Counter(n for n in names if n)


def imports(nodes: Nodes, bound: Counter[str]) -> Dict[str, str]:
    """What the names are, with their dots, that are imported and nothing else in all of the script."""
    found = {}  # type: Dict[str, str]
    for node in nodes[ast.Import]:
        for alias in node.names:
            top = alias.name.partition(".")[0]
            found[alias.asname or top] = alias.name if alias.asname else top
    for node in nodes[ast.ImportFrom]:
        for alias in node.names:
            found[alias.asname or alias.name] = "%s%s.%s" % ("." * node.level, node.module or "", alias.name)
    return {name: what for name, what in found.items() if bound[name] == 1}


def starred(nodes: Nodes) -> List[str]:
    """The modules, with their dots, of which all names are imported."""
    every = [node for node in nodes[ast.ImportFrom] if node.names[0].name == "*"]
    return ["." * node.level + (node.module or "") for node in every]


def anything(nodes: Nodes, used: Counter[str], known: str) -> bool:
    """Tells whether names may get a meaning, or be looked for, in ways that the tree does not show. Of one
    module it is known which names it has."""
    return not _BINDERS.isdisjoint(used) or any(module != known for module in starred(nodes))
