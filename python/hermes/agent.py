"""The agent: one process per environment, which does what the host asks over its stdio.

One thread, one loop, no blocking. EOF on stdin is the host's death and ends everything that was
started; so does a lease that runs out, for links that freeze instead of breaking.
"""

from __future__ import annotations

import errno
import os
import select
import sys
import time

from . import facts, frames, oom, tree
from .loop import Loop, Out, Stream
from .process import Process
from .scratch import given_dir, own, remove_trees, socket_dir, sweep
from .spare import Spare
from .supervisor import close_all_but

TYPE_CHECKING = False  # typing costs 10 ms at start
if TYPE_CHECKING:
    from .share import Share
    from typing import Callable, Collection, Dict, List, NoReturn, Optional, Set

RESCAN = 0.05  # seconds between two looks at a share that no one was woken for
_PIECE = 1 << 18  # bytes to read from the host at once, into one place: a fresh one is mapped, touched and unmapped
_END = 4.0  # seconds that supervisors get to end what they started: their grace and patience, and some
# Starts a shell by a name with a dash, as login does: not every shell has an option for that.
_AS_LOGIN = b"import os,sys;os.execv(sys.argv[1],['-'+os.path.basename(sys.argv[1])]+sys.argv[2:])"
_AT_ONCE = 0.01  # seconds in which a host that is not far answers a greeting
_SWEEP = 0.5  # seconds to end what killed supervisors have left; nothing else happens meanwhile


