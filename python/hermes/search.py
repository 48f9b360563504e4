"""search_files: a walk that heeds .gitignore, and the lines that match.

Symlinks below the root are not followed; FIFOs, sockets and devices are passed over, and so is .git.
"""

from __future__ import annotations

import errno
import os
import stat

from . import globs, lines, texts
from .clip import clip

TYPE_CHECKING = False  # typing costs 10 ms at start
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Tuple

    Row = Dict[str, Any]
    Blocks = Iterable[texts.Block]

MAX_LINE = 10_000  # characters of a line that a row shows
MAX_CONTEXT = 1 << 20  # characters of context on either side of a match, and 100 a line
MAX_ROWS = 8 << 20  # characters of all rows, so that the answer fits a line of 64 MiB


class Rows:
    """The rows between offset and offset + limit, and how many there are in all."""

    def __init__(self, offset: int, limit: int) -> None:
        self.offset, self.limit = offset, limit
        self.total = 0
        self.kept = []  # type: List[Row]
        self._room = MAX_ROWS
        self._cut = []  # type: List[Row]  # those whose context is not whole

    def wanted(self) -> bool:
        """Count one row and tell whether it is to be kept."""
        self.total += 1
        return self.offset < self.total and not self.full()

    def full(self) -> bool:
        """Tell whether rows to come are only counted."""
        return len(self.kept) >= self.limit or self._room <= 0

    def keep(self, row: Row, cut: bool = False) -> None:
        """Keep a row, unless that would make the answer too large: then it is the end. Cut says that its
        context is not whole."""
        self._room -= 100 + sum(map(_size, row.values()))
        if self._room > 0 or not self.kept:
            self.kept.append(row)
            if cut:
                self._cut.append(row)

    def result(self) -> Row:
        """Return the answer."""
        end = self.offset + len(self.kept)
        more = self.offset < end < self.total  # who asks for no rows would go on for ever
        answer = {
            "matches": self.kept,
            "total_count": self.total,
            "truncated": end < self.total,
            "next_offset": end if more else None,
        }  # type: Row
        if self._cut:
            answer["note"] = (
                "the context of %d matches is cut, first of line %d of %s: at most %d characters come back on either side, "
                "each line counted with 100 more"
                % (len(self._cut), self._cut[0]["line"], clip(self._cut[0]["path"]), MAX_CONTEXT)
            )
        return answer


class Glob:
    """What files a search is to look at, and how many it was asked about."""

    def __init__(self, text: str) -> None:
        self._match = globs.choice(text)
        self.passed = self.refused = 0

    def __call__(self, path: str, name: str) -> bool:
        if self._match(path, name):
            self.passed += 1
            return True
        self.refused += 1
        return False


class Missed:
    """What could not be read below the root, of which a search that found nothing must not be silent."""

    def __init__(self, root: str) -> None:
        self._root = (root, os.path.realpath(root))
        self._count = 0
        self._first = ""

    def add(self, path: str, shown: str, err: OSError) -> None:
        """Count one. What was asked for itself is raised."""
        if path in self._root:
            raise err
        if err.errno == errno.ENOENT:  # gone meanwhile
            return
        self._count += 1
        self._first = self._first or "%s: %s" % (clip(shown), (err.strerror or str(err)).lower())

    def note(self) -> str:
        """Return what to say of it, if there is something."""
        if self._count < 2:
            return self._first and "a file or directory could not be read: " + self._first
        return "%d files or directories could not be read, first of them %s" % (self._count, self._first)


def _size(value: Any) -> int:
    if isinstance(value, list):
        return sum(map(_size, value))
    return len(value) if isinstance(value, str) else 8


def search_files(request: Row) -> Row:
    """Answer a request. Raises ValueError or OSError with a text for the caller."""
    rows = Rows(request["offset"], request["limit"])
    missed = Missed(request["path"])
    glob = Glob(request["file_glob"]) if request.get("file_glob") else None
    if request["target"] == "files":
        _find(request, rows, missed, glob)
    else:
        _grep(request, rows, missed, glob)
    answer = rows.result()
    notes = [answer.pop("note", ""), _unheeded(request), missed.note()]
    if not rows.total:
        notes.append(_idle(request, glob))
    if any(notes):
        answer["note"] = "; ".join(filter(None, notes))
    return answer


def _unheeded(request: Row) -> str:
    """Say what was asked for that rows of this kind cannot have, if something was."""
    mode, context = request["output_mode"], request["context"]
    if request["target"] == "files":
        asked = ['output_mode="count"'] * (mode == "count") + ["context"] * (context > 0)
        if asked:
            return '%s not heeded: target="files" looks at names, and not at lines; its matches have "path" alone' % _were(asked)
    elif mode != "content" and context:
        return '%s not heeded: output_mode="%s" shows no lines; use output_mode="content"' % (_were(["context"]), mode)
    return ""


