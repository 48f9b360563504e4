"""Prints the global names that the module on stdin uses or binds, but for private ones.

What stands under ``if TYPE_CHECKING`` is for type checkers alone: no program has those names.
"""

import ast
import symtable
import sys
from typing import Iterator


def for_checkers(source: str) -> Iterator[str]:
    yield "TYPE_CHECKING"
    for node in ast.parse(source).body:
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            for inner in ast.walk(node):
                if isinstance(inner, ast.ImportFrom):
                    yield from (alias.name for alias in inner.names)


def names(table: symtable.SymbolTable) -> Iterator[str]:
    top = table.get_type() == "module"
    for symbol in table.get_symbols():
        if (top or symbol.is_global()) and not symbol.get_name().startswith("_"):
            yield symbol.get_name()
    for child in table.get_children():
        yield from names(child)


text = sys.stdin.read()
print("\n".join(sorted(set(names(symtable.symtable(text, "stub.py", "exec"))) - set(for_checkers(text)))))
