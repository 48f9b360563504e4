"""What the library has to do with figures.

python/alone/hermes_figures.py saves them, in the process of the script. It cannot import the library:
what both must know stands there once more.
"""

from __future__ import annotations

import os
import sys

MODULE = "hermes_figures"
LOG = "hermes_figures.log"  # beside the directory for artifacts: what there is to tell, a line of JSON each


def tell(wanted: bool) -> None:
    """Says to the backend for figures whether this cell wants them saved."""
    try:
        module = sys.modules.get(MODULE)
        if module is not None:
            module.wanted = wanted  # type: ignore[attr-defined]
    except BaseException:  # the modules are where user code can change them
        pass


def save(path: str) -> None:
    """Saves what a cell has drawn and not shown. Where matplotlib has another backend than ours, that is
    left for the host to tell, in the log beside this path."""
    try:
        module = sys.modules.get(MODULE)
        helpers = sys.modules.get("matplotlib._pylab_helpers")
        if module is not None:
            module.flush()
        elif helpers is not None and helpers.Gcf.figs:
            _note(path, other=str(dict.get(sys.modules["matplotlib"].rcParams, "backend")))
    except BaseException:  # as above
        pass


def _note(path: str, **what: str) -> None:
    import json

    with open(os.path.join(os.path.dirname(path), LOG), "ab", opener=_at_once) as file:
        file.write(json.dumps(what).encode() + b"\n")


def _at_once(path: str, flags: int) -> int:
    """Opens a file to write to, and does not wait where somebody has put a FIFO."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0), 0o600)
