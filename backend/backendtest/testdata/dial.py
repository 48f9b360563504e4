"""Connect to a listener and do as told: dial.py unix|tcp ADDRESS MODE [ARGUMENT…]."""

import os
import socket
import sys
import threading
import time

network, address, mode = sys.argv[1:4]


def dial():
    """Return a new connection."""
    if network == "unix":
        s = socket.socket(socket.AF_UNIX)
        s.connect(address)
        return s
    host, _, port = address.rpartition(":")
    return socket.create_connection((host, int(port)))


def read_all(s):
    """Return what comes until the other side ends."""
    parts = []
    while True:
        part = s.recv(65536)
        if not part:
            return b"".join(parts)
        parts.append(part)


def echo(number, size, good):
    """Send bytes, read them back while sending, and note whether they are the same."""
    data = os.urandom(1000) * (size // 1000 + 1)
    data = (b"%d " % number + data)[:size]
    with dial() as s:

        def send():
            s.sendall(data)
            s.shutdown(socket.SHUT_WR)

        sender = threading.Thread(target=send)
        sender.start()
        if read_all(s) == data:
            good.append(number)
        sender.join()


if mode == "echo":
    count, size = map(int, sys.argv[4:6])
    good = []
    threads = [threading.Thread(target=echo, args=(i, size, good)) for i in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    print(len(good), "echoed")
elif mode == "series":
    good = []
    for i in range(int(sys.argv[4])):
        echo(i, 100, good)
    print(len(good), "echoed")
elif mode == "ask":
    with dial() as s:
        s.sendall(b"question")
        s.shutdown(socket.SHUT_WR)
        print(read_all(s).decode())
elif mode == "answer":
    with dial() as s:
        s.sendall(b"answer to " + read_all(s))
elif mode == "idle":
    s = dial()
    print("ready", flush=True)
    time.sleep(600)
elif mode == "hold":
    held = []
    for _ in range(int(sys.argv[4])):
        try:
            held.append(dial())
        except OSError:
            break
    print("ready", flush=True)
    time.sleep(600)
elif mode == "flood":
    s = dial()
    print("ready", flush=True)
    try:
        while True:
            s.sendall(b"x" * 65536)
    except OSError:
        print("ended")
