"""Tests of the file helper: read_file, search_files, and the checks before a write."""

import errno
import json
import os
import random
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, ROOT)

from hermes import files, globs, lines, search  # noqa: E402


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


class SearchTest(Tree):
    def test_rows(self):
        self.put("b.txt", "one\nneedle 1\r\nthree\nneedle 2")
        self.put("a/x.py", "needle")
        self.assertEqual(
            self.search("needle"),
            {
                "matches": [
                    {"path": "a/x.py", "line": 1, "content": "needle"},
                    {"path": "b.txt", "line": 2, "content": "needle 1"},
                    {"path": "b.txt", "line": 4, "content": "needle 2"},
                ],
                "total_count": 3,
                "truncated": False,
            },
        )

    def test_same_keys_with_and_without_hits(self):  # B088
        self.put("a.txt", "hit\nhit\n")
        for target, pattern in (("files", "*.txt"), ("content", "hit")):
            for wanted in (pattern, "nothing-like-this"):
                result = self.search(wanted, target=target)
                self.assertEqual(sorted(result), ["matches", "total_count", "truncated"])
                self.assertEqual(bool(result["matches"]), wanted == pattern)

    def test_glob_and_regex(self):  # B089
        self.put("a.md", "a.b(\naxb(\n")
        self.put("sub/notes.md", "x")
        self.put("sub/notes.txt", "x")
        self.assertEqual(self.found("*.md", target="files"), ["a.md", "sub/notes.md"])
        self.assertEqual(self.found("notes", target="files"), ["sub/notes.md", "sub/notes.txt"])
        self.assertEqual(self.found("sub/*.txt", target="files"), ["sub/notes.txt"])
        self.assertIn("bad pattern", self.refused(self.search, "a.b("))
        self.assertIn("bad pattern", self.refused(self.search, "*.md"))
        self.assertIn("bad glob", self.refused(self.search, "[z-a]", target="files"))
        self.assertEqual(self.search(r"a\.b\(")["total_count"], 1)
        self.assertEqual(self.search(".")["total_count"], 4)

    def test_paths_can_be_handed_back(self):
        self.put("src/deep/a.py", "x")
        for name in (".", "src", "src/", "./src", "src/deep/..", self.dir, self.path("src"), "src/deep/a.py"):
            with self.subTest(name=name):
                (path,) = self.found("x", name)
                self.assertTrue(os.path.samefile(os.path.join(self.dir, path), self.path("src/deep/a.py")))
                self.assertEqual(os.path.isabs(path), os.path.isabs(name))
        self.assertEqual(self.found("x"), ["src/deep/a.py"])

    def test_output_modes_and_pages(self):
        for name in "abcde":
            self.put(name, "x\nx\ny\n")
        self.assertEqual(
            self.search("x", output_mode="files_only", limit=2, offset=2),
            {"matches": [{"path": "c"}, {"path": "d"}], "total_count": 5, "truncated": True},
        )
        self.assertEqual(
            self.search("x", output_mode="count", limit=1, offset=4),
            {"matches": [{"path": "e", "count": 2}], "total_count": 5, "truncated": False},
        )
        self.assertEqual(self.search("x", limit=0), {"matches": [], "total_count": 10, "truncated": True})
        self.assertEqual(self.search("x", offset=99)["matches"], [])
        pages = [self.search("x", limit=3, offset=o)["matches"] for o in range(0, 12, 3)]
        self.assertEqual(sum(pages, []), self.search("x")["matches"])

    def test_context(self):
        self.put("a", "1\n2\n3 x\n4\n5\n")
        (row,) = self.search("x", context=1)["matches"]
        self.assertEqual((row["before"], row["content"], row["after"]), (["2"], "3 x", ["4"]))
        (row,) = self.search("x", context=99)["matches"]
        self.assertEqual((row["before"], row["after"]), (["1", "2"], ["4", "5"]))

    def test_text_and_binary(self):
        self.put("binary", b"needle\0")
        self.put("latin", b"caf\xe9 needle\n")
        self.put("wide", "needle \u20ac\n".encode("utf-16"))
        self.put("mark", b"\xef\xbb\xbfneedle\n")
        rows = {row["path"]: row["content"] for row in self.search("needle")["matches"]}
        self.assertEqual(rows, {"latin": "caf\ufffd needle", "wide": "needle \u20ac", "mark": "needle"})
        self.assertEqual(self.found("^needle"), ["mark", "wide"])

    def test_special_files(self):
        self.put("a", "needle")
        os.mkfifo(self.path("fifo"))
        os.symlink(".", self.path("loop"))
        os.symlink("a", self.path("link"))
        os.mkfifo(self.path(".gitignore"))
        self.put(".git/config", "needle")
        self.assertEqual(self.found("needle"), ["a"])
        self.assertEqual(self.found("needle", "link"), ["link"])
        self.assertIn("neither", self.refused(self.search, "x", "fifo"))
        self.assertIn("no such file", self.refused(self.search, "x", "missing"))

    @unittest.skipUnless(sys.platform == "linux", "other systems refuse such names")
    def test_names_that_are_no_utf8(self):
        self.put("a", "needle")
        shutil.copy(self.path("a"), os.fsencode(self.dir) + b"/\xff.txt")
        result = self.search("needle")
        self.assertEqual([row["path"] for row in result["matches"]], ["a", "\ufffd.txt"])
        json.dumps(result, ensure_ascii=False).encode()

    def test_file_glob(self):
        for name in ("a.py", "b.ts", "c.tsx", "src/d.py", "src/x/e.py", "test/f.py"):
            self.put(name, "x")
        cases = [
            ("*.py", ["a.py", "src/d.py", "src/x/e.py", "test/f.py"]),
            ("*.{ts,tsx}", ["b.ts", "c.tsx"]),
            ("src/**/*.py", ["src/d.py", "src/x/e.py"]),
            ("**/*.py", ["a.py", "src/d.py", "src/x/e.py", "test/f.py"]),
            ("src/*.py", ["src/d.py"]),
            ("src/**", ["src/d.py", "src/x/e.py"]),
            ("./src/*", ["src/d.py"]),
            ("[a-b].*", ["a.py", "b.ts"]),
            ("[!a].py", ["src/d.py", "src/x/e.py", "test/f.py"]),
            ("?.ts", ["b.ts"]),
        ]
        for glob, want in cases:
            with self.subTest(glob=glob):
                self.assertEqual(self.found("x", file_glob=glob), want)
                self.assertEqual(self.found(glob, target="files"), want)

    def test_open_bracket_is_literal(self):  # as in fnmatch
        for name in ("[", "[x", "a[b/c]", "ab/c"):
            self.put(name, "x")
        for glob, want in (
            ("[", ["["]),
            ("[*", ["[", "[x"]),
            ("[x", ["[x"]),
            ("a[b/c]", ["a[b/c]"]),
            ("[[]x", ["[x"]),
            ("[]", []),
            ("[!", []),
        ):
            with self.subTest(glob=glob):
                self.assertEqual(self.found("x", file_glob=glob), want)
                self.assertEqual(self.found(glob, target="files"), want)
        self.assertIn("bad glob '[z-a]'", self.refused(self.found, "x", file_glob="[z-a]"))

    def test_quotes_are_short(self):
        long = "(" * 10_000
        for call in (
            lambda: self.search(long),
            lambda: self.search("(?P=" + "g" * 10_000 + ")"),
            lambda: self.search("x", file_glob="[z-a]" + "g" * 10_000),
            lambda: self.search("x", name="n" * 10_000),
            lambda: self.read("n" * 10_000),
            lambda: files.handle({"op": "prepare", "new": True, "path": self.path("n" * 10_000), "name": "n" * 10_000}),
        ):
            text = self.refused(call)
            self.assertIn("\u2026", text)
            self.assertLess(len(text), 500)
        self.assertLessEqual(len(files.message(ValueError("x" * 10_000))), 1000)

    def test_long_lines_and_large_answers(self):
        self.put("a", "y" * 50000 + "needle" + "z" * 50000)
        (row,) = self.search("needle")["matches"]
        self.assertEqual(len(row["content"]), search.MAX_LINE)
        self.assertIn("needle", row["content"])
        self.put("a", ("needle" + "y" * 9000 + "\n") * 2000)
        result = self.search("needle", limit=2000)
        self.assertTrue(result["truncated"])
        self.assertEqual(result["total_count"], 2000)
        self.assertLess(len(json.dumps(result)), search.MAX_ROWS + (1 << 20))

    def test_large_file_in_blocks(self):
        saved, search.BLOCK = search.BLOCK, 2 * search.HEAD + 7
        self.addCleanup(setattr, search, "BLOCK", saved)
        rows = ["\u20ac line %d\r\n" % n for n in range(30000)]
        self.put("a", "".join(rows))
        result = self.search("line \\d*99$", limit=1000)
        want = [n for n in range(30000) if n % 100 == 99]
        self.assertEqual([row["line"] - 1 for row in result["matches"]], want)
        self.assertEqual(result["matches"][-1]["content"], "\u20ac line 29999")

    def test_inline_text(self):
        result = self.search("b", name="/spill", path="/nowhere", text="a\nb\n")
        self.assertEqual(result["matches"], [{"path": "/spill", "line": 2, "content": "b"}])


