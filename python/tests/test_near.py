"""Names that are nearly right, by the rows that the host's rule has too."""

import os
import sys
import unittest

import support

sys.path.insert(0, support.ROOT)
from hermes import near  # noqa: E402


class NearTest(unittest.TestCase):
    def test_rows(self):
        with open(os.path.join(support.ROOT, "testdata", "near.txt")) as file:
            rows = [line.split() for line in file if not line.startswith("#")]
        self.assertTrue(rows)
        for name, other, how in rows:
            self.assertEqual(near.one(name, [other]), other if how == "near" else "", (name, other))

    def test_more_than_one_is_none(self):
        self.assertEqual(near.one("sessionz", ["session", "sessions"]), "")


if __name__ == "__main__":
    unittest.main()
