import os
import tempfile
import unittest

import test_kernel

# What a cell may do to its streams. What it prints by then is not looked at.
SPOILT = {
    "stdout closed": "import os; os.close(1)",
    "stdin, stdout and stderr closed": "import os; os.closerange(0, 3)",
    "stdout moved to a file": "import os; os.dup2(os.open('log', os.O_CREAT | os.O_WRONLY), 1)",
    "stderr moved to the null device": "import os; os.dup2(os.open(os.devnull, os.O_WRONLY), 2)",
    "stdout and stderr swapped for files": "import os\nos.close(1); open('a', 'w').detach().detach()\nos.close(2); x = open('b', 'w')",
    "stdin is a file": "import os; os.close(0); f = open('cells.py')",
    "stdout cannot be written": "import os; os.dup2(os.open('cells.py', os.O_RDONLY), 1)",
    "stdout does not block": "import os; os.set_blocking(1, False); os.set_blocking(2, False)",
    "the object is closed": "import sys; sys.stdout.close(); sys.stderr.close(); sys.stdin.close()",
    "exit closes stdin": "exit()",
    "the originals are closed": "import sys\nfor s in sys.__stdin__, sys.__stdout__, sys.__stderr__: s.close()",
    "a file that was closed stands in": "import sys\nwith open('c', 'w') as sys.stdout: print(1)",
    "detached": "import sys; kept = sys.stdout.detach(), sys.stderr.detach(), sys.stdin.detach()",
    "deleted": "import sys; del sys.stdout, sys.stderr, sys.stdin, sys.__stdout__",
    "owned by another object": "import sys; sys.stdout = open(1, 'w'); sys.stdout.close()",
}

LOOK = """
import os, subprocess, sys
print('é', sys.stdout.fileno(), sys.stderr.fileno(), sys.stdin.fileno(), repr(sys.stdin.read()))
os.write(1, b'raw\\n')
os.write(2, b'raw 2\\n')
print('err', file=sys.stderr)
sys.stdout.buffer.write(b'buffer\\n')
sys.stdout.buffer.flush()
subprocess.run(['sh', '-c', 'cat; echo child; echo child 2 >&2'])
print(os.get_blocking(1), os.get_blocking(2), sys.stdout.name, sys.stdout.mode, sys.stdin.mode)
"""

WELL = "é 1 2 0 ''\nraw\nraw 2\nerr\nbuffer\nchild\nchild 2\nTrue True <stdout> w r\n"


class StreamsTest(unittest.TestCase):
    def kernel(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        kernel = test_kernel.Kernel(folder.name)
        self.addCleanup(kernel.close)
        return kernel

    def test_the_next_cell_has_them_all(self):
        for what, code in SPOILT.items():
            with self.subTest(what):
                kernel = self.kernel()
                kernel.cell(code)
                self.assertEqual(kernel.cell(LOOK), (0, WELL))

    def test_an_object_that_works_stays(self):
        kernel = self.kernel()
        kernel.cell("import io, sys\nsys.stdout = io.StringIO()\nprint('kept')")
        self.assertEqual(kernel.cell("print('too')"), (0, ""))
        code = "text, sys.stdout = sys.stdout.getvalue(), sys.__stdout__\nprint(repr(text))"
        self.assertEqual(kernel.cell(code), (0, "'kept\\ntoo\\n'\n"))
        kernel.cell("class Odd:\n    def write(self, s): sys.__stdout__.write(s.upper())\nsys.stdout = Odd()")
        self.assertEqual(kernel.cell("print('odd')"), (0, "ODD\n"))
        kernel.cell(
            "class Hostile:\n    def write(self, s): raise SystemExit(s)\n    flush = write\n"
            "    closed = property(lambda self: exit(1))\nsys.stdout = sys.stderr = Hostile()"
        )
        self.assertEqual(kernel.cell("print('x')"), (1, ""))
        self.assertEqual(kernel.cell("1 / 0"), (1, ""))
        self.assertEqual(kernel.cell("raise SystemExit('text')"), (1, ""))
        self.assertEqual(kernel.cell("sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__\nprint(1)"), (0, "1\n"))
        kernel.cell("sys.stdout = None")
        self.assertEqual(kernel.cell("print('nobody hears this')"), (0, ""))

    def test_without_its_copies_the_kernel_ends(self):
        kernel = self.kernel()
        kernel.cell("import os, stat\nfor n in range(4, 1024):\n    try:\n        if not stat.S_ISSOCK(os.fstat(n).st_mode): os.close(n)\n    except OSError: pass\nos.close(1)")
        kernel.send("print(1)")
        with self.assertRaises(EOFError):
            kernel.receive()

    def test_children_do_not_get_the_copies(self):
        kernel = self.kernel()
        count = "sum(os.path.exists('/proc/self/fd/%d' % n) and os.path.sameopenfile(n, 1) for n in range(1024))"
        code = "import os\nif os.fork(): os.wait()\nelse: print(%s)" % count
        self.assertEqual(kernel.cell(code), (0, "2\n"))
        self.assertEqual(kernel.cell("print(%s)" % count), (0, "4\n"))


if __name__ == "__main__":
    unittest.main()
