"""What the scripts of tool calls share."""
import json
import os
import select
import socket
import sys
import time


def stub(channel):
    """Returns the runtime of hermes_tools, connected to one channel."""
    os.environ.update(channel)
    module = type(sys)("stub")
    exec(compile(open(os.path.join(os.path.dirname(__file__), "rpc_stub.py")).read(), "stub", "exec"), vars(module))
    for name in channel:
        del os.environ[name]
    return module._call


def bare_socket(path):
    """Returns a function that sends an object to a bare echo and returns the answer."""
    sock = socket.socket(socket.AF_UNIX)
    sock.connect(path)

    def call(value):
        sock.sendall(json.dumps(value).encode() + b"\n")
        data = sock.recv(65536)
        if data[-1:] != b"\n":
            parts = [data]
            while data[-1:] != b"\n":
                data = sock.recv(1 << 20)
                parts.append(data)
            data = b"".join(parts)
        return json.loads(data)

    return call


def bare_spool(folder):
    """Returns a function that sends an object through a bare spool and returns the answer."""
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


def interleave(a, b, blocks, calls):
    """Returns the median times of both in microseconds."""
    times = [], []
    for _ in range(blocks):
        for f, into in ((a, times[0]), (b, times[1])):
            for _ in range(calls):
                start = time.perf_counter()
                f()
                into.append(time.perf_counter() - start)
    return [sorted(t)[len(t) // 2] * 1e6 for t in times]


def row(name, unit, scale, times, goal):
    product, floor = times
    print(json.dumps({"name": name, "unit": unit, "product": product / scale, "floor": floor / scale, "goal": goal}))
