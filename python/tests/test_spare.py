import os
import signal
import unittest

import support
from _hermes_exec import frames


def children(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
        return [int(p) for p in f.read().split()]


class SpareTest(unittest.TestCase):
    """The supervisor that is there before there is anything to supervise."""

    def host(self, **options):
        host = support.Host(**options)
        self.addCleanup(host.close)
        host.greet()
        return host

    def spare(self, host):
        return support.eventually(lambda: children(host.agent.pid))[0]

    def parent_of(self, host, script="echo $PPID"):
        data, end = host.until(frames.EXIT, host.start("sh", "-c", script))
        self.assertEqual(frames.text(end, "code"), "0")
        return int(data[frames.STDOUT].split()[0])

    def test_it_supervises_the_first_process_and_no_other(self):
        host = self.host()
        spare = self.spare(host)
        self.assertEqual(self.parent_of(host), spare)
        self.assertNotEqual(self.parent_of(host), spare)

    def test_it_leads_a_session_of_its_own(self):
        host = self.host()
        spare = self.spare(host)
        support.eventually(lambda: os.getsid(spare) == spare)

    def child(self, spare):
        return support.eventually(lambda: children(spare))[0]

    def test_its_child_becomes_the_command(self):
        host = self.host()
        child = self.child(self.spare(host))
        data, _ = host.until(frames.EXIT, host.start("sh", "-c", "echo $$"))
        self.assertEqual(int(data[frames.STDOUT]), child)

    def test_one_that_was_killed_is_done_without(self):
        for of_both in ("supervisor", "child"):
            with self.subTest(of_both):
                host = self.host()
                spare = self.spare(host)
                child = self.child(spare)
                os.kill(spare if of_both == "supervisor" else child, signal.SIGKILL)
                support.eventually(lambda: not support.running(spare) and not support.running(child))
                self.assertNotEqual(self.parent_of(host), spare)

    def test_one_that_was_stopped_goes_on(self):
        for of_both in ("supervisor", "child"):
            with self.subTest(of_both):
                host = self.host()
                spare = self.spare(host)
                os.kill(spare if of_both == "supervisor" else self.child(spare), signal.SIGSTOP)
                self.assertEqual(self.parent_of(host), spare)

    def test_what_the_agent_says_behind_an_order_is_the_supervisors(self):
        """Order and signal may lie in the socket at once: the child takes the one and leaves the other."""
        host = self.host()
        child = self.child(self.spare(host))
        os.kill(child, signal.SIGSTOP)
        stream = host.start("sleep", "300")
        host.send(frames.SIGNAL, stream, payload=signal.SIGTERM.to_bytes(4, "big"))
        _, end = host.until(frames.EXIT, stream)
        self.assertEqual(frames.text(end, "signal"), str(int(signal.SIGTERM)))

    def test_an_order_that_it_has_no_room_for_gets_a_supervisor_of_its_own(self):
        host = self.host()
        spare = self.spare(host)
        self.assertNotEqual(self.parent_of(host, "echo $PPID #" + "x" * 100000), spare)
        support.eventually(lambda: not support.running(spare))

    def test_the_largest_order_arrives_whole(self):
        host = self.host()
        spare = self.spare(host)
        text = "x" * 60000
        data, _ = host.until(frames.EXIT, host.start("sh", "-c", "echo $PPID; printf %s " + text))
        self.assertEqual(data[frames.STDOUT], b"%d\n%s" % (spare, text.encode()))

    def test_it_ends_with_an_agent_that_started_nothing(self):
        for kill in (False, True):
            host = self.host()
            spare = self.spare(host)
            if kill:
                host.agent.kill()
            host.close()
            support.eventually(lambda: not support.running(spare))

    def test_its_failures_are_told(self):
        host = self.host()
        self.spare(host)
        stream = host.start("/nonexistent")
        kind, _, number, payload = host.read()
        self.assertEqual((kind, number), (frames.FAILED, stream))
        self.assertEqual(frames.text(frames.decode(payload), "errno"), "ENOENT")

    def test_orphans_of_a_killed_supervisor_are_ended(self):
        """The children of a supervisor that was killed come to the agent, which ends them, be it the spare
        or one of its own."""
        host = self.host()
        spare = self.spare(host)
        for is_spare in (True, False):
            stream = host.start("sh", "-c", "echo $PPID $$; exec sleep 300")
            heard = {}  # what it prints may come before the word that it runs
            while set(heard) != {frames.STARTED, frames.DATA}:
                kind, _, _, payload = host.read()
                heard[kind] = payload
            supervisor, command = map(int, heard[frames.DATA].split())
            self.assertEqual(supervisor == spare, is_spare)
            os.kill(supervisor, signal.SIGKILL)
            host.until(frames.EXIT, stream)
            support.eventually(lambda: not support.running(command))

    def test_a_start_that_asks_for_nothing_leaves_it_to_the_next(self):
        host = self.host()
        spare = self.spare(host)
        stream = host.open(frames.START, ("arg", "true"))  # no directory
        kind, _, number, _ = host.read()
        self.assertEqual((kind, number), (frames.FAILED, stream))
        self.assertEqual(self.parent_of(host), spare)
