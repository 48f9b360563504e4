"""Calls to sockets of the host's that stand in the environment."""

from __future__ import annotations

import _socket
import errno
import os

from . import frames
from .loop import Out, Stream

_PATIENCE = 5.0  # seconds for a call to a socket of this machine, which takes none


class Dial(Stream):
    """A call to a socket of the host's, which shows that it can be reached from here. Its name here goes
    when the host gives the socket up: nobody else can remove what stands on this side."""

    def __init__(self, out: Out, stream: int, network: str, address: bytes, data: bytes) -> None:
        self._path = address if network == "unix" else b""
        try:
            _say(network, address, data)
        except OSError as e:
            self.closed = True
            out.send(frames.FAILED, stream, frames.failure("dial", e.errno or errno.ETIMEDOUT))
        else:
            out.send(frames.DONE, stream, b"")

    def reset(self) -> None:
        self.closed = True
        if self._path:
            try:
                os.unlink(self._path)
            except OSError:
                pass  # the host was faster


def _say(network: str, address: bytes, data: bytes) -> None:
    family = {"unix": _socket.AF_UNIX, "tcp": _socket.AF_INET}.get(network)
    if family is None:
        raise OSError(errno.EAFNOSUPPORT, "no such network")
    sock = _socket.socket(family, _socket.SOCK_STREAM, 0)
    try:
        sock.settimeout(_PATIENCE)
        if network == "tcp":
            host, _, port = address.decode().rpartition(":")
            sock.connect((host, int(port)))
        else:
            sock.connect(address)
        sock.sendall(data)
    finally:
        sock.close()
