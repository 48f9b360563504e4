"""The runtime of hermes_tools against hosts of this file, good ones and bad ones."""

import asyncio
import gc
import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import types
import unittest
from typing import Any, Callable, Dict, List, Optional

STUB = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "hermes", "stub.py")
TOKEN = "f" * 64
with open(STUB, encoding="utf-8") as _f:
    CODE = compile(_f.read() + "\n\ndef echo(value):\n    return _call('echo', {'value': value})['value']\n", "hermes_tools.py", "exec")


def load(**env: str) -> Any:
    """Runs the runtime as a module of its own, as a script with these variables would import it."""
    module = types.ModuleType("hermes_tools")
    before = {k: os.environ.pop(k, None) for k in ("HERMES_RPC_SOCKET", "HERMES_RPC_DIR", "HERMES_RPC_TOKEN")}
    os.environ.update(env)
    try:
        exec(CODE, module.__dict__)
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
    return module


def eventually(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("not seen within 30 s")
        time.sleep(0.002)


class Host:
    """Listens, and answers every line by a function: bytes to send, or None to hang up."""

    def __init__(self, answer: Optional[Callable[[Dict[str, Any]], Optional[bytes]]] = None, tcp: bool = False) -> None:
        self.folder = tempfile.mkdtemp(dir="/tmp")
        self.listener = socket.socket(socket.AF_INET if tcp else socket.AF_UNIX)
        self.listener.bind(("127.0.0.1", 0) if tcp else os.path.join(self.folder, "s"))
        self.listener.listen(64)
        name = self.listener.getsockname()
        self.address = "tcp://127.0.0.1:%d" % name[1] if tcp else name
        self.answer = answer or good
        self.lines = []  # type: List[bytes]
        self.connections = []  # type: List[socket.socket]
        self.ended = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def stub(self) -> Any:
        return load(HERMES_RPC_SOCKET=self.address, HERMES_RPC_TOKEN=TOKEN)

    def close(self) -> None:
        self.listener.close()
        for c in self.connections:
            c.close()
        shutil.rmtree(self.folder)

    def _accept(self) -> None:
        while True:
            try:
                c, _ = self.listener.accept()
            except OSError:
                return
            self.connections.append(c)
            threading.Thread(target=self._serve, args=(c,), daemon=True).start()

    def _serve(self, c: socket.socket) -> None:
        try:
            with c.makefile("rb") as f:
                for line in f:
                    self.lines.append(line)
                    reply = self.answer(json.loads(line))
                    if reply is None:
                        c.shutdown(socket.SHUT_RDWR)
                        return
                    c.sendall(reply)
        except (OSError, ValueError):
            pass
        finally:
            self.ended += 1


def good(request: Dict[str, Any]) -> bytes:
    return json.dumps({"id": request["id"], "result": request["args"]}).encode() + b"\n"


class StreamTest(unittest.TestCase):
    def host(self, answer: Optional[Callable[[Dict[str, Any]], Optional[bytes]]] = None, tcp: bool = False) -> Host:
        h = Host(answer, tcp)
        self.addCleanup(h.close)
        return h

    def test_wire(self) -> None:
        h = self.host()
        self.assertEqual(h.stub().echo("ä\n\u2028€ \x7f"), "ä\n\u2028€ \x7f")
        line = h.lines[0]
        self.assertEqual(
            json.loads(line), {"token": TOKEN, "id": 1, "tool": "echo", "cwd": os.getcwd(), "args": {"value": "ä\n\u2028€ \x7f"}}
        )
        self.assertTrue(line.startswith(b'{"token":"' + TOKEN.encode() + b'",'))
        self.assertIn("ä".encode(), line)  # not escaped: the limit is in bytes of UTF-8
        self.assertEqual(line.count(b"\n"), 1)

    def test_one_connection_a_thread(self) -> None:  # B084
        for tcp in (False, True):
            h = self.host(tcp=tcp)
            s = h.stub()
            for i in range(300):
                self.assertEqual(s.echo(i), i)
            self.assertEqual(len(h.connections), 1)
            threads = [threading.Thread(target=lambda: [s.echo(i) for i in range(10)]) for _ in range(4)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            self.assertEqual(len(h.connections), 5)
            eventually(lambda: h.ended == 4)  # a thread that ends closes its own

    def test_hung_up_while_idle(self) -> None:
        h = self.host()
        s = h.stub()
        s.echo(1)
        h.connections[0].shutdown(socket.SHUT_RDWR)
        eventually(lambda: h.ended == 1)
        self.assertEqual(s.echo(2), 2)
        self.assertEqual([json.loads(x)["args"]["value"] for x in h.lines], [1, 2])

    def test_descriptor_closed_by_the_script(self) -> None:
        for tcp in (False, True):
            for other in (False, True):  # something else has its number now
                h = self.host(tcp=tcp)
                s = h.stub()
                s.echo(1)
                lost = s._local.link.sock.fileno()
                before = self.lose(lost, other)
                self.assertEqual(s.echo(2), 2)
                self.assertEqual([json.loads(x)["args"]["value"] for x in h.lines], [1, 2])
                if other:
                    self.assertEqual(os.fstat(lost), before)
                    os.close(lost)

    def lose(self, fd: int, other: bool) -> Any:
        if not other:
            os.close(fd)
            return None
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, fd)
        os.close(null)
        return os.fstat(fd)

    def test_no_descriptor_left(self) -> None:
        code = (
            "import resource, os, sys; sys.path.insert(0, sys.argv[1]); import stub\n"
            "limits = resource.getrlimit(resource.RLIMIT_NOFILE)\n"
            "resource.setrlimit(resource.RLIMIT_NOFILE, (3, limits[1]))\n"
            "try: stub._call('t', {'a': 1})\n"
            "except stub.TransportError: print('broken')\n"
            "resource.setrlimit(resource.RLIMIT_NOFILE, limits)\n"
            "print(stub._call('t', {'a': 1}))\n"
        )
        spool = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, spool)
        for name in ("in", "out"):
            os.mkdir(os.path.join(spool, name))
        h = self.host()
        env = dict(os.environ, HERMES_RPC_SOCKET=h.address, HERMES_RPC_TOKEN=TOKEN)
        argv = [sys.executable, "-c", code, os.path.dirname(STUB)]
        out = subprocess.run(argv, env=env, stdout=subprocess.PIPE, check=True, universal_newlines=True).stdout
        self.assertEqual(out, "broken\n{'a': 1}\n")
        env["HERMES_RPC_DIR"] = spool
        del env["HERMES_RPC_SOCKET"]
        argv[2] = code.rpartition("print")[0]
        out = subprocess.run(argv, env=env, stdout=subprocess.PIPE, check=True, universal_newlines=True).stdout
        self.assertEqual(out, "broken\n")

    def test_lost_answer_is_not_repeated(self) -> None:  # PARITY 166
        for part in (None, b'{"id":1,"result":{"val', b""):
            h = self.host()
            s = h.stub()
            h.answer = self.always(None, "lost")
            if part is not None:  # something comes, then the end
                h.answer = self.cut(h, part)
            with self.assertRaisesRegex(s.TransportError, "not repeated"):
                s.echo("lost")
            self.assertEqual(len(h.lines), 1)
            self.assertEqual(s.echo("next"), "next")
            self.assertTrue(issubclass(s.TransportError, RuntimeError))

    def always(self, reply: Optional[bytes], value: object = None) -> Callable[[Dict[str, Any]], Optional[bytes]]:
        """Answers with reply, or only where the value is that one."""
        return lambda r: reply if value in (None, r["args"].get("value")) else good(r)

    def cut(self, h: Host, part: bytes) -> Callable[[Dict[str, Any]], Optional[bytes]]:
        def answer(request: Dict[str, Any]) -> Optional[bytes]:
            if request["args"]["value"] != "lost":
                return good(request)
            h.connections[-1].sendall(part)
            return None

        return answer

    def test_answers_that_make_no_sense(self) -> None:
        for reply in (
            b"\n", b"x\n", b"[]\n", b"{}\n", b'{"id":1}\n', b'"x"\n', b"\xff\n",
            b'{"id":1,"result":NaN}\n', b'{"id":2,"result":{}}\n', b"{bad\n", b'{"id":1,"result":"\\ud8"}\n',
            b'{"id":1,"result":"\x01"}\n', b'{"id":1,"result":{"a":1,}}\n', b'{"id":1,"result":' + b"[" * 200_000 + b"\n",
        ):
            h = self.host()
            h.answer = self.always(reply)
            s = h.stub()
            with self.assertRaisesRegex(s.TransportError, "answer of the host", msg=repr(reply)):
                s._call("x", {})
            h.answer = good
            self.assertEqual(s.echo("next"), "next")
            self.assertEqual(len(h.connections), 2)

    def test_answer_without_id(self) -> None:
        s = self.host(lambda r: b'{"result":{"error":"Unauthorized RPC request"}}\n').stub()
        self.assertEqual(s._call("x", {}), {"error": "Unauthorized RPC request"})

    def test_answer_in_pieces(self) -> None:
        h = self.host()

        def slowly(request: Dict[str, Any]) -> bytes:
            data = good(request)
            for i in range(0, len(data), 50_001):
                h.connections[0].sendall(data[i:i + 50_001])
            return b""

        h.answer = slowly
        s = h.stub()
        for n in (10, 65_535, 65_536, 2_000_000):
            self.assertEqual(s.echo("ö" * n), "ö" * n)

    def test_no_host(self) -> None:  # B064
        halves = [{}, {"HERMES_RPC_SOCKET": "/x"}, {"HERMES_RPC_TOKEN": TOKEN}]  # type: List[Dict[str, str]]
        for env in halves:
            s = load(**env)
            with self.assertRaisesRegex(s.TransportError, "HERMES_RPC_TOKEN"):
                s.echo(1)
        for address in ("/nowhere/at/all", "tcp://127.0.0.1:1", "/tmp/" + "x" * 200, "tcp://x:y", "tcp://127.0.0.1:99999999999"):
            s = load(HERMES_RPC_SOCKET=address, HERMES_RPC_TOKEN=TOKEN)
            with self.assertRaisesRegex(s.TransportError, "cannot reach the host"):
                s.echo(1)

    def test_variables_are_read_at_import(self) -> None:
        h = self.host()
        s = h.stub()
        self.assertNotIn("HERMES_RPC_TOKEN", os.environ)
        self.assertEqual(s.echo(1), 1)

    def test_arguments_that_are_not_json_cost_nothing(self) -> None:
        h = self.host()
        s = h.stub()
        deep = []  # type: List[Any]
        for _ in range(100_000):
            deep = [deep]
        for bad in (object(), {1}, b"x"):
            with self.assertRaises(TypeError):
                s.echo(bad)
        for bad in (float("nan"), "\ud800", deep):
            with self.assertRaises(ValueError):
                s.echo(bad)
        self.assertEqual(h.lines, [])
        while deep:
            deep = deep.pop()

    def test_forked_child(self) -> None:
        h = self.host()
        s = h.stub()
        s.echo("parent")
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                os.close(write)
                ok = s.echo("child") == "child"
                os.read(read, 1)  # until the parent has closed its connection
                os._exit(0 if ok else 1)
            finally:
                os._exit(2)
        eventually(lambda: len(h.connections) == 2)
        s._local.__dict__.clear()  # the parent's connection, of which the child has no copy
        gc.collect()
        eventually(lambda: h.ended == 1)
        self.assertEqual(s.echo("again"), "again")
        os.close(write)
        self.assertEqual(os.waitpid(pid, 0)[1], 0)

    def test_interrupted_call(self) -> None:
        h = self.host(lambda r: b"" if r["args"]["value"] == "wait" else good(r))
        s = h.stub()

        def interrupt(*_: Any) -> None:
            raise KeyboardInterrupt

        old = signal.signal(signal.SIGALRM, interrupt)
        self.addCleanup(signal.signal, signal.SIGALRM, old)
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with self.assertRaises(KeyboardInterrupt):
            s.echo("wait")
        eventually(lambda: h.ended == 1)  # the host is told
        self.assertEqual(s.echo("next"), "next")

    def test_coroutines(self) -> None:
        h = self.host()
        gate = threading.Event()

        def answer(request: Dict[str, Any]) -> bytes:
            if request["args"]["value"] == "gate":
                gate.wait(30)
            return good(request)

        h.answer = answer
        s = h.stub()

        async def main() -> None:
            many = [asyncio.ensure_future(s.aio.echo("gate")) for _ in range(60)]
            while len(h.lines) < 60:  # all at once, and the loop goes on
                await asyncio.sleep(0.002)
            self.assertEqual(await s.aio.echo("beside"), "beside")
            gate.set()
            self.assertEqual(await asyncio.gather(*many), ["gate"] * 60)
            gate.clear()
            before = h.ended
            lost = asyncio.ensure_future(s.aio.echo("gate"))
            n = len(h.lines)
            while len(h.lines) == n:
                await asyncio.sleep(0.002)
            lost.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await lost
            gate.set()
            while h.ended == before:
                await asyncio.sleep(0.002)
            with self.assertRaises(TypeError):
                await s.aio.echo({1})
            with self.assertRaises(AttributeError):
                s.aio.nothing

        asyncio.run(main())

    def test_another_python_codec(self) -> None:
        h = self.host()
        s = h.stub()
        std = s._std

        def without_json(name: str) -> Any:
            if name == "_json":
                raise ImportError(name)
            return std(name)

        s._std = without_json
        for value in (1, "ä€\n", {"a": [None, 1.5, 10**30]}, "x" * 100_000):
            self.assertEqual(s.echo(value), value)
        with self.assertRaises(ValueError):
            s.echo(float("nan"))
        with self.assertRaises(TypeError):
            s.echo({1})
        self.assertEqual(s.json_parse('{"a": "x\ty"}'), {"a": "x\ty"})
        self.assertEqual(s.json_parse("abc"), "abc")


