"""The agent's side of one process: its pipes, its supervisor, and the order of what is told."""

from __future__ import annotations

import _socket
import errno
import os
import select

from . import frames, oom, supervisor, tree
from .loop import Loop, Out, Sink, Stream
from .source import Source

TYPE_CHECKING = False  # typing costs 10 ms at start
if TYPE_CHECKING:
    from .spare import Spare
    from typing import Callable, Dict, List, Optional, Tuple


class Process(Stream):
    """A process from START to EXIT. Also takes DATA, CREDIT and EOF for its channels."""

    def __init__(
        self,
        loop: Loop,
        out: Out,
        stream: int,
        fields: frames.Fields,
        link: int,
        scratch: List[bytes],
        memory: oom.Counter,
        orphaned: Callable[[], None],
        spare: Optional[Spare],
    ) -> None:
        self._memory = memory
        self._orphaned = orphaned  # called when the supervisor was killed
        self._loop, self._out, self._stream = loop, out, stream
        self._sources = {}  # type: Dict[int, Source]
        self._sinks = {}  # type: Dict[int, Sink]
        self._survivors = []  # type: List[bytes]
        self._status = None  # type: Optional[Tuple[int, bool]]  # wait status, oom
        self._started = False
        self._words = b""
        self._supervise(fields, link, scratch, spare)

    def signal(self, number: int) -> None:
        if self.alive():  # also when the command has ended: what it left may linger
            self._tell(b"signal %d\n" % number)
            self._wake()

    def data(self, channel: int, data: bytes) -> None:
        sink = self._sinks.get(channel)
        if sink:
            sink.data(data)

    def eof(self, channel: int) -> None:
        sink = self._sinks.get(channel)
        if sink:
            sink.eof()

    def credit(self, channel: int, n: int) -> None:
        source = self._sources.get(channel)
        if source and not source.done:
            source.credit(n)
            self._pump_control()

    def reset(self) -> None:
        self._hang_up()

    def _supervise(self, fields: frames.Fields, link: int, scratch: List[bytes], spare: Optional[Spare]) -> None:
        plan = _Plan()
        try:
            command = plan.prepare(fields, self._memory.kills())
            self._kills = command.kills
            self._lifeline = spare.take(command) if spare else -1
            if spare and self._lifeline >= 0:
                self.pid = spare.pid
            else:
                self._fork(command, link, scratch)
        except BaseException:  # no process or no descriptor left, or a field: all may pass
            plan.close()
            raise
        os.set_blocking(self._lifeline, False)
        plan.close_theirs()
        self._adopt(plan)
        self._loop.want(self._lifeline, select.POLLIN, self._listen)

    def _fork(self, command: supervisor.Command, link: int, scratch: List[bytes]) -> None:
        ours, theirs = _socket.socketpair()
        self.pid = os.fork()
        if self.pid == 0:
            supervisor.run(theirs.detach(), link, scratch, self._memory, lambda: command)
        theirs.close()
        self._lifeline = ours.detach()

    def _adopt(self, plan: "_Plan") -> None:
        loop, out, stream = self._loop, self._out, self._stream
        if plan.stdin >= 0:
            self._sinks[frames.STDIN] = Sink(loop, out, plan.stdin, stream, frames.STDIN)
        for channel, fd in ((frames.STDOUT, plan.stdout), (frames.STDERR, plan.stderr)):
            if fd >= 0:
                keep = plan.keep.get(channel)
                self._sources[channel] = Source(
                    loop, out, fd, stream, channel, keep, self._advance, moved=self._pump_control
                )
        if plan.control >= 0:
            # One socket, two directions, each with a descriptor to close.
            fd, write = plan.control, os.dup(plan.control)
            self._sinks[frames.CONTROL] = Sink(
                loop, out, write, stream, frames.CONTROL, finish=lambda: _end_writing(write)
            )
            self._sources[frames.CONTROL] = Source(
                loop, out, fd, stream, frames.CONTROL, finished=self._advance, ready=self._output_forwarded
            )

    def _output_forwarded(self) -> bool:
        """Forwards what the process printed before the control message that was just read. Only then
        is it known to be complete: printed between a look at the output and the read, it could
        otherwise come after."""
        # Not a generator inside all(): both have to be pumped.
        return all([self._sources[c].pump() for c in (frames.STDOUT, frames.STDERR) if c in self._sources])

    def _pump_control(self) -> None:
        control = self._sources.get(frames.CONTROL)
        if control and not control.done:
            control.pump()

    def _listen(self, _events: int) -> None:
        try:
            data = os.read(self._lifeline, 4096)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        *lines, self._words = (self._words + data).split(b"\n")
        for line in lines:
            self._hear(line)
        if not data:
            self._supervisor_ended()

    def _hear(self, line: bytes) -> None:
        verb, _, rest = line.partition(b" ")
        if verb == b"started":
            self._started = True
            self._out.send(frames.STARTED, self._stream, frames.encode([("pid", rest)]))
        elif verb == b"failed":
            op, _, number = rest.partition(b" ")
            self._fail(op, int(number))
        elif verb == b"survivor":
            self._survivors.append(rest)
        elif verb == b"exit":
            status, _, starved = rest.partition(b" ")
            self._status = int(status), starved == b"1"
            self._settle()

    def _fail(self, op: bytes, number: int, starved: bool = False) -> None:
        oom = frames.encode([("oom", int(starved))])
        self._out.send(frames.FAILED, self._stream, frames.failure(op, number) + oom)
        self._started = False
        self._status = -1, False
        self._hang_up()

    def _settle(self) -> None:
        """The command has ended: tells how, takes what is left of its output, and ends the stream."""
        self._out.send(frames.ENDED, self._stream, frames.encode(self._fate()))
        for source in list(self._sources.values()):
            source.end_after_this()
        for sink in self._sinks.values():
            sink.close()
        self._advance()

    def _advance(self) -> None:
        if self._status is None or self.closed or any(not s.done for s in self._sources.values()):
            return
        self.closed = True
        self._out.send(frames.EXIT, self._stream, frames.encode(self._ending()))

    def _fate(self) -> List[Tuple[str, frames.Value]]:
        assert self._status is not None
        status, starved = self._status
        fields = []  # type: List[Tuple[str, frames.Value]]
        if status >= 0:
            signaled = os.WIFSIGNALED(status)
            fields.append(("signal", os.WTERMSIG(status)) if signaled else ("code", os.WEXITSTATUS(status)))
        fields.append(("oom", int(starved)))
        return fields + [("survivor", s) for s in self._survivors]

    def _ending(self) -> List[Tuple[str, frames.Value]]:
        fields = self._fate()
        for channel, name in ((frames.STDOUT, "stdout"), (frames.STDERR, "stderr")):
            source = self._sources.get(channel)
            if source:
                fields += [(name + "_total", source.total), (name + "_omitted", source.omitted)]
        return fields

    def _supervisor_ended(self) -> None:
        """At its lifeline's EOF. Without a word before, something killed it: the status is lost,
        and its children have come to the agent, which ends them."""
        self._loop.forget(self._lifeline)
        os.close(self._lifeline)
        self._lifeline = -1
        if self._status is None:
            self._orphaned()
            self._status = -1, self._memory.kills() > self._kills
            if self._started:
                self._settle()
            else:
                self._fail(b"supervise", errno.EPIPE, self._status[1])
        self._hang_up()

    def _hang_up(self) -> None:
        """Lets go of everything. The supervisor ends the command if it still runs."""
        if self._lifeline >= 0 and (self._status is None or self._status[0] < 0):
            self._loop.forget(self._lifeline)
            os.close(self._lifeline)
            self._lifeline = -1
        if self.closed or not self._started:
            self.closed = True
            for source in self._sources.values():
                source.close()
            for sink in self._sinks.values():
                sink.close()

    def abandon(self) -> None:
        """The agent ends: closing the lifeline is the order to end everything."""
        if self._lifeline >= 0:
            os.close(self._lifeline)
            self._lifeline = -1
            self._wake()

    def alive(self) -> bool:
        return self._lifeline >= 0

    def _wake(self) -> None:
        """User code may have stopped the supervisor, which then obeys nothing."""
        try:
            os.kill(self.pid, tree.SIGCONT)
        except OSError:
            pass  # it has ended

    def _tell(self, line: bytes) -> None:
        try:
            os.write(self._lifeline, line)
        except OSError:
            pass  # it has ended; its last words are on their way


