"""The backend of matplotlib, with what stands in for matplotlib."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import support  # noqa: F401 - makes the library importable
from _hermes_exec import figures

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DRAW = "import os, matplotlib.pyplot as plt\nplt.figure('one')\n"


class FiguresTest(unittest.TestCase):
    def setUp(self):
        top = tempfile.TemporaryDirectory()
        self.addCleanup(top.cleanup)
        self.folder = os.path.join(top.name, "artifacts")
        self.module = shutil.copy(os.path.join(ROOT, "alone", "hermes_figures.py"), top.name)
        os.mkdir(self.folder)

    def draw(self, code, folder=None):
        with open(os.path.join(ROOT, "testdata", "fakeplot.py")) as file:
            code = file.read() + DRAW + code
        env = dict(os.environ, MPLBACKEND="module://hermes_figures", PYTHONPATH=os.path.dirname(self.module))
        env["HERMES_ARTIFACTS"] = folder or self.folder
        env["TMPDIR"] = os.path.dirname(self.module)  # what stands in for matplotlib is made there, and stays
        done = subprocess.run([sys.executable, "-c", code], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(done.stdout, b"")
        return done.stderr.decode()

    def saved(self):
        found = {}
        for name in os.listdir(self.folder):
            with open(os.path.join(self.folder, name), "rb") as file:
                found[name] = file.read()[8:].decode()
        return found

    def notes(self):
        try:
            with open(self.module[:-3] + ".log") as file:
                return [json.loads(line) for line in file]
        except FileNotFoundError:
            return []

    def told(self):
        """Returns what is left for the result, without the processes."""
        return [note["failed"] if "failed" in note else "".join(note) for note in self.notes()]

    def test_shown_and_not_shown(self):
        self.assertEqual(self.draw("plt.show()\nplt.figure('two')\nplt.figure('three')\n"), "")
        self.assertEqual(self.saved(), {"figure-1.png": "one", "figure-2.png": "two", "figure-3.png": "three"})

    def test_a_window_that_nobody_waits_for_is_saved_once(self):
        self.draw("plt.show(block=False)\nplt.Gcf.figs[1].show()\nplt.show(block=False)\n")
        self.assertEqual(self.saved(), {"figure-1.png": "one"})

    def test_script_that_fails(self):
        self.assertIn("ZeroDivisionError", self.draw("1 / 0\n"))
        self.assertEqual(self.saved(), {"figure-1.png": "one"})

    def test_forked_child_saves_nothing_of_its_parent(self):
        self.draw("if os.fork() == 0: raise SystemExit\nos.wait()\n")
        self.assertEqual(self.saved(), {"figure-1.png": "one"})

    def test_figure_that_cannot_be_drawn(self):
        self.assertEqual(self.draw("plt.figure('bad')\nplt.figure('three')\n"), "")
        self.assertEqual(self.saved(), {"figure-1.png": "one", "figure-3.png": "three"})
        self.assertEqual(self.told(), ["open", ["figure-2.png", "ValueError: it is bad"], "done"])

    def test_half_a_figure_is_none(self):
        full = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\nplt.figure('x' * 100)\n"
        self.draw(full + "plt.show()\n")
        self.assertEqual(self.saved(), {"figure-1.png": "one"})
        self.assertEqual(self.told()[:2], ["open", ["figure-2.png", "File too large"]])

    def test_nowhere_to_tell(self):
        for make in (os.mkdir, os.mkfifo):
            with self.subTest(make=make.__name__):
                make(self.module[:-3] + ".log")
                self.assertIn("figure-2.png is not saved: ValueError: it is bad", self.draw("plt.figure('bad')\n"))
                self.setUp()

    def test_what_nobody_has_seen_is_told(self):
        for code, told in (
            ("os._exit(0)", ["open"]),
            ("plt.show()\nos._exit(0)", ["open", "done"]),
            ("plt.figure('two')\nplt.close()\nos._exit(0)", ["open"]),
            ("plt.close()\nos._exit(0)", ["open", "done"]),
            ("plt.Gcf.figs[1].canvas.figure.savefig('/dev/null')\nos._exit(0)", ["open", "done"]),
            ("plt.close()\nplt.figure('two')", ["open", "done", "open", "done"]),
        ):
            with self.subTest(code=code):
                self.draw(code)
                self.assertEqual(self.told(), told)
                self.setUp()

    def test_a_forked_child_tells_of_figures_of_its_own(self):
        child = "if os.fork() == 0:\n    plt.figure('two')\n    %s\n    os._exit(0)\nos.wait()\nplt.show()\nos._exit(0)"
        for code, told, still in (
            ("pass", ["open", "open", "done"], 1),  # as a worker of multiprocessing ends
            ("plt.close()", ["open", "open", "done", "done"], 0),
            ("plt.close(); plt.close()", ["open", "open", "done", "done"], 0),
        ):
            with self.subTest(code=code):
                self.draw(child % code)
                self.assertEqual(self.told(), told)
                opened, done = ({note[what] for note in self.notes() if what in note} for what in ("open", "done"))
                self.assertEqual((len(opened), len(opened - done)), (2, still))
                self.setUp()

    def test_a_figure_that_the_script_has_saved(self):
        own = "figure = plt.figure('two')\nfolder = os.environ['HERMES_ARTIFACTS']\n"
        for code, want in (
            ("figure.savefig(folder + '/figure-1.png')\n", {"figure-1.png": "two", "figure-2.png": "one"}),
            ("os.chdir(folder)\nfigure.savefig('own', dpi=9)\n", {"own": "two at 9", "figure-1.png": "one"}),
            ("figure.savefig(folder + '/own')\nfigure.text = 'new'", {"own": "two", "figure-1.png": "one", "figure-2.png": "new"}),
            ("figure.savefig(folder + '/../own')\n", {"figure-1.png": "one", "figure-2.png": "two"}),
            ("figure.savefig(folder + '/own')\nfigure.savefig('/dev/null')\nfigure.canvas.draw()", {"own": "two", "figure-1.png": "one"}),
            ("figure.savefig(folder + '/own')\nfigure.text = 'new'\nfigure.canvas.draw()", {"own": "two", "figure-1.png": "one", "figure-2.png": "new"}),
            ("figure.savefig(folder + '/own')\nfigure.text = 'new'\nfigure.savefig('/dev/null')", {"own": "two", "figure-1.png": "one", "figure-2.png": "new"}),
            ("figure.savefig(folder + '/own')\nfigure.text = 'new'\nfigure.savefig(folder + '/own')", {"own": "new", "figure-1.png": "one"}),
            ("figure.labels = [plt.Artist('a')]\nfigure.savefig(folder + '/own')", {"own": "two+a", "figure-1.png": "one"}),
            ("figure.labels = [plt.Artist('a')]\nfigure.savefig(folder + '/own')\nfigure.labels[0].text = 'b'", {"own": "two+a", "figure-1.png": "one", "figure-2.png": "two+b"}),
            ("figure.savefig(folder + '/own')\nfigure.stale_callback = None", {"own": "two", "figure-1.png": "one", "figure-2.png": "two"}),
            ("part = plt.Artist('a')\npart.subfigs = []\nfigure.savefig(folder + '/own')\nfigure.labels.append(part)", {"own": "two", "figure-1.png": "one", "figure-2.png": "two+a"}),
            ("told = []\nfigure.stale_callback = lambda *args: told.append(args)\nfigure.savefig(folder + '/own')\nn = len(told)\nfigure.text = 'new'\nassert told[n:] == [(figure, True)]", {"own": "two", "figure-1.png": "one", "figure-2.png": "new"}),
        ):
            with self.subTest(code=code):
                self.assertEqual(self.draw(own + code), "")
                self.assertEqual(self.saved(), want)
                self.setUp()

    def test_a_figure_that_the_script_has_saved_is_not_drawn_again(self):
        code = "figure = plt.figure('two')\nfor i in range(3): figure.savefig(os.environ['HERMES_ARTIFACTS'] + '/own')\n"
        code += "import hermes_figures\nhermes_figures.flush()\nassert figure.drawn == 3, figure.drawn\n"
        self.assertEqual(self.draw(code), "")
        self.assertEqual(self.saved(), {"own": "two", "figure-1.png": "one"})

    def test_the_library_knows_it_by_its_names(self):
        names = "import %s as of\nassert callable(of.flush) and of.wanted is True\nplt.figure('bad')\n" % figures.MODULE
        self.assertEqual(self.draw(names), "")
        self.assertEqual(figures.MODULE + ".py", os.path.basename(self.module))
        self.assertIn(figures.LOG, os.listdir(os.path.dirname(self.module)))

    def test_no_directory(self):
        self.assertIn("UserWarning: the figure is saved nowhere", self.draw("plt.show()\n", self.folder + "/none"))
        self.assertEqual(self.saved(), {})


if __name__ == "__main__":
    unittest.main()
