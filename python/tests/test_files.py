"""Tests of the file helper: read_file, search_files, and the checks before a write."""

import errno
import json
import os
import random
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, ROOT)

from hermes import files  # noqa: E402


class Tree(unittest.TestCase):
    """A test with a directory of its own."""

    def setUp(self):
        self.dir = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.dir)

    def path(self, name):
        return os.path.join(self.dir, name)

    def put(self, name, data=""):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "wb") as file:
            file.write(data if isinstance(data, bytes) else data.encode())

    def read(self, name, offset=1, limit=2000):
        return files.handle(
            {"op": "read_file", "path": self.path(name), "name": name, "offset": offset, "limit": limit}
        )

    def search(self, pattern, name=".", **more):
        request = {
            "op": "search_files",
            "pattern": pattern,
            "target": "content",
            "path": os.path.normpath(os.path.join(self.dir, name)),
            "name": name,
            "dir": self.dir,
            "file_glob": None,
            "limit": 50,
            "offset": 0,
            "output_mode": "content",
            "context": 0,
        }
        request.update(more)
        return files.handle(request)

    def found(self, pattern, name=".", **more):
        return [row["path"] for row in self.search(pattern, name, **more)["matches"]]

    def refused(self, call, *args, **kw):
        with self.assertRaises((ValueError, OSError)) as caught:
            call(*args, **kw)
        return files.message(caught.exception)


