"""The file helper: answers read_file, search_files and the checks before a write, a line each. It also
moves and removes files, for patches.

A request is a JSON object with "op"; the answer is "+" and the result as JSON, or "-" and a message
as a JSON string. The host keeps helpers between calls and ends one at a call's deadline, so nothing
here watches the clock. It ends when stdin does.
"""

from __future__ import annotations

import errno
import os
import stat
import sys

from .clip import clip

TYPE_CHECKING = False  # typing costs 10 ms at start
if TYPE_CHECKING:
    from typing import Any, Dict, Iterator, List, Tuple

    Row = Dict[str, Any]

MAX_CONTENT = 10 << 20  # bytes; even with every byte escaped as \\u00XX they fit a line of 64 MiB
MAX_COUNTED = 64 << 20  # bytes of a file whose lines are counted to the end
CHUNK = 1 << 18
_FLAGS = os.O_RDONLY
for _flag in ("O_NONBLOCK", "O_CLOEXEC", "O_BINARY"):  # without the last one Windows translates line ends
    _FLAGS |= getattr(os, _flag, 0)


def main() -> int:
    """Answer requests until stdin ends."""
    import json

    out = sys.stdout.buffer
    for line in sys.stdin.buffer:
        try:
            answer = "+" + json.dumps(handle(json.loads(line)), ensure_ascii=False)
        except Exception as err:  # whatever it is, the next request may be answered
            answer = "-" + json.dumps(message(err), ensure_ascii=False)
        out.write(answer.encode("utf-8", "replace") + b"\n")
        out.flush()
    return 0


def handle(request: Row) -> Row:
    """Answer one request. Raises ValueError or OSError with a text for the caller."""
    op = request["op"]
    try:
        if op == "search_files":
            from . import search

            return search.search_files(request)
        if op == "read_file":
            return read_file(request)
        if op == "prepare":
            return prepare(request)
        if op == "write":
            return write(request)
        if op == "removable":
            return removable(request)
        if op == "vacant":
            return vacant(request)
        if op == "rearrange":
            return rearrange(request)
    except OSError as err:
        raise OSError(err.errno, reason(err), clip(request["name"])) from None
    raise ValueError("unknown operation %r" % op)


def message(err: BaseException) -> str:
    """Return the text of an error, for a person."""
    if isinstance(err, OSError) and err.filename is not None:
        return "%s: %s" % (err.filename, err.strerror)
    return clip(str(err), 1000) or type(err).__name__


def reason(err: OSError) -> str:
    """Return why, in the words of the C library, lower case."""
    text = err.strerror or str(err)
    return text[:1].lower() + text[1:]


def refuse(path: str, name: str) -> os.stat_result:
    """Return the stat of a regular file; raise ValueError that says what else it is."""
    info = os.stat(path)
    for test, what in (
        (stat.S_ISDIR, "a directory"),
        (stat.S_ISFIFO, "a FIFO"),
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISCHR, "a device"),
        (stat.S_ISBLK, "a device"),
    ):
        if test(info.st_mode):
            raise ValueError("%s: is %s, not a regular file" % (name, what))
    return info


def read_file(request: Row) -> Row:
    """Return a window of lines as raw text."""
    path, name = request["path"], clip(request["name"])
    refuse(path, name)  # before it is opened: opening a device can have effects
    fd = os.open(path, _FLAGS)
    try:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode):
            raise ValueError("%s: is not a regular file" % name)
        head = os.read(fd, CHUNK)
        encoding = _encoding(head)
        window = Window(request["offset"], request["limit"], info.st_size <= MAX_COUNTED)
        try:
            for chunk in _chunks(fd, head, encoding):
                if not window.feed(chunk):
                    break
            return window.result(encoding)
        except UnicodeError as err:
            raise ValueError(
                "%s: is not %s text (%s); read binary data with open(path, 'rb')"
                % (name, "UTF-8" if encoding == "utf-8" else encoding.upper(), _where(err))
            ) from None
    finally:
        os.close(fd)


def _where(err: UnicodeError) -> str:
    if isinstance(err, UnicodeDecodeError):
        return "%s: byte 0x%02x" % (err.reason, err.object[err.start])
    return str(err)


def _encoding(head: bytes) -> str:
    if head[:1] < b"\xef" and head[:1] != b"\0":
        return "utf-8"  # and the module below need not be loaded
    from . import texts

    return texts.encoding_of(head)


