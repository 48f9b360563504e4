"""A backend of matplotlib that leaves figures as files: module://hermes_figures.

A figure is saved as figure-N.png in the directory $HERMES_ARTIFACTS when a script waits for it to be
looked at, by plt.show(); it is closed then, as a window would be by whoever has seen it. What was never
shown is saved at the end of the script, or of the cell of a session. A figure that the script has saved
in that directory itself, and not changed since, is there already. Everything else is as with Agg.

What a result has to tell goes to a file beside this one, a line of JSON each: {"failed": [name, why]},
{"open": process} when it opens its first figure, {"done": process} when it has none left that nobody saw.
"""

from __future__ import annotations

import atexit
import io
import json
import os
import sys
import warnings
import weakref
from contextlib import contextmanager
from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterator, List, MutableSet, Optional, Set

# Not by an import statement: the types of matplotlib are not everywhere that this is looked at.
matplotlib = import_module("matplotlib")  # type: Any
_agg = import_module("matplotlib.backends.backend_agg")  # type: Any
_bases = import_module("matplotlib.backend_bases")  # type: Any
_helpers = import_module("matplotlib._pylab_helpers")  # type: Any

_LOG = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hermes_figures.log")  # as in figures.py
_pid = os.getpid()
_last = 0  # the number of the last figure: a later cell does not take the name of an earlier one's
wanted = True  # a kernel says of each cell whether it wants its figures saved
_unseen = set()  # type: Set[int] # figures, by id, that are open and that the script has saved nowhere
_kept = weakref.WeakSet()  # type: MutableSet[Any] # figures that the script has saved, as they are


class FigureManager(_bases.FigureManagerBase):  # type: ignore[misc]
    """Stands for a window."""

    def __init__(self, canvas: Any, num: Any) -> None:
        super().__init__(canvas, num)
        if not _unseen:
            _note(open=os.getpid())
        _unseen.add(id(canvas.figure))

    def show(self) -> None:
        """Do what a window does that nobody waits for: the figure is saved in the end, complete."""

    def destroy(self) -> None:
        super().destroy()
        _seen(self.canvas.figure)


class FigureCanvas(_agg.FigureCanvasAgg):  # type: ignore[misc]
    """Is what figures are drawn on."""

    manager_class = FigureManager  # where older versions of matplotlib take the name in this module

    def draw(self, *args: Any, **kwargs: Any) -> Any:
        with _unchanged(self.figure):
            return super().draw(*args, **kwargs)

    def print_figure(self, filename: Any, *args: Any, **kwargs: Any) -> Any:
        with _unchanged(self.figure):
            done = super().print_figure(filename, *args, **kwargs)
        if isinstance(filename, (str, os.PathLike)):
            _keep(self.figure, os.fspath(filename))
        return done


class _Watch:
    """Is what a part of a figure calls when it changes, in place of what it called before."""

    def __init__(self, figure: Any, before: Any) -> None:
        self._figure = weakref.ref(figure)
        self._before = before

    def __call__(self, artist: Any, stale: bool) -> None:
        _kept.discard(self._figure())
        if self._before is not None:
            self._before(artist, stale)


def show(*_args: Any, block: Optional[bool] = None, **_kwargs: Any) -> None:
    """Save all figures that are open, and close them. With block=False, or in interactive mode, they
    may still change: they are saved in the end."""
    if block is None:
        block = not matplotlib.is_interactive()
    if not block:
        return
    managers = _helpers.Gcf.get_all_fig_managers()
    folder = _folder()
    if managers and not folder:
        warnings.warn(
            "the figure is saved nowhere: run hermes-exec with --artifacts DIR --figures", UserWarning, stacklevel=3
        )
    _save(managers, folder)
    _helpers.Gcf.destroy_all()


def flush() -> None:
    """Save what was never shown, and close it. Where there is no directory it stays."""
    folder = _folder()
    if folder and os.getpid() == _pid:
        _save(_helpers.Gcf.get_all_fig_managers(), folder)
        _helpers.Gcf.destroy_all()


def _folder() -> str:
    """Return the directory for figures, or "" if they are not wanted."""
    if not wanted:
        return ""
    folder = os.environ.get("HERMES_ARTIFACTS", "")
    return folder if os.path.isdir(folder) else ""


def _save(managers: List[Any], folder: str) -> None:
    """Save figures in the order of their numbers. One that cannot be drawn does not take the others with it."""
    for manager in sorted(managers, key=lambda manager: int(manager.num)) if folder else ():
        figure = manager.canvas.figure
        try:
            if _is_kept(figure):
                continue
            why = _write(folder, _draw(figure))
        except Exception as err:
            why = "%s: %s" % (type(err).__name__, err)
            _next(folder)
        if why and not _note(failed=["figure-%d.png" % _last, why]):
            sys.stderr.write("figure-%d.png is not saved: %s\n" % (_last, why))


def _draw(figure: Any) -> bytes:
    data = io.BytesIO()
    figure.savefig(data, format="png")
    return data.getvalue()


def _keep(figure: Any, path: str) -> None:
    """Remember a figure that the script has saved, until it changes. To draw it again would tell that too,
    at twice the price of each savefig."""
    _seen(figure)
    folder = _folder()
    if folder and os.path.realpath(path).startswith(os.path.realpath(folder) + os.sep):
        for part in figure.findobj():  # not all of them let their figure know: subfigures do not, nor labels of axes
            if not isinstance(part.stale_callback, _Watch):
                part.stale_callback = _Watch(figure, part.stale_callback)
        _kept.add(figure)


def _is_kept(figure: Any) -> bool:
    parts = [figure, *figure.findobj(lambda part: hasattr(part, "subfigs"))]  # there may be one more of these by now
    return figure in _kept and all(isinstance(part.stale_callback, _Watch) for part in parts)


@contextmanager
def _unchanged(figure: Any) -> Iterator[None]:
    """Drawing sets a lot in a figure, for itself, and then sets it back."""
    kept = figure in _kept
    yield
    if kept:
        _kept.add(figure)


def _seen(figure: Any) -> None:
    if id(figure) in _unseen:
        _unseen.discard(id(figure))
        if not _unseen:
            _note(done=os.getpid())


def _next(folder: str) -> str:
    """Count to the next name that is free, and return its path."""
    global _last
    while True:
        _last += 1
        path = os.path.join(folder, "figure-%d.png" % _last)
        if not os.path.lexists(path):
            return path


def _write(folder: str, data: bytes) -> str:
    """Write a file under the next name that is free: other processes of the script may save as well. Say why not."""
    while True:
        path = _next(folder)
        try:
            file = open(path, "xb")
        except FileExistsError:
            continue
        except OSError as err:
            return str(err.strerror)
        try:
            with file:
                file.write(data)
        except OSError as err:
            os.unlink(path)  # half a figure is none
            return str(err.strerror)
        return ""


def _note(**what: Any) -> bool:
    """Leave word for the result; tell whether that could be done."""
    try:
        with open(_LOG, "ab", buffering=0, opener=_at_once) as file:
            line = json.dumps(what).encode() + b"\n"
            return file.write(line) == len(line)
    except OSError:
        return False


def _at_once(path: str, flags: int) -> int:
    """Open a file to write to, and do not wait where somebody has put a FIFO."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0), 0o600)


atexit.register(flush)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unseen.clear)  # the figures of its parent are its parent's to save

