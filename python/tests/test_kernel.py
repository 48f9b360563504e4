import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import unittest

import support
from _hermes_exec import frames

START = os.path.join(support.ROOT, "hermes", "start_kernel.py")


class Kernel:
    """A kernel as the host sees it, with stdout and stderr joined."""

    def __init__(self, folder):
        library = tempfile.mkdtemp(prefix="library", dir=folder)
        shutil.copytree(os.path.join(support.ROOT, "hermes"), os.path.join(library, "_hermes_exec"))
        ours, theirs = socket.socketpair()
        self.control = ours
        self.output, w = os.pipe()
        env = dict(os.environ, PYTHONPATH=folder, PYTHONDONTWRITEBYTECODE="1")

        def place():
            os.dup2(theirs.fileno(), 3, inheritable=True)

        self.process = subprocess.Popen(
            [sys.executable, START, library, os.path.join(folder, "cells.py")],
            stdin=subprocess.DEVNULL,
            stdout=w,
            stderr=w,
            preexec_fn=place,
            close_fds=False,
            env=env,
            cwd=folder,
        )
        os.close(w)
        theirs.close()
        self.ready = self.receive()

    def receive(self):
        head = self.control.recv(4, socket.MSG_WAITALL)
        if len(head) < 4:
            raise EOFError
        return frames.decode(self.control.recv(int.from_bytes(head, "big"), socket.MSG_WAITALL))

    def send(self, code, kind="cell", **more):
        body = frames.encode([("type", kind), ("code", textwrap.dedent(code))] + list(more.items()))
        self.control.sendall(len(body).to_bytes(4, "big") + body)

    def cell(self, code, **more):
        """Runs a cell: its exit code and what was printed."""
        self.send(code, **more)
        done = self.receive()
        assert frames.text(done, "type") == "done", done
        self.tools = sorted(t.decode() for t in done.get("tool", []))
        os.set_blocking(self.output, False)
        text = b""
        try:
            while True:
                piece = os.read(self.output, 1 << 16)
                if not piece:
                    break
                text += piece
        except BlockingIOError:
            pass
        return frames.number(done, "code"), text.decode()

    def close(self):
        self.control.close()
        self.process.wait(10)
        os.close(self.output)


