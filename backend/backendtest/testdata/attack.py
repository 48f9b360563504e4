"""Send a signal to what stands above this script: attack.py supervisor|agent|beside|both SIGNAL.

Before that, a daemon in a session of its own is started, which ignores what can be ignored. The
attacker is yet another process, so that it outlives the end of the first.
"""

import os
import signal
import sys
import time

victim, number = sys.argv[1], int(sys.argv[2])
# Nobody is left to end this script when both are killed, but where another runs beside it.
LIFE = 1 if victim == "both" else 600


def parent(pid):
    """Return the parent of a process."""
    with open("/proc/%d/stat" % pid) as f:
        return int(f.read().rpartition(")")[2].split()[1])


supervisor = os.getppid()
agent = parent(supervisor)
victims = {"supervisor": [supervisor], "agent": [agent], "beside": [agent, supervisor], "both": [agent, supervisor]}[victim]
for n in signal.SIGTERM, signal.SIGINT, signal.SIGHUP:
    signal.signal(n, signal.SIG_IGN)
seen, up = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() != 0:
        os._exit(0)
    os.write(up, b".")
    time.sleep(LIFE)
    os._exit(0)
os.read(seen, 1)
print("attack", flush=True)
sys.stdin.readline()
for pid in victims:
    if pid <= 1:
        sys.exit("there is nobody above")
    os.kill(pid, number)
print("attacked", flush=True)
time.sleep(LIFE)
