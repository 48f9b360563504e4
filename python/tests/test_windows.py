"""Tests of what runs on Windows too, with an os module that lacks what that lacks: no Windows is needed."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# A file that is opened without O_BINARY there is read with its line ends translated, up to a Ctrl-Z.
WINDOWS = """
import os, sys
POSIX = "O_NONBLOCK O_CLOEXEC O_NOFOLLOW O_DIRECTORY O_NOCTTY mkfifo statvfs ST_RDONLY fork geteuid getuid getpgid setsid"
for name in (POSIX + " register_at_fork fchmod chown posix_spawn getcwdb environb").split():
    if hasattr(os, name):
        delattr(os, name)
os.O_BINARY = 1 << 29
posix_open = os.open

def windows_open(path, flags, mode=0o777):
    assert flags & os.O_BINARY, "%s is opened in text mode" % path
    return posix_open(path, flags & ~os.O_BINARY, mode)

os.open = windows_open
for name in "fcntl pwd grp resource termios select posix".split():
    sys.modules[name] = None
sys.path.insert(0, sys.argv[1])
os.chdir(sys.argv[2])
from hermes import files

def handle(op, name, **more):
    return files.handle(dict(more, op=op, path=os.path.join(sys.argv[2], name), name=name))
"""


class WindowsTest(unittest.TestCase):
    def setUp(self):
        self.dir = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.dir)

    def run_there(self, code):
        """Returns what code prints in an interpreter that is as on Windows."""
        args = [sys.executable, "-I", "-S", "-X", "utf8", "-B", "-c", WINDOWS + code, ROOT, self.dir]
        done = subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def put(self, name, data):
        with open(os.path.join(self.dir, name), "wb") as file:
            file.write(data)

    def test_read(self):
        self.put("a", b"one\r\ntwo\x1a\r\n")
        got = self.run_there("print(ascii(handle('read_file', 'a', offset=1, limit=9)['content']))")
        self.assertEqual(got, ascii("one\r\ntwo\x1a\r\n") + "\n")

    def test_search(self):
        self.put("a", b"one\r\ntwo\r\n")
        self.put("b", b"two")
        self.put(".gitignore", b"b\r\n")
        more = "target='content', dir=sys.argv[2], file_glob=None, limit=9, offset=0, output_mode='content', context=0"
        got = self.run_there("print(handle('search_files', '.', pattern='two$', %s)['matches'])" % more)
        self.assertEqual(got, "[{'path': 'a', 'line': 2, 'content': 'two'}]\n")

    def test_write(self):
        got = self.run_there("print(handle('prepare', 'sub/new', new=True)['mode'], handle('vacant', 'other')['mode'])")
        self.assertEqual(got, "%d 0\n" % (0o666 & ~files_umask()))
        self.put("a", b"")
        code = """
os.access = lambda path, mode: False
try:
    handle("prepare", "a", new=False)
except OSError as e:
    print(type(e).__name__)
handle("rearrange", "x", moves=[[{"path": "a", "name": "a"}, {"path": "c", "name": "c"}]], removes=[])
print(sorted(os.listdir(".")))
"""
        self.assertEqual(self.run_there(code), "PermissionError\n['c', 'sub']\n")

    def test_stub_can_be_imported(self):
        got = self.run_there("from hermes import stub; print(stub.shell_quote('a b'))")
        self.assertEqual(got, "'a b'\n")


def files_umask():
    mask = os.umask(0o77)
    os.umask(mask)
    return mask


if __name__ == "__main__":
    unittest.main()
