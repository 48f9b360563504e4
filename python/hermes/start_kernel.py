# The script that a kernel's interpreter starts with: it finds the library without looking into the
# directories of the user, whose struct.py is not ours, and leaves sys.path as it was.
#
# Arguments: the library, and the file that __main__.__file__ is to name.
import os
import sys

_kept = sys.path[:]
_user = os.environ.get("PYTHONPATH", "").split(os.pathsep) + ["", os.path.dirname(os.path.abspath(__file__))]
sys.path[:] = [sys.argv[1]] + [p for p in _kept if p not in _user]
from _hermes_exec import kernel  # type: ignore[import]  # noqa: E402

sys.path[:] = _kept
sys.exit(kernel.main())
