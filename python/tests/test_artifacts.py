"""The archive of what a script has left."""

import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import unittest

import support
from _hermes_exec import artifacts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CODE = "import sys; sys.path.insert(0, %r); import support; from _hermes_exec import artifacts; artifacts.main()" % support.HERE


class ArtifactsTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = os.path.join(folder.name, "root")
        os.makedirs(os.path.join(self.root, "sub"))
        for name in ("b", "a", "sub/c", "sub/.hidden"):
            with open(os.path.join(self.root, name), "w") as f:
                f.write(name)

    def send(self, most: int, room: int, before: str = "") -> "tuple[dict[str, bytes], dict[str, Any]]":
        done = subprocess.run(
            [sys.executable, "-c", before + CODE, "library", self.root, str(most), str(room)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            check=True,
        )
        self.assertFalse(os.path.lexists(self.root))
        self.assertEqual(done.stderr, b"")
        files, report = {}, {}
        self.torn = []  # type: list[tuple[str, str]]
        with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
            for member in archive:
                self.assertEqual(report, {})  # which comes last
                data = archive.extractfile(member).read()  # type: ignore[union-attr]
                if member.type == b"T":
                    self.torn.append((list(files)[-1], data.decode()))
                elif member.type == b"R":
                    report = json.loads(data)
                else:
                    files[member.name] = data
        return files, report

    def test_regular_files_with_their_names(self) -> None:
        os.symlink("a", os.path.join(self.root, "link"))
        os.symlink("sub", os.path.join(self.root, "sub2"))
        os.mkfifo(os.path.join(self.root, "fifo"))
        files, report = self.send(10, 100)
        want = ["a", "b", "sub/.hidden", "sub/c"]
        self.assertEqual(files, {n: n.encode() for n in want})
        self.assertEqual(list(files), want)
        odd = [["fifo", "a FIFO"], ["link", "a symbolic link"], ["sub2", "a symbolic link"]]
        self.assertEqual(report, {"odd": {"count": 3, "first": odd}})

    def test_order_of_numbers(self) -> None:
        names = ["10", "1", "a1b10", "01b", "2", "a1b2", "a-1"]
        want = ["01b", "1", "2", "10", "a1b2", "a1b10", "a-1"]
        self.assertEqual(sorted(names, key=artifacts.order), want)

    def test_names_that_are_no_text(self) -> None:
        for name in (b"\xff", b"%FF", b"\xc3\xa4"):
            with open(os.path.join(os.fsencode(self.root), name), "wb") as f:
                f.write(name)
        files, report = self.send(10, 100)
        self.assertEqual([files.get("%FF"), files.get("\u00e4")], [b"%FF", b"\xc3\xa4"])
        self.assertEqual(report, {"unread": {"count": 1, "first": [["%FF", "another one has this name in UTF-8"]]}})

    def test_report_is_bounded(self) -> None:
        for i in range(30):
            os.symlink("a", os.path.join(self.root, "link%d" % i))
        odd = self.send(10, 100)[1]["odd"]
        self.assertEqual((odd["count"], len(odd["first"]), odd["first"][2][0]), (30, 10, "link2"))

    def test_what_figures_have_left_word_of(self) -> None:
        log = os.path.join(os.path.dirname(self.root), artifacts.LOG)
        lines = ['{"open": 1}', '{"done": 1}', '{"failed": ["f", "w"]}', "x", "[]", '{"failed": 1}', '{"open": []}', '{"failed": ["g", "%s"]}' % ("w" * 600)]
        for more, still in (("", {}), ('{"open": 2}\n', {"open": True}), ('{"other": "agg"}\n', {"other": "agg"})):
            with open(log, "w") as f:
                f.write("\n".join(lines) + "\n" + more)
            report = self.send(10, 100)[1]
            self.assertEqual(report, dict({"failed": {"count": 2, "first": [["f", "w"], ["g", "w" * 500 + "\u2026"]]}}, **still))
            self.assertFalse(os.path.exists(log))
            os.mkdir(self.root)

    def test_something_else_where_figures_leave_word(self) -> None:
        for what in ("a FIFO", "a FIFO that somebody writes to", "a directory"):
            with self.subTest(what=what):
                log = os.path.join(os.path.dirname(self.root), artifacts.LOG)
                if what == "a directory":
                    os.mkdir(log)
                else:
                    os.mkfifo(log)
                if what.endswith("to"):
                    self.addCleanup(os.close, os.open(log, os.O_RDWR))
                files, report = self.send(10, 100)
                self.assertEqual((len(files), report), (4, {}))
                self.assertEqual(os.path.lexists(log), what == "a directory")
                self.setUp()

    def test_a_file_that_becomes_something_else(self) -> None:
        for make, what in (("mkfifo", "a FIFO"), ("mkdir", "a directory")):
            before = (
                "import os\nreal = os.open\n"
                "def call(path, *args, **more):\n"
                "    if str(path).endswith('/a'):\n"
                "        os.unlink(path)\n"
                "        os.%s(path)\n"
                "        if %r: call.writer = real(path, os.O_RDWR)\n"
                "    return real(path, *args, **more)\n"
                "os.open = call\n"
            ) % (make, make == "mkfifo")
            with self.subTest(what=what):
                files, report = self.send(10, 100, before)
                self.assertEqual((sorted(files), self.torn), (["b", "sub/.hidden", "sub/c"], []))
                self.assertEqual(report, {"unread": {"count": 1, "first": [["a", "it has become " + what]]}})
                self.setUp()

    def test_limits(self) -> None:
        over = [["b", "1 byte"], ["sub/.hidden", "11 bytes"], ["sub/c", "5 bytes"]]
        self.assertEqual(self.send(1, 100), ({"a": b"a"}, {"over": {"count": 3, "first": over}, "bytes_over": 17}))

    def test_the_first_of_many_beyond_the_limits(self) -> None:
        for i in range(30):
            with open(os.path.join(self.root, "z%d" % i), "w"):
                pass
        report = self.send(0, 100)[1]
        names = [name for name, _ in report["over"]["first"]]
        self.assertEqual((report["over"]["count"], names), (34, ["a", "b", "sub/.hidden", "sub/c"] + ["z%d" % i for i in range(6)]))

    def test_a_file_that_has_no_room_does_not_keep_out_others(self) -> None:
        files, report = self.send(10, 7)
        self.assertEqual((files, report), ({"a": b"a", "b": b"b", "sub/c": b"sub/c"}, {"over": {"count": 1, "first": [["sub/.hidden", "11 bytes"]]}, "bytes_over": 11}))

    def test_what_cannot_be_looked_at_is_left_out(self) -> None:
        for call, name in (("stat", "a"), ("listdir", "sub"), ("open", "a")):
            before = (
                "import os\nreal = os.%s\n"
                "def call(path, *args, **more):\n"
                "    if str(path).endswith('/%s'): raise OSError(5, 'Input/output error')\n"
                "    return real(path, *args, **more)\n"
                "os.%s = call\n"
            ) % (call, name, call)
            with self.subTest(call=call):
                files, report = self.send(10, 100, before)
                self.assertNotIn(name, "".join(files))
                self.assertEqual(report, {"unread": {"count": 1, "first": [[name, "input/output error"]]}})
                self.setUp()

    def test_a_file_that_cannot_be_read_to_its_end(self) -> None:
        for text, reason in (
            ("def read(f, n): return f.read(n)[:1]", "it became shorter while it was read"),
            ("def read(f, n): raise OSError(5, 'Input/output error')", "input/output error"),
        ):
            before = (
                "import os, sys\nsys.path.insert(0, %r)\nimport support\nfrom _hermes_exec.artifacts import Whole\n"
                "%s\n"
                "class Broken:\n"
                "    def __init__(self, file): self.file = file\n"
                "    def read(self, n): return read(self.file, n)\n"
                "begin = Whole.__init__\n"
                "Whole.__init__ = lambda self, file: begin(self, Broken(file) if os.fstat(file.fileno()).st_size > 4 else file)\n"
            ) % (support.HERE, text)
            with self.subTest(reason=reason):
                files, report = self.send(10, 100, before)
                self.assertEqual((sorted(files), report), (["a", "b", "sub/.hidden", "sub/c"], {}))
                self.assertEqual(self.torn, [("sub/.hidden", reason), ("sub/c", reason)])
                self.setUp()

    def test_more_levels_than_calls_may_nest(self) -> None:
        path = self.root
        for _ in range(1500):
            path += "/d"
            os.mkdir(path)
        with open(path + "/deep", "w"):
            pass
        files, report = self.send(10, 100)
        self.assertEqual((files["d/" * 1500 + "deep"], len(files), report), (b"", 5, {}))

    def test_no_directory(self) -> None:
        support.shutil.rmtree(self.root)
        self.assertEqual(self.send(10, 10), ({}, {"root": "is gone"}))

    def test_something_else_in_its_place(self) -> None:
        support.shutil.rmtree(self.root)
        os.symlink("/etc", self.root)
        self.assertEqual(self.send(10, 10), ({}, {"root": "is no directory any more but a symbolic link"}))


if __name__ == "__main__":
    unittest.main()
