"""Threads of the library itself, at the end of an interpreter."""

import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))

# An interpreter in which new threads begin late, as they do on a busy machine.
LATE = """
import _thread, sys, time
sys.path.insert(0, %r)
begun = []
start = _thread.start_new_thread

def start_late(work, args):
    def late():
        time.sleep(0.1)
        begun.append(1)
        work(*args)
    return start(late, ())

_thread.start_new_thread = start_late
""" % HERE


class LateThreadTest(unittest.TestCase):
    """CPython up to 3.11 at least can crash if it ends while one of its threads has not begun."""

    def check(self, code: str) -> None:
        done = subprocess.run([sys.executable, "-c", LATE + code], stdout=subprocess.PIPE, timeout=60)
        self.assertEqual((done.returncode, done.stdout), (0, b"[1]\n"))

    def test_the_end_of_a_kernel(self) -> None:
        self.check(
            "import support; support.load()\nfrom _hermes_exec import ending\n"
            "ending.begin(0, lambda: None)\nprint(begun)"
        )

    def test_a_coroutine_of_a_tool_that_nobody_waits_for(self) -> None:
        self.check(
            "import asyncio, test_stub\nasync def main():\n"
            "    asyncio.ensure_future(test_stub.load().aio.echo(1))\n    await asyncio.sleep(0)\n"
            "    print(begun)\nasyncio.run(main())"
        )


if __name__ == "__main__":
    unittest.main()
