"""What a kernel's cells leave behind: workers, threads, children, and the end of it all."""

import gzip
import os
import sys
import tempfile
import time
import unittest

import test_kernel


class EndsTest(test_kernel.KernelCase):
    def test_pools_of_every_kind(self):
        for method in ("fork", "forkserver", "spawn"):
            with self.subTest(method):
                self.check(
                    """
                    import multiprocessing as mp
                    def square(n):
                        return n * n
                    """,
                    "",
                )
                self.check(
                    """
                    with mp.get_context(%r).Pool(2) as pool:
                        print(pool.map(square, range(4)))
                    """
                    % method,
                    "[0, 1, 4, 9]\n",
                )

    def test_pools_leave_nothing(self):
        code, folder = self.kernel.cell(
            """
            import multiprocessing as mp, multiprocessing.util
            with mp.get_context('forkserver').Pool(1) as pool:
                pool.map(abs, [1])
            print(multiprocessing.util.get_temp_dir(), end='')
            """
        )
        self.assertTrue(os.path.isdir(folder), folder)
        self.kernel.send("", kind="end")
        self.kernel.process.wait(10)
        self.assertFalse(os.path.exists(folder))

    def end(self):
        self.kernel.send("", kind="end")
        self.kernel.process.wait(10)

    def read(self, name):
        with open(os.path.join(self.folder, name), "rb") as f:
            return f.read()

    def test_the_end_is_that_of_any_python(self):
        self.check(
            """
            import atexit, gzip, tempfile, weakref
            text, zipped = open('text', 'w'), gzip.open('zipped', 'w')
            hidden = [open('hidden', 'wb')].__iter__
            text.write('data'), zipped.write(b'data'), next(hidden()).write(b'data')
            kept = tempfile.TemporaryDirectory(dir='.', prefix='kept')
            atexit.register(lambda: open('atexit', 'w').write('ran'))
            class Last:
                def __del__(self, open=open):
                    with open('del', 'wb') as f: f.write(b'ran')
            last = Last()
            """,
            "",
        )
        self.assertEqual(self.read("text"), b"")
        self.end()
        self.assertEqual(self.kernel.process.returncode, 0)
        self.assertEqual((self.read("text"), self.read("hidden"), gzip.decompress(self.read("zipped"))), (b"data",) * 3)
        self.assertEqual((self.read("atexit"), self.read("del")), (b"ran", b"ran"))
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith("kept")], [])

    def test_no_thread_keeps_the_end(self):
        code, folder = self.kernel.cell(
            """
            import multiprocessing.util, os, sys, threading, time
            def on():
                while True: sleep(600)
            sleep, time.sleep, os._exit, sys.exit = time.sleep, None, None, None
            threading.Thread(target=on).start()
            text = open('text', 'w')
            text.write('data')
            r, w = os.pipe()
            full = os.fdopen(w, 'w')
            os.set_blocking(w, False)
            try:
                while os.write(w, bytes(1 << 16)): pass
            except BlockingIOError: pass
            os.set_blocking(w, True)
            full.write('data')
            print(multiprocessing.util.get_temp_dir(), end='')
            """
        )
        self.assertEqual(code, 0)
        self.end()
        self.assertEqual(self.read("text"), b"data")
        self.assertFalse(os.path.exists(folder))

    def test_a_killed_kernel_flushes_nothing(self):
        self.check("text = open('text', 'w'); n = text.write('data')", "")
        self.kernel.send("import os; os._exit(5)")
        self.kernel.process.wait(10)
        self.assertEqual((self.read("text"), self.kernel.process.returncode), (b"", 5))

    def test_a_function_of_the_same_cell_reaches_its_workers(self):
        self.check(
            """
            import multiprocessing as mp
            def twice(n): return 2 * n
            with mp.get_context('spawn').Pool(1) as pool:
                print(pool.map(twice, [4]))
            """,
            "[8]\n",
        )

    def test_a_failed_import_does_not_spoil_later_workers(self):
        code, _ = self.kernel.cell("import nosuchmodule\ndef never(): pass")
        self.assertEqual(code, 1)
        with open(os.path.join(self.folder, "cells.py")) as f:
            self.assertEqual(f.read().strip(), "")

    def test_a_forked_child_ends_with_its_cell(self):
        self.check("import os\nif os.fork() == 0:\n    print('child', flush=True)\nelse:\n    os.wait()", "child\n")
        self.check("print('parent')", "parent\n")

    def test_ending_the_process_says_nothing(self):
        self.kernel.send("import os; os._exit(0)")
        with self.assertRaises(EOFError):
            self.kernel.receive()


if __name__ == "__main__":
    unittest.main()
