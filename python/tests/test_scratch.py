import os
import subprocess
import sys
import tempfile
import unittest

import support
from _hermes_exec import frames, scratch

HOLD = """
import sys
sys.path.insert(0, sys.argv[1])
from _hermes_exec import scratch
for path in sys.argv[2:]: scratch.own(path)
print("owned", flush=True)
sys.stdin.read()
"""


class SweepTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name

    def make(self, name):
        path = os.path.join(self.root, name)
        os.mkdir(path, 0o700)
        with open(os.path.join(path, "file"), "w"):
            pass
        return path

    def owned(self, *names):
        """Makes directories of a process, which lives until its stdin is closed."""
        library = tempfile.mkdtemp(dir=self.root)
        os.symlink(os.path.join(support.ROOT, "hermes"), os.path.join(library, "_hermes_exec"))
        owner = subprocess.Popen(
            [sys.executable, "-B", "-c", HOLD, library] + [self.make(n) for n in names],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.addCleanup(self.end, owner)
        self.assertEqual(owner.stdout.readline(), b"owned\n")
        return owner

    def end(self, owner):
        owner.kill()
        owner.wait(10)
        owner.stdin.close()
        owner.stdout.close()

    def left(self):
        return sorted(n for n in os.listdir(self.root) if n.startswith(("hermes_", "other_")))

    def test_only_what_the_dead_have_left_goes(self):
        self.owned("hermes_sandbox_living")
        dead = ["hermes_sandbox_dead", "hermes_sandbox_elsewhere", "hermes_sandbox_open", "other_dead"]
        self.end(self.owned(*dead))
        self.make("hermes_sandbox_unknown")
        with open(os.path.join(self.root, "hermes_sandbox_elsewhere", ".alive"), "w") as f:
            f.write("another-machine")
        os.chmod(os.path.join(self.root, "hermes_sandbox_open"), 0o755)
        os.symlink("other_dead", os.path.join(self.root, "hermes_sandbox_link"))
        stay = sorted(["hermes_sandbox_living", "hermes_sandbox_link", "hermes_sandbox_unknown"] + dead[1:])
        scratch.sweep([self.root, self.root, "/nonexistent"])
        self.assertEqual(self.left(), stay)
        self.assertTrue(os.path.exists(os.path.join(self.root, "other_dead", "file")))

    def test_an_agent_sweeps_when_it_has_a_lease(self):
        env = {"TMPDIR": self.root}
        killed, living = support.Host(env=env), support.Host(env=env)  # neither sweeps: it could be late
        names = []
        for host in (killed, living):
            self.addCleanup(host.close)
            names.append(os.path.basename(frames.text(host.greet(), "scratch")))
        support.eventually(lambda: all(os.path.exists(os.path.join(self.root, n, ".alive")) for n in names))
        killed.agent.kill()
        killed.agent.wait(10)
        with support.Host(env=env):
            self.assertIn(names[0], self.left())
        with support.Host(env=env, lease=60) as host:
            support.eventually(lambda: names[0] not in self.left())
            ours = os.path.basename(frames.text(host.hello, "scratch"))
            self.assertEqual(self.left(), sorted([names[1], ours]))
            self.assertEqual(host.until(frames.EXIT, host.start("true"))[1]["code"], [b"0"])
        self.assertEqual(self.left(), [names[1]])


if __name__ == "__main__":
    unittest.main()
