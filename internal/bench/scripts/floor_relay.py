"""Pass what comes over the Unix socket argv[1] to stdout, and stdin back: the least relay of many connections.

Each piece has a header: the number of its connection, and its length.
"""
import os
import select
import socket
import struct
import sys

header = struct.Struct(">II")
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen(1)
conns = {}
poll = select.poll()
poll.register(listener, select.POLLIN)
poll.register(0, select.POLLIN)
os.write(1, b"ready\n")
buffer = b""
while True:
    for fd, _ in poll.poll():
        if fd == listener.fileno():
            conn = listener.accept()[0]
            conns[conn.fileno()] = conn
            poll.register(conn, select.POLLIN)
        elif fd:
            data = conns[fd].recv(65536)
            if data:
                os.write(1, header.pack(fd, len(data)) + data)
            else:
                poll.unregister(fd)
                conns.pop(fd).close()
        else:
            data = os.read(0, 65536)
            if not data:
                sys.exit()
            buffer += data
            while len(buffer) >= header.size:
                to, length = header.unpack_from(buffer)
                if len(buffer) < header.size + length:
                    break
                conns[to].sendall(buffer[header.size : header.size + length])
                buffer = buffer[header.size + length :]
