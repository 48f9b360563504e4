"""Globs and .gitignore rules, both as regular expressions over paths with "/" between names."""

from __future__ import annotations

import re

from .clip import clip

TYPE_CHECKING = False  # typing costs 10 ms at start
if TYPE_CHECKING:
    from typing import Callable, List, Match, Optional, Pattern, Sequence, Tuple

_TOKEN = re.compile(r"(?:^|(?<=/))\*\*/|/\*\*$|\*+|\?|\[[!^]?\]?[^\]/]*\]|\\.|.", re.S)
_PART = re.compile(r"\\.|\[[!^]?\]?[^\]/]*\]|.", re.S)
_CLASS = re.compile(r"\\.|\[[!^]?\]?[^\]/]*\]|(\[[^\]/]*)", re.S)
_BRACKET = re.compile(r"\\.|\[", re.S)
_LONGEST = 4096  # characters of globs, which are tried one by one
_MOST, _ROOM = 1000, 1 << 16  # globs and characters that braces may stand for: they all come into one pattern
_BRACES = re.compile(r"\{([^{},]*,[^{}]*)\}")


def translate(glob: str) -> str:
    """Return the regular expression of a glob: `*` and `?` stay in one name, `**` crosses them.

    A `[` that no `]` closes within the name is literal, as in fnmatch.
    """
    return ".*" if glob == "**" else "".join(map(_piece, _TOKEN.findall(_closed(glob))))


def _closed(glob: str) -> str:
    """Escape each `[` that no `]` closes. _TOKEN would look for one from each of them to the end of the name,
    which takes the square of its length."""
    return _CLASS.sub(lambda match: _BRACKET.sub(_escaped, match.group()) if match.group(1) else match.group(), glob)


def _escaped(match: Match[str]) -> str:
    return "\\[" if match.group() == "[" else match.group()


def _piece(token: str) -> str:
    if token == "**/":
        return "(?:.*/)?"
    if token == "/**":
        return "/.*"
    if token[0] == "*":
        return "[^/]*"
    if token == "?":
        return "[^/]"
    if token[0] == "[" and len(token) > 2:
        body = token[1:-1].replace("\\", "\\\\").replace("[", "\\[")
        negated = body[0] in "!^"
        return "[^/" + _leading_bracket(body[1:]) + "]" if negated else "[" + _leading_bracket(body) + "]"
    return re.escape(token[1] if len(token) == 2 else token)


def _leading_bracket(body: str) -> str:
    """Escape a `]` or `^` that stands first, where it is literal in a glob."""
    return "\\" + body if body[:1] in ("]", "^") else body


def expand(glob: str) -> List[str]:
    """Return the globs that `{a,b}` stands for, nested braces included. Raises ValueError if they are too many."""
    done, todo, room = [], [glob], _ROOM  # type: List[str], List[str], int
    while todo:
        one = todo.pop()
        braces = _BRACES.search(one)
        if braces is None:
            done.append(one)
            continue
        head, tail = one[: braces.start()], one[braces.end() :]
        choices = braces.group(1).split(",")
        room -= len(choices) * (len(head) + len(tail))
        if room < 0 or len(choices) + len(todo) + len(done) > _MOST:
            raise _bad(glob, "its braces stand for more than %d globs, or %d characters" % (_MOST, _ROOM))
        todo.extend(head + choice + tail for choice in choices)
    return done


def choice(globs: str) -> Callable[[str, str], object]:
    """Return a matcher of several globs: a comma outside of braces and brackets stands between two, and one
    after a `!` takes away from what the others find, or from all, with what lies below a directory that it
    matches. Raises ValueError as matcher does."""
    if len(globs) > _LONGEST:
        raise _bad(globs, "it has %d characters, and may have %d" % (len(globs), _LONGEST))
    parts = _parts(globs)
    wanted = [matcher(part) for part in parts if not part.startswith("!")]
    but = [matcher(part[1:].lstrip()) for part in parts if part.startswith("!")]
    if not but:
        return wanted[0] if len(wanted) == 1 else lambda path, name: any(one(path, name) for one in wanted)

    def match(path: str, name: str) -> object:
        if wanted and not any(one(path, name) for one in wanted):
            return False
        while path:
            if any(one(path, name) for one in but):
                return False
            path = path.rpartition("/")[0]
            name = path.rpartition("/")[2]
        return True

    return match


