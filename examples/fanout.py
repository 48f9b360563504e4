"""Run tool calls from a pool of threads: they run at the same time, each answer reaches its caller.

    hermes-exec run examples/fanout.py
"""
import time
from concurrent.futures import ThreadPoolExecutor

from hermes_tools import terminal


def job(n):
    return terminal("sleep 0.3; echo job %d" % n)["output"].strip()


start = time.time()
with ThreadPoolExecutor(8) as pool:
    answers = list(pool.map(job, range(8)))
elapsed = time.time() - start

for n, answer in enumerate(answers):
    assert answer == "job %d" % n, answer
print("\n".join(answers))
print("8 jobs of 0.3 s ran side by side:", elapsed < 8 * 0.3)
