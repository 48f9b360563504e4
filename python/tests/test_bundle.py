"""The agent's modules in one file, which the second start of an interpreter finds."""

import ast
import os
import shutil
import sys
import tempfile
import unittest

import support
from _hermes_exec import bootstrap, bundle, frames

SOURCE = os.path.join(support.ROOT, "hermes")


class BundleTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.library = os.path.join(os.path.realpath(folder.name), "hermes-test")
        self.package = os.path.join(self.library, "_hermes_exec")
        shutil.copytree(SOURCE, self.package, ignore=shutil.ignore_patterns("__pycache__"))
        self.path = bootstrap.bundle_path(self.library)

    def start(self):
        """An agent with the library from where the host keeps it, to its end."""
        line = (
            'import sys;L="%s";sys.path.insert(0,L);from _hermes_exec.bootstrap import boot;'
            'sys.path.remove(L);boot("",0,0,L,"")\n'
        ) % self.library
        with support.Host(boot=line.encode()) as host:
            # What is printed says that the agent is past its preparations.
            data, _ = host.until(frames.EXIT, host.start("echo", "here"))
            self.assertEqual(data[frames.STDOUT], b"here\n")

    def leave_only(self, *names):
        for name in os.listdir(self.package):
            if name not in names:
                path = os.path.join(self.package, name)
                shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)

    def test_the_first_start_makes_it_and_the_second_needs_no_other_file(self):
        self.start()
        support.eventually(lambda: os.path.exists(self.path))
        self.leave_only("__init__.py", "bootstrap.py")
        self.start()

    def test_a_damaged_one_is_passed_over_and_made_anew(self):
        self.start()
        with open(self.path, "rb") as f:
            whole = f.read()
        for damaged in (b"", b"\0", whole[: len(whole) // 2], b"i\x01\0\0\0"):
            with open(self.path, "wb") as f:
                f.write(damaged)
            self.start()
            with open(self.path, "rb") as f:
                self.assertEqual(len(f.read()), len(whole))

    def test_bytecode_that_is_damaged_does_not_end_the_agent(self):
        self.start()
        os.unlink(self.path)
        compiled = os.path.join(self.package, "__pycache__", "relay.%s.pyc" % sys.implementation.cache_tag)
        with open(compiled, "rb") as f:
            head = f.read(16)  # what it was compiled from
        with open(compiled, "wb") as f:
            f.write(head + b"damaged")
        self.start()

    def test_it_leaves_nothing_beside_it(self):
        self.start()
        self.assertEqual(sorted(os.listdir(self.library)), sorted(["_hermes_exec", os.path.basename(self.path)]))

    def test_a_library_that_comes_with_the_host_gets_none(self):
        with support.Host() as host:
            host.until(frames.EXIT, host.start("true"))
            library = frames.text(host.hello, "library")
            self.assertEqual(os.listdir(library), ["_hermes_exec"])

    def test_where_it_cannot_be_written_the_agent_does_without(self):
        os.mkdir(self.path)  # nothing replaces a directory by a file
        self.start()
        self.assertEqual(sorted(os.listdir(self.library)), sorted(["_hermes_exec", os.path.basename(self.path)]))

    def test_it_has_all_that_the_agent_imports(self):
        found, todo = set(), ["agent"]
        while todo:
            name = todo.pop()
            if name in found or name in ("bundle", "bootstrap"):
                continue
            found.add(name)
            with open(os.path.join(SOURCE, name + ".py"), encoding="utf-8") as f:
                module = ast.parse(f.read())
            for node in ast.walk(module):
                if isinstance(node, ast.ImportFrom) and node.level:
                    todo += [node.module] if node.module else [alias.name for alias in node.names]
        self.assertEqual(sorted(bundle.MODULES), sorted(found))


if __name__ == "__main__":
    unittest.main()
