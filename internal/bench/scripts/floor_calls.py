"""Send argv[1] JSON lines to the socket argv[2] and read the answers: a tool call, bare."""
import json
import socket
import sys

s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[2])
replies = s.makefile("rb")
text = "x" * 100
for n in range(int(sys.argv[1])):
    s.sendall(json.dumps({"id": n, "tool": "echo", "args": {"text": text}}).encode() + b"\n")
    assert json.loads(replies.readline())["result"]["text"] == text
print("done")