class Agent:
    def __init__(self, stdin: int, stdout: int, scratch: List[bytes], lease: float) -> None:
        self._loop = Loop()
        self._out = Out(self._loop, stdout)
        self._stdin = stdin
        self._scratch = scratch
        self._lease = lease
        self._heard = time.monotonic()
        self._piece = bytearray(_PIECE)
        self._buffer = bytearray()  # what was read and is no whole frame yet
        self._streams = {}  # type: Dict[int, Stream]
        self._next = 2  # the guest's streams have even numbers
        self._over = False
        self._begin = {
            frames.START: self._start,
            frames.PUT: self._put,
            frames.GET: self._get,
            frames.LISTEN: self._listen,
            frames.DIAL: self._dial,
            frames.SHARE: self._share,
        }  # type: Dict[int, Callable[[int, frames.Fields], Stream]]
        self._shares = {}  # type: Dict[int, Share]
        self._first = set()  # type: Set[int]  # files in place that a START will ask for
        self._memory = oom.Counter()
        self._spare = None  # type: Optional[Spare]  # the supervisor of the first process

    def greet(self, greeting: bytes, hello: bytes) -> None:
        self._out.say(greeting + frames.frame(frames.HELLO, 0, hello))

    def fork_spare(self) -> None:
        """Forks the first supervisor, if it can: whoever needs one will hear of it else."""
        try:
            self._spare = Spare(self._stdin, self._scratch, self._memory)
        except OSError:  # no process or no descriptor left
            pass

    def run(self, settle: Callable[[], None]) -> None:
        """Returns when the host is gone. Calls settle when the host's first word is worked on, or does not
        come at once."""
        os.set_blocking(self._stdin, False)
        self._loop.want(self._stdin, select.POLLIN, self._read)
        self._loop.step(_AT_ONCE)
        if not self._out.broken:
            settle()
        while not self._over and not self._out.broken:
            self._loop.step(self._timeout())
            for share in list(self._shares.values()):
                share.scan()
            if self._lease and time.monotonic() - self._heard > self._lease:
                return

    def end(self) -> None:
        """Ends every process and waits until the supervisors are gone. Files that did not come to their
        end are undone."""
        running = [s for s in self._streams.values() if isinstance(s, Process)]
        if self._spare:
            self._spare.close()
        for process in running:
            process.abandon()
        for stream in self._streams.values():
            if not isinstance(stream, Process):
                stream.reset()
        deadline = time.monotonic() + _END
        pause = 0.001
        while time.monotonic() < deadline:
            if _childless():
                return
            if all(not _exists(p.pid) for p in running):
                break
            time.sleep(pause)
            pause = min(pause * 2, 0.02)
        _kill_descendants(())

    def _timeout(self) -> Optional[float]:
        waits = []
        if self._shares:
            waits.append(RESCAN)
        if self._lease:
            waits.append(max(0.0, self._lease - (time.monotonic() - self._heard)) + 0.01)
        return min(waits) if waits else None

    def _read(self, _events: int) -> None:
        try:
            n = os.readv(self._stdin, [self._piece])
        except BlockingIOError:
            return
        except OSError:
            n = 0
        if n == 0:
            self._over = True
            return
        self._heard = time.monotonic()
        self._buffer += memoryview(self._piece)[:n]
        self._take_frames()

    def _take_frames(self) -> None:
        buffer, at, size = self._buffer, 0, frames.HEADER.size
        while len(buffer) - at >= size:
            kind, channel, mark, stream, length = frames.HEADER.unpack_from(buffer, at)
            if mark != frames.MARK or length > frames.MAX_PAYLOAD:
                self._over = True  # no host of ours: nothing that follows can be trusted
                self._out.send(frames.REFUSED, 0, b"what came is no frame")
                return
            if len(buffer) - at < size + length:
                break
            payload = bytes(memoryview(buffer)[at + size : at + size + length])
            at += size + length
            self._handle(kind, channel, stream, payload)
        del buffer[:at]

    def _handle(self, kind: int, channel: int, stream: int, payload: bytes) -> None:
        if kind == frames.PING:
            self._out.send(frames.PONG, 0, payload)
        elif kind in self._begin:
            self._open(kind, stream, payload)
        elif stream in self._streams:
            self._pass_on(kind, channel, stream, payload)

    def _open(self, kind: int, stream: int, payload: bytes) -> None:
        try:
            self._keep(stream, self._begin[kind](stream, frames.decode(payload)))
        except (OSError, KeyError, ValueError) as e:
            self._out.send(frames.FAILED, stream, frames.failure("open", getattr(e, "errno", None) or errno.EINVAL))

    def _pass_on(self, kind: int, channel: int, stream: int, payload: bytes) -> None:
        target = self._streams[stream]
        if kind == frames.DATA:
            target.data(channel, payload)
        elif kind == frames.CREDIT:
            target.credit(channel, int.from_bytes(payload, "big"))
        elif kind == frames.EOF:
            target.eof(channel)
        elif kind == frames.RESET:
            target.reset()
        elif kind == frames.ASIDE:
            target.aside()
        elif kind == frames.BACK:
            target.back(int.from_bytes(payload, "big"))
        elif kind == frames.SIGNAL and isinstance(target, Process):
            target.signal(int.from_bytes(payload, "big"))
        self._keep(stream, target)

    def _keep(self, stream: int, target: Stream) -> None:
        """Remembers a stream as long as it has work, a process as long as its supervisor lives."""
        busy = not target.closed or (isinstance(target, Process) and target.alive())
        if busy:
            self._streams[stream] = target
        else:
            self._streams.pop(stream, None)
            self._shares.pop(stream, None)

    def _start(self, stream: int, fields: frames.Fields) -> Stream:
        if "login" in fields:  # asked for before the host knows anything of this environment
            shell = os.environb.get(b"SHELL") or b"/bin/sh"
            fields["arg"] = [os.fsencode(sys.executable), b"-I", b"-S", b"-c", _AS_LOGIN, shell] + fields["arg"]
            fields["env"] = [name + b"=" + value for name, value in os.environb.items()]
            fields["dir"] = self._scratch[:1]
        after = {int(number) for number in fields.get("after", ())}
        in_place, self._first = after <= self._first, self._first - after
        if not in_place:
            raise OSError(errno.ENOENT, "a file that it starts with could not be put in place")
        self._sweep()
        args = self._loop, self._out, stream, fields, self._stdin, self._scratch, self._memory, self._end_orphans
        process = Process(*args, self._spare)
        self._spare = None  # it has a command, or is gone
        return process

    def _end_orphans(self) -> None:
        """Kills what became the agent's own child because its supervisor was killed."""
        living = [s.pid for s in self._streams.values() if isinstance(s, Process) and s.alive()]
        _kill_descendants(living)

    def _sweep(self) -> None:
        """Forgets streams that ended by themselves, and reaps supervisors."""
        _childless()
        for stream, target in list(self._streams.items()):
            self._keep(stream, target)

    def _put(self, stream: int, fields: frames.Fields) -> Stream:
        from .transfer import Put

        share = self._shares.get(frames.number(fields, "share"))
        placed = share.placed if share else None
        if "first" in fields:
            placed = lambda: self._first.add(stream)  # noqa: E731
        return Put(self._out, stream, fields["path"][0], frames.number(fields, "mode"), placed)

    def _get(self, stream: int, fields: frames.Fields) -> Stream:
        from .transfer import Get

        return Get(self._out, stream, fields["path"][0])

    def _listen(self, stream: int, fields: frames.Fields) -> Stream:
        from .relay import Connection, Listener

        def accepted(fd: int) -> int:
            number = self._new_stream()
            self._streams[number] = Connection(self._loop, self._out, number, stream, fd)
            return number

        network, address = frames.text(fields, "network"), fields.get("address", [b""])[0]
        self._sweep()
        return Listener(self._loop, self._out, stream, network, address, accepted)

    def _dial(self, stream: int, fields: frames.Fields) -> Stream:
        from .dial import Dial

        network, address = frames.text(fields, "network"), fields["address"][0]
        return Dial(self._out, stream, network, address, fields.get("data", [b""])[0])

    def _share(self, stream: int, fields: frames.Fields) -> Stream:
        from .share import Share
        from .transfer import Get

        def found(name: bytes, path: bytes) -> None:
            # Claimed first: the guest may take it back at any moment, and it must not cross twice.
            claimed = os.path.join(os.path.dirname(path), b".crossing")
            os.rename(path, claimed)
            number = self._new_stream()
            offer = frames.encode([("share", stream), ("name", name)])
            get = Get(self._out, number, claimed, frames.FILE, offer)
            try:
                os.unlink(claimed)
            except OSError:
                pass
            self._keep(number, get)

        theirs = frames.number(fields, "carried")  # by the host
        share = Share(self._loop, self._out, stream, fields["path"][0], None if theirs else found)
        if not share.closed:
            self._shares[stream] = share
        return share

    def _new_stream(self) -> int:
        self._next += 2
        return self._next


