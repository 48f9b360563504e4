"""Tools of the host, as functions.

Every function sends one request to the host that runs this script and returns its answer, a dict.
A tool that fails returns a dict with the key "error"; TransportError is raised only when the
channel itself is broken. Calls may come from threads, from forked and spawned processes, and from
coroutines: ``await aio.read_file(...)``.
"""

# This file is compiled at the start of every script, and imports nothing that is not loaded anyway.
# What it needs of the standard library are extension modules, loaded on the first call: they cost a
# fraction of json and socket, and no file of the user's is called like them.

import _thread
import os
import sys

_SOCKET = os.environ.get("HERMES_RPC_SOCKET", "")
_SPOOL = os.environ.get("HERMES_RPC_DIR", "")
_TOKEN = os.environ.get("HERMES_RPC_TOKEN", "")

_NET = 0.05  # seconds until a spool is looked at although nobody rang
_CHUNK = 65536
_THREADS = 64  # at most, for coroutines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Optional, Tuple, TypeVar, Union

    _T = TypeVar("_T")

# Of each thread: .link is its idle channel, .job the coroutine that it works for.
_local = _thread._local()  # type: ignore[attr-defined]
_lock = _thread.allocate_lock()
# What a forked child must not keep open, a socket or a descriptor and its _identity, by the id of
# its owner.
_kept = {}  # type: Dict[int, Tuple[Any, Any]]
# encode, quote, scan and loose, made on the first call.
_codec = ()  # type: Tuple[Any, ...]
_watching = False  # forks are seen to


class TransportError(RuntimeError):
    """The channel to the host is broken, and what became of the call is not known. It was not
    repeated."""


def _std(name):
    # type: (str) -> Any
    """Imports an extension module of the standard library, whatever the user has of that name."""
    home = os.path.dirname(os.__file__)
    folders = [home, os.path.join(home, "lib-dynload"), os.path.join(sys.base_exec_prefix, "DLLs")]
    folders += [p for p in sys.path if p.endswith("lib-dynload")]
    have = sys.modules.get(name)
    origin = getattr(getattr(have, "__spec__", None), "origin", None) or ""
    if origin == "built-in" or os.path.dirname(origin) in folders:
        return have
    if name in sys.builtin_module_names:
        return __import__(name)
    spec = sys.modules["_frozen_importlib_external"].PathFinder.find_spec(name, folders)
    if spec is None:
        return __import__(name)  # a layout that we do not know
    module = sys.modules["_frozen_importlib"].module_from_spec(spec)
    spec.loader.exec_module(module)
    # The user may have a select.py: he keeps it, or gets it when he imports it. Up to 3.9 loading
    # alone makes an entry.
    if have is not None:
        sys.modules[name] = have
    elif name[0] == "_":
        sys.modules[name] = module
    else:
        sys.modules.pop(name, None)
    return module


def _load():
    # type: () -> Tuple[Any, ...]
    """Makes the JSON codec: strict for the wire, lenient for json_parse."""
    global _codec

    def plain(value):
        # type: (Any) -> Any
        if hasattr(value, "__fspath__"):
            return os.fspath(value)
        raise TypeError("an argument is not JSON: " + type(value).__name__)

    def number(text):
        # type: (str) -> float
        raise ValueError("not a JSON number: " + text)

    class Strict:
        strict = True
        object_hook = object_pairs_hook = array_hook = None
        parse_float, parse_int = float, int
        parse_constant = number  # type: Callable[[str], float]

    class Loose(Strict):
        strict = False
        parse_constant = float

    try:
        c = _std("_json")
        quote = c.encode_basestring
        ascii, exact = [
            c.make_encoder(None, plain, q, None, ":", ",", False, False, False)
            for q in (c.encode_basestring_ascii, quote)
        ]

        def encode(value):
            # type: (Any) -> str
            # Up to 3.12 the exact encoder takes two to three times as long. Both agree unless
            # something was escaped by number.
            text = "".join(ascii(value, 0))
            return "".join(exact(value, 0)) if "\\u" in text else text

        encode({"": 0})
        _codec = encode, quote, c.make_scanner(Strict), c.make_scanner(Loose)
    except (ImportError, AttributeError, TypeError):  # not CPython
        import json

        encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=plain, separators=(",", ":"))
        strict, loose = json.JSONDecoder(parse_constant=number), json.JSONDecoder(strict=False)
        _codec = encoder.encode, encoder.encode, strict.raw_decode, loose.raw_decode
    return _codec


