"""Call a tool over the channels on stdin, and a bare echo at the Unix socket argv[1], in turns.

Prints a JSON object a row. The floor is what a careful author would write without any of the
product's duties: one line of JSON out, one line back, parsed.
"""
import json
import os
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from rpc_stub_loader import bare_socket, interleave, row, stub  # noqa: E402


def threads(n, make, calls):
    """Returns how long n threads take for some calls each, in microseconds."""
    begin = threading.Barrier(n + 1)

    def work():
        f = make()
        f()
        begin.wait()
        for _ in range(calls):
            f()

    started = [threading.Thread(target=work) for _ in range(n)]
    for t in started:
        t.start()
    begin.wait()
    start = time.perf_counter()
    for t in started:
        t.join()
    return (time.perf_counter() - start) * 1e6


def main():
    uds, tcp = [stub(channel) for channel in json.load(sys.stdin)]
    floor = bare_socket(sys.argv[1])
    for size, name, goal, blocks, calls in (
        (100, "100 B", "≤ 1.5 ×", 40, 100),
        (10_000, "10 KB", "≤ 1.25 ×", 30, 50),
        (1_000_000, "1 MB", "≤ 1.3 ×", 20, 5),
    ):
        value = {"text": "x" * size}
        both = interleave(lambda: uds("echo", value), lambda: floor(value), blocks, calls)
        row("tool call, uds, " + name, "µs", 1, both, goal)
    value = {"text": "x" * 100}
    both = interleave(lambda: tcp("echo", value), lambda: uds("echo", value), 40, 100)
    row("tool call, tcp against uds, 100 B", "µs", 1, both, "≤ 1.5 ×")
    for n, calls in ((8, 5), (32, 5)):
        times = [], []
        for _ in range(5):
            times[0].append(threads(n, lambda: lambda: uds("pause", {}), calls))
            times[1].append(threads(n, lambda: (lambda call: lambda: call({"pause": 1}))(bare_socket(sys.argv[1])), calls))
        row("%d threads × %d calls of a 10 ms tool" % (n, calls), "ms", 1000, [sorted(t)[2] for t in times], "≤ 1.25 ×")


main()
