# The first code in the guest: makes the scratch, receives the library, becomes the agent.
#
# It reaches the interpreter as one line on stdin, behind one that defines BOOT: a tuple of the
# library's file name, its size in bytes, the lease in seconds (0: none), and where the library lies
# already ("": nowhere, it follows).
# It must parse on Python 3.4, so that an interpreter that is too old can be told from a broken one.
import os
import sys

_GREETING = b"\x00\xff\x02HX\x01\r\n"


def _refuse(reason):
    # A REFUSED frame (kind 2) without fields: see frames.py.
    data = reason.encode("utf-8", "replace")
    os.write(1, _GREETING + b"\x02\0\0\0\0\0\0\0" + len(data).to_bytes(4, "big") + data)
    sys.exit(96)


def _scratch():
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
            _receive_into(path)
            return temp, path
        except OSError as e:  # a full disk shows only now
            tried.append("%s: %s" % (temp, e.strerror))
            _remove(path)
    _refuse("no writable temporary directory: " + "; ".join(tried))


def _remove(path):
    try:
        for name in os.listdir(path):
            os.unlink(os.path.join(path, name))
        os.rmdir(path)
    except OSError:
        pass


_received = bytearray()


def _receive_into(path):
    if BOOT[3]:  # noqa: F821
        return
    while len(_received) < BOOT[1]:  # noqa: F821 - defined by the line before
        piece = os.read(0, BOOT[1] - len(_received))  # noqa: F821
        if not piece:
            _remove(path)
            sys.exit(0)
        _received.extend(piece)
    fd = os.open(os.path.join(path, BOOT[0]), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)  # noqa: F821
    try:
        data = memoryview(_received)
        while data:
            data = data[os.write(fd, data) :]
    finally:
        os.close(fd)


if sys.version_info < (3, 8):
    _refuse("Python %d.%d.%d is older than 3.8" % sys.version_info[:3])
_temp, _path = _scratch()
_library = BOOT[3] or os.path.join(_path, BOOT[0])  # noqa: F821
sys.path.insert(0, _library)
try:
    from _hermes_exec import agent
except BaseException:
    _remove(_path)
    raise
finally:
    sys.path.remove(_library)
agent.main(_GREETING, _temp, _path, _library, BOOT[2])  # noqa: F821
