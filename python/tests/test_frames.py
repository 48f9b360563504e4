import os
import unittest

import support
from _hermes_exec import frames


def vectors():
    with open(os.path.join(support.ROOT, "testdata", "frames.txt"), encoding="ascii") as f:
        for line in f:
            if line.strip() and not line.startswith("#"):
                name, kind, channel, stream, payload, whole = line.split()
                yield name, int(kind), int(channel), int(stream), payload, bytes.fromhex(whole)


class FramesTest(unittest.TestCase):
    def test_vectors(self):
        for name, kind, channel, stream, payload, whole in vectors():
            with self.subTest(name):
                if payload.startswith("["):
                    pairs = [p.split("=", 1) for p in payload[1:-1].split(",")]
                    data = frames.encode([(k, v) for k, v in pairs])
                else:
                    data = b"" if payload == "-" else bytes.fromhex(payload)
                self.assertEqual(frames.frame(kind, stream, data, channel), whole)

    def test_fields_keep_bytes_and_repetitions(self):
        data = frames.encode([("arg", b"\xff\n="), ("arg", ""), ("n", -7)])
        self.assertEqual(frames.decode(data), {"arg": [b"\xff\n=", b""], "n": [b"-7"]})
        self.assertEqual(frames.number(frames.decode(data), "n"), -7)

    def test_fields_cut_short_are_an_error(self):
        data = frames.encode([("key", "value")])
        for size in range(1, len(data)):
            with self.assertRaises(ValueError):
                frames.decode(data[:size])

    def test_failure_names_the_error(self):
        fields = frames.decode(frames.failure("put", 2))
        self.assertEqual(frames.text(fields, "errno"), "ENOENT")


if __name__ == "__main__":
    unittest.main()
