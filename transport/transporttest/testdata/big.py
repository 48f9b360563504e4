"""argv[1] threads send argv[2] bytes each, at once."""
import sys
import threading

from hermes_tools import size

n, length = int(sys.argv[1]), int(sys.argv[2])
value, wrong = "x" * length, []
begin = threading.Barrier(n)


def work():
    begin.wait()
    got = size(value)
    if got != {"size": length}:
        wrong.append(got)


threads = [threading.Thread(target=work) for _ in range(n)]
for t in threads:
    t.start()
for t in threads:
    t.join()
assert not wrong, wrong
print("ok")
