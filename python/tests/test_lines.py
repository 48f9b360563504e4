"""How lines that match are found."""

import random
import re
import unittest

import test_files  # noqa: F401 - it puts the library on the path
from hermes import lines


class FinderTest(unittest.TestCase):
    """The finder against the plain way: re.search on every line."""

    PATTERNS = [
        "a", "", "^", "$", "^$", r"\b", r"\s", r"a\s+b", r"\W", r"\D+", "[^a]", "[^a]*b", "[^]a]", "[^-a]", "[]a]",
        r"[\s,]", r"[^\S]", r"\Aa", r"b\Z", r"a$", r"(?i)A", r"(?i:A)b", r"(?m)^a", r"(?<!\s)a", r"(?<=\s)b", r"(?<![^a])b",
        r"a(?!\s)", r"a(?=b|$)", r"(a)\1", r"(?P<x>a)(?P=x)", r"a|b", r"ab?", r"ab{2,3}c", r"ab{0,1}", r"a{2}", "a{", "ab*", "ab+c",
        r"a\.b", r"\x61b", r"(?x) a # b", r"(?#[)a", r"a(?:b|c)d", r"[a-\x7f]b", r"[\x00-\x7f]{3}", "\u20ac", r"\w+b", r"a.*b",
        r".", r"a??b", r"(a|b)*c", r"ab\b", r"\Bb", r"[^\n]b", r"a[^\n]*",
        "(?i)k", "(?i)(?m)^ab", "(?m)(?a)b$", "(?i)A.", "(?i)b$", "(?i)^ab*c?", "ab", "b.", "^ab", "a$",
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
        samples = ["", "\n", "\n\n", "a", "a\n", "\na", "ab\n\nab"]
        for _ in range(150):
            samples.append("".join(chance.choice("aab bc,.\n\n\u20acA\x1ckK\u212a") for _ in range(chance.randint(0, 40))))
        for pattern in self.PATTERNS:
            for text in samples:
                if pattern == r"\Bb" and "\n\n" in text:
                    continue
                want, finder = self.plainly(pattern, text), lines.Finder(pattern)
                self.assertEqual(self.spans(pattern, text), want, (pattern, text))
                self.assertEqual(finder.count(text), len(want), (pattern, text))
                self.assertFalse(want and finder.absent(text.encode()), (pattern, text))

    def test_absent_from_much(self):
        much = b"a line of a log\n" * 10000
        for pattern, more, absent in (
            ("word", b"", True), ("word", b"a word\n", False), ("word", b"drow\n", True), ("(?i)WORD", b"WoRd\n", False),
            ("(?i)word", b"dROW\n", True), ("(?i)kx", "\u212ax".encode(), False), ("(?i)kx", b"x", True), ("\u20ac", "\u20ac".encode(), False),
        ):  # fmt: skip
            self.assertEqual(lines.Finder(pattern).absent(much + more), absent, (pattern, more))

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
            r"(abc)d": "d", r"(?i)aBc": "abc", "(?i)\u20acabc": "", "(?i:abc)": "", r"x\)y": "x)y", r"foo(?!bar)x": "foo", "abc+d": "abc", r"\x61bc": "bc", "[abc]de": "de", r"\101bc": "bc",
        }  # fmt: skip
        for pattern, want in cases.items():
            self.assertEqual(lines.Finder(pattern).literal, want, pattern)

    def test_bad_patterns(self):
        for pattern in ("(", "*", "[", r"\2", "(?P<a", "a{2,1}", "(" * 5000 + ")" * 5000, "a{99999999999999999999}"):
            with self.assertRaises(ValueError, msg=pattern[:20]):
                lines.Finder(pattern)
                if len(pattern) > 5000:
                    raise ValueError("newer versions can nest as deep")

if __name__ == "__main__":
    unittest.main()
