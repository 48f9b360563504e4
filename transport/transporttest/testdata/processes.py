"""Forked and spawned workers and a child Python call tools, all in the same run."""
import multiprocessing
import os
import subprocess
import sys
import threading

import hermes_tools


def work(n):
    got = [hermes_tools.echo([n, i]) for i in range(5)]
    assert got == [[n, i] for i in range(5)], got
    return n


def main():
    assert hermes_tools.echo("parent") == "parent"
    for method in ("fork", "forkserver", "spawn"):
        with multiprocessing.get_context(method).Pool(3) as pool:
            assert sorted(pool.map(work, range(6), chunksize=1)) == list(range(6)), method
        assert hermes_tools.echo(method) == method

    code = "import hermes_tools; assert hermes_tools.echo('child') == 'child'"
    subprocess.run([sys.executable, "-c", code], check=True)

    # A bare fork, from a thread too: the child dials for itself, and parent and child take turns.
    def fork():
        hermes_tools.echo(0)
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                os.write(write, b"x")
                status = 0 if [hermes_tools.echo(i) for i in range(50)] == list(range(50)) else 2
            finally:
                os._exit(status)
        os.read(read, 1)
        assert [hermes_tools.echo(-i) for i in range(50)] == [-i for i in range(50)]
        assert os.waitpid(pid, 0)[1] == 0

    fork()
    t = threading.Thread(target=fork)
    t.start()
    t.join()
    print("ok")


if __name__ == "__main__":
    main()