def _chunks(fd: int, head: bytes, encoding: str) -> Iterator[bytes]:
    """Yield the file as UTF-8, without a byte-order mark."""
    data = head
    if encoding == "utf-8-sig":
        data = head[3:]
    elif encoding != "utf-8":
        yield from _recode(fd, head, encoding)
        return
    while data:
        yield data
        data = os.read(fd, CHUNK)


def _recode(fd: int, data: bytes, encoding: str) -> Iterator[bytes]:
    import codecs

    decoder = codecs.getincrementaldecoder(encoding)()
    while data:
        yield decoder.decode(data).encode()
        data = os.read(fd, CHUNK)
    yield decoder.decode(b"", True).encode()


class Window:
    """Takes a text in chunks and keeps the lines asked for."""

    def __init__(self, offset: int, limit: int, counted: bool) -> None:
        self._line = 1  # the line that the next byte belongs to
        self._first, self._limit = offset, limit
        self._left = limit
        self._counted = counted
        self._parts = []  # type: List[bytes]
        self._size = 0
        self._seen = 0
        self._after = False  # whether there is text behind the window
        self._open = False  # whether the text ends without a line break

    def feed(self, chunk: bytes) -> bool:
        """Take a chunk and tell whether another one is wanted."""
        if not chunk:
            return True
        self._seen += len(chunk)
        self._open = chunk[-1:] != b"\n"
        rest = self._skip(chunk)
        if rest:
            rest = self._take(rest)
        if rest:
            self._after = True
            self._line += rest.count(b"\n")
        if self._counted and self._seen > MAX_COUNTED and self._after:
            self._counted = False
        return self._counted or not self._after

    def _skip(self, chunk: bytes) -> bytes:
        missing = self._first - self._line
        if missing <= 0 or self._after:
            return chunk
        breaks = chunk.count(b"\n")
        self._line += min(breaks, missing)
        if breaks < missing:
            return b""
        return chunk.split(b"\n", missing)[-1]

    def _take(self, chunk: bytes) -> bytes:
        """Keep what belongs to the window and return what does not."""
        if self._after or not self._left:
            return chunk
        pieces = chunk.split(b"\n", self._left)
        rest = pieces[-1] if len(pieces) > self._left else b""
        part = chunk[: len(chunk) - len(rest)] if rest else chunk
        room = MAX_CONTENT - self._size
        if len(part) > room:
            rest, part = chunk[room:], part[:room]
        breaks = part.count(b"\n")
        self._left -= breaks
        self._line += breaks
        self._parts.append(part)
        self._size += len(part)
        return rest

    def result(self, encoding: str) -> Row:
        """Return the answer once all wanted chunks have come."""
        data = b"".join(self._parts)
        taken = self._limit - self._left
        if self._after and self._left:
            data, taken = _whole(data, taken)
        known = self._counted or not self._after
        return {
            "content": data.decode(),
            "total_lines": self._line - 1 + self._open if known else None,
            "truncated": self._after,
            "next_offset": self._first + taken if self._after else None,
            "encoding": encoding,
        }


def _whole(data: bytes, taken: int) -> Tuple[bytes, int]:
    """Cut what outgrew MAX_CONTENT behind its last whole line; of one huge line keep its start."""
    cut = data.rfind(b"\n") + 1
    if cut:
        return data[:cut], taken
    cut = len(data)
    while cut and data[cut - 1] & 0xC0 == 0x80 and len(data) - cut < 3:
        cut -= 1
    if cut and data[cut - 1] >= 0xC0:
        cut -= 1
    return data[:cut], taken + 1


def prepare(request: Row) -> Row:
    """Check that a file can be written and return the mode for a new one, whose parents are made.

    The mode of a file that exists is 0: the host then keeps it. A symlink is resolved, so that what
    it points to is replaced and not the link.
    """
    path, name = request["path"], clip(request["name"])
    target = os.path.realpath(path)
    try:
        refuse(target, name)
    except FileNotFoundError:
        if not request["new"]:
            raise
        if path.endswith("/"):
            raise ValueError("%s: is the name of a directory" % name) from None
        try:
            os.makedirs(os.path.dirname(target), exist_ok=True)
        except FileNotFoundError:  # as /proc says it
            raise ValueError("%s: no directory can be made for it there" % name) from None
        _writable(os.path.dirname(target), name)
        return {"path": target, "mode": 0o666 & ~_umask()}
    _writable(target, name)
    if not os.access(os.path.dirname(target), os.W_OK):  # where what replaces it is made
        raise ValueError("%s: its directory takes no new files, and this is replaced by one; open() can write to it" % name)
    return {"path": target, "mode": 0}


