"""Pass what comes over the Unix socket argv[1] to stdout, and stdin back: a relay of one connection."""
import os
import select
import socket
import sys

listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen(1)
os.write(1, b"ready\n")
conn = listener.accept()[0]
while True:
    for fd in select.select([conn, 0], [], [])[0]:
        data = os.read(0, 65536) if fd == 0 else conn.recv(65536)
        if not data:
            sys.exit()
        if fd == 0:
            conn.sendall(data)
        else:
            os.write(1, data)
