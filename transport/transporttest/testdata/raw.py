"""Speaks the wire itself: malformed requests are answered, and the next one works. argv[1] is the limit."""
import json
import os
import socket
import sys
import time

token = os.environ["HERMES_RPC_TOKEN"]
address, spool = os.environ.get("HERMES_RPC_SOCKET"), os.environ.get("HERMES_RPC_DIR")
limit = int(sys.argv[1])


class Wire:
    """One connection, or one user of the spool."""

    users = 0

    def __init__(self):
        Wire.users += 1
        self.name, self.count = "raw%d" % Wire.users, 0
        if spool:
            return
        if address.startswith("tcp://"):
            host, port = address[6:].split(":")
            self.sock = socket.create_connection((host, int(port)))
        else:
            self.sock = socket.socket(socket.AF_UNIX)
            self.sock.connect(address)
        self.file = self.sock.makefile("rb")

    def send(self, data):
        """Sends bytes as they are; a spool has no half requests."""
        if not spool:
            self.sock.sendall(data)

    def ask(self, data):
        if isinstance(data, str):
            data = data.encode("utf-8", "surrogateescape")
        if not spool:
            self.sock.sendall(data + b"\n")
            return json.loads(self.file.readline())
        self.count += 1
        name = "%s.%d" % (self.name, self.count)
        with open(os.path.join(spool, "in", "." + name), "wb") as f:
            f.write(data)
        os.rename(os.path.join(spool, "in", "." + name), os.path.join(spool, "in", "req_" + name))
        bell = os.path.join(spool, "in", ".wake")
        if self.count % 4 and os.path.exists(bell):  # a mirror looks by itself, too
            with open(bell, "wb") as f:
                f.write(b"x")
        answer = os.path.join(spool, "out", "res_" + name)
        while not os.path.exists(answer):
            time.sleep(0.001)
        with open(answer, "rb") as f:
            reply = json.loads(f.read())
        os.unlink(answer)
        return reply


def request(**more):
    return json.dumps(dict({"token": token, "tool": "echo", "args": {"value": 1}}, **more))


UNAUTHORIZED = {"error": "Unauthorized RPC request"}  # B124, PARITY 36
wire = Wire()
for data in (
    "garbage", "[1,2]", '"%s"' % token, "{", "{}", "null", "\0\1\2", json.dumps({"tool": "echo", "args": {}}),
    request(token="0" * 64), request(token=None), request(token=[token]), request(token=token + "0"), request(token=token.upper() + " "),
    json.dumps({"args": {"value": "x" * 5000}, "tool": "echo", "token": token}),
    json.dumps({"args": {"value": "x" * (limit + 1)}, "tool": "echo"}),
):
    got = wire.ask(data)
    assert got["result"] == UNAUTHORIZED, (data[:100], got)
    assert wire.ask(request())["result"] == {"value": 1}, data[:100]
for data, why in (
    (request(args=[1, 2]), "args must be an object"),  # B086
    (request(args="x"), "args must be an object"),
    (request(args=None), "args must be an object"),
    (request(args=7), "args must be an object"),
    (request(tool=None), "tool must be a string"),
    (request(tool=""), "tool is missing"),
    (request(id={}), "id must be a number or a string of at most 256 bytes"),
    (json.dumps({"token": token, "tool": "echo"}), "args is missing"),
    (json.dumps({"token": token, "args": {}}), "tool is missing"),
    (request() + request(), "more than one JSON value"),
    (request(args={"value": "x" * limit}), "the request is longer than %d bytes" % limit),
):
    got = wire.ask(data)
    assert got["result"] == {"error": "Invalid RPC request: " + why}, (data[:100], got)
    assert wire.ask(request())["result"] == {"value": 1}, data[:100]
for data in (
    request()[:-1], request().replace('"value": 1', '"value": NaN'), request().replace('"value": 1', '"value": "\\ud800"'),
    request().replace('"value": 1', '"value": "\udcff"'), '{"token": "%s", "tool": "echo", "args": {"SECRET' % token,
):
    got = wire.ask(data)["result"]["error"]
    assert got.startswith("Invalid RPC request: not valid JSON at byte ") and "SECRET" not in got, (data, got)
    assert wire.ask(request())["result"] == {"value": 1}, data

# Unknown fields are for newer hosts; ids come back as they were, or not at all.
for given in (7, 0, -1, 10**30, "x", "ä\"\\", "", 1.5):
    got = wire.ask(request(id=given, grease={"x": [1, {}]}, zz=None, version=99))
    assert got == {"id": given, "result": {"value": 1}}, got
assert wire.ask(request()) == {"result": {"value": 1}}
assert wire.ask(request(id=None)) == {"result": {"value": 1}}
assert wire.ask(request(id=5, token="no")) == {"id": 5, "result": UNAUTHORIZED}

# Half a request, byte by byte, holds nobody up and is never run (slow-loris, truncated).
slow, cut = Wire(), Wire()
whole = json.dumps({"token": token, "tool": "go", "args": {"name": "truncated"}}).encode()
cut.send(whole)
for i in range(20):
    slow.send(whole[i:i + 1])
    assert wire.ask(request())["result"] == {"value": 1}
if not spool:
    cut.sock.close()
    slow.send(whole[20:])
    slow.send(b"\n\n  \n")
    assert json.loads(slow.file.readline()) == {"result": {"name": "truncated"}}
    # Pipelined requests are answered in order.
    wire.send(b"".join(request(id=i).encode() + b"\n" for i in range(200)))
    for i in range(200):
        assert json.loads(wire.file.readline())["id"] == i
assert wire.ask(request())["result"] == {"value": 1}
print("ok")