class KernelCase(unittest.TestCase):
    """Has a kernel, and looks at what its cells print."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.kernel = Kernel(self.folder)
        self.addCleanup(self.kernel.close)

    def check(self, code, want, status=0):
        got = self.kernel.cell(code)
        self.assertEqual(got, (status, want))


class KernelTest(KernelCase):
    def test_state_stays(self):
        self.assertEqual(frames.text(self.kernel.ready, "type"), "ready")
        self.check("import math\nx = 41\ndef f(): return x + 1", "")
        self.check("print(f(), math.pi > 3, __name__)", "42 True __main__\n")

    def test_the_namespace_is_clean(self):
        self.check("print(sorted(n for n in globals() if not n.startswith('__')))", "[]\n")

    @unittest.skipIf(sys.version_info < (3, 11), "this Python marks nothing")
    def test_marks_stand_below_what_they_mark(self):
        for end in ("", "\n"):
            _, text = self.kernel.cell("1/0" + end)
            lines = text.splitlines()
            self.assertEqual(lines[-3:-1], ["    1/0", "    ~^~"])

    def test_an_exception_keeps_the_state(self):
        code, text = self.kernel.cell("y = 1\ndef g():\n    raise ValueError('no')\ng()\n")
        self.assertEqual(code, 1)
        self.assertEqual(
            [line for line in text.splitlines() if line.strip(" ~^")],  # without 3.11's markers
            [
                "Traceback (most recent call last):",
                '  File "<cell 1>", line 4, in <module>',
                "    g()",
                '  File "<cell 1>", line 3, in g',
                "    raise ValueError('no')",
                "ValueError: no",
            ],
        )
        self.assertNotIn("kernel.py", text)
        self.check("print(y)", "1\n")

    def test_syntax_error(self):
        code, text = self.kernel.cell("x = (\n")
        self.assertEqual(code, 1)
        self.assertIn("SyntaxError", text)
        self.assertIn("<cell 1>", text)
        self.assertNotIn("kernel.py", text)

    def test_exit_keeps_the_state(self):
        self.check("z = 3\nimport sys\nsys.exit(7)", "", 7)
        self.check("exit()", "", 0)
        self.check("sys.exit(-1)", "", 255)
        self.check("sys.exit('because')", "because\n", 1)
        self.check("print(z)", "3\n")

    def test_the_host_is_told_who_ended_the_cell(self):
        cells = [("exit()", 1), ("import sys; sys.exit(1)", 1), ("raise SystemExit", 1), ("1 / 0", 0), ("pass", 0)]
        for code, exited in cells:
            with self.subTest(code):
                self.kernel.send(code)
                self.assertEqual(frames.number(self.kernel.receive(), "exited", -1), exited)

    def test_output_of_every_kind_is_in_order(self):
        self.check(
            """
            import os, sys
            print('py', flush=True)
            os.write(1, b'raw\\n')
            os.system('echo sub')
            sys.stdout.buffer.write(b'buffer\\n'); sys.stdout.buffer.flush()
            os.write(sys.stdout.fileno(), b'fileno\\n')
            """,
            "py\nraw\nsub\nbuffer\nfileno\n",
        )

    def test_display_shows_values(self):
        self.assertEqual(self.kernel.cell("y = 5\ny * 2\nNone\n'a'", display=1), (0, "10\n'a'\n"))
        self.check("y * 2", "")

    def test_unflushed_output_is_part_of_the_cell(self):
        self.check("import sys\nsys.stdout.write('no newline')", "no newline")

    def test_stdin_is_empty(self):
        code, text = self.kernel.cell("input('name? ')")
        self.assertEqual(code, 1)
        self.assertIn("EOFError", text)
        self.check("print('on')", "on\n")

    def test_source_is_found(self):
        self.check("def f():\n    return 1  # this\n", "")
        self.check("import inspect; print(inspect.getsource(f))", "def f():\n    return 1  # this\n\n")
        self.check("class A:\n    x = 1  # that\n", "")
        code, text = self.kernel.cell("print(inspect.getsource(A))")
        self.assertEqual((code, text), (0, "class A:\n    x = 1  # that\n\n"))

    def test_pickle_and_asyncio(self):
        self.check("class P:\n    def __init__(self, n): self.n = n", "")
        self.check("import pickle; print(pickle.loads(pickle.dumps(P(5))).n)", "5\n")
        self.check("import asyncio\nasync def f(): return 6\nprint(asyncio.run(f()))", "6\n")

    def test_definitions_keep_their_places(self):
        self.check(
            """
            from __future__ import annotations
            import os; import sys
            @property
            def old(self): pass
            class A:
                'Text.'
                class B: pass
            """,
            "",
        )
        code, text = self.kernel.cell("def old(): return 'lost'\nfrom __future__ import division\n")
        self.assertEqual(code, 1)
        self.assertIn("SyntaxError", text)
        self.check("def old(): return 'new'\nclass C:\n    y = 2", "")
        self.check("import inspect\nprint(inspect.getsource(C))", "class C:\n    y = 2\n\n")
        self.check("print(inspect.getsource(A.B).strip())", "class B: pass\n")
        self.check("print(A.__doc__)", "Text.\n")
        with open(os.path.join(self.folder, "cells.py")) as f:
            scope = {"__name__": "__mp_main__"}
            exec(compile(f.read(), "cells.py", "exec"), scope)
        self.assertEqual(scope["old"](), "new")

    def test_closing_all_descriptors_is_no_done(self):
        self.kernel.send("import os; os.closerange(0, 1000)")
        with self.assertRaises(EOFError):
            self.kernel.receive()

    def test_children_do_not_hold_the_control(self):
        self.check("import subprocess, os\nprint(os.listdir('/proc/self/fd') and '')", "\n")
        code, text = self.kernel.cell("print(subprocess.check_output(['ls', '/proc/self/fd']).decode().split())")
        self.assertEqual((code, text), (0, "['0', '1', '2', '3']\n"))

    def test_interrupts(self):
        pid = frames.number(self.kernel.ready, "pid")
        os.kill(pid, signal.SIGINT)
        self.check("print('unharmed')", "unharmed\n")
        self.kernel.send("import os, time\nos.write(1, b'in')\ntime.sleep(60)")
        os.set_blocking(self.kernel.output, True)
        self.assertEqual(os.read(self.kernel.output, 2), b"in")
        os.kill(pid, signal.SIGINT)
        done = self.kernel.receive()
        self.assertEqual(frames.number(done, "code"), 1)
        text = os.read(self.kernel.output, 1 << 16).decode()
        self.assertIn("KeyboardInterrupt", text)
        self.assertNotIn("kernel.py", text)

    def test_an_interrupt_that_comes_late(self):
        self.kernel.cell(
            """
            import os, signal, sys
            def late(frame, event, arg):
                if frame.f_code.co_name == '_exit_code': os.kill(os.getpid(), signal.SIGINT)
            sys.settrace(late)
            sys.exit(3)
            """
        )
        self.check("print('well')", "well\n")

    def test_argv_dir_and_tools(self):
        with open(os.path.join(self.folder, "hermes_tools.py"), "w") as f:
            f.write("def one(): return 1\n")
        self.kernel.cell("import hermes_tools, os, sys")
        self.assertEqual(self.kernel.cell("print(sys.argv[1:], os.getcwd())", arg="a", dir="/"), (0, "['a'] /\n"))
        with open(os.path.join(self.folder, "hermes_tools.py"), "w") as f:
            f.write("def two(): return 2\n")
        code, text = self.kernel.cell("print(hermes_tools.two(), hasattr(hermes_tools, 'one'))", tools_changed=1)
        self.assertEqual((code, text), (0, "2 False\n"))

    def test_a_cell_that_fails_tells_what_the_tools_are_called(self):
        stub = "def one(): return 1\nalias = one\nclass _Aio: pass\naio = _Aio()\nclass Error(Exception): pass\n_two = one\nDEBUG = False\n"
        with open(os.path.join(self.folder, "hermes_tools.py"), "w") as f:
            f.write(stub)

        def tells(code, *want):
            self.kernel.cell(code + "\n1/0")
            self.assertEqual(self.kernel.tools, sorted(want))

        tells("x = False")
        tells("from hermes_tools import one, alias as a, aio, Error, _two, DEBUG; import hermes_tools as ht", "one=one", "a=one", "_two=one", "aio=aio", "ht=hermes_tools")
        odd = "('\\ud800', 'x' * 70000, 'a b', ('t', 'u'), 1)"
        tells("for name in %s: globals()[name] = one" % odd, "one=one", "a=one", "_two=one", "aio=aio", "ht=hermes_tools")
        tells("del a, _two\ndef one(): pass\nb = [ht.one]", "aio=aio", "ht=hermes_tools")
        self.kernel.cell("print(1)")
        self.assertEqual(self.kernel.tools, [])  # it costs what succeeds nothing
        tells("ht.one = one\nfrom hermes_tools import one as mine, alias", "aio=aio", "alias=one")
        tells("class Odd:\n  def __eq__(self, other): raise OSError\n  __hash__ = __eq__\nodd = Odd()\nht.one = odd", "aio=aio", "alias=one")
        tells("ht.one.__globals__ = {}\nimport sys\nsys.modules['hermes_tools'] = None")

    def test_code_that_is_nested_deep_runs_as_it_does_in_a_script(self):
        for n in (600, 1200):
            chain = "s = 'x'\ns = s" + ".strip()" * n + "\nprint(s" + " + ''" * n + ")"
            for display in (0, 1):
                self.assertEqual(self.kernel.cell(chain, display=display), (0, "x\n"))

    def test_variables_of_a_cell(self):
        self.kernel.cell("import os\nos.environ['OLD'] = 'o'\nget = os.environ.get")
        look = "print(get('OLD'), get('NEW'))"
        self.assertEqual(self.kernel.cell(look, env=b"OLD=x=y"), (0, "x=y None\n"))
        self.assertEqual(self.kernel.cell(look + "\ndel os.environ['NEW']", env=b"NEW=n"), (0, "o n\n"))
        self.assertEqual(self.kernel.cell(look + "\nos.environ = {}"), (0, "o None\n"))
        self.assertEqual(self.kernel.cell(look, env=b"NEW=n"), (0, "o n\n"))

    def test_a_directory_that_is_not_there_runs_nothing(self):
        self.kernel.cell("import os; here = os.getcwd()")
        self.kernel.send("print('ran')", dir="/nowhere")
        done = self.kernel.receive()
        self.assertEqual((frames.text(done, "refused"), frames.number(done, "cell")), ("/nowhere", 2))
        self.check("print(os.getcwd() == here)", "True\n")

    def test_shadowing_modules_break_nothing(self):
        for name in ("json", "socket", "struct", "traceback", "ast", "linecache"):
            with open(os.path.join(self.folder, name + ".py"), "w") as f:
                f.write("raise RuntimeError('shadow')\n")
        kernel = Kernel(self.folder)
        self.addCleanup(kernel.close)
        self.assertEqual(kernel.cell("print(1)"), (0, "1\n"))
        code, text = kernel.cell("1 / 0")
        self.assertEqual(code, 1)
        self.assertIn("ZeroDivisionError", text)

    def test_figures_that_another_backend_draws(self):
        log = os.path.join(self.folder, "hermes_figures.log")
        env = "MPLBACKEND=module://hermes_figures"
        fake = """
            import sys, types
            def module(name, **what):
                sys.modules[name] = types.SimpleNamespace(**what)
            module("matplotlib", rcParams={"backend": %r})
            module("matplotlib._pylab_helpers", Gcf=types.SimpleNamespace(figs=%s))
        """
        for code, cell_env, want in (
            ("x = 1", env, None),
            (fake % ("agg", "{}"), env, None),
            (fake % ("agg", "{1: 2}"), "A=b", None),
            (fake % ("agg", "{1: 2}"), env, {"other": "agg"}),
            (fake % ('my "own"\\\u00e4\n', "{1: 2}"), env, {"other": 'my "own"\\\u00e4\n'}),
        ):
            with self.subTest(code=code):
                self.assertEqual(self.kernel.cell(code, env=cell_env), (0, ""))
                if want is None:
                    self.assertFalse(os.path.exists(log))
                    continue
                with open(log) as file:
                    self.assertEqual([json.loads(line) for line in file], [want])
                os.unlink(log)
        os.mkfifo(log)  # to which nobody listens
        self.assertEqual(self.kernel.cell("print(1)", env=env), (0, "1\n"))

    def test_a_backend_for_figures_that_is_something_else(self):
        self.check("import sys\nsys.modules['hermes_figures'] = object()", "")
        for env in ("MPLBACKEND=module://hermes_figures", "A=b"):
            self.assertEqual(self.kernel.cell("print(2)", env=env), (0, "2\n"))


if __name__ == "__main__":
    unittest.main()
