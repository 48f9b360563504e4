"""Build, test, and report only what matters: the failures, each with the lines around it.

    hermes-exec run examples/build_test.py

The project that it tests is made on the spot, with one mistake in it.
"""
import os
import re
import sys
import tempfile

from hermes_tools import read_file, terminal, write_file

SOURCE = """def mean(values):
    return sum(values) / len(values)


def median(values):
    return sorted(values)[len(values) // 2 - 1]
"""

TESTS = """import unittest

import stats


class StatsTest(unittest.TestCase):
    def test_mean(self):
        self.assertEqual(stats.mean([1, 2, 3]), 2)

    def test_median(self):
        self.assertEqual(stats.median([1, 2, 3]), 2)
"""

with tempfile.TemporaryDirectory() as work:
    os.chdir(work)
    write_file("stats.py", SOURCE)
    write_file("test_stats.py", TESTS)

    build = terminal("%s -m py_compile stats.py test_stats.py" % sys.executable)
    print("build:", "ok" if build["exit_code"] == 0 else build["output"])

    tests = terminal("%s -m unittest -v" % sys.executable, timeout=60)
    ran = re.search(r"Ran (\d+) tests?", tests["output"])
    print("tests:", ran.group(1) if ran else "none", "run, exit code", tests["exit_code"])

    for name in re.findall(r"^FAIL: (\w+)", tests["output"], re.MULTILINE):
        function = name.replace("test_", "", 1)
        lines = read_file("stats.py")["content"].splitlines()
        start = next(i for i, line in enumerate(lines) if line.startswith("def %s(" % function))
        print("failed: %s, look at stats.py:%d" % (name, start + 1))
        print("\n".join("    " + line for line in lines[start : start + 2]))
    os.chdir("/")