def _exists(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == 0
    except ChildProcessError:
        return False


def _childless() -> bool:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
        return False
    except ChildProcessError:
        return True


def _kill_descendants(but: Collection[int]) -> None:
    """Until none is left: one may fork while others are looked at."""
    deadline = time.monotonic() + _SWEEP
    while True:
        found = tree.descendants(os.getpid(), but)
        for proc in found:
            tree.send(proc, tree.SIGKILL)
        if not found or time.monotonic() > deadline:
            return
        time.sleep(0.001)
        _childless()


def _move_stdio() -> List[int]:
    """Takes the link off the numbers that everything inherits."""
    import fcntl

    moved = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in (0, 1)]
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1):
        os.dup2(null, fd)
    os.close(null)
    return moved


def _sweep_aside(roots: List[str]) -> None:
    """Removes what killed agents have left, in a process of its own: there may be much. It lets go of
    the link and all else whose end others wait for."""
    try:
        if os.fork():
            return
    except OSError:  # no process left
        return
    try:
        os.dup2(os.open(os.devnull, os.O_RDWR), 2)
        close_all_but([0, 1, 2])
        os.nice(19)
        sweep(roots)
    finally:
        os._exit(0)


def _bundle(library: str) -> None:
    """The next start is sooner, then. This one goes on whatever is wrong with the library."""
    try:
        from . import bundle

        bundle.write(library)
    except Exception:  # bytecode that is damaged can raise anything
        pass


def main(
    greeting: bytes, temp: str, scratch: str, library: str, lease: float, volatile: bool, unbundled: str
) -> NoReturn:
    """Called by the bootstrap with what it has prepared; never returns. A volatile scratch goes by
    itself, sooner than it could be removed. Unbundled is a library of the host's that lacks its bundle."""
    stdin, stdout = _move_stdio()
    agent = None
    sockets = given_dir(sys.argv[1:]) or socket_dir(scratch)
    ours = [os.fsencode(path) for path in (scratch, sockets)]
    try:
        agent = Agent(stdin, stdout, ours, lease)
        agent.greet(greeting, frames.encode(facts.hello(temp, scratch, library, sockets)))
        tree.hide()  # what it forks is hidden with it, until it executes something
        tree.become_subreaper()
        agent.fork_spare()  # before what the host need not wait for

        def settle() -> None:
            if not volatile:
                own(scratch)
            if lease and not volatile:  # on the host's own machine it is the host that looks after that
                _sweep_aside([temp, os.path.dirname(sockets)])
            if unbundled:
                _bundle(unbundled)

        agent.run(settle)
    finally:
        try:
            if agent:
                agent.end()
        finally:
            if not volatile:
                remove_trees(ours)
            sys.stderr.flush()
            os._exit(0)
