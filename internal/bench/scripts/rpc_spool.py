"""Call a tool through the spools on stdin, and bare echoes in the directories argv[1], in turns.

Prints a JSON object a row. The floor is a file by rename, a wait on a FIFO, and a file read back.
"""
import json
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from rpc_stub_loader import bare_spool, interleave, row, stub  # noqa: E402


def main():
    memory, disk, polled = [stub(channel) for channel in json.load(sys.stdin)]
    value = {"text": "x" * 100}
    for name, product, folder in zip(("tmpfs", "disk"), (memory, disk), sys.argv[1].split(":")):
        floor = bare_spool(folder)
        both = interleave(lambda: product("echo", value), lambda: floor(value), 20, 50)
        row("spool call, %s, 100 B" % name, "µs", 1, both, "≤ 1.5 ×")
    # Calls far apart, each of which must be found without an event.
    times = []
    for i in range(40):
        time.sleep(0.1 + i % 7 / 100)
        start = time.perf_counter()
        polled("echo", value)
        times.append((time.perf_counter() - start) * 1e6)
    row("spool call, no event on the host, worst of 40", "ms", 1000, (max(times), 0), "≤ 55")


main()
