"""Print the processes above this one, as "pid:starttime", or of those given as arguments the ones that live."""

import os
import sys


def fields(pid):
    """Return the fields of a process from its state on, or None."""
    try:
        with open("/proc/%d/stat" % pid) as f:
            return f.read().rpartition(")")[2].split()
    except OSError:
        return None


def name(pid):
    """Return a name of a process that no other one gets, or "" if it does not live."""
    stat = fields(pid)
    return "" if not stat or stat[0] in "ZX" else "%d:%s" % (pid, stat[19])


if len(sys.argv) > 1:
    print(*[n for n in sys.argv[1:] if name(int(n.split(":")[0])) == n], end="")
else:
    supervisor = os.getppid()
    agent = int(fields(supervisor)[1])
    # The agent may be the first process of a container, above it is nobody's business.
    print(name(supervisor), name(agent))
