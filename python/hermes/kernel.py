"""The kernel: a Python that lives between cells.

It runs cells in the interpreter's real __main__, one after another. What a cell prints goes to the
process's own stdout and stderr, which the agent reads; the kernel captures nothing. It talks to the
host on descriptor 3, moved out of the way and closed on exec, in fields (see frames.py) behind a
length of four bytes. The host sends cells; the kernel says "ready" once, then "done" after every
cell. It ends at EOF, and when a cell has spoilt that channel.
"""

from __future__ import annotations

import _signal  # type: ignore[import]
import ast
import linecache
import os
import sys
import traceback

from . import cellcode, ending, figures, frames
from .definitions import Definitions
from .scratch import remove_tree
from .streams import Streams, high_copy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FrameType, TracebackType
    from typing import Any, Dict, List, NoReturn, Optional, Tuple

_CONTROL = 3
_LENGTH = 4
_FIGURES = "MPLBACKEND"  # a variable of those cells whose figures are to be saved
_LIBRARY = __file__[: -len("kernel.py")]


class Control:
    """The channel to the host."""

    def __init__(self, fd: int) -> None:
        self._fd = high_copy(fd)
        os.close(fd)

    def receive(self) -> Optional[frames.Fields]:
        """The next message; None when the host is gone."""
        head = self._read(_LENGTH)
        body = self._read(int.from_bytes(head, "big")) if head else None
        return None if body is None else frames.decode(body)

    def send(self, *fields: Tuple[str, frames.Value]) -> None:
        body = frames.encode(fields)
        data = memoryview(len(body).to_bytes(_LENGTH, "big") + body)
        while data:
            data = data[os.write(self._fd, data) :]

    def close(self) -> None:
        """In a forked child: the channel is the parent's."""
        try:
            os.close(self._fd)
        except OSError:
            pass

    def _read(self, size: int) -> Optional[bytes]:
        data = bytearray()
        while len(data) < size:
            piece = os.read(self._fd, min(size - len(data), 1 << 20))
            if not piece:
                return None
            data += piece
        return bytes(data)


class Interrupts:
    """SIGINT is a KeyboardInterrupt while a cell runs, and nothing in between."""

    def __init__(self) -> None:
        self.running = False

    def install(self) -> None:
        """Before every cell: the one before may have installed something else."""
        _signal.signal(_signal.SIGINT, self._handle)

    def _handle(self, _number: int, _frame: Optional[FrameType]) -> None:
        if self.running:
            raise KeyboardInterrupt


class Kernel:
    def __init__(self, control: Control, definitions: Definitions) -> None:
        self._control = control
        self._definitions = definitions
        self._main = sys.modules["__main__"]
        self._interrupts = Interrupts()
        self._streams = Streams()
        self._pid = os.getpid()
        self._count = 0
        self._moved = b""
        self._refused = b""
        self._why = ""
        self._exited = False
        self._tools = []  # type: List[str] # what the tools are called where a cell has failed
        self._dir = _cwd()
        self._environ = os.environ
        self._before = {}  # type: Dict[str, Optional[str]] # of the variables of the last cell: their values without it
        self._main.__file__ = definitions.path
        self._main.__spec__ = None
        os.register_at_fork(after_in_child=control.close)
        os.register_at_fork(after_in_child=self._streams.close)

    def serve(self) -> None:
        self._interrupts.install()
        self._control.send(("type", "ready"), ("pid", self._pid))
        while True:
            message = self._control.receive()
            if message is None or frames.text(message, "type") == "end":
                return
            if frames.text(message, "type") == "cell":
                self._cell(message)

    def _cell(self, message: frames.Fields) -> None:
        self._count += 1
        self._moved = self._refused = b""
        self._exited = False
        self._tools = []
        self._interrupts.install()
        self._streams.restore()
        try:
            code = self._run(message)
        except KeyboardInterrupt:  # it came when the cell had ended already
            self._interrupts.running = False
            code = 1
        if os.getpid() != self._pid:
            _leave(code)  # a forked child that returned from the cell
        if _FIGURES in self._before:
            figures.save(self._definitions.path)
        _flush()
        if self._refused:
            self._control.send(
                ("type", "done"), ("cell", self._count), ("refused", self._refused), ("why", self._why)
            )
            self._count -= 1
            return
        self._control.send(
            ("type", "done"),
            ("cell", self._count),
            ("code", code),
            ("exited", int(self._exited)),
            ("moved", self._moved),
            *[("tool", name) for name in self._tools],
        )

    def _prepare(self, message: frames.Fields) -> None:
        """Puts the cell where the host wants it, and drops stubs of a tool set that has changed."""
        script = message["script"][0] if "script" in message else os.fsencode(self._definitions.path)
        self._set(message.get("env", []))
        figures.tell(_FIGURES in self._before)
        sys.argv = [os.fsdecode(a) for a in [script] + message.get("arg", [])]
        if "dir" in message:
            self._go(message["dir"][0])
        try:
            os.getcwd()
        except FileNotFoundError:  # an earlier cell, or somebody else, has removed it
            self._moved = _first_there(message["home"])
        if frames.number(message, "tools_changed"):
            _reload_tools()

    def _set(self, variables: List[bytes]) -> None:
        """Gives the cell variables of its own, in place of those of the cell before."""
        for name, value in self._before.items():
            if value is None:
                self._environ.pop(name, None)
            else:
                self._environ[name] = value
        self._before = {}
        for variable in variables:
            name, _, value = os.fsdecode(variable).partition("=")
            self._before[name] = self._environ.get(name)
            self._environ[name] = value
        if variables:  # a module may have come that one of them names
            import importlib

            importlib.invalidate_caches()

    def _go(self, path: bytes) -> None:
        """Goes to the directory of the cell, which takes the place of the one before on sys.path.
        Those of the user's own PYTHONPATH stand behind that one and stay."""
        try:
            os.chdir(path)
        except OSError as e:
            self._refused, self._why = path, (e.strerror or str(e)).lower()
            raise
        before = os.fsdecode(self._dir)
        if before in sys.path and before != os.path.dirname(self._definitions.path):
            sys.path[sys.path.index(before)] = os.fsdecode(path)
        self._dir = path

    def _compile(self, source: bytes, name: str, display: bool) -> CodeType:
        """Compiles a cell, and lets tracebacks, inspect and workers find its source. With display
        the values of expressions are shown, as the interactive interpreter does."""
        text = cellcode.decode(source, name)
        lines = cellcode.lines(text)
        # Without a modification time the entry is never checked against a file.
        linecache.cache[name] = (len(text), None, lines, name)
        try:
            tree = cellcode.parse(text, name)
            self._definitions.add(tree, text)
            return cellcode.build(ast.Interactive(body=tree.body) if display else tree, name, lines)
        except RecursionError:
            # Nested deeper than a tree may be, as generated code is. Python runs that all the same: it shows no
            # value then, and workers do not find what it defines.
            return cellcode.build(text, name, lines)

    def _run(self, message: frames.Fields) -> int:
        """Runs a cell and returns its exit code."""
        name = "<cell %d>" % self._count
        try:
            self._prepare(message)
            self._interrupts.running = True
            try:
                display = bool(frames.number(message, "display"))
                exec(self._compile(message["code"][0], name, display), self._main.__dict__)
                return 0
            except BaseException:
                if os.getpid() == self._pid:
                    self._definitions.keep(self._main.__dict__)
                raise
        except SystemExit as e:
            self._exited = True
            return _exit_code(e)
        except BaseException as e:  # noqa: B902 - whatever a cell raises is its own
            self._interrupts.running = False
            if not self._refused:
                _report(e)
                self._tools = _known_tools(self._main.__dict__)
            return 1
        finally:
            self._interrupts.running = False


