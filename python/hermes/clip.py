"""What a message may quote of a caller's text."""

from __future__ import annotations


def clip(text: str, limit: int = 200) -> str:
    """Return at most limit characters of a text, the last of them an ellipsis if some are missing."""
    return text if len(text) <= limit else text[: limit - 1] + "\u2026"
