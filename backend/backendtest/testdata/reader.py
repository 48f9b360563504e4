"""Read a file over and over until another one appears: reader.py FILE STOP.

Its content is a letter, repeated: 300,000 times, and once more for each step in the alphabet.
"""

import os
import sys

name, stop = sys.argv[1:3]
seen = set()
print("ready", flush=True)
while True:
    last = os.path.exists(stop)
    with open(name) as f:
        text = f.read()
    if not text or text != text[0] * len(text) or (len(text) - 300000) % 26 != ord(text[0]) - 97:
        sys.exit("torn: %d bytes, %r" % (len(text), text[:10]))
    seen.add(len(text))
    left = [n for n in os.listdir(os.path.dirname(name)) if not n.startswith(".") and n != os.path.basename(name)]
    if left:
        sys.exit("other names are visible: %r" % left)
    if last:
        break
print(len(seen), "versions,", "whole")
