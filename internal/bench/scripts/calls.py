"""Call a tool argv[1] times."""
import sys

from hermes_tools import echo

text = "x" * 100
for n in range(int(sys.argv[1])):
    assert echo(text)["text"] == text
print("done")
