"""What a look at a script tells, and the words for it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Set


class Finding(Exception):
    def __init__(self, line: int, message: str, fatal: bool = False, raises: Optional[Set[int]] = None) -> None:
        super().__init__(message)
        self.line, self.message, self.fatal = line, message, fatal
        self.raises = raises or set()  # other lines in which an exception may tell of it

    def row(self) -> Dict[str, Any]:
        return {"line": self.line, "message": self.message, "fatal": self.fatal, "raises": sorted(self.raises)}


def takes(tool: Dict[str, Any]) -> str:
    return "%s takes %s" % (tool["name"], ", ".join(tool["params"]) or "nothing")


def listed(keys: Optional[List[str]]) -> str:
    return "its keys are " + ", ".join(keys) if keys else ""
