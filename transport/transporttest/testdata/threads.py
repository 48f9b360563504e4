"""Every answer reaches its caller (B081, B082), and calls of threads run in parallel."""
import threading

import hermes_tools
from hermes_tools import echo, go, wait

wrong = []


def work(n):
    for i in range(20):
        mine = "%d/%d" % (n, i) * (n * 50 + 1)
        if echo(mine) != mine:
            wrong.append(mine)


threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
for t in threads:
    t.start()
for t in threads:
    t.join()
assert not wrong, wrong

# All eight wait at once, or none is let go.
threads = [threading.Thread(target=wait, args=("all",)) for _ in range(8)]
for t in threads:
    t.start()
while hermes_tools._call("waiting", {})["n"] < 8:
    pass
assert go("all") == {"name": "all"}
for t in threads:
    t.join()
print("ok")
