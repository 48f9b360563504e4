"""The text of files, in blocks of whole lines that stay in a processor's cache.

What counts as text: a file without a NUL in its first 64 KiB, or with the byte-order mark of UTF-16
or UTF-32. Text that is not UTF-8 is read all the same, its odd bytes as U+FFFD.
"""

from __future__ import annotations

import codecs
import os

TYPE_CHECKING = False  # typing costs 10 ms at start
if TYPE_CHECKING:
    from typing import Callable, Iterator, List, Optional, Tuple

HEAD = 1 << 16  # bytes that tell what a file is
SMALL = 1 << 20  # bytes searched at once
BLOCK = 1 << 24  # the same where lines must be seen together; a longer line is taken apart
STEP = 1 << 16  # bytes of what stands around a block that are read at once
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_FIRST = {mark[:1] for mark, _ in _MARKS}
# glibc gives memory of this size back to the kernel at once, until it has seen some freed that was as large:
# each block would cost a page fault for every 4 KiB of it, half of the time of a search of a log.
bytes(4 * SMALL)
FLAGS = os.O_RDONLY
for _flag in ("O_NONBLOCK", "O_NOFOLLOW", "O_CLOEXEC", "O_BINARY"):  # not all of them are everywhere
    FLAGS |= getattr(os, _flag, 0)


def encoding_of(head: bytes) -> str:
    """Return Python's name of the encoding that the first bytes of a file show."""
    if head[:1] not in _FIRST:
        return "utf-8"
    for mark, name in _MARKS:
        if head.startswith(mark):
            return name
    return "utf-8"


class Block:
    """Whole lines of a text, and what is needed to tell where they are and what stands around them."""

    __slots__ = ("text", "_file", "_start", "_end")

    def __init__(self, text: str, file: Optional[_File] = None, start: int = 0, end: int = 0) -> None:
        self.text = text
        self._file, self._start, self._end = file, start, end  # without a file the text is all there is

    def number(self) -> int:
        """Return the number of the first line."""
        return 1 if self._file is None else self._file.number(self._start)

    def ahead(self, most: int) -> Iterator[str]:
        """Yield the lines that stand before the block, the last one first: of each the first `most` characters."""
        return iter(()) if self._file is None else self._file.before(self._start, most)

    def behind(self, most: int) -> Iterator[str]:
        """Yield the lines that stand behind the block, in the same way."""
        return iter(()) if self._file is None else self._file.after(self._end, most)


