"""What the scripts of tool calls share."""
import json
import os
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
