"""Lines that match a regular expression, found without looking at every line.

`re` would search a text line by line; that costs more than the search itself. Here the pattern is
rewritten so that no part of it can match a line break, which makes one search over a whole text find
what a search of each line would find. A text that a pattern requires literally is looked for first.
"""

from __future__ import annotations

import re
import warnings

from .clip import clip

TYPE_CHECKING = False  # typing costs 10 ms at start
if TYPE_CHECKING:
    from typing import Any, Callable, Iterator, List, Match, Optional, Tuple

    # A line: where it starts and ends in the text (without the line break), and where the match starts.
    Span = Tuple[int, int, int]

_TOKEN = re.compile(
    r"\\(?:x..|u....|U.{8}|N\{[^}]*\}|[0-9]{1,3}|.)"  # an escape
    r"|\[\^?\]?(?:\\.|[^\]\\])*\]"  # a set
    r"|\(\?[a-zA-Z-]+[:)]|\(\?\#"  # flags, a comment
    r"|\{[0-9]*,?[0-9]*\}"  # a repetition
    r"|.",
    re.S,
)
_CLASSES = {r"\s": r"[^\S\n]", r"\W": r"[^\w\n]", r"\D": r"[^\d\n]", r"\A": "^", r"\Z": "$", r"\z": "$"}
_BREAKS = {"\n", r"\n", r"\x0a", r"\x0A", r"\u000a", r"\u000A", r"\012"}
_AMBIGUOUS = set("iks")
_LARGE = 1 << 16  # bytes, from which on it pays to look at single letters first
_SPECIAL = set(".^$*+?{}()[]|\\")


class Finder:
    """A compiled pattern."""

    def __init__(self, pattern: str) -> None:
        """Raise ValueError for a pattern that does not compile."""
        tokens = _TOKEN.findall(pattern)
        self.crosses = False  # whether a match may be of more than one line
        self.literal = ""  # a text that every match contains, or empty
        self.folded = False  # the same in lower case, and matches may have it in upper case
        self.spans = self._everywhere  # type: Callable[[str], Iterator[Span]]
        self._counted = None  # type: Optional[Callable[[str], List[Any]]]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._search = self._prepare(pattern, tokens)
        except (re.error, RecursionError, OverflowError, ValueError) as err:
            raise ValueError("bad pattern %s: %s" % (clip(repr(pattern)), clip(str(err)))) from None
        self._bytes = self.literal.encode("utf-8", "surrogatepass")
        letters = {self._bytes[i : i + 1] for i in range(len(self._bytes))}
        self._letters = [(a, a.upper() if self.folded else a) for a in letters]
        # Letters that are the same as one beyond ASCII in another case: the Kelvin sign is a k.
        self._ambiguous = self.folded and not _AMBIGUOUS.isdisjoint(self.literal)

    def _prepare(self, pattern: str, tokens: List[str]) -> Callable[..., Optional[Match[str]]]:
        plain = re.compile(pattern)
        self.crosses = bool(plain.flags & re.DOTALL) or any(map(_crosses, tokens))
        if self.crosses:
            return re.compile(pattern, re.MULTILINE).search
        if plain.flags & re.VERBOSE or any(map(_obscure, tokens)):
            self.spans = self._each
            return plain.search
        self.literal = required(tokens)
        if "\ufffd" in self.literal:
            self.literal = ""  # bytes that are no text are read as that
        if plain.flags & re.IGNORECASE:
            self.literal = self.literal.lower() if self.literal.isascii() else ""
            self.folded = bool(self.literal)
        if self.literal:
            self.spans = self._around_literal
        while tokens and tokens[0][:2] == "(?" and tokens[0][-1] == ")":
            tokens = tokens[1:]  # (?i), which must stand at the beginning, as may others behind it
        core, flags = "".join(map(_in_line, tokens)), plain.flags | re.MULTILINE
        if self.literal:
            # What matches is never empty: each match is a line, and the next one begins behind it.
            self._counted = re.compile("(?:" + core + r")[^\n]*\n?", flags).findall
        return re.compile(core, flags).search

    def absent(self, data: bytes) -> bool:
        """Tell that nothing in UTF-8 data can match. False if that would take a search."""
        if self._ambiguous and not data.isascii():
            return False
        # That a letter is not there is found out ten times as fast, and that it is almost at once.
        if len(data) > _LARGE and not all(a in data or b in data for a, b in self._letters):
            return True
        return self._bytes not in (data.lower() if self.folded else data)

    def count(self, text: str) -> int:
        """Return the number of spans."""
        if self._counted is None or text.count(self.literal) * 4096 < len(text):
            return sum(1 for _span in self.spans(text))
        return len(self._counted(text))

    def _everywhere(self, text: str) -> Iterator[Span]:
        """Search the whole text; what the pattern may cross is up to the pattern."""
        search, pos, size = self._search, 0, len(text)
        while pos < size:
            match = search(text, pos)
            if match is None:
                return
            first, last = match.span()
            start = text.rfind("\n", pos, first) + 1 or pos
            if start >= size:
                return  # behind the last line break there is no line
            end = text.find("\n", last - 1 if last > first else last)
            if end < 0:
                end = size
            yield start, end, first
            pos = end + 1

    def _around_literal(self, text: str) -> Iterator[Span]:
        """Search only the lines that contain the literal."""
        search, literal, lower = self._search, self.literal, text
        if self.folded:
            if not text.isascii():  # its lower case may have another length
                yield from self._everywhere(text)
                return
            lower = text.lower()
        pos = lower.find(literal)
        while pos >= 0:
            start = text.rfind("\n", 0, pos) + 1
            end = text.find("\n", pos)
            if end < 0:
                end = len(text)
            match = search(text, start, end)
            if match is not None:
                yield start, end, match.start()
            pos = lower.find(literal, end)

    def _each(self, text: str) -> Iterator[Span]:
        """Search line by line, for patterns that cannot be rewritten."""
        start, search = 0, self._search
        lines = text.split("\n")
        if not lines[-1]:
            lines.pop()
        for line in lines:
            match = search(line)
            if match is not None:
                yield start, start + len(line), start + match.start()
            start += len(line) + 1


