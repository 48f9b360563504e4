import ast
import io
import traceback
import unittest

import support  # noqa: F401 - makes the library importable

from _hermes_exec import cellcode


def failure(source):
    """What is printed of a SyntaxError in source."""
    try:
        text = cellcode.decode(source, "<cell 1>")
        tree = cellcode.parse(text, "<cell 1>")
        cellcode.build(tree, "<cell 1>", io.StringIO(text).readlines())
    except SyntaxError as e:
        return "".join(traceback.format_exception_only(type(e), e))
    return ""


class CellCodeTest(unittest.TestCase):
    def test_errors_show_their_line(self):
        for line in (
            "x = await f()",
            "return 3",
            "yield 3",
            "break",
            "def f(a, a): pass",
            "nonlocal x",
            "x = )",
            "from __future__ import braces",
        ):
            with self.subTest(line):
                lines = failure(b"a = '\x0c'\n" + line.encode() + b"\nb = 2\n").splitlines()
                self.assertEqual(lines[0], '  File "<cell 1>", line 2')
                self.assertEqual(lines[1], "    " + line)
                self.assertEqual(lines[2].strip(" ~^"), "")
                self.assertIn("^", lines[2])
                self.assertTrue(lines[3].startswith("SyntaxError: "), lines)

    def test_display_too(self):
        tree = cellcode.parse("return 3\n", "<cell 1>")
        with self.assertRaises(SyntaxError) as caught:
            cellcode.build(ast.Interactive(body=tree.body), "<cell 1>", ["return 3\n"])
        self.assertEqual(caught.exception.text, "return 3\n")

    def test_encodings(self):
        for source, want in (
            (b"x = 1\r\ny = 2\rz", "x = 1\ny = 2\nz"),
            ("\ufeffx = 'é'".encode(), "x = 'é'"),
            (b"# coding: latin-1\nx = '\xe9'", "# coding: latin-1\nx = 'é'"),
            (b"#!/usr/bin/python3\n# vim: set fileencoding=cp1252 :\n'\x80'", "#!/usr/bin/python3\n# vim: set fileencoding=cp1252 :\n'€'"),
        ):
            self.assertEqual(cellcode.decode(source, "<cell 1>"), want)

    def test_what_is_no_text(self):
        undeclared = (
            '  File "<cell 1>", line %(line)d\n'
            "SyntaxError: Non-UTF-8 code starting with '\\xe9' in <cell 1> on line %(line)d, but no encoding declared; "
            "see https://peps.python.org/pep-0263/ for details\n"
        )
        for source, want in (
            (b"x = '\xe9'\n", undeclared % {"line": 1}),
            (b"x = 1\nx = '\xe9'\n", undeclared % {"line": 2}),
            (b"x = 1\n" * 20 + b"x = '\xe9'\n", undeclared % {"line": 21}),
            (b"x = 1\ny = 2\n# coding: latin-1\nx = '\xe9'\n", undeclared % {"line": 4}),
        ):
            self.assertEqual(failure(source), want)
        for source, line, want in (
            (b"# coding: utf-8\n\nx = '\xe9'\n", 3, "(unicode error) 'utf-8' codec can't decode byte 0xe9 in position 22"),
            (b"# coding: ascii\nx = '\xe9'\n", 2, "(unicode error) 'ascii' codec can't decode byte 0xe9"),
            (b"# coding: nosuch\nx = 1\n", 1, "unknown encoding: nosuch"),
            (b"\xef\xbb\xbf# coding: latin-1\nx = 1\n", 1, "encoding problem: utf-8"),
        ):
            text = failure(source)
            self.assertTrue(text.startswith('  File "<cell 1>", line %d\n' % line), text)
            self.assertIn("SyntaxError: " + want, text)


if __name__ == "__main__":
    unittest.main()
