import subprocess
import sys
import unittest

import support


@unittest.skipUnless(sys.platform.startswith("linux"), "prctl is Linux's")
class PrctlTest(unittest.TestCase):
    def test_what_prctl_sets_is_set(self):
        """In a process of its own. PR_GET_DUMPABLE returns what it asks for, so that it is True for 0."""
        code = (
            "import support, sys\n"
            "from _hermes_exec import tree\n"
            "print(tree.prctl(3, 0), tree.hide(), tree.prctl(3, 0), tree.become_subreaper(), tree.prctl(-1, 0))\n"
            "print('ctypes' in sys.modules)"
        )
        ran = subprocess.run([sys.executable, "-c", code], cwd=support.HERE, stdout=subprocess.PIPE, check=True)
        self.assertEqual(ran.stdout, b"False True True True False\nFalse\n")


if __name__ == "__main__":
    unittest.main()
