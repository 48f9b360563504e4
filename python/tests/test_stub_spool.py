"""The runtime of hermes_tools over a spool."""

import json
import os
import shutil
import signal
import tempfile
import threading
import unittest
from typing import Any, List

import test_stub


class SpoolTest(unittest.TestCase):
    """The host's side is played here, without the watching."""

    def setUp(self) -> None:
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.inbox, self.outbox = os.path.join(self.folder, "in"), os.path.join(self.folder, "out")
        os.mkdir(self.inbox, 0o700)
        os.mkdir(self.outbox, 0o700)
        self.seen = []  # type: List[str]
        self.rings = True
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()
        self.addCleanup(self.thread.join)
        self.addCleanup(self.over.set)
        self.s = test_stub.load(HERMES_RPC_DIR=self.folder, HERMES_RPC_TOKEN=test_stub.TOKEN)
        self.addCleanup(self.s._local.__dict__.clear)

    def serve(self) -> None:
        while not self.over.wait(0.001):
            try:
                names = os.listdir(self.inbox)
            except OSError:
                return
            for name in names:
                if name.startswith("req_"):
                    self.answer(name)

    def answer(self, name: str) -> None:
        path = os.path.join(self.inbox, name)
        self.seen.append(name)
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        with open(path, "rb") as f:
            request = json.loads(f.read())
        os.unlink(path)
        if request["args"]["value"] == "wait":
            return
        hidden = os.path.join(self.outbox, "." + name)
        with open(hidden, "wb") as f:
            f.write(test_stub.good(request))
        os.rename(hidden, os.path.join(self.outbox, "res_" + name[4:]))
        if self.rings:
            try:
                fd = os.open(os.path.join(self.outbox, ".wake_" + name[4:].rpartition(".")[0]), os.O_WRONLY | os.O_NONBLOCK)
            except OSError:
                return
            os.write(fd, b"\n")
            os.close(fd)

    def test_calls(self) -> None:
        for rings in (True, False):
            self.rings = rings
            for value in (1, "ä\n", "x" * 300_000):
                self.assertEqual(self.s.echo(value), value)
        self.assertEqual(len(set(self.seen)), 6)
        self.assertEqual([n for n in os.listdir(self.outbox) if not n.startswith(".wake_")], [])

    def test_without_fifos(self) -> None:
        mkfifo = os.mkfifo
        del os.mkfifo
        self.addCleanup(setattr, os, "mkfifo", mkfifo)
        self.assertEqual([self.s.echo(i) for i in range(5)], list(range(5)))
        self.assertEqual(os.listdir(self.outbox), [])

    def test_threads_have_channels(self) -> None:  # B082
        wrong = []  # type: List[Any]

        def work(n: int) -> None:
            wrong.extend(i for i in range(20) if self.s.echo([n, i]) != [n, i])

        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])
        self.assertEqual(len(set(self.seen)), 160)
        test_stub.eventually(lambda: os.listdir(self.outbox) == [])  # ended threads remove their FIFOs

    def test_mirror_is_woken(self) -> None:
        os.mkfifo(os.path.join(self.inbox, ".wake"))
        fd = os.open(os.path.join(self.inbox, ".wake"), os.O_RDWR | os.O_NONBLOCK)
        self.addCleanup(os.close, fd)
        self.s.echo(1)
        self.assertEqual(os.read(fd, 10), b"\n")

    def test_given_up(self) -> None:
        def interrupt(*_: Any) -> None:
            raise KeyboardInterrupt

        old = signal.signal(signal.SIGALRM, interrupt)
        self.addCleanup(signal.signal, signal.SIGALRM, old)
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with self.assertRaises(KeyboardInterrupt):
            self.s.echo("wait")
        self.assertEqual(os.listdir(self.inbox), ["end_" + self.seen[0][4:]])
        self.assertEqual(os.listdir(self.outbox), [])
        self.assertEqual(self.s.echo("next"), "next")

    def test_given_up_before_it_was_taken(self) -> None:
        self.over.set()
        self.thread.join()
        link = self.s._connect()
        link.count = 1
        link._wait = lambda name: (_ for _ in ()).throw(KeyboardInterrupt)
        with self.assertRaises(KeyboardInterrupt):
            link.roundtrip(b"{", b"{}")
        self.assertEqual(len(os.listdir(self.inbox)), 1)
        link.close()
        self.assertEqual(os.listdir(self.inbox), [])

    def test_descriptor_closed_by_the_script(self) -> None:
        self.s.echo(1)
        for other in (False, True):
            lost = self.s._local.link.fd
            if other:  # something else has its number now
                null = os.open(os.devnull, os.O_RDWR)
                os.dup2(null, lost)
                os.close(null)
                before = os.fstat(lost)
            else:
                os.close(lost)
            self.assertEqual(self.s.echo(2), 2)
            self.assertGreaterEqual(self.s._local.link.fd, 0)
            self.assertIsNotNone(self.s._local.link.poll)
        self.assertEqual(os.fstat(lost), before)
        os.close(lost)

    def test_descriptor_closed_during_a_call(self) -> None:
        self.s.echo(1)
        lost = self.s._local.link.fd
        threading.Timer(0.1, os.close, (lost,)).start()
        with self.assertRaisesRegex(self.s.TransportError, "descriptor"):
            self.s.echo("wait")
        self.assertEqual(self.s.echo("next"), "next")

    def test_spool_goes(self) -> None:
        threading.Timer(0.05, shutil.rmtree, (self.folder,)).start()
        with self.assertRaisesRegex(self.s.TransportError, "closed the spool"):
            self.s.echo("wait")
        with self.assertRaises(self.s.TransportError):
            self.s.echo("more")


if __name__ == "__main__":
    unittest.main()