class IgnoreTest(Tree):
    def test_rules(self):
        names = ["a.log", "keep.log", "src/a.log", "src/b.py", "build/x", "src/build/x", "build.py", "docs/build", "x y"]
        for name in names:
            self.put(name, "x")
        cases = [
            ("*.log", ["build.py", "build/x", "docs/build", "src/b.py", "src/build/x", "x y"]),
            ("*.log\n!keep.log", ["build.py", "build/x", "docs/build", "keep.log", "src/b.py", "src/build/x", "x y"]),
            ("build/", ["a.log", "build.py", "docs/build", "keep.log", "src/a.log", "src/b.py", "x y"]),
            ("/build", ["a.log", "build.py", "docs/build", "keep.log", "src/a.log", "src/b.py", "src/build/x", "x y"]),
            ("src/**/x\n# c\n\n", ["a.log", "build.py", "build/x", "docs/build", "keep.log", "src/a.log", "src/b.py", "x y"]),
            ("src/*\n!src/b.py", ["a.log", "build.py", "build/x", "docs/build", "keep.log", "src/b.py", "x y"]),
            ("*\n!*/\n!*.py\r\n", ["build.py", "src/b.py"]),
            ("x\\ y  \n[a-k]*.log\n**/build", ["build.py", "src/b.py"]),
        ]
        for rules, want in cases:
            with self.subTest(rules=rules):
                self.put(".gitignore", rules)
                found = [name for name in self.found("*", target="files") if name != ".gitignore"]
                self.assertEqual(sorted(found), want)

    def test_nested(self):
        for name in ("a/x.tmp", "a/b/x.tmp", "a/b/c/x.tmp", "x.tmp"):
            self.put(name, "x")
        self.put(".gitignore", "*.tmp\n")
        self.put("a/b/.gitignore", "!x.tmp\n/c/\n")
        self.assertEqual(self.found("*.tmp", target="files"), ["a/b/x.tmp"])
        self.assertEqual(self.found("*.tmp", "a/b", target="files"), ["a/b/x.tmp"])
        self.assertEqual(self.found("*.tmp", "a", target="files"), ["a/b/x.tmp"])
        self.assertEqual(self.found("x", "x.tmp"), ["x.tmp"], "a file that was named is searched")

    @unittest.skipUnless(shutil.which("git"), "there is no git to compare with")
    def test_as_git_does(self):
        git = ["git", "-C", self.dir, "-c", "core.excludesFile=/dev/null"]
        subprocess.run(git + ["init", "-q"], check=True)
        chance = random.Random(3)
        parts = ["a", "b", "*", "**", "?", "[ab]", "[!a]", "a*", "*b", "ab"]
        for first in ("a", "b", "ab"):
            for second in ("a", "b", "ab"):
                for third in ("a", "b", "ba", "c"):
                    self.put("/".join((first, second, third)), "x")
        for _ in range(150):
            rules = []
            for _ in range(chance.randint(1, 4)):
                body = "/".join(chance.choice(parts) for _ in range(chance.randint(1, 3)))
                rules.append(chance.choice(["", "", "!"]) + chance.choice(["", "/"]) + body + chance.choice(["", "/"]))
            self.put(".gitignore", "\n".join(rules))
            self.put("a/.gitignore", chance.choice(rules))
            listed = subprocess.run(
                git + ["ls-files", "-co", "--exclude-standard"], check=True, stdout=subprocess.PIPE
            ).stdout.decode()
            self.assertEqual(self.found("*", target="files", limit=1000), sorted(listed.split("\n")[:-1], key=lambda p: p.split("/")), rules)


