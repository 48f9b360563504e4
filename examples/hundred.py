"""Write, read and sum 100 files. The limit of 50 tool calls is there to catch loops; raise it:

    hermes-exec run --max-tool-calls 200 examples/hundred.py
"""
import os
import sys
import tempfile

from hermes_tools import read_file, write_file

with tempfile.TemporaryDirectory() as work:
    os.chdir(work)
    for n in range(100):
        done = write_file("part/%03d.txt" % n, "%d\n" % n)
        if "error" in done:
            sys.exit("file %d: %s" % (n, done["error"]))
    total = sum(int(read_file("part/%03d.txt" % n)["content"]) for n in range(100))
    print("100 files written and read back, sum", total)
    os.chdir("/")