def _idle(request: Row, glob: Optional[Glob]) -> str:
    """Say why nothing could be found, if that is sure."""
    pattern = request["pattern"]
    if glob and glob.refused and not glob.passed:
        return (
            "no file there matches file_glob %s: a glob is of a name, or of a path below the one that is searched, and "
            "several have commas between them" % clip(repr(request["file_glob"]))
        )
    if request["target"] == "files":
        if any(part in pattern for part in ("\\", ".*", ".+", "^", "$", "|", "(")):
            return 'with target="files" the pattern is a glob such as *.py, and no regular expression'
    elif request.get("text") is None and os.path.isfile(request["path"]) and not glob and texts.is_binary(os.path.realpath(request["path"])):
        return "%s is no text, and was not searched" % clip(request["name"])
    return ""


def _were(asked: List[str]) -> str:
    return " and ".join(asked) + (" were" if len(asked) > 1 else " was")


def _find(request: Row, rows: Rows, missed: Missed, glob: Optional[Glob]) -> None:
    """Look for files by name. Without a wildcard the pattern is a part of the name."""
    pattern = request["pattern"]
    if not pattern:
        raise ValueError("the pattern is empty")
    plain = not any(char in pattern for char in "*?[{/")
    wanted = globs.matcher("*%s*" % pattern) if plain else globs.choice(pattern)
    for file in _files(request, missed, glob):
        if wanted(file.below, file.name) and rows.wanted():
            rows.keep({"path": file.shown})


def _grep(request: Row, rows: Rows, missed: Missed, glob: Optional[Glob]) -> None:
    finder = lines.Finder(request["pattern"])
    collect = {"content": _content, "files_only": _first, "count": _count}[request["output_mode"]]
    if request.get("text") is not None:
        collect(rows, request["name"], [texts.Block(texts.unix(request["text"]))], finder, request["context"])
        return
    size = texts.BLOCK if finder.crosses else texts.SMALL
    for file in _files(request, missed, glob):
        try:
            collect(rows, file.shown, texts.texts(file.path, finder.absent, size), finder, request["context"])
        except OSError as e:
            missed.add(file.path, file.shown, e)  # a search goes on


def _content(rows: Rows, path: str, blocks: Blocks, finder: lines.Finder, context: int) -> None:
    for block in blocks:
        if rows.full():
            rows.total += finder.count(block.text)
            continue
        text, number, last = block.text, 0, 0
        for start, end, first in finder.spans(text):
            if not rows.wanted():
                continue
            number = (number or block.number()) + text.count("\n", last, start)
            last = start
            row = {"path": path, "line": number, "content": _cut(text, start, end, first)}
            cut = False
            if context:
                before, above = _around(_upwards(block, start), context)
                row["before"] = before[::-1]
                row["after"], below = _around(_downwards(block, end), context)
                cut = above or below
            rows.keep(row, cut)


def _first(rows: Rows, path: str, blocks: Blocks, finder: lines.Finder, _context: int) -> None:
    for block in blocks:
        for _span in finder.spans(block.text):
            if rows.wanted():
                rows.keep({"path": path})
            return


def _count(rows: Rows, path: str, blocks: Blocks, finder: lines.Finder, _context: int) -> None:
    count = sum(finder.count(block.text) for block in blocks)
    if count and rows.wanted():
        rows.keep({"path": path, "count": count})


