"""A supervisor that is there, with its child, before there is anything to supervise.

The agent forks it as soon as it has greeted. What two forks and the first steps of both take then passes
while the host makes up its mind, and not when somebody waits for a process to start. There is one an
agent, for the first process: a second would lie idle in most environments.
"""

from __future__ import annotations

import _socket
import os
import sys

from . import frames, oom, supervisor, tree

TYPE_CHECKING = False  # typing costs 10 ms at start
if TYPE_CHECKING:
    from typing import List, NoReturn, Optional, Tuple

_ROOM = 1 << 16  # bytes of an order that a fresh socket takes at once; a larger one gets a fork of its own
_LENGTH = 4
_FD = 4  # bytes of a descriptor's number, a C int


class Spare:
    """The agent's side of it. Raises OSError if none can be made."""

    def __init__(self, link: int, scratch: List[bytes], memory: oom.Counter) -> None:
        ours, theirs = _socket.socketpair()
        self.pid = os.fork()
        if self.pid == 0:
            _wait(theirs, link, scratch, memory)
        theirs.close()
        self._socket = ours
        ours.setblocking(False)  # it may have been stopped, and the agent waits for nobody

    def take(self, command: supervisor.Command) -> int:
        """Has it start a command, and returns the lifeline. −1 if it cannot be: then it is gone."""
        order = _encode(command)
        if len(order) <= _ROOM:
            rights = b"".join(fd.to_bytes(_FD, sys.byteorder) for fd in command.fds)
            try:
                sent = self._socket.sendmsg([order], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, rights)])
                if sent == len(order):
                    os.kill(self.pid, tree.SIGCONT)  # somebody may have stopped it
                    return self._socket.detach()
            except OSError:  # it was killed, or takes nothing
                pass
        self.close()
        return -1

    def close(self) -> None:
        """Ends it, even if it took half of an order or was stopped."""
        self._socket.close()
        try:
            if os.waitpid(self.pid, os.WNOHANG)[0] == 0:  # else the number may be another's by now
                os.kill(self.pid, tree.SIGKILL)
        except OSError:
            pass


def _encode(command: supervisor.Command) -> bytes:
    fields = [("dir", command.dir)]  # type: List[Tuple[str, frames.Value]]
    fields += [("linger", int(command.linger)), ("kills", command.kills)]
    fields += [("arg", a) for a in command.args]
    fields += [("env", name + b"=" + value) for name, value in command.env.items()]
    data = frames.encode(fields)
    return len(data).to_bytes(_LENGTH, "big") + data


def _wait(lifeline: _socket.socket, link: int, scratch: List[bytes], memory: oom.Counter) -> NoReturn:
    """In the fork, which must not go on as the agent."""
    try:
        fd = lifeline.fileno()
        # What it has of the agent's goes now: its own lifeline's other end is among it.
        supervisor.close_all_but([2, fd, link])
        supervisor.run(fd, link, scratch, memory, lambda: _receive(lifeline))
    finally:
        os._exit(0)


def _receive(lifeline: _socket.socket) -> Optional[supervisor.Command]:
    """None if the agent is gone. What the agent says after the order is the supervisor's to read."""
    head, ancillary, _, _ = lifeline.recvmsg(_LENGTH, _socket.CMSG_SPACE(4 * _FD))
    rights = b"".join(bytes(value) for _, _, value in ancillary)
    data = _exactly(lifeline, int.from_bytes(head, "big")) if len(head) == _LENGTH else b""
    if not data:
        return None
    fields = frames.decode(data)
    fds = [int.from_bytes(rights[i : i + _FD], sys.byteorder) for i in range(0, len(rights), _FD)]
    return supervisor.Command.of(fields, fds, frames.number(fields, "kills"))


def _exactly(lifeline: _socket.socket, size: int) -> bytes:
    """So many bytes, none if they do not come."""
    data = bytearray()
    while len(data) < size:
        piece = lifeline.recv(size - len(data))
        if not piece:
            return b""
        data += piece
    return bytes(data)