class FinderTest(unittest.TestCase):
    """The finder against the plain way: re.search on every line."""

    PATTERNS = [
        "a", "", "^", "$", "^$", r"\b", r"\s", r"a\s+b", r"\W", r"\D+", "[^a]", "[^a]*b", "[^]a]", "[^-a]", "[]a]",
        r"[\s,]", r"[^\S]", r"\Aa", r"b\Z", r"a$", r"(?i)A", r"(?i:A)b", r"(?m)^a", r"(?<!\s)a", r"(?<=\s)b", r"(?<![^a])b",
        r"a(?!\s)", r"a(?=b|$)", r"(a)\1", r"(?P<x>a)(?P=x)", r"a|b", r"ab?", r"ab{2,3}c", r"ab{0,1}", r"a{2}", "a{", "ab*", "ab+c",
        r"a\.b", r"\x61b", r"(?x) a # b", r"(?#[)a", r"a(?:b|c)d", r"[a-\x7f]b", r"[\x00-\x7f]{3}", "\u20ac", r"\w+b", r"a.*b",
        r".", r"a??b", r"(a|b)*c", r"ab\b", r"\Bb", r"[^\n]b", r"a[^\n]*",
    ]  # fmt: skip

    def spans(self, pattern, text):
        return [(start, end) for start, end, _ in lines.Finder(pattern).spans(text)]

    def plainly(self, pattern, text):
        plain, start, found = re.compile(pattern), 0, []
        rows = text.split("\n")
        if not rows[-1]:
            rows.pop()
        for row in rows:
            if plain.search(row):
                found.append((start, start + len(row)))
            start += len(row) + 1
        return found

    def test_against_each_line(self):
        chance = random.Random(4)
        texts = ["", "\n", "\n\n", "a", "a\n", "\na", "ab\n\nab"]
        for _ in range(150):
            texts.append("".join(chance.choice("aab bc,.\n\n\u20acA\x1c") for _ in range(chance.randint(0, 40))))
        for pattern in self.PATTERNS:
            for text in texts:
                if pattern == r"\Bb" and "\n\n" in text:
                    continue
                self.assertEqual(self.spans(pattern, text), self.plainly(pattern, text), (pattern, text))

    def test_across_lines(self):
        text = "one\ntwo x\nthree\none\n"
        self.assertEqual(self.spans(r"one\ntwo", text), [(0, 9)])
        self.assertEqual(self.spans(r"(?s)two.*three", text), [(4, 15)])
        self.assertEqual(self.spans(r"x[\s\S]*?one", text), [(4, 19)])
        self.assertEqual(self.spans("one\n", text), [(0, 3), (16, 19)])
        self.assertEqual(self.spans("two.*three", text), [])

    def test_required(self):
        cases = {
            r"def\s+name": "name", r"\bTODO\b": "TODO", "ab?c": "a", "ab*cd": "cd", "ab{2,3}c": "a", r"a\.b": "a.b", "a|bcd": "",
            r"(abc)d": "d", r"(?i)abc": "", r"foo(?!bar)x": "foo", "abc+d": "abc", r"\x61bc": "bc", "[abc]de": "de", r"\101bc": "bc",
        }  # fmt: skip
        for pattern, want in cases.items():
            self.assertEqual(lines.Finder(pattern).literal, want, pattern)

    def test_bad_patterns(self):
        for pattern in ("(", "*", "[", r"\2", "(?P<a", "a{2,1}", "(" * 5000 + ")" * 5000, "a{99999999999999999999}"):
            with self.assertRaises(ValueError, msg=pattern[:20]):
                lines.Finder(pattern)
                if len(pattern) > 5000:
                    raise ValueError("newer versions can nest as deep")


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
