"""Call a tool through the spools on stdin, and bare echoes in the directories argv[1], in turns.

Prints a JSON object a row. The floor is a file by rename, a wait on a FIFO, and a file read back.
"""
import json
import os
import select
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from rpc_stub_loader import interleave, row, stub  # noqa: E402


def bare(folder):
    """Returns a function that sends an object through a spool and returns the answer."""
    bell = os.path.join(folder, "out", "wake")
    os.mkfifo(bell)
    fd = os.open(bell, os.O_RDWR | os.O_NONBLOCK)
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    count = 0

    def call(value):
        nonlocal count
        count += 1
        name = "%d" % count
        temp = os.path.join(folder, "in", "." + name)
        with open(temp, "w") as f:
            f.write(json.dumps(value))
        os.rename(temp, os.path.join(folder, "in", name))
        answer = os.path.join(folder, "out", name)
        while not poll.poll(1000) or not os.path.exists(answer):
            pass
        os.read(fd, 100)
        with open(answer) as f:
            got = json.load(f)
        os.unlink(answer)
        return got

    return call


def main():
    memory, disk, polled = [stub(channel) for channel in json.load(sys.stdin)]
    value = {"text": "x" * 100}
    for name, product, folder in zip(("tmpfs", "disk"), (memory, disk), sys.argv[1].split(":")):
        floor = bare(folder)
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