def _cut(text: str, start: int, end: int, first: int) -> str:
    """Return a line; of an overlong one the part around the match."""
    if end - start > MAX_LINE:
        start = max(start, min(first - MAX_LINE // 4, end - MAX_LINE))
        end = start + MAX_LINE
    return text[start:end]


def _around(lines: Iterable[str], count: int) -> Tuple[List[str], bool]:
    """Return so many lines, and whether there are more that do not come back for their size."""
    found, room = [], MAX_CONTEXT  # type: List[str], int
    for line in lines:
        if room <= 0:
            return found, True
        found.append(line)
        room -= 100 + len(line)
        if len(found) == count:
            break
    return found, False


def _upwards(block: texts.Block, start: int) -> Iterator[str]:
    """Yield the lines before a place, the nearest one first, each from its beginning on."""
    text = block.text
    while start > 0:
        end = start - 1
        start = text.rfind("\n", 0, end) + 1
        yield _cut(text, start, end, start)
    yield from block.ahead(MAX_LINE)


def _downwards(block: texts.Block, end: int) -> Iterator[str]:
    """Yield the lines behind a place in the same way."""
    text, start = block.text, end + 1
    while start < len(text):
        end = text.find("\n", start)
        if end < 0:
            end = len(text)
        yield _cut(text, start, end, start)
        start = end + 1
    yield from block.behind(MAX_LINE)


class File:
    """A file that the walk came to."""

    __slots__ = ("path", "shown", "below", "name")

    def __init__(self, path: str, shown: str, below: str, name: str) -> None:
        self.path = path  # to open it
        self.shown = shown  # to show it, and for the caller to hand back
        self.below = below  # below the search root
        self.name = name


def _files(request: Row, missed: Missed, wanted: Optional[Glob]) -> Iterator[File]:
    """Yield the regular files below the path of the request, or that one file, in a stable order."""
    root, name = request["path"], request["name"]
    mode = os.stat(root).st_mode
    if stat.S_ISREG(mode):
        base = os.path.basename(root)
        if wanted is None or wanted(base, base):
            yield File(os.path.realpath(root), _show(name), base, base)
        return
    if not stat.S_ISDIR(mode):
        raise ValueError("%s is neither a file nor a directory" % clip(name))
    lead = "" if name in (".", "./") else _show(name).rstrip("/") + "/"
    yield from _walk(root, lead, wanted, outer_levels(root, request.get("dir")), missed)


def _walk(
    root: str, lead: str, wanted: Optional[Glob], outer: List[globs.Level], missed: Missed
) -> Iterator[File]:
    todo = [(root, "", "", outer, True)]
    while todo:
        path, below, name, levels, is_dir = todo.pop()
        if not is_dir:
            if wanted is None or wanted(below, name):
                yield File(path, lead + _show(below), below, name)
            continue
        entries = _entries(path, lead + _show(below), missed)
        prefix = below + "/" if below else ""
        if any(entry.name == ".gitignore" for entry in entries):
            levels = _deeper(levels, path, "", len(prefix))
        for entry in entries:
            kind = _kind(entry)
            child = prefix + entry.name
            if kind is not None and not (levels and globs.ignored(levels, child, kind)):
                todo.append((entry.path, child, entry.name, levels, kind))


def _entries(path: str, shown: str, missed: Missed) -> List[os.DirEntry[str]]:
    """Return what a directory holds, the last name first; nothing for one that cannot be read."""
    try:
        with os.scandir(path) as found:
            return sorted(found, key=lambda entry: entry.name, reverse=True)
    except OSError as e:
        missed.add(path, shown, e)
        return []


def _kind(entry: os.DirEntry[str]) -> Optional[bool]:
    """Return True for a directory, False for a regular file, None for what a search passes over."""
    try:
        if entry.is_dir(follow_symlinks=False):
            return None if entry.name == ".git" else True
        return False if entry.is_file(follow_symlinks=False) and entry.name != ".git" else None
    except OSError:
        return None


def outer_levels(root: str, stop: Optional[str]) -> List[globs.Level]:
    """Return the rules of the directories above the root that hold for what is below it.

    They are those of the repository that the root lies in; outside of any, those from `stop` down,
    where stop, the caller's directory, is above the root.
    """
    above, path = [], os.path.realpath(root)  # type: List[str], str
    while not os.path.lexists(os.path.join(path, ".git")):
        parent = os.path.dirname(path)
        if parent == path:
            stop = os.path.realpath(stop) if stop else ""
            above = above[: above.index(stop) + 1] if stop in above else []
            break
        above.append(parent)
        path = parent
    levels = []  # type: List[globs.Level]
    real = os.path.realpath(root)
    top = above[-1] if above else real
    levels = _deeper(levels, top, _lead(top, real), 0, os.path.join(".git", "info", "exclude"))
    for path in reversed(above):
        levels = _deeper(levels, path, _lead(path, real), 0)
    return levels


def _lead(above: str, root: str) -> str:
    """Return what makes a path below the root one below the directory above it."""
    relative = os.path.relpath(root, above)
    return "" if relative == "." else relative + "/"


def _deeper(levels: List[globs.Level], path: str, lead: str, skip: int, name: str = ".gitignore") -> List[globs.Level]:
    """Return the levels with that of one more directory, if it has rules."""
    try:
        fd = os.open(os.path.join(path, name), texts.FLAGS)
    except OSError:
        return levels
    try:
        text = texts.read(fd, 1 << 20).decode("utf-8", "surrogateescape")
    except OSError:
        return levels
    finally:
        os.close(fd)
    level = globs.parse_rules(text, lead, skip)
    return levels if level is None else levels + [level]


def _show(path: str) -> str:
    """Return a path as text; bytes that are no UTF-8 become U+FFFD, for JSON has no place for them."""
    try:
        path.encode()
        return path
    except UnicodeEncodeError:
        return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