class _File:
    """A file that is read in pieces of whole lines. A line that is longer than BLOCK is read in parts, each
    like a line of its own. Lines are counted where somebody asks: to count them takes longer than to look
    for a text."""

    def __init__(self, fd: int, encoding: str, head: bytes) -> None:
        self._fd = fd
        self._codec, self.begin = _codec(encoding, head)
        self._break = "\n".encode(self._codec)
        self._unit = len(self._break)
        self._offset, self._number = self.begin, 1  # lines are counted to there
        self._cuts = []  # type: List[int]  # where parts of lines end

    def read(self, offset: int, size: int) -> bytes:
        """Read so much, less only at the end."""
        os.lseek(self._fd, offset, os.SEEK_SET)
        return read(self._fd, size)

    def number(self, offset: int) -> int:
        """Return the number of the line that begins at offset; not before one that was asked for."""
        while self._offset < offset:
            data = self.read(self._offset, min(self._rounded(SMALL), offset - self._offset))
            if not data:
                break  # it has become shorter
            self._offset += len(data)
            self._number += _breaks(data) if self._unit == 1 else self._text(data).count("\n")
        return self._number

    def blocks(self, absent: Callable[[bytes], bool], size: int) -> Iterator[Block]:
        """Yield all of it, without what absent says to have nothing in it."""
        for start, data in self._pieces(self.begin, size):
            end = start + len(data)
            if not data.endswith(self._break):
                self._cuts.append(end)
            text = "" if self._unit == 1 and absent(data) else self._text(data)
            data = b""  # one more of them in memory makes a search of a log take twice as long
            if text:
                yield Block(text, self, start, end)

    def before(self, end: int, most: int) -> Iterator[str]:
        """Yield the lines before an offset, the last one first: of each the first `most` characters."""
        size = STEP
        while end > self.begin:
            floor = max([at for at in self._cuts if at < end], default=self.begin)
            start = max(floor, end - size)
            data = self.read(start, end - start)
            if start > floor:
                cut = self._first(data)
                if not 0 < cut < len(data):  # no line begins here
                    if size > 2 * BLOCK:
                        return  # the file is another now
                    size *= 2
                    continue
                start, data = start + cut, data[cut:]
            yield from reversed(self._lines(data, most))
            end, size = start, STEP

    def after(self, start: int, most: int) -> Iterator[str]:
        """Yield the lines from an offset on, in the same way."""
        for _, data in self._pieces(start, STEP):
            yield from self._lines(data, most)

    def _pieces(self, offset: int, size: int) -> Iterator[Tuple[int, bytes]]:
        limit = self._rounded(BLOCK)
        size = min(self._rounded(size), limit)
        while True:
            data = self.read(offset, size)
            if not data:
                return
            if len(data) == size:
                end = self._last(data)
                if not end and size < limit:
                    size = min(2 * size, limit)  # a longer line is likely not the only one
                    continue
                data = data[: end or self._whole(data)]
            yield offset, data
            offset += len(data)

    def _rounded(self, size: int) -> int:
        return max(self._unit, size - size % self._unit)

    def _first(self, data: bytes) -> int:
        """Return the end of the first line break, 0 if there is none."""
        at = data.find(self._break)
        while at > 0 and at % self._unit:
            at = data.find(self._break, at + 1)
        return at + self._unit if at >= 0 else 0

    def _last(self, data: bytes) -> int:
        """Return the end of the last line break, 0 if there is none."""
        at = data.rfind(self._break)
        while at > 0 and at % self._unit:
            at = data.rfind(self._break, 0, at + self._unit - 1)
        return at + self._unit if at >= 0 else 0

    def _whole(self, data: bytes) -> int:
        """Return an end of so much of a line that no character is cut."""
        end = len(data)
        if self._unit == 1:
            for start in range(end - 1, max(end - 4, 0), -1):
                if data[start] & 0xC0 != 0x80:
                    return start
        elif self._unit == 2 and end > 2 and 0xD8 <= data[-1 if self._codec == "utf-16-le" else -2] < 0xDC:
            return end - 2  # half of a pair
        return end

    def _text(self, data: bytes) -> str:
        return unix(data.decode(self._codec, "replace"))

    def _lines(self, data: bytes, most: int) -> List[str]:
        rows = self._text(data).split("\n")
        if not rows[-1]:
            rows.pop()
        return [row[:most] for row in rows]


def _codec(encoding: str, head: bytes) -> Tuple[str, int]:
    """Return the codec of a file behind its byte-order mark, and the length of that."""
    if encoding == "utf-8":
        return encoding, 0
    for mark, name in _MARKS:
        if name == encoding and head.startswith(mark):
            break
    if encoding == "utf-8-sig":
        return "utf-8", len(mark)
    return encoding + ("-le" if mark[:1] == b"\xff" else "-be"), len(mark)


def texts(path: str, absent: Callable[[bytes], bool], size: int) -> Iterator[Block]:
    """Yield the text of a file in blocks of about `size` bytes; nothing of a binary file, and no block
    of which absent says that what is looked for is not there."""
    fd = os.open(path, FLAGS)
    try:
        data = os.read(fd, HEAD)
        encoding = encoding_of(data)
        if _binary(data, encoding):
            return
        more = data and os.read(fd, HEAD)
        if more:
            data += more + read(fd, size - len(data) - len(more))
            if len(data) >= size:
                yield from _File(fd, encoding, data[:4]).blocks(absent, size)
                return
        if encoding != "utf-8" or not absent(data):
            yield Block(unix(data.decode(encoding, "replace")))
    finally:
        os.close(fd)


def is_binary(path: str) -> bool:
    """Tell whether a file is no text."""
    fd = os.open(path, FLAGS)
    try:
        data = os.read(fd, HEAD)
    finally:
        os.close(fd)
    return _binary(data, encoding_of(data))


def _binary(head: bytes, encoding: str) -> bool:
    return b"\0" in head and not encoding.startswith(("utf-16", "utf-32"))


def read(fd: int, size: int) -> bytes:
    """Read so much, less only at the end."""
    data = os.read(fd, size) if size > 0 else b""
    if not data or len(data) == size:
        return data
    parts = [data]
    size -= len(data)
    while size > 0:
        part = os.read(fd, min(size, SMALL))
        if not part:
            break
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _breaks(data: bytes) -> int:
    """Return the number of line breaks. This way is two to seven times as fast as bytes.count."""
    return len(data.replace(b"\n", b"\n\n")) - len(data)


def unix(text: str) -> str:
    """Return the text with \\n for \\r\\n."""
    return text.replace("\r\n", "\n") if "\r" in text else text
