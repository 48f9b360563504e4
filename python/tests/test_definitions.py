import os
import tempfile
import unittest

import test_kernel


class DefinitionsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.private = os.path.join(self.folder, "private")
        os.mkdir(self.private)
        self.kernel = test_kernel.Kernel(self.private)
        self.addCleanup(self.kernel.close)

    def test_cells_run_without_room_for_the_file(self):
        self.kernel.cell("def f(): return 1")
        moved = os.path.join(self.folder, "elsewhere")
        os.rename(self.private, moved)
        self.assertEqual(self.kernel.cell("import os\ndef g(): return f() + 1\nprint(g())"), (0, "2\n"))
        code, text = self.kernel.cell("def h(): pass\nimport nosuchmodule\n")
        self.assertEqual(code, 1)
        self.assertNotIn("cells.py", text)
        os.rename(moved, self.private)
        self.assertEqual(self.kernel.cell("def i(): pass"), (0, ""))
        with open(os.path.join(self.private, "cells.py")) as f:
            text = f.read()
        for name in "fghi":
            self.assertIn("def %s()" % name, text)
        self.assertNotIn("nosuchmodule", text)


if __name__ == "__main__":
    unittest.main()
