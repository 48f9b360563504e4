"""What the tests of the guest library share: the package under its real name, and a host for the agent."""

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from typing import Any, Callable, Dict, List, Optional, Tuple

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
ARGV = ["-I", "-S", "-c", "import sys,posix,_signal;_signal.alarm(60);exec(sys.stdin.buffer.raw.readline());[posix.rmdir(d) for d in sys.argv[1:]]"]
GREETING = b"\x00\xff\x02HX\x01\r\n"


def load() -> None:
    """Makes python/hermes importable as _hermes_exec, as the agent does."""
    if "_hermes_exec" in sys.modules:
        return
    folder = os.path.join(ROOT, "hermes")
    spec = importlib.util.spec_from_file_location(
        "_hermes_exec", os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
    )
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["_hermes_exec"] = module
    spec.loader.exec_module(module)


load()

from _hermes_exec import frames  # noqa: E402


def requires(program: str) -> Callable[[Any], Any]:
    """Skips a test where a program is missing, unless HERMES_E2E names it or says "all": then it fails, as
    it does in Go (internal/testenv)."""
    demanded = os.environ.get("HERMES_E2E", "").split(",")
    there = shutil.which(program) or program in demanded or "all" in demanded
    return unittest.skipUnless(there, "%s: it is not on PATH" % program)


def library() -> bytes:
    """What package python's Library gives."""
    parts = []
    folder = os.path.join(ROOT, "hermes")
    for name in sorted(os.listdir(folder)):
        if name.endswith(".py"):
            with open(os.path.join(folder, name), "rb") as f:
                code = f.read()
            parts += [b"_hermes_exec/%s %d\n" % (name.encode("ascii"), len(code)), code]
    return b"".join(parts)


def boot_code(lease: float = 0, name: str = "hermes-test", volatile: str = "") -> bytes:
    data = library()
    return _code("hermes/bootstrap.py", "boot(%r,%d,%g,'',%r)" % (name, len(data), lease, volatile)) + data


def offer_code(path: str) -> bytes:
    return _code("alone/offer.py", "offer(%r,0,'');exec(sys.stdin.buffer.raw.readline())" % path)


def _code(file: str, call: str) -> bytes:
    """A line that reads what is behind it and calls it, as internal/guest/boot.go has it."""
    with open(os.path.join(ROOT, *file.split("/")), "rb") as f:
        code = f.read()
    line = (
        "import os,sys;B=bytearray();N=%d;"
        "any(len(B)>=N or B.extend(os.read(0,N-len(B)) or sys.exit()) for _ in iter(int,1));"
        "exec(compile(bytes(B),%r,'exec'));%s\n"
    ) % (len(code), file, call)
    return line.encode("ascii") + code


def eventually(condition: Callable[[], Any], seconds: float = 10) -> Any:
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError("did not happen within %g s" % seconds)
        time.sleep(0.005)


def running(pid: int) -> bool:
    """A zombie does not run."""
    try:
        with open("/proc/%d/stat" % pid, "rb") as f:
            return f.read().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except OSError:
        return False


class Host:
    """The host's end of an agent's stream, frame by frame."""

    def __init__(
        self,
        lease: float = 0,
        python: str = sys.executable,
        env: Optional[Dict[str, str]] = None,
        boot: bytes = b"",
    ) -> None:
        self.agent = subprocess.Popen(
            [python] + ARGV, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, start_new_session=True
        )
        assert self.agent.stdin and self.agent.stdout
        self._in, self._out = self.agent.stdin, self.agent.stdout
        self._next = -1
        self.hello = {}  # type: Dict[str, List[bytes]]
        self.say(boot or boot_code(lease))

    def say(self, data: bytes) -> None:
        self._in.write(data)
        self._in.flush()

    def greet(self) -> Dict[str, List[bytes]]:
        kind = self.first()
        assert kind == frames.HELLO, kind
        return self.hello

    def first(self) -> int:
        """The kind of what comes with a greeting."""
        assert self._out.read(len(GREETING)) == GREETING
        kind, _, _, payload = self.read()
        if kind == frames.HELLO:
            self.hello = frames.decode(payload)
        return kind

    def send(self, kind: int, stream: int, payload: bytes = b"", channel: int = 0) -> None:
        self._in.write(frames.frame(kind, stream, payload, channel))
        self._in.flush()

    def open(self, kind: int, *fields: Tuple[str, Any]) -> int:
        self._next += 2
        self.send(kind, self._next, frames.encode(fields))
        return self._next

    def start(self, *args: str, **options: int) -> int:
        fields = [("arg", a) for a in args] + [("dir", "/"), ("env", "PATH=/usr/bin:/bin")]
        return self.open(frames.START, *(fields + list(options.items())))

    def read(self) -> Tuple[int, int, int, bytes]:
        """The next frame: kind, channel, stream, payload. EOFError when the agent is gone."""
        head = self._out.read(frames.HEADER.size)
        if len(head) < frames.HEADER.size:
            raise EOFError
        kind, channel, mark, stream, length = frames.HEADER.unpack(head)
        assert mark == frames.MARK, head
        return kind, channel, stream, self._out.read(length)

    def until(self, wanted: int, stream: int, more: bool = True) -> Tuple[Dict[int, bytes], Dict[str, List[bytes]]]:
        """Reads to a frame of that kind: the data that came on each channel, and its fields. More says
        that what was read may be sent again."""
        data = {}  # type: Dict[int, bytes]
        while True:
            kind, channel, number, payload = self.read()
            if number != stream:
                continue
            if kind == wanted:
                return data, frames.decode(payload) if payload else {}
            if kind == frames.DATA:
                data[channel] = data.get(channel, b"") + payload
                if more:
                    self.send(frames.CREDIT, stream, len(payload).to_bytes(4, "big"), channel)
            elif kind == frames.FAILED:
                raise AssertionError(frames.decode(payload))

    def close(self) -> None:
        self._in.close()
        self.agent.wait(10)
        self._out.close()
        for key in ("scratch", "sockets"):  # an agent that a test has killed leaves them
            shutil.rmtree(frames.text(self.hello, key) or "/nonexistent", ignore_errors=True)

    def __enter__(self) -> "Host":
        self.greet()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
