"""The first code in the guest: makes the scratch, receives the library, becomes the agent.

Where the library lies in the environment already, this is imported from there (see offer.py); else it
comes on stdin as text. It must parse on Python 3.4, so that an interpreter that is too old can be told
from a broken one.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, Dict, NoReturn, Tuple

_GREETING = b"\x00\xff\x02HX\x01\r\n"

_received = bytearray()


def boot(name: str, size: int, lease: float, library: str, volatile: str) -> None:
    """Does not return. Name and size are those of the library that follows on stdin, unless library is
    the place at which it lies already. The lease is in seconds; 0 is none. Volatile is a temporary
    directory that goes with the environment by itself."""
    if sys.version_info < (3, 8):
        _refuse("Python %d.%d.%d is older than 3.8" % sys.version_info[:3])
    temp, scratch = _scratch(name, size, library)
    unbundled = ""
    if not library:
        library = os.path.join(scratch, name)
        sys.dont_write_bytecode = True  # it goes with the scratch
    elif not load_bundle(library):
        unbundled = library
    sys.path.insert(0, library)
    try:
        from _hermes_exec import agent  # type: ignore[import]
    except BaseException:
        _remove(scratch)
        raise
    finally:
        sys.path.remove(library)
    import _signal  # type: ignore[import]

    _signal.alarm(0)  # set on the command line, for who hears of no host
    agent.main(_GREETING, temp, scratch, library, lease, temp == volatile, unbundled)


def bundle_path(library: str) -> str:
    """Where bundle.py puts the agent's modules for this very interpreter: builds of one version may have
    bytecode of their own."""
    magic = getattr(sys.modules.get("_frozen_importlib_external"), "MAGIC_NUMBER", b"")
    return os.path.join(library, "agent-%s-%x-%s" % (sys.implementation.cache_tag, sys.hexversion, magic.hex()))


def load_bundle(library: str) -> bool:
    """Has modules imported from the bundle of a library, if there is one that can be read."""
    import marshal

    try:
        with open(bundle_path(library), "rb") as f:
            bundle = _Bundle(library, marshal.loads(f.read()))
    except (OSError, EOFError, ValueError, TypeError):
        return False
    sys.meta_path.insert(0, bundle)  # type: ignore[arg-type]
    return True


class _Bundle:
    """An importer of the modules of one file, compiled: some 20 that are opened each by itself cost 5 ms,
    and 20 where files are a container's."""

    def __init__(self, library: str, modules: "Dict[str, bytes]") -> None:
        self._folder = os.path.join(library, "_hermes_exec")
        self._codes = dict(modules)

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> object:
        if name not in self._codes:
            return None
        made = type(sys.__spec__)  # type: Any  # importlib itself costs a start 5 ms
        spec = made(name, self, is_package=name == "_hermes_exec")
        if spec.submodule_search_locations is not None:
            spec.submodule_search_locations.append(self._folder)  # for those that are not in the bundle
        return spec

    def create_module(self, _spec: object) -> None:
        return None

    def exec_module(self, module: "ModuleType") -> None:
        import marshal

        exec(marshal.loads(self._codes[module.__name__]), module.__dict__)


def _refuse(reason: str) -> "NoReturn":
    # A REFUSED frame (kind 2) without fields: see frames.py.
    for path in sys.argv[1:2]:  # made for its sockets
        try:
            os.rmdir(path)
        except OSError:
            pass
    data = reason.encode("utf-8", "replace")
    os.write(1, _GREETING + b"\x02\0\xf5\xfa\0\0\0\0" + len(data).to_bytes(4, "big") + data)
    sys.exit(96)


def _scratch(name: str, size: int, library: str) -> "Tuple[str, str]":
    """The first temporary directory that can be used, and the scratch in it."""
    tried = []
    for temp in [os.environ.get(k) for k in ("TMPDIR", "TEMP", "TMP")] + ["/tmp", "/var/tmp", "/dev/shm"]:
        if not temp or not os.path.isabs(temp) or temp in tried:
            continue
        path = os.path.join(temp, "hermes_sandbox_" + os.urandom(6).hex())
        try:
            os.mkdir(path, 0o700)
        except OSError as e:
            tried.append("%s: %s" % (temp, e.strerror))
            continue
        try:
            if not library:
                _receive(path, size)
                _unpack(path, name, size)
            del _received[:]
            return temp, path
        except OSError as e:  # a full disk shows only now
            tried.append("%s: %s" % (temp, e.strerror))
            _remove(path)
    _refuse("no writable temporary directory: " + "; ".join(tried))


def _remove(path: str) -> None:
    try:
        for name in os.listdir(path):
            entry = os.path.join(path, name)
            if os.path.isdir(entry):
                _remove(entry)
            else:
                os.unlink(entry)
        os.rmdir(path)
    except OSError:
        pass


def _receive(path: str, size: int) -> None:
    while len(_received) < size:
        piece = os.read(0, size - len(_received))
        if not piece:
            _remove(path)
            sys.exit(0)
        _received.extend(piece)


def _unpack(path: str, name: str, size: int) -> None:
    library = os.path.join(path, name)
    os.mkdir(library, 0o700)
    at = 0
    while at < size:  # a line with name and length, and the file
        start = _received.index(b"\n", at) + 1
        file, length = _received[at:start].decode("ascii").split()
        at = start + int(length)
        file = os.path.join(library, *file.split("/"))
        if not os.path.isdir(os.path.dirname(file)):
            os.mkdir(os.path.dirname(file), 0o700)
        _write(file, memoryview(_received)[start:at])


def _write(file: str, data: memoryview) -> None:
    fd = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        while data:
            data = data[os.write(fd, data) :]
    finally:
        os.close(fd)
