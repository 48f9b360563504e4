"""A request and a reply at the limit of argv[1] bytes work, longer ones are errors, the next works."""
import os
import sys

from hermes_tools import echo, size, text

limit = int(sys.argv[1])
frame = len('{"token":"","id":1,"tool":"size","cwd":"","args":{"text":""}}') + 64 + len(os.getcwd())
assert size("x" * (limit - frame)) == {"size": limit - frame}
got = size("x" * (limit - frame + 10))
assert got == {"error": "Invalid RPC request: the request is longer than %d bytes" % limit}, got
assert echo("between") == "between"
assert len(text(limit - 11)["text"]) == limit - 11
got = text(limit)
assert got == {"error": "the result of %d bytes is longer than the limit of %d bytes" % (limit + 11, limit)}, got
assert echo("after") == "after"
print("ok")
