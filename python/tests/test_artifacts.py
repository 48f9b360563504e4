"""The archive of what a script has left."""

import io
import os
import subprocess
import sys
import tarfile
import tempfile
import unittest

import support

CODE = "import sys; sys.path.insert(0, %r); import support; from _hermes_exec import artifacts; artifacts.main()" % support.HERE


class ArtifactsTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = os.path.join(folder.name, "root")
        os.makedirs(os.path.join(self.root, "sub"))
        for name in ("b", "a", "sub/c", ".hermes_keep", "sub/.hermes_keep"):
            with open(os.path.join(self.root, name), "w") as f:
                f.write(name)

    def send(self, most: int, room: int, before: str = "") -> "tuple[dict[str, bytes], bytes]":
        done = subprocess.run(
            [sys.executable, "-c", before + CODE, "library", self.root, str(most), str(room)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            check=True,
        )
        self.assertFalse(os.path.exists(self.root))
        with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
            found = {m.name: archive.extractfile(m).read() for m in archive}  # type: ignore[union-attr]
        return found, done.stderr

    def test_regular_files_with_their_names(self) -> None:
        os.symlink("a", os.path.join(self.root, "link"))
        os.symlink("sub", os.path.join(self.root, "sub2"))
        os.mkfifo(os.path.join(self.root, "fifo"))
        files, said = self.send(10, 100)
        want = ["a", "b", "sub/.hermes_keep", "sub/c"]
        self.assertEqual(files, {n: n.encode() for n in want})
        self.assertEqual(list(files), want)
        self.assertEqual(said, b"")

    def test_limits(self) -> None:
        self.assertEqual(self.send(1, 100), ({"a": b"a"}, b"3 22\n"))

    def test_a_file_that_has_no_room_does_not_keep_out_others(self) -> None:
        files, said = self.send(10, 7)
        self.assertEqual((files, said), ({"a": b"a", "b": b"b", "sub/c": b"sub/c"}, b"1 16\n"))

    def test_what_cannot_be_looked_at_is_left_out(self) -> None:
        for call, name in (("stat", "a"), ("listdir", "sub")):
            before = (
                "import os\nreal = os.%s\n"
                "def call(path, **more):\n"
                "    if str(path).endswith('/%s'): raise OSError(5, 'Input/output error')\n"
                "    return real(path, **more)\n"
                "os.%s = call\n"
            ) % (call, name, call)
            with self.subTest(call=call):
                files, said = self.send(10, 100, before)
                self.assertEqual((name in "".join(files), said), (False, b"1 0\n"))
                self.setUp()

    def test_more_levels_than_calls_may_nest(self) -> None:
        path = self.root
        for _ in range(1500):
            path += "/d"
            os.mkdir(path)
        with open(path + "/deep", "w"):
            pass
        files, said = self.send(10, 100)
        self.assertEqual((files["d/" * 1500 + "deep"], len(files), said), (b"", 5, b""))

    def test_no_directory(self) -> None:
        support.shutil.rmtree(self.root)
        self.assertEqual(self.send(10, 10), ({}, b""))


if __name__ == "__main__":
    unittest.main()