def _call(tool, args):
    # type: (str, Dict[str, Any]) -> Any
    """Lets the host run a tool and returns its result. A call is sent at most once."""
    try:
        encode, quote, scan, _ = _codec or _load()
    except (ImportError, OSError) as e:  # for instance no descriptor is left to load it with
        raise TransportError("%s was not called: %s" % (tool, e)) from e
    try:
        body = encode(args).encode()
    except UnicodeEncodeError:
        raise ValueError("an argument holds a lone surrogate, which is no character") from None
    except RecursionError:
        raise ValueError("an argument is nested too deeply, or contains itself") from None
    try:
        head = ('"tool":%s,"cwd":%s,"args":' % (quote(tool), quote(os.getcwd()))).encode()
    except UnicodeEncodeError:
        raise ValueError("the current directory has a name that is not UTF-8") from None
    except OSError as e:
        return {"error": "the current directory is gone: %s" % e.strerror}
    mine = _local.__dict__
    # Taken, not borrowed: a signal handler that calls a tool meanwhile gets another channel.
    link = mine.pop("link", None)
    if link is None or link.pid != os.getpid():
        try:
            link = _connect()
        except (ImportError, OSError, ValueError) as e:
            raise TransportError("cannot reach the host, %s was not called: %s" % (tool, e)) from e
    try:
        job = mine.get("job")
        if job is not None:
            job.working(link)
        link.count += 1
        data = link.roundtrip(b"%b%d,%b" % (link.start, link.count, head), body)
        try:
            reply = scan(data.decode(), 0)[0]
            result = reply["result"]
            ours = reply.get("id", link.count) == link.count
        except MemoryError:
            raise
        except Exception:  # of bad JSON it is a SystemError, or what importing a json.py raised
            raise TransportError("the answer of the host cannot be understood") from None
        if not ours:
            raise TransportError("the answer of the host belongs to another call")
    except BaseException as e:
        link.abandon()  # the answer may still come
        link.close()
        if isinstance(e, OSError):
            raise TransportError(
                "the connection to the host broke during %s, which was not repeated: %s" % (tool, e)
            ) from e
        raise
    mine["link"] = link
    return result


def _connect():
    # type: () -> Union[_Stream, _Spool]
    _watch_forks()
    address = _SOCKET or os.environ.get("HERMES_RPC_SOCKET", "")
    spool = _SPOOL or os.environ.get("HERMES_RPC_DIR", "")
    token = _TOKEN or os.environ.get("HERMES_RPC_TOKEN", "")
    if not token or not (address or spool):
        raise TransportError(
            "no host to call: HERMES_RPC_TOKEN and HERMES_RPC_SOCKET or HERMES_RPC_DIR are not set. "
            "Tools can be called from a script that hermes-exec runs, and from its child processes."
        )
    return _Stream(address, token) if address else _Spool(spool, token)


def _identity(fd):
    # type: (int) -> Any
    """Tells descriptors apart: a script may close all there are, and open its own under the same
    numbers. None is one that is not open."""
    try:
        return None if os.name == "nt" else os.fstat(fd)[1:3]
    except OSError:
        return None


def _drop(held, identity):
    # type: (Any, Any) -> None
    """Closes a socket or a descriptor, if it is still what was opened."""
    number = isinstance(held, int)
    try:
        if _identity(held if number else held.fileno()) != identity:
            number or held.detach()
        elif number:
            os.close(held)
        else:
            held.close()
    except OSError:
        pass


def _start(token):
    # type: (str) -> bytes
    return ('{"token":"%s","id":' % token).encode()


