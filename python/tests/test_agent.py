import os
import signal
import socket
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import support
from _hermes_exec import facts, frames


class AgentTest(unittest.TestCase):
    def host(self, **options):
        host = support.Host(**options)
        self.addCleanup(host.close)
        host.greet()
        return host

    def run_to_end(self, host, *args, **options):
        return host.until(frames.EXIT, host.start(*args, **options))

    def test_hello(self):
        host = self.host()
        self.assertEqual(frames.text(host.hello, "python_version"), "%d.%d.%d" % sys.version_info[:3])
        scratch = frames.text(host.hello, "scratch")
        self.assertEqual(os.stat(scratch).st_mode & 0o777, 0o700)
        self.assertTrue(os.path.basename(scratch).startswith("hermes_sandbox_"))
        host.close()
        self.assertFalse(os.path.exists(scratch))

    def test_hello_tells_of_a_home_that_is_of_no_use(self):
        with tempfile.TemporaryDirectory() as home:
            for env, none in (({"HOME": home}, "0"), ({}, "1"), ({"HOME": __file__}, "1"), ({"HOME": home + "/gone"}, "1")):
                self.assertEqual(frames.text(self.host(env=env).hello, "no_home"), none, env)

    @unittest.skipUnless(sys.platform.startswith("linux"), "elsewhere nothing tells which program runs")
    def test_hello_tells_of_an_interpreter_that_can_be_executed(self):
        folder, name = os.path.split(sys.executable)
        with tempfile.TemporaryDirectory() as broken:
            with open(os.path.join(broken, name), "w") as f:
                f.write("#!/none\n")
            os.chmod(f.name, 0o755)
            path = broken + os.pathsep + folder
            self.assertEqual(frames.text(self.host(python=name, env={"PATH": path}).hello, "python"), sys.executable)

    @unittest.skipUnless(sys.platform.startswith("linux"), "elsewhere nothing tells which program runs")
    def test_the_name_of_the_interpreter_may_be_that_of_a_program_that_leads_to_it(self):
        with tempfile.TemporaryDirectory() as folder:
            wrapper = os.path.join(folder, "python3")
            leads = "#!/bin/sh\nexec '%s' \"$@\"\n" % sys.executable
            with mock.patch.object(sys, "executable", wrapper):
                for line, want in ((leads, wrapper), ("#!/none\n", os.readlink("/proc/self/exe"))):
                    with open(wrapper, "w") as f:
                        f.write(line)
                    os.chmod(wrapper, 0o755)
                    with mock.patch.dict(os.environ, {"PATH": folder}):
                        self.assertEqual(facts._executable(), want)

    def test_dial_says_its_data_and_hangs_up(self):
        host = self.host()
        with tempfile.TemporaryDirectory() as root, socket.socket(socket.AF_UNIX) as unix, socket.socket() as tcp:
            unix.bind(os.path.join(root, "s"))
            tcp.bind(("127.0.0.1", 0))
            for network, listener, address in (
                ("unix", unix, unix.getsockname()),
                ("tcp", tcp, "%s:%d" % tcp.getsockname()),
            ):
                listener.listen()
                stream = host.open(frames.DIAL, ("network", network), ("address", address), ("data", "nonce"))
                host.until(frames.DONE, stream)
                connection, _ = listener.accept()
                with connection, connection.makefile("rb") as said:
                    self.assertEqual(said.read(), b"nonce")
            for network, address, name in (
                ("unix", root + "/none", "ENOENT"),
                ("unix", root, "ECONNREFUSED"),
                ("udp", "x", "EAFNOSUPPORT"),
            ):
                stream = host.open(frames.DIAL, ("network", network), ("address", address))
                _, failure = host.until(frames.FAILED, stream)
                self.assertEqual((frames.text(failure, "op"), frames.text(failure, "errno")), ("dial", name))

    def test_a_full_or_missing_temporary_directory_is_passed_over(self):
        host = self.host(env={"TMPDIR": "/nonexistent"})
        self.assertEqual(frames.text(host.hello, "temp"), "/tmp")

    def test_a_long_temporary_directory_leaves_room_for_sockets(self):
        with tempfile.TemporaryDirectory() as root:
            long = os.path.join(root, "x" * 120)
            os.mkdir(long)
            host = self.host(env={"TMPDIR": long})
            sockets = frames.text(host.hello, "sockets")
            self.assertTrue(frames.text(host.hello, "scratch").startswith(long))
            self.assertLess(len(sockets), 80)
            host.close()
            self.assertFalse(os.path.exists(sockets))

    def test_output_status_and_counts(self):
        data, end = self.run_to_end(self.host(), "sh", "-c", "printf abc; printf de >&2; exit 3")
        self.assertEqual(data, {frames.STDOUT: b"abc", frames.STDERR: b"de"})
        self.assertEqual(
            {k: frames.text(end, k) for k in ("code", "oom", "stdout_total", "stderr_total")},
            {"code": "3", "oom": "0", "stdout_total": "3", "stderr_total": "2"},
        )

    def test_a_signal_is_told_as_one(self):
        _, end = self.run_to_end(self.host(), "sh", "-c", "kill -9 $$")
        self.assertEqual((frames.text(end, "signal"), "code" in end), ("9", False))

    def test_what_cannot_start_says_why(self):
        host = self.host()
        with tempfile.NamedTemporaryFile() as plain:
            for args, op, name in (
                (["/nonexistent"], "exec", "ENOENT"),
                (["nonexistent"], "exec", "ENOENT"),
                ([plain.name], "exec", "EACCES"),
            ):
                stream = host.start(*args)
                kind, _, number, payload = host.read()
                self.assertEqual((kind, number), (frames.FAILED, stream))
                fields = frames.decode(payload)
                self.assertEqual((frames.text(fields, "op"), frames.text(fields, "errno")), (op, name))

    def test_keep_counts_exactly(self):
        script = "import sys; sys.stdout.write('H' * 10 + 'x' * 5000000 + 'T' * 10)"
        data, end = self.run_to_end(self.host(), sys.executable, "-c", script, stdout_head=10, stdout_tail=10)
        self.assertEqual(data[frames.STDOUT], b"H" * 10 + b"T" * 10)
        self.assertEqual(frames.number(end, "stdout_total"), 5000020)
        self.assertEqual(frames.number(end, "stdout_omitted"), 5000000)

    def test_keep_larger_than_the_output_omits_nothing(self):
        for head, tail in ((3, 100), (100, 3), (6, 0), (0, 6), (0, 0)):
            data, end = self.run_to_end(self.host(), "printf", "abcdef", stdout_head=head, stdout_tail=tail)
            omitted = max(0, 6 - head - tail)
            self.assertEqual(frames.number(end, "stdout_omitted"), omitted)
            self.assertEqual(len(data.get(frames.STDOUT, b"")), 6 - omitted)

    def test_without_credit_the_writer_waits(self):
        host = self.host()
        stream = host.start(sys.executable, "-c", "import os\nfor _ in range(64): os.write(1, b'x' * 65536)")
        got = 0
        while got < frames.WINDOW:
            kind, channel, _, payload = host.read()
            if kind == frames.DATA:
                got += len(payload)
        self.assertEqual(got, frames.WINDOW)
        host.send(frames.CREDIT, stream, (10 << 20).to_bytes(4, "big"), frames.STDOUT)
        data, end = host.until(frames.EXIT, stream)
        self.assertEqual(got + len(data[frames.STDOUT]), 64 * 65536)
        self.assertEqual(frames.number(end, "stdout_total"), 64 * 65536)

    def test_stdin_reaches_the_process_and_ends(self):
        host = self.host()
        stream = host.start("cat", stdin=1)
        host.send(frames.DATA, stream, b"line\n", frames.STDIN)
        host.send(frames.EOF, stream, b"", frames.STDIN)
        data, _ = host.until(frames.EXIT, stream)
        self.assertEqual(data[frames.STDOUT], b"line\n")

    def test_control_comes_after_what_was_printed_before(self):
        script = (
            "import os\n"
            "for i in range(200):\n"
            "    os.write(1, b'x' * 997); os.write(2, b'y'); os.write(3, b'%d\\n' % (i + 1))\n"
        )
        host = self.host()
        stream = host.start(sys.executable, "-c", script, control=1)
        seen = {1: 0, 2: 0}
        while True:
            kind, channel, _, payload = host.read()
            if kind == frames.EXIT:
                break
            if kind != frames.DATA:
                continue
            if channel == frames.CONTROL:
                self.assertTrue(payload.split(), (payload, seen))
                told = int(payload.split()[-1])
                self.assertGreaterEqual(seen[1], 997 * told)
                self.assertGreaterEqual(seen[2], told)
            else:
                seen[channel] += len(payload)

    def test_unknown_frames_are_ignored(self):
        host = self.host()
        host.send(200, 0, b"grease")
        host.send(201, 77, b"grease")
        host.send(frames.DATA, 99, b"for nobody")
        data, _ = self.run_to_end(host, "echo", "on")
        self.assertEqual(data[frames.STDOUT], b"on\n")

    def test_what_is_no_frame_ends_the_agent(self):
        for name, data in (
            ("oversized", frames.HEADER.pack(frames.DATA, 0, frames.MARK, 1, frames.MAX_PAYLOAD + 1)),
            ("text", b"hello, agent"),
            ("cut", 2 * frames.frame(frames.PING, 0, b"1234")[5:]),
        ):
            with self.subTest(name):
                host = self.host()
                host._in.write(data)
                host._in.flush()
                self.assertEqual(host.read(), (frames.REFUSED, 0, 0, b"what came is no frame"))
                with self.assertRaises(EOFError):
                    host.read()

    def pids(self, host, stream, count):
        """The numbers that a script prints."""
        text = b""
        while text.count(b"\n") < count:
            kind, channel, number, payload = host.read()
            if (kind, channel, number) == (frames.DATA, frames.STDOUT, stream):
                text += payload
        return [int(n) for n in text.split()]

    tree = "setsid sh -c 'echo $$; exec sleep 300' & (trap '' TERM; echo $$; exec sleep 300) & echo $$; exec sleep 300"

    def test_eof_ends_everything(self):
        host = self.host()
        pids = self.pids(host, host.start("sh", "-c", self.tree), 3)
        host.close()
        self.assertEqual([p for p in pids if support.running(p)], [])

    def test_killing_the_agent_frees_nothing(self):
        host = self.host()
        pids = self.pids(host, host.start("sh", "-c", self.tree), 3)
        host.agent.kill()
        support.eventually(lambda: not any(support.running(p) for p in pids))
        support.eventually(lambda: not os.path.exists(frames.text(host.hello, "scratch")))

    def test_killing_the_supervisor_frees_nothing(self):
        host = self.host()
        script = "setsid sh -c 'echo $$; exec sleep 300' & echo $$; while :; do sleep 0.01; done"
        stream = host.start("sh", "-c", script)
        pids = self.pids(host, stream, 2)
        with open("/proc/%d/stat" % pids[-1], "rb") as f:
            supervisors = {int(f.read().rpartition(b")")[2].split()[1])}
        for pid in supervisors:
            os.kill(pid, signal.SIGKILL)
        _, end = host.until(frames.EXIT, stream)
        self.assertNotIn("code", end)
        support.eventually(lambda: not any(support.running(p) for p in pids))

    def start_marked(self, host, script):
        """As every script of the product is: with the scratch in its environment."""
        env = [("env", "PATH=/usr/bin:/bin"), ("env", "SCRATCH=" + frames.text(host.hello, "scratch"))]
        return host.open(frames.START, ("arg", "sh"), ("arg", "-c"), ("arg", script), ("dir", "/"), *env)

    def test_killing_agent_and_supervisor_frees_nothing_while_another_lives(self):
        host = self.host()
        self.pids(host, host.start("sh", "-c", self.tree), 3)
        pids = self.pids(host, self.start_marked(host, self.tree), 3)
        with open("/proc/%d/stat" % pids[-1], "rb") as f:
            supervisor = int(f.read().rpartition(b")")[2].split()[1])
        os.kill(host.agent.pid, signal.SIGSTOP)  # or the end of one would be the other's, before it is killed
        os.kill(supervisor, signal.SIGKILL)
        os.kill(host.agent.pid, signal.SIGKILL)
        support.eventually(lambda: not any(support.running(p) for p in pids))

    def test_the_end_of_one_is_not_that_of_another(self):
        host = self.host()
        others = self.pids(host, self.start_marked(host, self.tree), 3)
        first = self.start_marked(host, self.tree)
        pids = self.pids(host, first, 3)
        host.send(frames.RESET, first)
        support.eventually(lambda: not any(support.running(p) for p in pids))
        self.assertEqual([p for p in others if not support.running(p)], [])

    def test_a_signal_reaches_the_whole_tree(self):
        host = self.host()
        stream = host.start("sh", "-c", self.tree)
        pids = self.pids(host, stream, 3)
        host.send(frames.SIGNAL, stream, (9).to_bytes(4, "big"))
        host.until(frames.EXIT, stream)
        self.assertEqual([p for p in pids if support.running(p)], [])

    def test_linger_leaves_what_the_command_left(self):
        host = self.host()
        stream = host.start("sh", "-c", "sleep 300 & echo $!", linger=1)
        pid = self.pids(host, stream, 1)[0]
        host.until(frames.EXIT, stream)
        self.assertTrue(support.running(pid))
        host.close()
        self.assertFalse(support.running(pid))

    def test_the_lease_runs_out(self):
        host = self.host(lease=0.5)
        pid = self.pids(host, host.start("sh", "-c", "echo $$; exec sleep 300"), 1)[0]
        scratch = frames.text(host.hello, "scratch")
        with self.assertRaises(EOFError):
            while True:
                host.read()
        support.eventually(lambda: not support.running(pid) and not os.path.exists(scratch))

    def test_ping_keeps_the_lease_and_is_answered(self):
        host = self.host(lease=30)
        host.send(frames.PING, 0, b"abc")
        self.assertEqual(host.read(), (frames.PONG, 0, 0, b"abc"))

    def test_nothing_is_inherited(self):
        script = "import os; print(sorted(int(n) for n in os.listdir('/proc/self/fd')))"
        data, _ = self.run_to_end(self.host(), sys.executable, "-c", script)
        self.assertEqual(data[frames.STDOUT].strip(), b"[0, 1, 2, 3]")  # 3 is the listing itself


class FilesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.host = support.Host()
        self.addCleanup(self.host.close)
        self.host.greet()

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def put(self, path, data, mode=0):
        stream = self.host.open(frames.PUT, ("path", path), ("mode", mode))
        self.host.send(frames.DATA, stream, data)
        self.host.send(frames.EOF, stream)
        kind, _, _, payload = self.host.read()
        return kind, frames.decode(payload) if payload else {}

    def test_put_makes_parents_and_modes(self):
        path = self.path("a", "b", "c")
        self.assertEqual(self.put(path, b"one")[0], frames.DONE)
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        os.chmod(path, 0o754)
        self.assertEqual(self.put(path, b"two")[0], frames.DONE)
        with open(path, "rb") as f:
            self.assertEqual(f.read(), b"two")
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o754)
        self.assertEqual(os.listdir(self.path("a", "b")), ["c"])

    def test_put_follows_a_symlink(self):
        os.symlink("real", self.path("link"))
        self.assertEqual(self.put(self.path("link"), b"x")[0], frames.DONE)
        self.assertTrue(os.path.islink(self.path("link")))
        self.assertEqual(os.listdir(self.folder).count("real"), 1)

    def test_put_refuses_what_is_no_file(self):
        os.mkfifo(self.path("fifo"))
        for name, errno_name in (("", "EISDIR"), ("fifo", "EINVAL")):
            kind, fields = self.put(self.path(name), b"x")
            self.assertEqual((kind, frames.text(fields, "errno")), (frames.FAILED, errno_name))

    def test_a_reset_put_leaves_nothing(self):
        stream = self.host.open(frames.PUT, ("path", self.path("f")))
        self.host.send(frames.DATA, stream, b"half")
        self.host.send(frames.RESET, stream)
        self.host.send(frames.PING, 0)
        self.assertEqual(self.host.read()[0], frames.PONG)
        self.assertEqual(os.listdir(self.folder), [])

    def test_get(self):
        with open(self.path("f"), "wb") as f:
            f.write(b"x" * (3 << 20))
        stream = self.host.open(frames.GET, ("path", self.path("f")))
        data, _ = self.host.until(frames.EOF, stream)
        self.assertEqual(len(data[0]), 3 << 20)

    def test_a_put_that_did_not_end_is_undone_with_the_agent(self):
        stream = self.host.open(frames.PUT, ("path", self.path("f")))
        self.host.send(frames.DATA, stream, b"half")
        self.host.close()
        self.assertEqual(os.listdir(self.folder), [])

    def test_a_put_goes_aside_and_comes_back(self):
        stream = self.host.open(frames.PUT, ("path", self.path("f")), ("mode", 0o400))
        self.host.send(frames.DATA, stream, b"01")
        self.host.send(frames.ASIDE, stream)
        kind, _, _, payload = self.host.read()
        temp = frames.text(frames.decode(payload), "path")
        self.assertEqual((kind, [temp]), (frames.ASIDE, [self.path(n) for n in os.listdir(self.folder)]))
        with open(temp, "r+b") as f:
            f.seek(2)
            f.write(b"2345")
        self.host.send(frames.BACK, stream, (4).to_bytes(8, "big"))
        self.host.send(frames.DATA, stream, b"xyz")
        self.host.send(frames.EOF, stream)
        self.assertEqual(self.host.read()[0], frames.DONE)
        with open(self.path("f"), "rb") as f:
            self.assertEqual(f.read(), b"0123xyz")
        self.assertEqual(os.stat(self.path("f")).st_mode & 0o777, 0o400)

    def test_a_get_goes_aside_and_comes_back(self):
        with open(self.path("f"), "wb") as f:
            f.write(b"x" * (3 << 20) + b"end")
        os.symlink("f", self.path("link"))
        stream = self.host.open(frames.GET, ("path", self.path("link")))
        kind, _, _, payload = self.host.read()
        self.assertEqual((kind, frames.number(frames.decode(payload), "size")), (frames.DONE, (3 << 20) + 3))
        self.host.send(frames.ASIDE, stream)
        data, fields = self.host.until(frames.ASIDE, stream, more=False)
        self.assertEqual(len(data[0]), frames.WINDOW)
        self.assertEqual(frames.text(fields, "path"), os.path.realpath(self.path("f")))
        os.rename(self.path("f"), self.path("g"))
        self.host.send(frames.ASIDE, stream)
        fields = self.host.until(frames.ASIDE, stream, more=False)[1]
        self.assertEqual(frames.text(fields, "path"), "")
        self.host.send(frames.CREDIT, stream, (1 << 20).to_bytes(4, "big"))
        self.host.send(frames.BACK, stream, (3 << 20).to_bytes(8, "big"))
        data, _ = self.host.until(frames.EOF, stream)
        self.assertEqual(data[0], b"end")

    def test_get_refuses_what_may_block(self):
        os.mkfifo(self.path("fifo"))
        for name, errno_name in (("", "EISDIR"), ("fifo", "EINVAL"), ("none", "ENOENT")):
            self.host.open(frames.GET, ("path", self.path(name)))
            kind, _, _, payload = self.host.read()
            self.assertEqual(kind, frames.FAILED)
            self.assertEqual(frames.text(frames.decode(payload), "errno"), errno_name)


class OldInterpreterTest(unittest.TestCase):
    def test_bootstrap_is_old_syntax(self):
        """It has to run on 3.4 far enough to refuse: no f-strings, no annotations of variables."""
        import ast

        with open(os.path.join(support.ROOT, "hermes", "bootstrap.py"), encoding="ascii") as f:
            tree = ast.parse(f.read(), feature_version=(3, 4))
        self.assertFalse([n for n in ast.walk(tree) if isinstance(n, (ast.JoinedStr, ast.AnnAssign))])


if __name__ == "__main__":
    unittest.main()