class ReadTest(Tree):
    def test_window(self):
        self.put("a", "one\ntwo\nthree\nfour")
        cases = [
            (1, 2000, "one\ntwo\nthree\nfour", None),
            (1, 2, "one\ntwo\n", 3),
            (2, 2, "two\nthree\n", 4),
            (4, 1, "four", None),
            (3, 2, "three\nfour", None),
            (5, 1, "", None),
            (10**12, 10**12, "", None),
        ]
        for offset, limit, content, following in cases:
            with self.subTest(offset=offset, limit=limit):
                self.assertEqual(
                    self.read("a", offset, limit),
                    {
                        "content": content,
                        "total_lines": 4,
                        "truncated": following is not None,
                        "next_offset": following,
                        "encoding": "utf-8",
                    },
                )

    def test_line_ends(self):
        for data, total in [("", 0), ("\n", 1), ("x", 1), ("a\r\nb\r\n", 2), ("a\rb\u2028c\x0b", 1), ("\n\n", 2)]:
            self.put("a", data)
            result = self.read("a")
            self.assertEqual((result["content"], result["total_lines"], result["truncated"]), (data, total, False))

    def test_encodings(self):
        text = "\u00e4\n\U0001f600\u20ac\n"
        for encoding, mark in [("utf-8-sig", "utf-8-sig"), ("utf-16", "utf-16"), ("utf-32", "utf-32")]:
            self.put("a", text.encode(encoding))
            result = self.read("a", 2)
            self.assertEqual((result["content"], result["encoding"]), ("\U0001f600\u20ac\n", mark))
        self.put("a", b"\xfe\xff" + text.encode("utf-16-be"))
        self.assertEqual(self.read("a")["content"], text)

    def test_same_keys_and_fresh_content_each_time(self):  # B087
        for content in ("one\n", "two\n", "two\n"):
            self.put("a", content)
            for limit in (2000, 1):
                result = self.read("a", 1, limit)
                self.assertEqual(result["content"], content)
                self.assertEqual(list(result), ["content", "total_lines", "truncated", "next_offset", "encoding"])

    def test_refused(self):
        self.put("binary", b"\x7fELF\xff\xfe")
        self.put("latin", "caf\u00e9".encode("latin-1"))
        self.put("half", b"\xff\xfea")
        os.mkfifo(self.path("fifo"))
        os.mkdir(self.path("folder"))
        os.symlink("loop", self.path("loop"))
        os.symlink("/dev/zero", self.path("zero"))
        cases = [
            ("binary", "not UTF-8 text"),
            ("latin", "not UTF-8 text"),
            ("half", "not UTF-16 text"),
            ("fifo", "is a FIFO"),
            ("folder", "is a directory"),
            ("loop", "oo many"),
            ("missing", "missing: no such file"),
            ("latin/x", "not a directory"),
            ("zero", "is a device"),
        ]
        for name, text in cases:
            with self.subTest(name=name):
                self.assertIn(text, self.refused(self.read, name))

    def test_sparse_giant(self):
        self.put("a", "one\ntwo\n")
        with open(self.path("a"), "r+b") as file:
            file.truncate(10 << 30)
        result = self.read("a", 1, 2)
        self.assertEqual((result["content"], result["total_lines"], result["next_offset"]), ("one\ntwo\n", None, 3))
        result = self.read("a")
        self.assertEqual((result["content"], result["next_offset"], result["truncated"]), ("one\ntwo\n", 3, True))

    def test_long_lines(self):
        size = files.MAX_CONTENT
        self.put("a", "x" * (size + 5) + "\nlast\n")
        first = self.read("a")
        self.assertEqual((first["content"], first["next_offset"], first["total_lines"]), ("x" * size, 2, 2))
        second = self.read("a", first["next_offset"])
        self.assertEqual((second["content"], second["truncated"]), ("last\n", False))
        for pad in range(5):
            self.put("a", "x" * pad + "\u20ac" * (size // 3 + 2))
            result = self.read("a")
            self.assertTrue(result["truncated"])
            self.assertGreater(len(result["content"].encode()), size - 4)

    def test_paging_gives_back_the_file(self):
        chance = random.Random(1)
        for _ in range(50):
            text = "".join(chance.choice(["a", "\n", "\r\n", "\u00e9", "\U0001f600" * 3]) for _ in range(200))
            self.put("a", text)
            offset, parts = 1, []
            while offset is not None:
                result = self.read("a", offset, chance.randint(1, 9))
                parts.append(result["content"])
                offset = result["next_offset"]
            self.assertEqual("".join(parts), text)
            self.assertEqual(result["total_lines"], text.count("\n") + (text[-1:] != "\n"))

    def test_many_chunks(self):
        chance = random.Random(2)
        rows = ["\u20ac" * chance.randint(0, 60) + "\n" for _ in range(20000)]
        self.put("a", "".join(rows))
        for offset, limit in [(1, 20000), (1, 19999), (7000, 5000), (19999, 5), (12345, 1)]:
            result = self.read("a", offset, limit)
            self.assertEqual(result["content"], "".join(rows[offset - 1 : offset - 1 + limit]))
            self.assertEqual(result["total_lines"], 20000)


class PrepareTest(Tree):
    def prepare(self, name, new=True):
        return files.handle({"op": "prepare", "path": self.path(name), "name": name, "new": new})

    def test_new_file(self):
        self.assertEqual(self.prepare("a/b/c"), {"path": self.path("a/b/c"), "mode": 0o666 & ~files._umask()})
        self.assertTrue(os.path.isdir(self.path("a/b")))
        self.assertFalse(os.path.exists(self.path("a/b/c")))
        self.assertIn("no such file", self.refused(self.prepare, "x/y", new=False))
        self.assertFalse(os.path.exists(self.path("x")))

    def test_existing_file_and_symlink(self):
        self.put("real")
        os.symlink("real", self.path("link"))
        os.symlink("new", self.path("dangling"))
        self.assertEqual(self.prepare("link"), {"path": self.path("real"), "mode": 0})
        self.assertEqual(self.prepare("dangling")["path"], self.path("new"))

    def test_refused(self):
        self.put("file")
        os.mkfifo(self.path("fifo"))
        os.mkdir(self.path("folder"))
        os.symlink("/dev/null", self.path("null"))
        cases = [
            ("fifo", "is a FIFO"),
            ("folder", "is a directory"),
            ("null", "is a device"),
            ("file/x", "file/x: not a directory"),
            ("new/", "name of a directory"),
        ]
        for name, text in cases:
            with self.subTest(name=name):
                self.assertIn(text, self.refused(self.prepare, name))


class VacantTest(Tree):
    def vacant(self, name, source=None):
        source = source and self.path(source)
        return files.handle({"op": "vacant", "path": self.path(name), "name": name, "source": source})

    def test_a_symlink_that_is_moved(self):
        self.put("z/a")
        os.symlink("a", self.path("z/ln"))
        os.symlink(self.path("z/a"), self.path("z/absolute"))
        os.symlink("z", self.path("y"))
        for name, source in (("z/m", "z/ln"), ("y/m", "z/ln"), ("z/m", "y/ln"), ("m", "z/absolute"), ("m", "z/a")):
            with self.subTest(name=name, source=source):
                self.assertEqual(self.vacant(name, source)["path"], os.path.realpath(self.path(name)))
        for name in ("m", "new/m"):
            with self.subTest(name=name):
                said = self.refused(self.vacant, name, "z/ln")
                self.assertIn(name + ": the symlink that is to be moved there leads to a, relative", said)
        self.assertEqual(sorted(os.listdir(self.dir)), ["y", "z"])


class RearrangeTest(Tree):
    def setUp(self):
        super().setUp()
        self.put_all()

    def put_all(self):
        for name in ("a", "b", "c", "d"):
            self.put(name, name)

    def rearrange(self, moves=(), removes=(), **more):
        def place(name):
            return {"path": self.path(name), "name": "called " + name}

        request = {"op": "rearrange", "name": "", "id": "ID", "moves": [[place(a), place(b)] for a, b in moves]}
        return files.handle(dict(request, removes=[place(name) for name in removes], **more))

    def there(self):
        found = {}
        for name in os.listdir(self.dir):
            with open(self.path(name)) as file:
                found[name] = file.read()
        return found

    def failing(self, name, fails):
        """Let a function of os fail for some arguments."""
        real = getattr(os, name)

        def call(*args):
            if fails(*map(os.path.basename, args)):
                raise PermissionError(errno.EPERM, "Not today")
            return real(*args)

        self.addCleanup(setattr, os, name, real)
        setattr(os, name, call)

    def test_all(self):
        self.assertEqual(self.rearrange([("a", "x"), ("b", "y")], ["c", "d"]), {})
        self.assertEqual(self.there(), {"x": "a", "y": "b"})

    def test_none_and_the_error_names_the_file(self):
        before = self.there()
        for moves, removes, want in (
            ([("a", "x"), ("b", "d")], ["c"], "called d: file exists"),
            ([("a", "x"), ("none", "y")], ["c"], "called none: no such file or directory"),
            ([("a", "x"), ("b", "none/y")], ["c"], "called none/y: no such file or directory"),
            ([("a", "x")], ["c", "none"], "called none: no such file or directory"),
        ):
            with self.subTest(want=want):
                self.assertEqual(self.refused(self.rearrange, moves, removes).lower(), want)
                self.assertEqual(self.there(), before)

    def test_missing(self):
        self.rearrange(removes=["none", "c"], missing=True)
        self.assertEqual(sorted(self.there()), ["a", "b", "d"])

    def test_what_is_left_over_is_no_error(self):
        self.failing("unlink", lambda name: True)
        self.rearrange([("a", "x")], ["c", "d"])
        self.assertEqual(sorted(self.there()), [".hermes_removed_ID_0", ".hermes_removed_ID_1", "b", "x"])

    def test_the_first_error_is_told_and_the_rest_is_put_back(self):
        self.failing("rename", lambda source, target: target == "b")
        said = self.refused(self.rearrange, [("a", "x"), ("b", "y"), ("c", "d")])
        self.assertTrue(said.startswith("called d: "), said)
        self.assertIn("exists; and %s could not be put back, it is %s now: not today" % (self.path("b"), self.path("y")), said)
        self.assertEqual(self.there(), {"a": "a", "y": "b", "c": "c", "d": "d"})

    def test_again(self):  # wherever it was cut off
        class Cut(BaseException):
            pass

        for steps in range(6):
            with self.subTest(steps=steps):
                for name in os.listdir(self.dir):
                    os.remove(self.path(name))
                self.put_all()
                left, real = [steps], (os.rename, os.unlink)

                def counted(call):
                    def step(*args):
                        if not left[0]:
                            raise Cut
                        left[0] -= 1
                        return call(*args)

                    return step

                os.rename, os.unlink = map(counted, real)
                try:
                    with self.assertRaises(Cut):
                        self.rearrange([("a", "x"), ("b", "y")], ["c", "d"])
                finally:
                    os.rename, os.unlink = real
                self.rearrange([("a", "x"), ("b", "y")], ["c", "d"], again=True)
                self.assertEqual(self.there(), {"x": "a", "y": "b"})
        self.rearrange([("x", "z")], again=True)
        self.assertEqual(self.there(), {"z": "a", "y": "b"})


class MainTest(Tree):
    def test_lines_in_lines_out(self):
        self.put("a", "\u20ac\n")
        request = {"op": "read_file", "path": self.path("a"), "name": "a", "offset": 1, "limit": 9}
        sent = [request, {"op": "nonsense"}, {"op": "read_file"}, dict(request, path=self.path("b"), name="b"), request]
        code = "import sys;sys.path.insert(0,sys.argv[1]);from hermes import files;sys.exit(files.main())"
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-X", "utf8", "-c", code, ROOT],
            input=b"".join(json.dumps(one).encode() + b"\n" for one in sent),
            stdout=subprocess.PIPE,
            check=True,
        )
        answers = done.stdout.decode().split("\n")[:-1]
        self.assertEqual([one[0] for one in answers], list("+---+"))
        self.assertEqual(json.loads(answers[0][1:])["content"], "\u20ac\n")
        self.assertEqual(json.loads(answers[3][1:]), "b: no such file or directory")
        self.assertEqual(answers[0], answers[4])


class ModeTest(unittest.TestCase):
    def test_umask_is_left_alone(self):
        before = files._umask()
        self.assertEqual(files._umask(), before)
        self.assertEqual(stat.S_IMODE(before), before)

if __name__ == "__main__":
    unittest.main()