class ImportTest(unittest.TestCase):
    def test_imports_nothing(self) -> None:
        """json, socket, re and enum cost more than the rest of a short script."""
        h = Host()
        self.addCleanup(h.close)
        code = (
            "import sys; sys.path.insert(0, sys.argv[1]); before = set(sys.modules)\n"
            "import stub; print(*sorted(set(sys.modules) - before))\n"
            "stub._call('t', {'a': 'b'}); print(*sorted(set(sys.modules) - before))\n"
        )
        env = dict(os.environ, HERMES_RPC_SOCKET=h.address, HERMES_RPC_TOKEN=TOKEN, PYTHONDONTWRITEBYTECODE="1")
        out = subprocess.run(
            [sys.executable, "-c", code, os.path.dirname(STUB)], env=env, stdout=subprocess.PIPE, check=True, universal_newlines=True
        ).stdout.splitlines()
        self.assertEqual(out[0], "stub")
        self.assertLessEqual(set(out[1].split()), {"stub", "_json", "_socket"})

    def test_user_modules_are_left_alone(self) -> None:
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        for name in ("json", "socket", "select", "_json", "_socket"):
            with open(os.path.join(folder, name + ".py"), "w") as f:
                f.write("MINE = True\n")
        h = Host()
        self.addCleanup(h.close)
        code = (
            "import sys; sys.path[:0] = sys.argv[1:]\n"
            "builtin = sys.builtin_module_names\n"
            "import stub, json, socket; assert stub._call('t', {'a': 'ö'}) == {'a': 'ö'}\n"
            "stub._std('select').poll\n"
            "import select; assert json.MINE and socket.MINE\n"
            "assert 'select' in builtin or select.MINE\n"
            "print('ok')"
        )
        env = dict(os.environ, HERMES_RPC_SOCKET=h.address, HERMES_RPC_TOKEN=TOKEN, PYTHONDONTWRITEBYTECODE="1")
        argv = [sys.executable, "-c", code, folder, os.path.dirname(STUB)]
        out = subprocess.run(argv, env=env, stdout=subprocess.PIPE, check=True).stdout
        self.assertEqual(out.strip(), b"ok")