def _crosses(token: str) -> bool:
    """Tell whether a token shows that its author wants to match line breaks."""
    if token[0] == "[" and len(token) > 2:
        return token[1] != "^" and (r"\n" in token or (r"\s" in token and r"\S" in token))
    return token in _BREAKS or (token.startswith("(?") and "s" in token.split("-")[0])


def _obscure(token: str) -> bool:
    """Tell whether what follows the token reads differently: a comment, or verbose syntax."""
    return token.startswith("(?") and (token[2] == "#" or "x" in token)


def _in_line(token: str) -> str:
    """Return the token so that it cannot match a line break."""
    if token[0] != "[" or len(token) < 3 or not re.match(token, "\n"):
        return _CLASSES.get(token, token)
    if token[1] != "^":
        return r"(?:(?!\n)" + token + ")"
    rest = token[2:]
    return r"[^\n" + ("\\" if rest[0] in "]-" else "") + rest


def required(tokens: List[str]) -> str:
    """Return the longest text that every match must contain, as far as that is easy to see."""
    if "|" in tokens:
        return ""
    runs, run, depth = [], [], 0  # type: List[str], List[str], int
    for token in tokens + [""]:
        char = token[1:] if len(token) == 2 and token[0] == "\\" and not token[1].isalnum() else token
        if depth == 0 and len(char) == 1 and (char != token or char not in _SPECIAL):
            run.append(char)
            continue
        if token[:1] in ("*", "?", "{") and run:
            run.pop()
        runs.append("".join(run))
        run = []
        depth += (token[:1] == "(") - (token[-1:] == ")" and token[0] != "\\")  # (?i) is both
    return max(runs, key=len)