def removable(request: Row) -> Row:
    """Check that a file can be removed. A symlink that leads nowhere can be as well."""
    path = request["path"]
    if not os.path.islink(path) or os.path.exists(path):
        return prepare(request)
    _writable(os.path.dirname(path), clip(request["name"]))
    return {"path": path, "mode": 0}


def write(request: Row) -> Row:
    """Prepare a file and write it: whole or not at all. Whether it is written is "written": the host tries
    again what has failed, and tells why it cannot be."""
    from . import frames
    from .transfer import Put

    file = prepare(request)
    told = _Told()  # type: Any
    put = Put(told, 0, os.fsencode(file["path"]), file["mode"])
    put.data(0, request["content"].encode())
    put.eof(0)
    return dict(file, written=frames.DONE in told.kinds)


class _Told:
    """Stands where a Put would tell the host how it goes."""

    def __init__(self) -> None:
        self.kinds = []  # type: List[int]

    def send(self, kind: int, stream: int, payload: bytes = b"", channel: int = 0) -> None:
        self.kinds.append(kind)


def vacant(request: Row) -> Row:
    """Check that a file can be made where none is, and return its path. Nothing is made yet."""
    path, name = request["path"], clip(request["name"])
    if path.endswith("/"):
        raise ValueError("%s: is the name of a directory" % name)
    if os.path.lexists(path):
        raise ValueError("%s: is there already" % name)
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    while not os.path.lexists(folder):
        folder = os.path.dirname(folder)
    if not os.path.isdir(folder):
        raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), name)
    _writable(folder, name)
    source = request.get("source")
    if source and os.path.islink(source):
        _leads_on(source, target, name)
    return {"path": target, "mode": 0}


def _leads_on(link: str, target: str, name: str) -> None:
    """Check that a symlink, moved, leads where it does now: a relative one is read from where it lies."""
    to = os.readlink(link)
    if os.path.realpath(os.path.join(os.path.dirname(target), to)) != os.path.realpath(link):
        raise ValueError(
            "%s: the symlink that is to be moved there leads to %s, relative to its directory, and would lead elsewhere: "
            "move the file that it leads to, or make the symlink anew" % (name, clip(to))
        )


def rearrange(request: Row) -> Row:
    """Move and remove files: all of them or none. Asked again, it goes on where it was cut off."""
    again = request.get("again", False)
    done = []  # type: List[Tuple[str, str]]
    removed = []  # type: List[str]
    try:
        for i, file in enumerate(request.get("removes", ())):
            request["name"] = file["name"]
            aside = os.path.join(os.path.dirname(file["path"]), ".hermes_removed_%s_%d" % (request["id"], i))
            if not (again and os.path.lexists(aside)):
                try:
                    os.rename(file["path"], aside)
                except FileNotFoundError:
                    if again or request.get("missing"):
                        continue
                    raise
            done.append((aside, file["path"]))
            removed.append(aside)
        for source, target in request.get("moves", ()):
            if not (again and _moved(source["path"], target["path"])):
                request["name"] = (target if os.path.lexists(source["path"]) else source)["name"]
                if os.path.lexists(target["path"]):
                    raise OSError(errno.EEXIST, os.strerror(errno.EEXIST))
                os.rename(source["path"], target["path"])
            done.append((target["path"], source["path"]))
    except OSError as err:
        raise OSError(err.errno, reason(err) + _put_back(done)) from None
    for aside in removed:
        try:
            os.unlink(aside)
        except OSError:
            pass  # all is done: what is left over does no harm
    return {}


def _moved(source: str, target: str) -> bool:
    return os.path.lexists(target) and not os.path.lexists(source)


def _put_back(done: List[Tuple[str, str]]) -> str:
    """Undo moves, as far as that goes, and tell what is left."""
    left = ""
    for now, before in reversed(done):
        try:
            os.rename(now, before)
        except OSError as err:
            left += "; and %s could not be put back, it is %s now: %s" % (clip(before), clip(now), reason(err))
    return left


def _writable(path: str, name: str) -> None:
    if not os.access(path, os.W_OK):
        readonly = hasattr(os, "statvfs") and os.statvfs(path).f_flag & os.ST_RDONLY  # not on Windows
        code = errno.EROFS if readonly else errno.EACCES
        raise OSError(code, os.strerror(code), name)


def _umask() -> int:
    mask = os.umask(0o77)
    os.umask(mask)
    return mask


if __name__ == "__main__":
    sys.exit(main())