def _parts(globs: str) -> List[str]:
    parts, depth, start = [], 0, 0  # type: List[str], int, int
    for token in _PART.finditer(globs):
        depth += (token.group() == "{") - (token.group() == "}")
        if token.group() == "," and depth <= 0:
            parts.append(globs[start : token.start()])
            start = token.end()
    parts.append(globs[start:])
    return [part.strip() for part in parts if part.strip()] or [globs] if len(parts) > 1 else parts


def matcher(glob: str) -> Callable[[str, str], object]:
    """Return a function of a path below the root and its last name that tells whether it matches.

    A glob with a slash is about the whole path, any other one about the name. Raises ValueError for
    one that is no glob, such as `[z-a]`.
    """
    globs = expand(glob)
    try:
        by_path = _any([g.lstrip("/") if not g.startswith("./") else g[2:] for g in globs if "/" in g])
        by_name = _any([g for g in globs if "/" not in g])
    except re.error as err:
        raise _bad(glob, clip(str(err))) from None

    def match(path: str, name: str) -> object:
        return (by_name and by_name(name)) or (by_path and by_path(path))

    return match


def _bad(glob: str, why: str) -> ValueError:
    return ValueError("bad glob %s: %s" % (clip(repr(glob)), why))


def _any(globs: Sequence[str]) -> Optional[Callable[[str], object]]:
    if not globs:
        return None
    return re.compile("|".join("(?:%s)" % translate(g) for g in globs), re.S).fullmatch


class Rule:
    """One line of a .gitignore."""

    def __init__(self, match: Callable[[str], object], keep: bool, folders: bool) -> None:
        self.match = match
        self.keep = keep  # the line started with "!"
        self.folders = folders  # the line ended with "/"


class Level:
    """The rules of one .gitignore and where it lies."""

    def __init__(self, some: Pattern[str], rules: Sequence[Rule], lead: str, skip: int) -> None:
        self.some = some  # whether a rule may say something at all
        self.rules = rules  # the last line first
        self.lead = lead  # what to put before a path below the search root to make it relative to this file
        self.skip = skip  # how many characters to take from it first

    def verdict(self, path: str, is_dir: bool) -> Optional[bool]:
        """Return True to ignore the path, False to keep it, None without an opinion."""
        here = self.lead + path[self.skip :]
        if not self.some.fullmatch(here):
            return None
        for rule in self.rules:
            if (is_dir or not rule.folders) and rule.match(here):
                return not rule.keep
        return None


def parse_rules(text: str, lead: str = "", skip: int = 0) -> Optional[Level]:
    """Return the rules in the text of a .gitignore, None if there are none. Bad lines are passed over."""
    rules, sources = [], []  # type: List[Rule], List[str]
    for line in text.split("\n"):
        source, rule = _parse_rule(line)
        if rule is not None:
            rules.append(rule)
            sources.append("(?:%s)" % source)
    if not rules:
        return None
    return Level(re.compile("|".join(sources), re.S), rules[::-1], lead, skip)


def _parse_rule(line: str) -> Tuple[str, Optional[Rule]]:
    line = re.sub(r"(?<!\\)[ \t\r]+$", "", line)
    if not line or line[0] == "#":
        return "", None
    keep = line[0] == "!"
    if keep:
        line = line[1:]
    folders = line.endswith("/")
    line = line.rstrip("/")
    anchored = "/" in line
    line = line.lstrip("/")
    if not line:
        return "", None
    source = ("" if anchored else "(?:.*/)?") + translate(line)
    try:
        return source, Rule(re.compile(source, re.S).fullmatch, keep, folders)
    except re.error:
        return "", None


def ignored(levels: Sequence[Level], path: str, is_dir: bool) -> bool:
    """Tell whether the rules ignore a path; the last of levels, the innermost, speaks first."""
    for level in reversed(levels):
        verdict = level.verdict(path, is_dir)
        if verdict is not None:
            return verdict
    return False
