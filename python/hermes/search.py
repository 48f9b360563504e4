"""search_files: a walk that heeds .gitignore, and the lines that match.

What counts as text: a file without a NUL in its first 64 KiB, or with the byte-order mark of UTF-16
or UTF-32. Text that is not UTF-8 is searched all the same, its odd bytes read as U+FFFD. Symlinks
below the root are not followed; FIFOs, sockets and devices are passed over, and so is .git.
"""

from __future__ import annotations

import codecs
import os
import stat

from . import globs, lines
from .clip import clip

TYPE_CHECKING = False  # typing costs 10 ms at start
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Tuple

    Row = Dict[str, Any]
    # The text of a file in blocks of whole lines, each with the number of its first line.
    Texts = Iterable[Tuple[str, int]]

HEAD = 1 << 16  # bytes that tell what a file is
BLOCK = 1 << 24  # bytes searched at once; a longer line is searched in pieces
MAX_LINE = 10_000  # characters of a line that a row shows
MAX_CONTEXT = 1 << 20  # characters of context on either side of a match
MAX_ROWS = 8 << 20  # characters of all rows, so that the answer fits a line of 64 MiB
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_FIRST = {mark[:1] for mark, _ in _MARKS}
_FLAGS = os.O_RDONLY
for _flag in ("O_NONBLOCK", "O_NOFOLLOW", "O_CLOEXEC", "O_BINARY"):  # not all of them are everywhere
    _FLAGS |= getattr(os, _flag, 0)


def encoding_of(head: bytes) -> str:
    """Return Python's name of the encoding that the first bytes of a file show."""
    if head[:1] not in _FIRST:
        return "utf-8"
    for mark, name in _MARKS:
        if head.startswith(mark):
            return name
    return "utf-8"


class Rows:
    """The rows between offset and offset + limit, and how many there are in all."""

    def __init__(self, offset: int, limit: int) -> None:
        self.offset, self.limit = offset, limit
        self.total = 0
        self.kept = []  # type: List[Row]
        self._room = MAX_ROWS

    def wanted(self) -> bool:
        """Count one row and tell whether it is to be kept."""
        self.total += 1
        return self.offset < self.total <= self.offset + self.limit and self._room > 0

    def keep(self, row: Row) -> None:
        """Keep a row, unless that would make the answer too large: then it is the end."""
        self._room -= 100 + sum(map(_size, row.values()))
        if self._room > 0 or not self.kept:
            self.kept.append(row)

    def result(self) -> Row:
        """Return the answer."""
        truncated = self.offset + len(self.kept) < self.total
        return {"matches": self.kept, "total_count": self.total, "truncated": truncated}


def _size(value: Any) -> int:
    if isinstance(value, list):
        return sum(map(_size, value))
    return len(value) if isinstance(value, str) else 8


def search_files(request: Row) -> Row:
    """Answer a request. Raises ValueError or OSError with a text for the caller."""
    rows = Rows(request["offset"], request["limit"])
    if request["target"] == "files":
        _find(request, rows)
    else:
        _grep(request, rows)
    return rows.result()


def _find(request: Row, rows: Rows) -> None:
    """Look for files by name. Without a wildcard the pattern is a part of the name."""
    pattern = request["pattern"]
    if not pattern:
        raise ValueError("the pattern is empty")
    plain = not any(char in pattern for char in "*?[{/")
    wanted = globs.matcher("*%s*" % pattern if plain else pattern)
    for file in _files(request):
        if wanted(file.below, file.name) and rows.wanted():
            rows.keep({"path": file.shown})


def _grep(request: Row, rows: Rows) -> None:
    finder = lines.Finder(request["pattern"])
    collect = {"content": _content, "files_only": _first, "count": _count}[request["output_mode"]]
    if request.get("text") is not None:
        collect(rows, request["name"], [(_unix(request["text"]), 1)], finder, request["context"])
        return
    literal = finder.literal.encode()
    for file in _files(request):
        try:
            collect(rows, file.shown, _texts(file.path, literal), finder, request["context"])
        except OSError:
            continue  # gone, or not ours to read: a search goes on


def _content(rows: Rows, path: str, texts: Texts, finder: lines.Finder, context: int) -> None:
    for text, number in texts:
        last = 0
        for start, end, first in finder.spans(text):
            if not rows.wanted():
                continue
            number += text.count("\n", last, start)
            last = start
            row = {"path": path, "line": number, "content": _cut(text, start, end, first)}
            if context:
                row["before"] = _before(text, start, context)
                row["after"] = _after(text, end, context)
            rows.keep(row)


def _first(rows: Rows, path: str, texts: Texts, finder: lines.Finder, _context: int) -> None:
    for text, _ in texts:
        for _span in finder.spans(text):
            if rows.wanted():
                rows.keep({"path": path})
            return


def _count(rows: Rows, path: str, texts: Texts, finder: lines.Finder, _context: int) -> None:
    count = sum(1 for text, _ in texts for _span in finder.spans(text))
    if count and rows.wanted():
        rows.keep({"path": path, "count": count})


