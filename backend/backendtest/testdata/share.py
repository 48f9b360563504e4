"""Work on the guest's side of a share, as a stub does: share.py DIR MODE [ARGUMENT…]."""

import os
import sys
import time

top, mode = sys.argv[1:3]
inward, outward = os.path.join(top, "in"), os.path.join(top, "out")


def wake():
    """Hurry a mirror, where there is one."""
    try:
        fd = os.open(os.path.join(inward, ".wake"), os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return
    os.write(fd, b".")
    os.close(fd)


def write(name, data):
    """Let a file appear whole."""
    temp = os.path.join(inward, ".tmp-write")
    with open(temp, "wb") as f:
        f.write(data)
    os.rename(temp, os.path.join(inward, name))
    wake()


if mode == "echo":
    while True:
        names = [n for n in os.listdir(outward) if not n.startswith(".")]
        for name in sorted(names, key=lambda n: n == "stop"):
            with open(os.path.join(outward, name), "rb") as f:
                data = f.read()
            os.remove(os.path.join(outward, name))
            if name == "stop":
                sys.exit()
            write(name, data)
        if not names:
            time.sleep(0.002)
elif mode == "write":
    for name, text in zip(sys.argv[3::2], sys.argv[4::2]):
        if name.startswith("."):
            with open(os.path.join(inward, name), "w") as f:
                f.write(text)
        else:
            write(name, text.encode())
elif mode == "rename":
    # From out to in: both are the guest's to write.
    source = os.path.join(outward, sys.argv[3])
    if not os.path.exists(source):
        source = os.path.join(inward, sys.argv[3])
    os.rename(source, os.path.join(inward, sys.argv[4]))
    wake()
elif mode == "vanish":
    end = time.monotonic() + 1.5
    i = 0
    while time.monotonic() < end:
        i += 1
        name = "v%d" % i
        write(name, b"x" * (i % 1000))
        try:
            os.remove(os.path.join(inward, name))
        except FileNotFoundError:  # it has crossed
            pass
elif mode == "await":
    fifo = os.path.join(outward, sys.argv[3])
    os.mkfifo(fifo)
    fd = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    print("ready", flush=True)
    while not os.listdir(outward)[1:]:
        time.sleep(0.002)
    os.set_blocking(fd, True)
    os.read(fd, 1)
    print("woken", flush=True)
    time.sleep(600)
elif mode == "plant":
    os.chdir(inward)
    os.symlink("/etc/passwd", "link")
    os.symlink("nowhere", "dangling")
    os.symlink("/", "root")
    os.symlink("/dev/zero", "zero")
    os.mkfifo("fifo")
    with open(".part", "w") as f:
        f.truncate(1 << 40)
    os.rename(".part", "endless")
    os.makedirs("dir/deep")
    with open("dir/file", "w") as f:
        f.write("x")
    with open(".unreadable", "w"):
        os.rename(".unreadable", "dir/unreadable")
