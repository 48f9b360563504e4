"""Tell what a script finds where it runs, as JSON on one line. The calls are real ones."""
import json
import os
import platform
import sys
import tempfile
import time

from hermes_tools import ping


def timed_call():
    start = time.perf_counter()
    reply = ping("é\u2028 9007199254740993")
    elapsed = time.perf_counter() - start
    if reply.get("text") != "é\u2028 9007199254740993":
        raise SystemExit("a call came back wrong: %r" % (reply,))
    return elapsed


with tempfile.TemporaryFile() as scratch:
    scratch.write(b"x")

times = sorted(timed_call() for _ in range(20))
print(
    json.dumps(
        {
            "python": sys.executable,
            "version": platform.python_version(),
            "directory": os.getcwd(),
            "temp": tempfile.gettempdir(),
            "call_seconds": times[len(times) // 2],
        }
    )
)
