"""The small process above every process that the agent starts.

It is a fork of the agent. It leads a session, is the subreaper of what it starts, and ends all of it
when its child ends, when the agent says so, or when the lifeline to the agent breaks. User code that
kills the agent therefore frees nothing. Nor does user code that stops it: the supervisor watches the
agent's link to the host as well, and kills an agent that outlives it.

Its child is forked at once and takes the order, so that nothing but that stands between an order and its
execution. On a pipe the child tells the supervisor "ordered LINGER KILLS", and "failed OP ERRNO" if it
cannot become the command.

On the lifeline the agent says "signal N"; the supervisor says "started PID" or "failed OP ERRNO", and
at the end "survivor PID NAME" for what it could not end, then "exit STATUS OOM" with the wait status,
or −1 if there is none. One line each.
"""

from __future__ import annotations

import _signal  # type: ignore[import]  # signal itself builds enums for 6 ms
import errno
import os
import select
import time

from . import frames, oom, tree
from .scratch import remove_trees

TYPE_CHECKING = False  # typing costs 10 ms at start
if TYPE_CHECKING:
    from typing import Callable, Dict, List, NoReturn, Optional

    Order = Callable[[], Optional["Command"]]

_LEFTOVER_GRACE = 0.5  # seconds between TERM and KILL for what outlives its parent
_AGENT_GRACE = 6.0  # seconds an agent gets to end after its host: it takes 4 at most
_PATIENCE = 2.0  # seconds to wait for a killed process: one in a system call may take long, or for ever

_HUNG_UP = getattr(select, "POLLRDHUP", 0)  # what a socket tells; a pipe's POLLHUP always comes

_IGNORED = ("SIGINT", "SIGTERM", "SIGHUP", "SIGPIPE", "SIGQUIT")
_RESTORED = _IGNORED + ("SIGCHLD", "SIGXFSZ")


class Command:
    def __init__(
        self, args: List[bytes], dir: bytes, env: Dict[bytes, bytes], fds: List[int], linger: bool, kills: int
    ) -> None:
        self.args = args
        self.dir = dir
        self.env = env
        self.fds = fds  # what becomes descriptor 0, 1, 2 and perhaps 3
        self.linger = linger
        self.kills = kills  # what the oom.Counter said before

    @classmethod
    def of(cls, fields: frames.Fields, fds: List[int], kills: int) -> Command:
        """What the fields of a START ask for."""
        env = {}  # type: Dict[bytes, bytes]
        for item in fields.get("env", ()):
            key, _, value = item.partition(b"=")
            env[key] = value
        return cls(fields["arg"], fields["dir"][0], env, fds, bool(frames.number(fields, "linger")), kills)


def run(lifeline: int, link: int, scratch: List[bytes], memory: oom.Counter, order: Order) -> NoReturn:
    """Never returns: the process ends with its work. Link is what the agent reads from the host. Order is
    called by the child when it is prepared; where that returns None there is nothing to do."""
    try:
        _Supervisor(lifeline, link, scratch, memory).run(order)
    except BaseException as e:  # noqa: B902 - a fork of the agent must not go on as the agent
        try:
            os.write(lifeline, b"failed supervise %d\n" % (getattr(e, "errno", None) or errno.EIO))
        except OSError:
            pass
    finally:
        os._exit(0)


