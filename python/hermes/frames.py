"""The frames of the agent's stream: the Python half of internal/guest/frame.go.

A frame is a header of 12 bytes (kind, channel, the two bytes of MARK, stream, length; big endian) and a
payload. Streams opened by the host have odd numbers, those opened by the guest even ones. A process
has four channels, everything else uses channel 0. Kinds and fields that a side does not know are
ignored, so that either can be newer.

Most payloads are fields: a sequence of (key length, value length, key, value) with lengths of 2 and
4 bytes. Values are bytes, so that argv and paths pass exactly; a key may occur several times.
"""

from __future__ import annotations

import errno
import os
import struct

TYPE_CHECKING = False  # typing costs 10 ms at start
if TYPE_CHECKING:
    from typing import Dict, Iterable, List, Tuple, Union

    Fields = Dict[str, List[bytes]]
    Value = Union[bytes, str, int]

VERSION = 1

HELLO = 1  # guest: facts about the environment
REFUSED = 2  # guest: why there is no agent (text)
PING = 3
PONG = 4
WANT = 5  # guest: it has no library, the bootstrap and one are to come
START = 8  # host: a process
STARTED = 9
FAILED = 10  # guest: what a START, PUT, GET, LISTEN or SHARE met; ends the stream
SIGNAL = 11
EXIT = 12  # guest: after all output
ENDED = 13  # guest: the process is gone; its output may still be on its way
DATA = 16
CREDIT = 17  # both: how many bytes more the other side may send (4 bytes)
EOF = 18  # both: no more data on this channel
RESET = 19  # both: the stream is over, whatever is under way
PUT = 24
GET = 25
DONE = 26  # guest: a PUT is in place; a GET, LISTEN or SHARE is open
ASIDE = 27  # host: the content of a PUT or GET goes another way; guest: where the file lies
BACK = 28  # host: it goes on here
LISTEN = 32
ACCEPT = 33  # guest: a connection, on a stream of the guest's
DIAL = 34  # host: connect somewhere, say something, hang up
SHARE = 40
FILE = 41  # guest: a file of a share, on a stream of the guest's

STDIN, STDOUT, STDERR, CONTROL = range(4)

HEADER = struct.Struct(">BBHII")
MARK = 0xF5FA  # no UTF-8 text has these bytes, and no frame that is read from a wrong place on
MAX_PAYLOAD = 1 << 20  # bytes; a longer frame is a broken peer
WINDOW = 3 << 20  # bytes a channel may send before it gets credit: more than SSH's, so as not to be the narrower one

_LENGTHS = struct.Struct(">HI")


def frame(kind: int, stream: int, payload: bytes = b"", channel: int = 0) -> bytes:
    return HEADER.pack(kind, channel, MARK, stream, len(payload)) + payload


def encode(fields: Iterable[Tuple[str, Value]]) -> bytes:
    parts = []  # type: List[bytes]
    for key, value in fields:
        k = key.encode()
        if isinstance(value, int):
            v = b"%d" % value
        else:
            v = value if isinstance(value, bytes) else value.encode("utf-8", "surrogateescape")
        parts += (_LENGTHS.pack(len(k), len(v)), k, v)
    return b"".join(parts)


def failure(op: Value, number: int) -> bytes:
    """The payload of FAILED. An errno travels by name, because systems number it differently."""
    name = errno.errorcode.get(number, "EIO")
    return encode([("op", op), ("errno", name), ("message", os.strerror(number))])


def decode(payload: bytes) -> Fields:
    """Raises ValueError if payload is cut short."""
    fields = {}  # type: Fields
    at = 0
    while at < len(payload):
        if len(payload) - at < _LENGTHS.size:
            raise ValueError("fields cut short")
        k, v = _LENGTHS.unpack_from(payload, at)
        at += _LENGTHS.size
        if len(payload) - at < k + v:
            raise ValueError("field cut short")
        key = payload[at : at + k].decode("utf-8", "replace")
        fields.setdefault(key, []).append(payload[at + k : at + k + v])
        at += k + v
    return fields


def text(fields: Fields, key: str, default: str = "") -> str:
    values = fields.get(key)
    return values[0].decode("utf-8", "surrogateescape") if values else default


def number(fields: Fields, key: str, default: int = 0) -> int:
    values = fields.get(key)
    return int(values[0]) if values else default
