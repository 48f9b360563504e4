"""A user's own json, socket and select, imported before and after, break nothing and are left alone."""
import os
import sys

here = os.path.join(os.getcwd(), "shadows")
os.mkdir(here)
names = ("json", "socket", "select", "struct", "re", "enum", "queue", "threading", "time", "errno", "_json", "_socket")
for name in names:
    with open(os.path.join(here, name + ".py"), "w") as f:
        f.write("MINE = True\n")
sys.path.insert(0, here)
loaded = set(sys.modules) | set(sys.builtin_module_names)
before = [n for n in ("json", "socket", "select", "queue", "_json") if n not in loaded]
after = [n for n in ("struct", "re", "enum") if n not in loaded]
assert before and after
for name in before:
    assert __import__(name).MINE
from hermes_tools import echo, fail, json_parse  # noqa: E402

assert echo({"a": [1, "ö"]}) == {"a": [1, "ö"]}
assert fail("x") == {"error": "x"}
assert json_parse('{"a": 1}') == {"a": 1}
for name in before:
    assert sys.modules[name].MINE, name
for name in after:
    assert __import__(name).MINE, name
print("ok")
