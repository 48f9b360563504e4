"""The end of a kernel in order: as every Python ends, but within bounds.

Threads of cells may run for ever, and the interpreter waits for those before it calls atexit
functions and closes files. What cells have written to files is therefore put there first, and an end
that takes too long is cut short.
"""

from __future__ import annotations

import _io  # type: ignore[import]
import _thread
import gc
import os
import stat
from os import _exit  # now: cells may put something else there
from time import sleep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable

_PATIENCE = 1.0  # seconds; the host waits a little longer (endWait in kernel/live.go)


def begin(status: int, at_last: Callable[[], None]) -> None:
    """Writes out files, after which the interpreter may end by itself. If that is too much for the
    time there is, at_last is called and the process ends with this status."""

    begun = _thread.allocate_lock()
    begun.acquire()

    def watch() -> None:
        begun.release()
        sleep(_PATIENCE)
        try:
            at_last()
        finally:
            _exit(status)

    try:
        _thread.start_new_thread(watch, ())
    except RuntimeError:  # no more threads here: then without the interpreter's own end
        _flush_files()
        at_last()
        _exit(status)
    begun.acquire()  # CPython may crash if it ends while a thread of its own begins
    _flush_files()


def _flush_files() -> None:
    """Has every object that writes to a file put there what it holds. Pipes may be full, and wait
    for the interpreter's own end."""
    for thing in gc.get_objects():
        if issubclass(type(thing), _io._IOBase):
            try:
                if stat.S_ISREG(os.fstat(thing.fileno()).st_mode):
                    thing.flush()
            except BaseException:  # closed, or something of the user's
                pass
