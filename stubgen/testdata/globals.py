"""Prints the global names that the module on stdin uses or binds, but for private ones."""

import symtable
import sys
from typing import Iterator


def names(table: symtable.SymbolTable) -> Iterator[str]:
    top = table.get_type() == "module"
    for symbol in table.get_symbols():
        if (top or symbol.is_global()) and not symbol.get_name().startswith("_"):
            yield symbol.get_name()
    for child in table.get_children():
        yield from names(child)


print("\n".join(sorted(set(names(symtable.symtable(sys.stdin.read(), "stub.py", "exec"))))))
