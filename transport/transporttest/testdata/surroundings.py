"""What a script does to its process does not reach the channel."""
import os
import resource
import signal
import socket
import threading
import time

import hermes_tools
from hermes_tools import cwd, echo, go, wait

# The current directory goes with every call.
start = os.getcwd()
assert cwd() == start
os.mkdir("ö sub")
os.chdir("ö sub")
assert cwd() == os.path.join(start, "ö sub")
os.rmdir("../ö sub")
assert "current directory is gone" in hermes_tools._call("cwd", {})["error"]
os.chdir(start)

# A default timeout, SIGPIPE, a full table of small descriptors.
socket.setdefaulttimeout(0.001)
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
if hard == resource.RLIM_INFINITY or hard >= 2048:
    resource.setrlimit(resource.RLIMIT_NOFILE, (2048, hard))
    held = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
t = threading.Thread(target=lambda: [echo(i) for i in range(3)])
t.start()
t.join()
if hard >= 2048:
    for fd in held:
        os.close(fd)
os.environ.clear()
t = threading.Thread(target=wait, args=("env",))
t.start()
go("env")
t.join()

# A signal handler that calls a tool during a call, and one that raises.
seen = []
signal.signal(signal.SIGALRM, lambda *_: seen.append((echo("inner"), go("outer"))))
signal.setitimer(signal.ITIMER_REAL, 0.05)
assert wait("outer") == {"until": "outer"}
assert seen == [("inner", {"name": "outer"})], seen
assert echo("next") == "next"


def interrupt(*_):
    raise KeyboardInterrupt


signal.signal(signal.SIGALRM, interrupt)
signal.setitimer(signal.ITIMER_REAL, 0.05)
try:
    wait("never")
except KeyboardInterrupt:
    pass
else:
    raise AssertionError("not interrupted")
assert echo("not the old answer") == "not the old answer"
while hermes_tools._call("waiting", {})["n"] > 0:
    time.sleep(0.001)
print("ok")