class _Supervisor:
    def __init__(self, lifeline: int, link: int, scratch: List[bytes], memory: oom.Counter) -> None:
        self._lifeline = lifeline
        self._link = link
        self._scratch = scratch
        self._memory = memory
        self._agent = os.getppid()
        self._reported = False
        self._linger = False
        self._kills = 0

    def run(self, order: Order) -> None:
        os.setsid()
        reaper = tree.become_subreaper()
        wake = self._prepare_signals()
        child = self._fork(order)
        # The agent's descriptors go: as long as one is open here, its other end sees no EOF. That is
        # why stderr stays: whoever holds its other end sees when the last supervisor is gone. Nobody
        # waits for the end of the link's reading side.
        close_all_but([2, self._lifeline, self._link, child] + wake)
        self._tree = tree.Tree(self._pid, reaper)
        told = {}  # type: Dict[bytes, bytes]
        for line in self._hear(child).splitlines():
            verb, _, told[verb] = line.partition(b" ")
        if b"failed" in told:
            self._tree.end(0, _PATIENCE)
            self._say(b"failed %s\n" % told[b"failed"])
            return
        if b"ordered" not in told:
            return  # the agent is gone, or the child was killed: the agent hears of that by our end
        linger, self._kills = map(int, told[b"ordered"].split())
        self._linger = bool(linger)
        self._say(b"started %d\n" % self._pid)
        self._watch(wake[0])

    def _prepare_signals(self) -> List[int]:
        for name in _IGNORED:
            _signal.signal(getattr(_signal, name), _signal.SIG_IGN)
        r, w = os.pipe()
        for fd in (r, w):
            os.set_blocking(fd, False)
        _signal.set_wakeup_fd(w)
        _signal.signal(_signal.SIGCHLD, _ignore)
        return [r, w]

    def _fork(self, order: Order) -> int:
        """Forks the child, and returns the pipe on which it tells how it gets on."""
        r, w = os.pipe()
        supervisor = os.getpid()
        self._pid = os.fork()
        if self._pid == 0:
            _execute(order, supervisor, w)
        os.close(w)
        return r

    def _hear(self, child: int) -> bytes:
        """All that the child says before it becomes the command or ends."""
        poll = select.poll()
        poll.register(child, select.POLLIN)
        poll.register(self._lifeline, select.POLLIN)
        words = b""
        while True:
            for fd, _ in poll.poll():
                if fd == self._lifeline:  # an order: somebody may have stopped the child, which is to take it
                    poll.unregister(fd)
                    os.kill(self._pid, tree.SIGCONT)
                    continue
                data = os.read(child, 4096)
                if not data:
                    os.close(child)
                    return words
                words += data

    def _watch(self, wake: int) -> None:
        poll = select.poll()
        poll.register(self._lifeline, select.POLLIN)
        poll.register(wake, select.POLLIN)
        poll.register(self._link, _HUNG_UP)  # never read: that is the agent's to do
        orders = b""
        alone = 0.0  # when the host was gone; 0: it is there
        while True:
            events = poll.poll(max(1.0, (alone + _AGENT_GRACE - time.monotonic()) * 1000) if alone else None)
            if alone and time.monotonic() - alone >= _AGENT_GRACE:
                self._kill_agent()
                alone = 0.0
            for fd, _ in events:
                if fd == self._link:
                    poll.unregister(fd)
                    alone = time.monotonic()
                    continue
                if fd == wake:
                    self._drain(wake)
                    if self._child_changed():
                        return
                    continue
                data = self._read_orders()
                if not data:
                    self._tree.end(_LEFTOVER_GRACE, _PATIENCE)
                    self._inherit()
                    return
                *lines, orders = (orders + data).split(b"\n")
                for line in lines:
                    self._obey(line)

    def _kill_agent(self) -> None:
        """Ends an agent that the end of its host has not ended: user code has stopped it. That is the
        order to all supervisors."""
        if os.getppid() == self._agent:
            try:
                os.kill(self._agent, tree.SIGKILL)
            except OSError:
                pass

    def _inherit(self) -> None:
        """Does what a killed agent cannot: ends what it may have had from supervisors that were
        killed with it, which nobody descends from any more, and removes the scratch."""
        if os.getppid() != self._agent or tree.exiting(self._agent):
            tree.end_marked(self._scratch[0], _LEFTOVER_GRACE, _PATIENCE)
        remove_trees(self._scratch)

    def _child_changed(self) -> bool:
        """Collects the dead. True when nothing is left to supervise."""
        empty = self._tree.empty()
        status = self._tree.statuses.get(self._pid)
        if status is None and not self._reported:
            return False
        if status is not None and not self._reported:
            survivors = []  # type: List[str]
            if not self._linger:
                survivors = self._tree.end(_LEFTOVER_GRACE, _PATIENCE)
            self._report(status, survivors)
        return empty or not self._linger

    def _report(self, status: int, survivors: List[str]) -> None:
        self._reported = True
        lines = [b"survivor %s\n" % s.encode("utf-8", "replace").replace(b"\n", b"?") for s in survivors]
        lines.append(b"exit %d %d\n" % (status, status != 0 and self._memory.kills() > self._kills))
        self._say(b"".join(lines))

    def _obey(self, line: bytes) -> None:
        verb, _, number = line.partition(b" ")
        if verb != b"signal":
            return
        if int(number) == tree.SIGKILL:
            survivors = self._tree.kill(_PATIENCE)
            if not self._reported:
                self._report(self._tree.statuses.get(self._pid, -1), survivors)
        else:
            self._tree.signal(int(number))

    def _read_orders(self) -> bytes:
        try:
            return os.read(self._lifeline, 4096)
        except OSError:
            return b""

    def _drain(self, fd: int) -> None:
        try:
            while os.read(fd, 4096):
                pass
        except OSError:
            pass

    def _say(self, line: bytes) -> None:
        try:
            os.write(self._lifeline, line)
        except OSError:
            pass


