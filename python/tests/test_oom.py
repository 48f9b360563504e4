import os
import tempfile
import unittest

import support  # noqa: F401 - makes the package importable

from _hermes_exec import oom

V1 = "oom_kill_disable 0\nunder_oom 0\noom_kill %d\n"
V2 = "low 0\nhigh 0\nmax 40\noom 3\noom_kill %d\noom_group_kill 0\n"


class OutOfMemoryTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name

    def write(self, path, text):
        path = self.root + path
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.write(text)

    def test_the_counter_of_each_version_is_found_and_read(self):
        v1, v2 = "/sys/fs/cgroup/memory%s/memory.oom_control", "/sys/fs/cgroup%s/memory.events"
        for name, groups, path, text in (
            ("v1", "7:cpu,cpuacct:/job\n6:memory:/job\n", v1 % "/job", V1),
            ("v1 beside another controller", "6:hugetlb,memory:/job\n", v1 % "/job", V1),
            ("v1 in a container, whose files are at the root", "6:memory:/docker/0123\n", v1 % "", V1),
            ("v1 with an empty v2 hierarchy beside", "6:memory:/job\n0::/job\n", v1 % "/job", V1),
            ("v2", "0::/user.slice/job.scope\n", v2 % "/user.slice/job.scope", V2),
            ("v2 in a container with a namespace", "0::/\n", v2 % "", V2),
            ("v2 in a container without one", "0::/docker/0123\n", v2 % "", V2),
        ):
            with self.subTest(name):
                self.setUp()
                self.write("/proc/self/cgroup", groups)
                self.write(path, text % 4)
                counter = oom.Counter(self.root)
                self.assertEqual(counter.kills(), 4)
                self.write(path, text % 5)
                self.assertEqual(counter.kills(), 5)

    def test_without_a_counter_nothing_is_killed(self):
        for name, files in (
            ("no cgroups", {}),
            ("no files", {"/proc/self/cgroup": "0::/\n"}),
            ("a kernel that does not count", {"/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.events": "max 4\n"}),
            ("nonsense", {"/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.events": "oom_kill many\n"}),
        ):
            with self.subTest(name):
                self.setUp()
                for path, text in files.items():
                    self.write(path, text)
                self.assertEqual(oom.Counter(self.root).kills(), 0)


if __name__ == "__main__":
    unittest.main()
