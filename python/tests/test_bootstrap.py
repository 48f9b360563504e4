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
        hello = host.greet()
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
        library, _, held = self.run_agent(self.installed(path))
        self.assertEqual(library, path)
        self.assertEqual(held, [".alive", ".owner"])
        compiled = os.listdir(os.path.join(path, install.PACKAGE, "__pycache__"))
        self.assertEqual(len(compiled), len([f for f in os.listdir(SOURCE) if f.endswith(".py")]))

    @unittest.skipUnless(os.geteuid() == 0, "only the administrator can install it")
    def test_one_that_others_could_have_written_is_not_used(self) -> None:
        path = install.install(SOURCE, os.path.join(self.root, "lib"))
        name = os.path.basename(path)
        for spoil in (lambda: os.chmod(path, 0o775), lambda: os.chown(path, 1000, 0)):
            spoil()
            library, scratch, held = self.run_agent(self.installed(path))
            self.assertEqual(library, os.path.join(scratch, name))
            self.assertEqual(held, [".alive", ".owner", name])
            os.chmod(path, 0o755)

    def installed(self, path: str) -> bytes:
        """The code that boots with a library where this one lies, if it can."""
        boot = support.boot_code(name=os.path.basename(path))
        place = b'"/usr/local/lib/hermes-exec"'
        self.assertIn(place, boot)
        mine = b'"%s"' % os.fsencode(os.path.dirname(path))
        boot = boot.replace(place, mine, 1)
        # The line before the bootstrap says how long that is.
        length = boot[boot.index(b"N=") + 2 : boot.index(b";", boot.index(b"N="))]
        return boot.replace(b"N=" + length, b"N=%d" % (int(length) + len(mine) - len(place)), 1)


if __name__ == "__main__":
    unittest.main()
