"""Tests of search_files."""

import contextlib
import json
import os
import random
import shutil
import sys
import unittest

import test_files
from hermes import files, search, texts


class SearchTest(test_files.Tree):
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
                "next_offset": None,
            },
        )

    def test_same_keys_with_and_without_hits(self):  # B088
        self.put("a.txt", "hit\nhit\n")
        for target, pattern in (("files", "*.txt"), ("content", "hit")):
            for wanted in (pattern, "nothing-like-this"):
                result = self.search(wanted, target=target)
                self.assertEqual(sorted(result), ["matches", "next_offset", "total_count", "truncated"])
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
            {"matches": [{"path": "c"}, {"path": "d"}], "total_count": 5, "truncated": True, "next_offset": 4},
        )
        self.assertEqual(
            self.search("x", output_mode="count", limit=1, offset=4),
            {"matches": [{"path": "e", "count": 2}], "total_count": 5, "truncated": False, "next_offset": None},
        )
        self.assertEqual(self.search("x", limit=0), {"matches": [], "total_count": 10, "truncated": True, "next_offset": None})
        self.assertEqual(self.search("x", offset=99)["matches"], [])
        rows, page = [], {"next_offset": 0}
        while page["next_offset"] is not None:
            page = self.search("x", limit=3, offset=page["next_offset"])
            rows += page["matches"]
        self.assertEqual(rows, self.search("x")["matches"])

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

    def small_blocks(self):
        self.sizes(SMALL=2 * texts.HEAD + 7, BLOCK=2 * texts.HEAD + 7)

    def sizes(self, module=texts, **sizes):
        for name, size in sizes.items():
            self.addCleanup(setattr, module, name, getattr(module, name))
            setattr(module, name, size)

    def test_large_file_in_blocks(self):
        self.small_blocks()
        rows = ["\u20ac line %d\r\n" % n for n in range(30000)]
        self.put("a", "".join(rows))
        result = self.search("line \\d*99$", limit=1000)
        want = [n for n in range(30000) if n % 100 == 99]
        self.assertEqual([row["line"] - 1 for row in result["matches"]], want)
        self.assertEqual(result["matches"][-1]["content"], "\u20ac line 29999")
        self.assertEqual(self.search("(?i)LINE", limit=2)["total_count"], 30000)
        (late,) = self.search("line 29876")["matches"]  # no block before it was looked at
        self.assertEqual(late["line"], 29877)
        (counted,) = self.search("line", output_mode="count")["matches"]
        self.assertEqual(counted["count"], 30000)

    def test_context_across_blocks(self):
        self.small_blocks()
        self.put("a", "".join("line %d\n" % n for n in range(15000)))
        for row in self.search("line .*[05]$", context=2, limit=15000)["matches"]:
            n = row["line"] - 1
            self.assertEqual(row["before"], ["line %d" % k for k in (n - 2, n - 1) if k >= 0])
            self.assertEqual(row["after"], ["line %d" % k for k in (n + 1, n + 2) if k < 15000])

    CODECS = ("utf-8", "utf-8-sig", "utf-16", "utf-32")

    def encoded(self, text, codec, big=False):
        if not big or not codec.startswith(("utf-16", "utf-32")):
            return text.encode(codec)
        return ("\ufeff" + text).encode(codec + "-be")

    def test_pieces_change_nothing(self):
        chance = random.Random(7)
        parts = ["\n", "\n", "\r\n", "\r", "x", "ab", "needle", "\u20ac", "\U0001f600", "\u010a\u0100", " a longer part of a line "]
        whole = {name: getattr(texts, name) for name in ("HEAD", "SMALL", "BLOCK", "STEP")}
        for turn in range(100):
            text = "".join(chance.choice(parts) for _ in range(chance.randint(1, 120)))
            big, context = chance.random() < 0.5, chance.choice([0, 1, 2, 5, 10**9])
            pattern = chance.choice(["needle", "x", "^a", "$", "(?i)NEEDLE|b", "\\r|\u20ac"])
            mode = chance.choice(["content", "content", "count", "files_only"])
            asked = {"context": context, "output_mode": mode, "limit": chance.choice([1, 3, 1000]), "offset": chance.choice([0, 0, 2])}
            for codec in self.CODECS:
                self.put("a", self.encoded(text, codec, big))
                self.sizes(**whole)
                want = self.search(pattern, **asked)
                self.sizes(HEAD=4, SMALL=chance.choice([8, 13, 64]), STEP=chance.choice([4, 16, 128]))
                self.assertEqual(self.search(pattern, **asked), want, (turn, codec, big, pattern, asked, text))

    def test_bytes_that_are_no_text_in_pieces(self):
        chance = random.Random(8)
        for turn in range(100):
            data = bytes(chance.choice(b"\n\n\rab\x80\xe2\x82\xd8\xdc") for _ in range(chance.randint(8, 200)))
            for mark in (b"", b"\xff\xfe", b"\xfe\xff"):
                self.put("a", mark + data.replace(b"\n", b"\0\n" if mark[:1] == b"\xfe" else b"\n\0" if mark else b"\n"))
                self.sizes(HEAD=1 << 16, SMALL=1 << 20, STEP=1 << 16)
                want = self.search("a|\ufffd|$", context=2, limit=1000)
                self.sizes(HEAD=4, SMALL=8, STEP=4)
                self.assertEqual(self.search("a|\ufffd|$", context=2, limit=1000), want, (turn, mark, data))

    def test_parts_of_a_long_line_are_lines(self):
        rows = ["first", "\u20ac" * 50, "needle", "\U0001f600" * 30, "last"]
        for codec in self.CODECS:
            self.put("a", "\n".join(rows).encode(codec))
            self.sizes(HEAD=4, SMALL=16, BLOCK=64, STEP=16)
            (row,) = self.search("needle", context=99)["matches"]
            before, after = "".join(row["before"]), "".join(row["after"])
            self.assertEqual((row["line"], before, after), (3, rows[0] + rows[1], rows[3] + rows[4]), codec)
            self.assertEqual((row["before"][0], row["after"][-1]), ("first", "last"))
            (row,) = self.search("last", context=99)["matches"]
            self.assertEqual((row["line"], "".join(row["before"])), (5, "".join(rows[:-1])), codec)
            self.assertGreater(len(row["before"]), 4, codec)

    def test_long_lines_around_a_block(self):
        long = "\u20ac" * (3 << 20)
        self.put("a", "first\n%sx\nneedle\n%sy\nlast\n" % (long, long))
        (row,) = self.search("needle", context=2)["matches"]
        cut = long[: search.MAX_LINE]
        self.assertEqual((row["before"], row["after"]), (["first", cut], [cut, "last"]))

    def test_context_is_cut_and_that_is_said(self):
        self.sizes(search, MAX_CONTEXT=1000)
        self.put("a", "x\n" * 20 + "needle\n" + "y\n" * 9 + "needle\n")
        result = self.search("needle", context=10)
        first, second = result["matches"]
        self.assertEqual((first["before"], first["after"]), (["x"] * 10, ["y"] * 9 + ["needle"]))
        self.assertEqual((len(second["before"]), second["after"]), (10, []))
        self.assertNotIn("note", result)
        result = self.search("needle", context=11)
        self.assertEqual([len(row["before"]) for row in result["matches"]], [10, 10])
        self.assertIn("the context of 2 matches is cut, first of line 21 of a: at most 1000 characters", result["note"])
        self.assertNotIn("note", self.search("needle", context=11, limit=1, offset=2))

    def test_what_rows_without_lines_cannot_have_is_said(self):
        self.put("a", "x\n")
        names = "not heeded: target=\"files\" looks at names, and not at lines; its matches have \"path\" alone"
        shown = "context was not heeded: output_mode=\"%s\" shows no lines; use output_mode=\"content\""
        for target, mode, context, note in (
            ("files", "content", 0, None),
            ("files", "files_only", 0, None),
            ("files", "count", 0, "output_mode=\"count\" was " + names),
            ("files", "content", 1, "context was " + names),
            ("files", "count", 1, "output_mode=\"count\" and context were " + names),
            ("content", "content", 1, None),
            ("content", "count", 0, None),
            ("content", "count", 1, shown % "count"),
            ("content", "files_only", 1, shown % "files_only"),
        ):
            for pattern in ("a" if target == "files" else "x", "nothing-like-this"):
                result = self.search(pattern, target=target, output_mode=mode, context=context)
                self.assertEqual(result.get("note"), note, (target, mode, context))

    def test_why_nothing_was_found_is_said_where_that_is_sure(self):
        self.put("a.py", "x\n")
        self.put("b.bin", b"x\0")
        glob = "no file there matches file_glob %r"
        regular = 'with target="files" the pattern is a glob such as *.py, and no regular expression'
        for pattern, name, more, note in (
            ("x", ".", {"file_glob": "*.py *.txt"}, glob % "*.py *.txt"),
            ("x", ".", {"file_glob": "src/"}, glob % "src/"),
            ("nothing", ".", {"file_glob": "*.py"}, None),
            ("nothing", ".", {}, None),
            ("nothing", "a.py", {}, None),
            ("nothing", "b.bin", {}, "b.bin is no text, and was not searched"),
            (".*\\.py$", ".", {"target": "files"}, regular),
            ("*.rs", ".", {"target": "files"}, None),
            ("*.py", ".", {"target": "files", "file_glob": "*.txt"}, glob % "*.txt"),
            ("a", ".", {"target": "files"}, None),
        ):
            with self.subTest(pattern=pattern, name=name, more=more):
                got = self.search(pattern, name, **more).get("note", "")
                self.assertEqual(got[: len(note or got)], note or "")

    def test_line_longer_than_blocks(self):
        self.small_blocks()
        self.put("a", "first\n" + "\u20ac" * 100000 + "needle\nlast\n")
        (row,) = self.search("needle")["matches"]
        self.assertEqual((row["line"], len(row["content"])), (2, search.MAX_LINE))
        self.assertEqual(self.search("\ufffd")["total_count"], 0)  # no character was cut
        (row,) = self.search("last", context=1)["matches"]
        self.assertEqual(row["line"], 3)

    def test_first_line_longer_than_pieces_of_a_recoded_file(self):
        for encoding in ("utf-8-sig", "utf-16"):
            self.put("a", ("b" + "x" * texts.SMALL + " needle\nlast\n").encode(encoding))
            self.assertEqual(self.search("^bx+ needle$")["total_count"], 1, encoding)
            (row,) = self.search("last")["matches"]
            self.assertEqual(row["line"], 2, encoding)

    def test_odd_bytes_are_found(self):
        self.put("a", b"x\xffy\n")
        self.assertEqual(self.search("x\ufffdy")["total_count"], 1)

    def test_inline_text(self):
        result = self.search("b", name="/spill", path="/nowhere", text="a\nb\n")
        self.assertEqual(result["matches"], [{"path": "/spill", "line": 2, "content": "b"}])