class _Stream:
    """A connection: one JSON object a line, there and back."""

    def __init__(self, address, token):
        # type: (str, str) -> None
        self.pid, self.count, self.start = os.getpid(), 0, _start(token)
        self.address = address
        self.sock = None  # type: Any
        self._dial()

    def _dial(self):
        # type: () -> None
        s = _std("_socket")
        tcp = self.address.startswith("tcp://")
        try:
            self.sock = s.socket(s.AF_INET if tcp else s.AF_UNIX, s.SOCK_STREAM)
            self.identity = _identity(self.sock.fileno())
            _kept[id(self)] = self.sock, self.identity
            self.sock.settimeout(None)  # the user may have set a default
            if tcp:
                host, _, port = self.address[6:].rpartition(":")
                self.sock.connect((host, int(port)))
                self.sock.setsockopt(s.IPPROTO_TCP, s.TCP_NODELAY, 1)
            else:
                self.sock.connect(self.address)
        except (OSError, ValueError, OverflowError) as e:
            self.close()
            raise TransportError("cannot reach the host at %s: %s" % (self.address, e)) from e
        self.flags = getattr(s, "MSG_NOSIGNAL", 0)

    def roundtrip(self, head, body):
        # type: (bytes, bytes) -> bytes
        rest = ()  # type: Tuple[bytes, ...]
        if len(body) < _CHUNK:
            first = head + body + b"}\n"
        else:
            first, rest = head, (body, b"}\n")
        try:
            if self._lost():
                raise OSError
            sent = self.sock.send(first, self.flags)
        except OSError:
            # Nothing has left: the host has closed an idle connection, or the script its descriptor.
            self.close()
            self._dial()
            sent = self.sock.send(first, self.flags)
        if sent < len(first):
            self._send(first[sent:])
        for part in rest:
            self._send(part)
        data = self.sock.recv(_CHUNK)  # type: bytes
        if data[-1:] == b"\n":
            return data
        return self._receive(data)

    def _send(self, data):
        # type: (bytes) -> None
        view = memoryview(data)
        while view:
            view = view[self.sock.send(view, self.flags):]

    def _receive(self, data):
        # type: (bytes) -> bytes
        parts = []
        while data:
            parts.append(data)
            if data[-1] == 10:
                return b"".join(parts)
            data = self.sock.recv(16 * _CHUNK)
        raise ConnectionError("it was closed before the answer came")

    def _lost(self):
        # type: () -> bool
        return bool(_identity(self.sock.fileno()) != self.identity)

    def abandon(self):
        # type: () -> None
        """Ends the call that another thread waits for."""
        try:
            if not self._lost():
                self.sock.shutdown(2)
        except OSError:
            pass

    identity = None  # type: Any

    def close(self):
        # type: () -> None
        _kept.pop(id(self), None)
        if self.sock is not None:
            _drop(self.sock, self.identity)

    __del__ = close


