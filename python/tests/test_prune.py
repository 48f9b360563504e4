import importlib.util
import os
import subprocess
import sys
import tempfile
import time
import unittest

import support
from test_scratch import HOLD

SOURCE = os.path.join(support.ROOT, "alone", "prune.py")


def load():
    spec = importlib.util.spec_from_file_location("prune", SOURCE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


prune = load()


class PruneTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = os.path.realpath(folder.name)

    def make(self, name, *files):
        path = os.path.join(self.root, "hermes_sandbox_" + name)
        os.mkdir(path, 0o700)
        for file, text in files:
            with open(os.path.join(path, file), "w") as f:
                f.write(text)
        return path

    def seen(self, everything=False):
        found = prune.prune([self.root, "", self.root, "relative"], everything)
        return {s["path"].rpartition("_")[2]: (s["removed"], s["reason"]) for s in found}

    def owned(self, name):
        """A directory of a process, which lives until it is killed."""
        library = tempfile.mkdtemp(dir=self.root)
        os.symlink(os.path.join(support.ROOT, "hermes"), os.path.join(library, "_hermes_exec"))
        owner = subprocess.Popen(
            [sys.executable, "-B", "-c", HOLD, library, self.make(name)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.addCleanup(self.end, owner)
        self.assertEqual(owner.stdout.readline(), b"owned\n")
        return owner

    def end(self, owner):
        owner.kill()
        owner.wait(10)
        owner.stdin.close()
        owner.stdout.close()

    def test_the_dead_go_and_the_living_stay(self):
        living, dead = self.owned("living"), self.owned("dead")
        closed = os.path.join(self.root, "hermes_sandbox_dead", "closed")
        os.makedirs(os.path.join(closed, "deeper"))
        os.chmod(closed, 0)
        os.symlink(self.root, os.path.join(self.root, "hermes_sandbox_dead", "link"))
        self.end(dead)
        want = {
            "living": (False, "process %d lives and uses it" % living.pid),
            "dead": (True, "process %d has ended" % dead.pid),
        }
        self.assertEqual(self.seen(), want)
        self.assertIn("hermes_sandbox_living", os.listdir(self.root))

    def test_what_the_mark_alone_tells(self):
        with open("/proc/sys/kernel/random/boot_id") as f:
            boot = f.read().strip()
        space, node = os.readlink("/proc/self/ns/pid"), os.uname().nodename
        ended = subprocess.Popen([sys.executable, "-c", ""])
        ended.wait(10)
        for name, mark in {
            "gone": (ended.pid, "1", boot, space, node),
            "reused": (os.getpid(), "1", boot, space, node),
            "reboot": (os.getpid(), "1", "another", space, node),
            "itself": (os.getpid(), "-", boot, space, node),
            "container": (ended.pid, "1", boot, "pid:[1]", node),
            "elsewhere": (ended.pid, "1", "another", space, node + "x"),
            "nonsense": ("x", "1"),
        }.items():
            self.make(name, (".owner", " ".join(map(str, mark)) + "\n"))
        seen = self.seen()
        self.assertEqual({name for name, (gone, _) in seen.items() if gone}, {"gone", "reused", "reboot"})
        self.assertEqual(seen["itself"][1], "process %d lives and uses it" % os.getpid())
        for name, known in (("container", "of another pid namespace"), ("elsewhere", "of another machine, " + node)):
            self.assertIn(known, seen[name][1])

    def test_what_tells_nothing_stays_but_for_everything_that_is_old(self):
        old = self.make("old")
        os.utime(old, (0, time.time() - 25 * 3600))
        self.make("young")
        os.chmod(self.make("open"), 0o755)
        os.symlink(old, os.path.join(self.root, "hermes_sandbox_link"))
        os.mkfifo(os.path.join(self.make("fifo"), ".owner"))
        self.assertEqual(set(self.seen()), {"old", "young", "fifo"})
        self.assertEqual({name for name, (gone, _) in self.seen(True).items() if gone}, {"old"})

    def test_what_goes_meanwhile_is_gone(self):
        self.assertEqual(prune.condition(self.make("gone") + "x", True), (False, "it is gone"))


if __name__ == "__main__":
    unittest.main()
