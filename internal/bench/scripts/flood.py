"""Write argv[1] MB to stdout in blocks of 64 KiB, and the rate in MB/s to the file argv[2]."""
import os
import sys
import time

block = b"0123456789abcde\n" * 4096
count = int(sys.argv[1]) * 1000000 // len(block)
start = time.perf_counter()
for _ in range(count):
    rest = block
    while rest:
        rest = rest[os.write(1, rest) :]
elapsed = time.perf_counter() - start
with open(sys.argv[2], "w") as f:
    f.write("%f" % (count * len(block) / 1e6 / elapsed))