@contextlib.contextmanager
def as_nobody():
    """The administrator may read everything."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


class UnreadableTest(test_files.Tree):
    def setUp(self):
        super().setUp()
        for path in ("t/a", "t/secret", "t/priv/b", "t/other/c"):
            self.put(path, "TODO\n")
        for path, mode in (("", 0o755), ("t/secret", 0), ("t/priv", 0), ("t/other/c", 0)):
            os.chmod(self.path(path), mode)
            self.addCleanup(os.chmod, self.path(path), 0o755)

    def test_what_was_named_is_an_error(self):
        with as_nobody():
            for path in ("t/secret", "t/priv"):
                self.assertIn("permission denied", self.refused(self.search, "TODO", path).lower())
            self.assertIn("permission denied", self.refused(self.search, "*", "t/priv", target="files").lower())

    def test_what_lies_below_is_counted(self):
        with as_nobody():
            answer = self.search("TODO", "t")
            self.assertEqual([row["path"] for row in answer["matches"]], ["t/a"])
            self.assertEqual(
                answer["note"], "3 files or directories could not be read, first of them t/other/c: permission denied"
            )
            answer = self.search("*", "t", target="files", context=1)
            self.assertIn("context was not heeded", answer["note"])
            self.assertIn("; a file or directory could not be read: t/priv", answer["note"])

if __name__ == "__main__":
    unittest.main()