class HelpersTest(unittest.TestCase):
    def test_json_parse(self) -> None:
        s = load()
        for text, want in (
            ('{"a": 1}', {"a": 1}), ("\ufeff [1] \n", [1]), ('{"a":"x\ty\nz"}', {"a": "x\ty\nz"}), ("12", 12), ("true", True),
            ('"x"', "x"), ("", ""), ("  ", "  "), ("plain text", "plain text"), ("12 apples", "12 apples"), ("a\nb\n", "a\nb\n"),
            (b'{"a": "\xc3\xb6"}', {"a": "ö"}), ("nothing", "nothing"), ("null", None), ("-", "-"),
        ):
            self.assertEqual(s.json_parse(text), want, repr(text))
        for text in ('{"a": 1', "[1, 2", "{'a': 1}", "[1] [2]", "{} x", " \ufeff{", "{a}", "[", '["\x01" ', "{bad", "[" * 200_000):
            with self.assertRaises(ValueError, msg=repr(text[:100])):
                s.json_parse(text)

    def test_json_parse_alone(self) -> None:
        """Nothing else has imported json, and it may be a module of the user's."""
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        code = (
            "import sys; sys.path[:0] = sys.argv[1:]; import stub\n"
            "for text in ('{bad', '[1,', '[\"\\\\ud8\"]', '[\"x', '{\"a\" 1}', '[1 2]', '\"\\\\u'):\n"
            "    try: print(stub.json_parse(text))\n"
            "    except ValueError as e: print(e)\n"
        )
        for mine in (False, True):
            if mine:
                with open(os.path.join(folder, "json.py"), "w") as f:
                    f.write("MINE = True\n")
            argv = [sys.executable, "-c", code, folder, os.path.dirname(STUB)]
            p = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
            lines = p.stdout.splitlines()
            self.assertEqual(len(lines), 7, p.stdout)
            self.assertEqual(lines.pop(), '"\\u')
            for line in lines:
                self.assertTrue(line.startswith("not valid JSON: "), line)
                self.assertNotIn("NULL", line)
                if not mine:
                    self.assertIn("char", line)

    def test_shell_quote(self) -> None:
        s = load()
        for text in ("", "a", "a b", "it's", "$HOME", "a;b", "ä", "x=1", "@%+=:,./-_", "\n", "*", "~", "a\\b", "²"):
            self.assertEqual(s.shell_quote(text), shlex.quote(text))
        self.assertEqual(s.shell_quote(5), "5")

    def test_retry(self) -> None:
        s = load()
        calls = []  # type: List[int]

        def fails(times: int) -> Callable[[], str]:
            def f() -> str:
                calls.append(1)
                if len(calls) <= times:
                    raise ValueError("no %d" % len(calls))
                return "yes"

            return f

        self.assertEqual(s.retry(fails(2), delay=0), "yes")
        self.assertEqual(len(calls), 3)
        calls.clear()
        with self.assertRaisesRegex(ValueError, "no 2"):
            s.retry(fails(9), max_attempts=2, delay=0)
        self.assertEqual(len(calls), 2)


if __name__ == "__main__":
    unittest.main()
