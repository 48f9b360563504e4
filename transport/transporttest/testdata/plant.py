"""Plants a spool with what a hostile guest would, from inside, and calls on."""
import os

from hermes_tools import echo

inbox = os.path.join(os.environ["HERMES_RPC_DIR"], "in")
os.symlink("/etc/passwd", os.path.join(inbox, "req_link.1"))
os.symlink("/dev/zero", os.path.join(inbox, "req_zero.1"))
os.mkfifo(os.path.join(inbox, "req_fifo.1"))
os.mkdir(os.path.join(inbox, "req_directory.1"))
with open(os.path.join(inbox, ".sparse"), "wb") as f:
    f.truncate(1 << 40)
os.rename(os.path.join(inbox, ".sparse"), os.path.join(inbox, "req_sparse.1"))
for i in range(20):
    assert echo(i) == i
print("ok")
