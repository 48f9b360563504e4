"""What the bootstrap finds in the environment, and what the agent leaves there."""

import os
import sys
import tempfile
import unittest

import support

sys.path.insert(0, support.ROOT)
import install  # noqa: E402

SOURCE = os.path.join(support.ROOT, "hermes")


class BootstrapTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = os.path.realpath(folder.name)

    def run_agent(self, boot: bytes) -> "tuple[str, str, list[str]]":
        """An agent from its greeting to its end: its library, its scratch, and what that held."""
        host = support.Host(env=dict(os.environ, TMPDIR=self.root), boot=boot)
        host.greet()
        return self.examine(host)

    def examine(self, host: support.Host) -> "tuple[str, str, list[str]]":
        hello = host.hello
        scratch = os.fsdecode(hello["scratch"][0])
        # An answer says that it is past its preparations.
        self.assertEqual(host.until(support.frames.EXIT, host.start("/bin/true"))[1]["code"], [b"0"])
        held = sorted(os.listdir(scratch))
        host.close()
        return os.fsdecode(hello["library"][0]), scratch, held

    def test_a_scratch_is_marked_and_removed(self) -> None:
        _, scratch, held = self.run_agent(support.boot_code(volatile="/elsewhere"))
        self.assertEqual(held, [".alive", ".owner", "hermes-test"])
        self.assertFalse(os.path.exists(scratch))

    def test_a_volatile_scratch_is_not_marked(self) -> None:
        _, _, held = self.run_agent(support.boot_code(volatile=self.root))
        self.assertEqual(held, ["hermes-test"])

    @unittest.skipUnless(os.geteuid() == 0, "only the administrator can install it")
    def test_an_installed_library_is_not_unpacked(self) -> None:
        path = install.install(SOURCE, os.path.join(self.root, "lib"))
        library, _, held = self.offered(path)
        self.assertEqual(library, path)
        self.assertEqual(held, [".alive", ".owner"])
        compiled = os.listdir(os.path.join(path, install.PACKAGE, "__pycache__"))
        self.assertEqual(len(compiled), len([f for f in os.listdir(SOURCE) if f.endswith(".py")]))

    def test_one_that_is_not_there_is_asked_for(self) -> None:
        library, scratch, _ = self.offered(os.path.join(self.root, "none"))
        self.assertEqual(library, os.path.join(scratch, "hermes-test"))

    @unittest.skipUnless(os.geteuid() == 0, "only the administrator can install it")
    def test_one_that_others_could_have_written_is_not_used(self) -> None:
        path = install.install(SOURCE, os.path.join(self.root, "lib"))
        for spoil in (lambda: os.chmod(path, 0o775), lambda: os.chown(path, 1000, 0)):
            spoil()
            library, scratch, held = self.offered(path)
            self.assertEqual(library, os.path.join(scratch, "hermes-test"))
            self.assertEqual(held, [".alive", ".owner", "hermes-test"])
            os.chmod(path, 0o755)

    def offered(self, path: str) -> "tuple[str, str, list[str]]":
        """An agent that was offered that library, and got one when it asked."""
        host = support.Host(env=dict(os.environ, TMPDIR=self.root), boot=support.offer_code(path))
        kind = host.first()
        if kind == support.frames.WANT:
            host.say(support.boot_code())
            kind = host.first()
        self.assertEqual(kind, support.frames.HELLO)
        return self.examine(host)


if __name__ == "__main__":
    unittest.main()
