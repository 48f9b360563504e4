"""The tree of a script that is looked at, or why the interpreter would not take the script."""

from __future__ import annotations

import ast
import binascii
import re

from . import cellcode
from .finding import Finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional

_FENCE = re.compile(r"[ \t]*```")
_OUTSIDE = re.compile(r"'(?:await|async for|async with)' outside (?:async )?function$")
_ASYNC = ": it has to stand in an async def, which asyncio.run runs; the tools that are not of aio need no await"
_FENCED = "a Markdown fence: take the lines with ``` away, and leave what stands between them"


def tree(request: Dict[str, Any]) -> Optional[ast.Module]:
    """The tree; None if it is too deep for a look, though the script may well run. Raises Finding if the
    interpreter does not take the script."""
    text = ""
    try:
        text = cellcode.decode(binascii.a2b_base64(request["code"]), request["name"])
        return _tree(text)
    except SyntaxError as e:
        raise _wrong(e, text.split("\n")) from None
    except (ValueError, RecursionError, MemoryError) as e:  # as for a NUL in it
        raise Finding(1, str(e) or type(e).__name__, True) from None


def _tree(text: str) -> Optional[ast.Module]:
    found = None
    try:
        found = ast.parse(text, "script")
        compile(found, "script", "exec", dont_inherit=True)
    except RecursionError:  # a tree is handled one call deeper for each of its levels: a text is what is run
        compile(text, "script", "exec", dont_inherit=True)
    return found


def _wrong(e: SyntaxError, lines: List[str]) -> Finding:
    first = next((i for i, line in enumerate(lines, 1) if line.strip()), 1)
    for line in (first, e.lineno or 1):
        if line <= len(lines) and _FENCE.match(lines[line - 1]):
            return Finding(line, "syntax error: " + _FENCED, True)
    return Finding(e.lineno or 1, "syntax error: %s%s" % (e.msg, _ASYNC if _OUTSIDE.match(e.msg) else ""), True)
