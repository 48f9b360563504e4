"""Start a tree of processes that is hard to end, print "ready", then do as told.

tree.py wait|exit|stop polite|deaf [DIR]

The tree has a child, a grandchild, a child in a session of its own, and a daemon: a process
whose parent has ended, in a session of its own, with no descriptor open. Deaf ones ignore every
signal that can be ignored. With DIR, polite ones leave a file there when they get SIGTERM.
With HX_GROUP in the environment all stay in the session that they were started in.
"""

import os
import signal
import sys
import time

then, manners = sys.argv[1:3]
trace = sys.argv[3] if len(sys.argv) > 3 else ""


def sleep(name):
    """Become one of the tree's processes: tell that it is up, then sleep for ever."""
    if trace:

        def leave(number, _):
            with open(os.path.join(trace, name), "w") as f:
                f.write(str(number))
            os._exit(0)

        signal.signal(signal.SIGTERM, leave)
    os.write(up, b".")
    while True:
        time.sleep(600)


def child(name, *steps):
    """Fork a process that does the steps and then sleeps."""
    if os.fork() == 0:
        for step in steps:
            step()
        sleep(name)


def orphan():
    """Let the parent end, so that the process belongs to init or a subreaper."""
    if os.fork() != 0:
        os._exit(0)


def hush():
    """Close the inherited streams."""
    for fd in 0, 1, 2:
        os.close(fd)


if manners == "deaf":
    for number in signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE:
        signal.signal(number, signal.SIG_IGN)
seen, up = os.pipe()
child("child")
child("grandchild", lambda: child("parent"))
session = (lambda: None) if "HX_GROUP" in os.environ else os.setsid
child("setsid", session)
child("daemon", session, orphan, hush)
for _ in range(5):
    os.read(seen, 1)
print("ready", flush=True)
if then == "stop":
    os.kill(os.getpid(), signal.SIGSTOP)
while then == "wait":
    time.sleep(600)
