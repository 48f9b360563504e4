"""What .gitignore and globs leave out of a search."""

import random
import subprocess
import unittest

import support
import test_files
from _hermes_exec import globs


class IgnoreTest(test_files.Tree):
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

    @support.requires("git")
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

    def test_several(self):
        names = ["a,b.txt", "a.go", "a.py", "a_test.py", "lib/node_modules/x/i.py", "lib/c.py"]
        for name in names:
            self.put(name, "x")
        cases = [
            ("*.py,*.go", ["a.go", "a.py", "a_test.py", "lib/c.py", "lib/node_modules/x/i.py"]),
            (" *.txt , lib/*.py ,", ["a,b.txt", "lib/c.py"]),
            ("*.py,!*_test.py", ["a.py", "lib/c.py", "lib/node_modules/x/i.py"]),
            ("!*_test.py,*.py,!node_modules", ["a.py", "lib/c.py"]),
            ("*.py,!lib/node_modules", ["a.py", "a_test.py", "lib/c.py"]),
            ("!lib,!*.py", ["a,b.txt", "a.go"]),
            ("!{lib,*.py}", ["a,b.txt", "a.go"]),
            ("a[,]*", ["a,b.txt"]),
            ("a\\,*", ["a,b.txt"]),
            ("{a,b}.py,*.{go,txt}", ["a,b.txt", "a.go", "a.py"]),
            (",", []),
            ("!*", []),
        ]
        for glob, want in cases:
            with self.subTest(glob=glob):
                self.assertEqual(self.found("x", file_glob=glob, output_mode="files_only"), want)
        self.assertEqual(self.found("*.go,*.txt", target="files"), ["a,b.txt", "a.go"])
        self.assertEqual(self.found("a,b", target="files"), ["a,b.txt"], "without a wildcard it is a part of a name")

    def test_brackets_that_nothing_closes(self):
        """By the square of their number this takes minutes."""
        many = 1 << 18
        self.assertEqual(globs.translate("[" * many), "\\[" * many)
        self.assertEqual(globs.translate("[a" * many + "/[b]"), "\\[a" * many + "/[b]")
        self.assertIsNotNone(globs.parse_rules("[" * many + "\nb"))
        for glob, pattern in (
            ("a[*[b", "a\\[[^/]*\\[b"),
            ("[\\[b/[c]", "\\[\\[b/[c]"),
            ("\\[[a[]/[/]", "\\[[a\\[]/\\[/\\]"),
            ("[]a/**", "\\]a/.*"),
        ):
            with self.subTest(glob=glob):
                self.assertEqual(globs.translate(glob), pattern)

    def test_globs_that_are_too_much_are_refused(self):
        self.put("ab.py", "x")
        for glob, why in (
            ("a" * 4096 + ",*.py", "characters, and may have 4096"),
            ("{a,b}" * 10, "its braces stand for more than 1000 globs, or 65536 characters"),
            ("{" + "," * 999 + "}" + "a" * 100, "its braces stand for more than 1000 globs, or 65536 characters"),
        ):
            for request in ({"pattern": glob + ",*", "target": "files"}, {"pattern": "x", "file_glob": glob}):
                with self.subTest(glob=glob[:9], request=sorted(request)):
                    self.assertIn(why, self.refused(self.found, **request))
        self.assertEqual(self.found("x", file_glob="{a,b}" * 9 + "," + "*.py" + " " * 4000, output_mode="files_only"), ["ab.py"])


if __name__ == "__main__":
    unittest.main()