def _ignore(_number: int, _frame: object) -> None:
    pass  # a handler has to be there for the wake-up descriptor to be written


def close_all_but(keep: List[int]) -> None:
    """Closes every descriptor that is not to be kept."""
    start = 0
    for fd in sorted(keep) + [_max_fd()]:
        if fd > start:  # closerange(0, 0) closes all: it asks the kernel for 0 to −1
            os.closerange(start, fd)
        start = fd + 1


def _max_fd() -> int:
    try:
        return max(int(name) for name in os.listdir("/dev/fd")) + 1
    except (OSError, ValueError):
        return 4096


def _execute(order: Order, supervisor: int, told: int) -> NoReturn:
    """In the child: becomes the command, or tells why not and exits."""
    op = b"prepare"
    try:
        os.setpgid(0, 0)
        tree.die_with_parent()  # user code that kills its supervisor ends itself, at the latest
        if os.getppid() != supervisor:
            os._exit(0)
        _signal.set_wakeup_fd(-1)
        for name in _RESTORED:
            _signal.signal(getattr(_signal, name), _signal.SIG_DFL)
        _signal.pthread_sigmask(_signal.SIG_SETMASK, [])
        command = order()
        if not command:
            os._exit(0)
        os.write(told, b"ordered %d %d\n" % (command.linger, command.kills))  # ends a child without supervisor
        _place(command.fds, told)
        op = b"chdir"
        os.chdir(command.dir)
        op = b"exec"
        _exec(command)
    except OSError as e:
        os.write(told, b"failed %s %d\n" % (op, e.errno or errno.EIO))
    except BaseException:  # noqa: B902 - nothing may escape into the agent's code
        os.write(told, b"failed %s %d\n" % (op, errno.EINVAL))
    finally:
        os._exit(127)


def _place(fds: List[int], keep: int) -> None:
    """Makes fds the descriptors 0, 1, 2 …, and closes all others but keep, which exec closes."""
    import fcntl

    # First out of the way, so that no move overwrites a source.
    high = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 16) for fd in fds]
    for target, fd in enumerate(high):
        os.dup2(fd, target, inheritable=True)
    # What the agent itself has inherited, from whoever started hermes-exec, is not closed by exec.
    close_all_but([*range(len(fds)), keep])


def _exec(command: Command) -> NoReturn:
    program = command.args[0]
    if not program:
        raise OSError(errno.ENOENT, os.strerror(errno.ENOENT))
    if b"/" in program:
        os.execve(program, command.args, command.env)
    worst = errno.ENOENT
    for folder in command.env.get(b"PATH", b"/usr/local/bin:/usr/bin:/bin").split(b":"):
        try:
            os.execve(os.path.join(folder or b".", program), command.args, command.env)
        except OSError as e:
            if e.errno not in (errno.ENOENT, errno.ENOTDIR):
                worst = e.errno or worst
    raise OSError(worst, os.strerror(worst))