def _end_writing(fd: int) -> None:
    """Closes a descriptor of a socket that has another one, so that the peer sees EOF."""
    s = _socket.socket(fileno=fd)
    try:
        s.shutdown(_socket.SHUT_WR)
    except OSError:
        pass  # the peer is gone
    s.close()


class _Plan:
    """The descriptors of a process: ours to keep, theirs to pass on."""

    def __init__(self) -> None:
        self._theirs = []  # type: List[int]
        self.stdin = self.stdout = self.stderr = self.control = -1
        self.keep = {}  # type: Dict[int, Tuple[int, int]]

    def prepare(self, fields: frames.Fields, kills: int) -> supervisor.Command:
        stdin, self.stdin = self._input(frames.number(fields, "stdin"))
        stdout, self.stdout = self._output(fields, "stdout_path")
        merged = frames.number(fields, "merge")
        stderr, self.stderr = (stdout, -1) if merged else self._output(fields, "stderr_path")
        fds = [stdin, stdout, stderr]
        if frames.number(fields, "control"):
            ours, theirs = _socket.socketpair()
            self.control = ours.detach()
            fds.append(theirs.detach())
            self._theirs.append(fds[-1])
        for channel, name in ((frames.STDOUT, "stdout"), (frames.STDERR, "stderr")):
            if name + "_head" in fields:
                self.keep[channel] = frames.number(fields, name + "_head"), frames.number(fields, name + "_tail")
        return supervisor.Command.of(fields, fds, kills)

    def close_theirs(self) -> None:
        for fd in self._theirs:
            os.close(fd)

    def close(self) -> None:
        self.close_theirs()
        for fd in (self.stdin, self.stdout, self.stderr, self.control):
            if fd >= 0:
                os.close(fd)

    def _input(self, wanted: int) -> Tuple[int, int]:
        """The process's end and ours."""
        if not wanted:
            self._theirs.append(os.open(os.devnull, os.O_RDONLY))
            return self._theirs[-1], -1
        r, w = os.pipe()
        self._theirs.append(r)
        return r, w

    def _output(self, fields: frames.Fields, key: str) -> Tuple[int, int]:
        """The process's end and ours. Under a path there is a FIFO that the host reads itself."""
        if key in fields:
            # Without blocking: a host that is gone reads nothing, and open would wait for it.
            fd = os.open(fields[key][0], os.O_WRONLY | os.O_NONBLOCK)
            self._theirs.append(fd)
            os.set_blocking(fd, True)
            return fd, -1
        r, w = os.pipe()
        self._theirs.append(w)
        return w, r
