"""List the processes that have an entry in their environment: living.py NAME=value."""

import os
import sys

want = os.fsencode(sys.argv[1])
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        with open("/proc/%s/environ" % pid, "rb") as f:
            marked = want in f.read().split(b"\0")
        with open("/proc/%s/stat" % pid) as f:
            name, state = f.read().rpartition(")")[::2]
    except OSError:  # gone, or not ours to read
        continue
    if marked and state.split()[0] not in "ZX":
        print(name + ")", state.split()[0], "parent", state.split()[1])