def _cwd() -> bytes:
    try:
        return os.getcwdb()
    except OSError:  # removed already
        return b""


def _first_there(paths: List[bytes]) -> bytes:
    """Goes to the first of these directories that is there."""
    for path in paths:
        try:
            os.chdir(path)
            return path
        except OSError:
            continue
    raise FileNotFoundError("the working directory is gone, and so is every other")


def _exit_code(e: SystemExit) -> int:
    """As the interpreter's own exit: None is 0, a number is itself, anything else is printed."""
    if e.code is None:
        return 0
    if isinstance(e.code, int):
        return e.code & 0xFF
    try:
        print(e.code, file=sys.stderr)
    except BaseException:
        pass
    return 1


def _ours(trace: TracebackType) -> bool:
    return trace.tb_frame.f_code.co_filename.startswith(_LIBRARY)


def _report(e: BaseException) -> None:
    """Prints a traceback without the kernel's own frames: those that called the cell, and that of
    the handler which interrupted it."""
    trace = e.__traceback__
    while trace is not None and _ours(trace):
        trace = trace.tb_next
    last = trace
    while last is not None and last.tb_next is not None:
        if _ours(last.tb_next):
            last.tb_next = None
        last = last.tb_next
    try:
        traceback.print_exception(type(e), e, trace)
    except BaseException:  # sys.stderr may be anything by now
        pass


def _known_tools(namespace: Dict[str, Any]) -> List[str]:
    """What the tools are called, for the hint about a cell that used one wrongly."""
    try:
        from . import known

        return known.tools(namespace)
    except BaseException:  # user code has been there
        return []


def _flush() -> None:
    for name in ("stdout", "stderr", "__stdout__", "__stderr__"):
        try:
            getattr(sys, name).flush()
        except BaseException:  # None, closed, deleted, or something of the user's
            pass


def _leave(code: int) -> NoReturn:
    _flush()
    os._exit(code)


def _reload_tools() -> None:
    """Runs the new stubs in the module that is there, so that whoever imported it sees them too.
    Functions that a cell has kept under other names stay; the host refuses their calls."""
    import importlib

    importlib.invalidate_caches()  # the directory may have been listed before the file was there
    module = sys.modules.get("hermes_tools")
    if module is None:
        return
    for name in [n for n in vars(module) if not n.startswith("_")]:
        delattr(module, name)
    importlib.reload(module)


def main() -> int:
    """Called by start_kernel.py, with control on descriptor 3."""
    main_dict = sys.modules["__main__"].__dict__
    for name in [n for n in main_dict if not n.startswith("__")]:
        del main_dict[name]  # what the command line needed to come here
    status = 0
    try:
        Kernel(Control(_CONTROL), Definitions(sys.argv[2])).serve()
    except BaseException as e:
        status = 1
        if not isinstance(e, OSError):  # as when a cell has taken away what the kernel speaks by
            traceback.print_exc()
    _flush()
    ending.begin(status, _put_away)
    return status


def _put_away() -> None:
    """Removes the directory that multiprocessing keeps for its sockets until atexit, where that does
    not come."""
    process = sys.modules.get("multiprocessing.process")
    folder = process and process.current_process()._config.get("tempdir")
    if folder:
        remove_tree(os.fsencode(folder))