def _cut(text: str, start: int, end: int, first: int) -> str:
    """Return a line; of an overlong one the part around the match."""
    if end - start > MAX_LINE:
        start = max(start, min(first - MAX_LINE // 4, end - MAX_LINE))
        end = start + MAX_LINE
    return text[start:end]


def _before(text: str, start: int, count: int) -> List[str]:
    found, room = [], MAX_CONTEXT  # type: List[str], int
    while start > 0 and len(found) < count and room > 0:
        end = start - 1
        start = text.rfind("\n", 0, end) + 1
        found.append(_cut(text, start, end, start))
        room -= 100 + len(found[-1])
    return found[::-1]


def _after(text: str, end: int, count: int) -> List[str]:
    found, room, size = [], MAX_CONTEXT, len(text)  # type: List[str], int, int
    while end + 1 < size and len(found) < count and room > 0:
        start = end + 1
        end = text.find("\n", start)
        if end < 0:
            end = size
        found.append(_cut(text, start, end, start))
        room -= 100 + len(found[-1])
    return found


def _texts(path: str, literal: bytes) -> Texts:
    """Yield the text of a file, nothing for a binary one or where the literal cannot be."""
    fd = os.open(path, _FLAGS)
    try:
        data = os.read(fd, HEAD)
        encoding = encoding_of(data)
        if b"\0" in data and not encoding.startswith(("utf-16", "utf-32")):
            return
        more = data and os.read(fd, HEAD)
        if more:
            data += more + _read(fd, BLOCK - len(data) - len(more))
            if len(data) >= BLOCK:
                yield from _blocks(fd, data, encoding)
                return
        if encoding != "utf-8" or literal in data:
            yield _unix(data.decode(encoding, "replace")), 1
    finally:
        os.close(fd)


def _blocks(fd: int, data: bytes, encoding: str) -> Texts:
    """Yield a file of more than one block, of which data is the first."""
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    carry, number = "", 1
    while data:
        more = _read(fd, BLOCK)
        text = _unix(carry + decoder.decode(data, not more))
        cut = text.rfind("\n") + 1
        if not more or not cut:
            cut = len(text)
        carry = text[cut:]
        yield text[:cut], number
        number += text.count("\n", 0, cut)
        data = more


def _read(fd: int, size: int) -> bytes:
    parts = []  # type: List[bytes]
    while size > 0:
        part = os.read(fd, min(size, 1 << 20))
        if not part:
            break
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _unix(text: str) -> str:
    return text.replace("\r\n", "\n") if "\r" in text else text


class File:
    """A file that the walk came to."""

    __slots__ = ("path", "shown", "below", "name")

    def __init__(self, path: str, shown: str, below: str, name: str) -> None:
        self.path = path  # to open it
        self.shown = shown  # to show it, and for the caller to hand back
        self.below = below  # below the search root
        self.name = name


def _files(request: Row) -> Iterator[File]:
    """Yield the regular files below the path of the request, or that one file, in a stable order."""
    root, name = request["path"], request["name"]
    mode = os.stat(root).st_mode
    glob = request.get("file_glob")
    wanted = globs.matcher(glob) if glob else None
    if stat.S_ISREG(mode):
        base = os.path.basename(root)
        if wanted is None or wanted(base, base):
            yield File(os.path.realpath(root), _show(name), base, base)
        return
    if not stat.S_ISDIR(mode):
        raise ValueError("%s is neither a file nor a directory" % clip(name))
    lead = "" if name in (".", "./") else _show(name).rstrip("/") + "/"
    yield from _walk(root, lead, wanted, outer_levels(root, request.get("dir")))


def _walk(
    root: str, lead: str, wanted: Optional[Callable[[str, str], object]], outer: List[globs.Level]
) -> Iterator[File]:
    todo = [(root, "", "", outer, True)]
    while todo:
        path, below, name, levels, is_dir = todo.pop()
        if not is_dir:
            if wanted is None or wanted(below, name):
                yield File(path, lead + _show(below), below, name)
            continue
        entries = _entries(path)
        prefix = below + "/" if below else ""
        if any(entry.name == ".gitignore" for entry in entries):
            levels = _deeper(levels, path, "", len(prefix))
        for entry in entries:
            kind = _kind(entry)
            child = prefix + entry.name
            if kind is not None and not (levels and globs.ignored(levels, child, kind)):
                todo.append((entry.path, child, entry.name, levels, kind))


def _entries(path: str) -> List[os.DirEntry[str]]:
    """Return what a directory holds, the last name first; nothing for one that cannot be read."""
    try:
        with os.scandir(path) as found:
            return sorted(found, key=lambda entry: entry.name, reverse=True)
    except OSError:
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
        fd = os.open(os.path.join(path, name), _FLAGS)
    except OSError:
        return levels
    try:
        text = _read(fd, 1 << 20).decode("utf-8", "surrogateescape")
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