class _Spool:
    """A directory: a request is a file in/req_NAME, its answer is out/res_NAME.

    NAME is CHANNEL.NUMBER. Whoever puts out/res_CHANNEL.NUMBER there writes a byte to the FIFO
    out/.wake_CHANNEL, which has a reader as long as the caller lives. A file in/end_NAME says that
    nobody waits for that answer any more.
    """

    def __init__(self, folder, token):
        # type: (str, str) -> None
        self.pid, self.count, self.start = os.getpid(), 0, _start(token)
        self.inbox, self.outbox = os.path.join(folder, "in"), os.path.join(folder, "out")
        self.channel = "%x-%x-%s" % (self.pid, _thread.get_ident(), os.urandom(8).hex())
        self.bell = os.path.join(self.outbox, ".wake_" + self.channel)
        self.mirror = os.path.join(self.inbox, ".wake")
        self.mirrored = os.path.exists(self.mirror)
        self.fd, self.rung, self.given_up = -1, True, False
        self.time = __import__("time")
        self.poll = None  # type: Any
        self._hang()

    def _hang(self):
        # type: () -> None
        """Makes the bell, where the operating system has such things."""
        try:
            try:
                os.mkfifo(self.bell, 0o600)
            except FileExistsError:
                pass
            # Read and write: with a writer of our own it never reports a hang-up.
            self.fd = os.open(self.bell, os.O_RDWR | os.O_NONBLOCK)
            self.identity = _identity(self.fd)
            _kept[id(self)] = self.fd, self.identity
            poll = _std("select").poll()
            poll.register(self.fd, 1)
            self.poll = poll
        except (AttributeError, ImportError, OSError):
            self.poll = None

    def _lost(self):
        # type: () -> bool
        """Tells whether the script has closed our descriptor. The host then takes us for dead."""
        return self.fd >= 0 and _identity(self.fd) != self.identity

    identity = None  # type: Any

    def roundtrip(self, head, body):
        # type: (bytes, bytes) -> bytes
        if self._lost():
            self.fd = -1
            self._hang()
        name = "%s.%d" % (self.channel, self.count)
        request, hidden = os.path.join(self.inbox, "req_" + name), os.path.join(self.inbox, "." + name)
        self._write(hidden, head + body + b"}\n")
        self.waiting = request
        os.rename(hidden, request)
        if self.mirrored:
            self._ring(self.mirror)
        data = self._wait(os.path.join(self.outbox, "res_" + name))
        self.waiting = ""
        return data

    waiting = ""  # the request that is not answered yet

    def _write(self, name, data):
        # type: (str, bytes) -> None
        try:
            fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
            try:
                view = memoryview(data)
                while view:
                    view = view[os.write(fd, view):]
            finally:
                os.close(fd)
        except OSError as e:
            try:
                os.unlink(name)
            except OSError:
                pass
            raise TransportError("cannot write a request to the spool: %s" % e) from e

    def _ring(self, bell):
        # type: (str) -> None
        try:
            fd = os.open(bell, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            return
        try:
            os.write(fd, b"\n")
        except OSError:
            pass
        finally:
            os.close(fd)

    def _wait(self, name):
        # type: (str) -> bytes
        start = self.time.monotonic()
        while True:
            # Where the bell has failed before, look early and ever more rarely.
            pause = _NET if self.rung and self.poll else min(_NET, max(0.0002, (self.time.monotonic() - start) / 8))
            rung = self._pause(pause)
            data = self._take(name)
            if data is not None:
                self.rung = rung
                return data
            if self.given_up:
                raise TransportError("the call was given up")
            if not rung and pause == _NET and not os.path.isdir(self.outbox):
                raise TransportError("the host has closed the spool")

    def _pause(self, seconds):
        # type: (float) -> bool
        """Waits for the bell, and tells whether it rang."""
        if self.poll is None:
            self.time.sleep(seconds)
            return False
        rung = self.poll.poll(seconds * 1000)
        if self._lost():
            raise ConnectionError("its descriptor was closed")
        if rung:
            try:
                os.read(self.fd, 4096)
            except BlockingIOError:
                pass
            return True
        return False

    def _take(self, name):
        # type: (str) -> Optional[bytes]
        try:
            fd = os.open(name, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        except OSError:  # on Windows also while it is being renamed
            return None
        parts = []
        try:
            size = os.fstat(fd).st_size
            while size > 0:
                parts.append(os.read(fd, size))
                if not parts[-1]:
                    break
                size -= len(parts[-1])
        finally:
            os.close(fd)
        os.unlink(name)
        return b"".join(parts)

    def abandon(self):
        # type: () -> None
        self.given_up = True

    def close(self):
        # type: () -> None
        _kept.pop(id(self), None)
        if self.pid != os.getpid():
            return
        if self.waiting:
            try:
                os.unlink(self.waiting)
            except OSError:  # taken: tell the host
                try:
                    self._write(self.waiting.replace("req_", "end_"), b"")
                except TransportError:
                    pass
            self.waiting = ""
        if self.fd >= 0:
            _drop(self.fd, self.identity)
            self.fd = -1
            try:
                os.unlink(self.bell)
            except OSError:
                pass

    __del__ = close


def _watch_forks():
    # type: () -> None
    """Makes forked children close the parent's channels. The host sees the death of a caller by its
    closed channel, which a child must not keep open."""
    global _watching
    with _lock:
        if not _watching and hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=_forked)
        _watching = True


def _forked():
    # type: () -> None
    global _lock
    _lock = _thread.allocate_lock()  # another thread may have held it
    for held, identity in _kept.values():
        _drop(held, identity)
    _kept.clear()


class _Job:
    """A call of a coroutine, made by a thread."""

    def __init__(self, fn, args, kwargs, loop):
        # type: (Callable[..., Any], Any, Any, Any) -> None
        self.fn, self.args, self.kwargs, self.loop = fn, args, kwargs, loop
        self.future, self.over = loop.create_future(), False
        self.link = None  # type: Union[None, _Stream, _Spool]

    def working(self, link):
        # type: (Union[_Stream, _Spool]) -> None
        self.link = link
        if self.over:
            raise TransportError("the call was given up")

    def run(self):
        # type: () -> None
        if self.over:
            return
        _local.job = self
        result = error = None
        try:
            result = self.fn(*self.args, **self.kwargs)
        except BaseException as e:
            error = e
        _local.job = self.link = None
        try:
            self.loop.call_soon_threadsafe(self.settle, result, error)
        except RuntimeError:
            pass  # the loop is closed: nobody waits

    def settle(self, result, error):
        # type: (Any, Optional[BaseException]) -> None
        if self.future.done():
            return
        if error is None:
            self.future.set_result(result)
        else:
            self.future.set_exception(error)

    def cancel(self):
        # type: () -> None
        self.over = True
        link = self.link
        if link is not None:
            link.abandon()


class _Pool:
    """Threads for coroutines, apart from the event loop's own: tool calls wait long."""

    def __init__(self):
        # type: () -> None
        self.pid, self.jobs = os.getpid(), _std("_queue").SimpleQueue()
        self.lock, self.threads, self.open = _thread.allocate_lock(), 0, 0

    def submit(self, job):
        # type: (_Job) -> None
        with self.lock:
            self.open += 1
            more = self.open > self.threads < _THREADS
            self.threads += more
        self.jobs.put(job)
        if more:
            begun = _thread.allocate_lock()
            begun.acquire()
            _thread.start_new_thread(self.work, (begun.release,))
            begun.acquire()  # CPython may crash if it ends while a thread of its own begins

    def work(self, begin):
        # type: (Callable[[], None]) -> None
        begin()
        while True:
            self.jobs.get().run()
            with self.lock:
                self.open -= 1


class _Aio:
    """The tools as coroutines: ``await aio.read_file("x")``. A cancelled one ends its call."""

    _pool = None

    def __getattr__(self, name):
        # type: (str) -> Callable[..., Any]
        fn = globals().get(name)  # type: Any
        if name.startswith("_") or not callable(fn):
            raise AttributeError("hermes_tools has no tool %r" % name)

        async def call(*args, **kwargs):
            # type: (Any, Any) -> Any
            import asyncio

            with _lock:
                if self._pool is None or self._pool.pid != os.getpid():
                    self._pool = _Pool()
            job = _Job(fn, args, kwargs, asyncio.get_running_loop())
            self._pool.submit(job)
            try:
                return await job.future
            finally:
                job.cancel()

        call.__name__, call.__doc__ = name, fn.__doc__
        return call


aio = _Aio()


def _scan(text):
    # type: (str) -> Tuple[Any, int]
    """Parses one value and returns where it ends, or raises as json does."""
    scan = (_codec or _load())[3]
    try:
        return scan(text, 0)  # type: ignore[no-any-return]
    except (SystemError, ImportError, AttributeError):
        pass  # the scanner takes its exception from json.decoder; 3.10 and 3.11 do not import that
    try:
        import json.decoder

        return scan(text, 0)  # type: ignore[no-any-return]
    except (SystemError, ImportError, AttributeError):  # a json.py of the user's is no package
        raise ValueError("the parser does not say where it is wrong") from None


def json_parse(text):
    # type: (Union[str, bytes, bytearray]) -> Any
    """Parses JSON text, tolerant of a BOM and of raw control characters in strings.

    Text that begins with { or [ must be JSON, else ValueError. Other text that is not JSON comes
    back unchanged.
    """
    if isinstance(text, (bytes, bytearray)):
        text = text.decode()
    body = text.strip().lstrip("\ufeff").lstrip()
    try:
        value, end = _scan(body)
        if end == len(body):
            return value
        why = "more text after the value at character %d" % end
    except StopIteration as e:
        why = "no value at character %s" % e.value
    except RecursionError:
        why = "it is nested too deeply"
    except ValueError as e:
        why = str(e)
    if body.startswith(("{", "[")):
        raise ValueError("not valid JSON: " + why)
    return text


def shell_quote(s):
    # type: (object) -> str
    """Quotes a string so that a shell takes it as one word."""
    s = str(s)
    if s and s.isascii() and ("a" + s.translate({ord(c): None for c in "@%+=:,./-_"})).isalnum():
        return s
    return "'" + s.replace("'", "'\"'\"'") + "'"


def retry(fn, max_attempts=3, delay=2):
    # type: (Callable[[], _T], int, float) -> _T
    """Calls fn() until it does not raise, at most max_attempts times; the pause, delay seconds,
    doubles each time."""
    import time

    for attempt in range(1, max_attempts):
        try:
            return fn()
        except Exception:
            time.sleep(delay * 2 ** (attempt - 1))
    return fn()
