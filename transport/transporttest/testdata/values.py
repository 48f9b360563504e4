"""What goes in comes out, and errors are values."""
import math
import pathlib

from hermes_tools import boom, echo, fail, size, text

for value in (
    None, True, False, 0, -1, 10**30, -(2**63), 1.5, 1e300, "", "a\nb\0c\x7f\x1b", "äöü €", "𝄞 漢字", "\u2028\u2029\ufeff",
    "\\u0041 \\ \" /", [], {}, [[], [None, {"": [1, 2]}]], {"ключ": {"a": "ü"}}, "x" * 100_000, "ö" * 100_000,
    "\\" * 50_000, list(range(5000)), {"k%d" % i: "v" for i in range(1000)}, ("tuple",), pathlib.PurePosixPath("/a/b"),
):
    want = value
    if isinstance(value, tuple):
        want = list(value)
    if isinstance(value, pathlib.PurePath):
        want = str(value)
    got = echo(value)
    assert got == want and type(got) is type(want), (value, got)

assert fail('no "such" <thing>\n') == {"error": 'no "such" <thing>\n'}
assert boom() == {"error": "internal error in tool boom"}
assert size("x" * (2 << 20)) == {"size": 2 << 20}  # PARITY 167
assert len(text(3 << 20)["text"]) == 3 << 20

circle = []
circle.append(circle)
for bad, kind in (
    ({1, 2}, TypeError), (b"bytes", TypeError), (object(), TypeError), ({(1, 2): 3}, TypeError),
    (math.nan, ValueError), (math.inf, ValueError), (circle, ValueError),
    ("\ud800", ValueError), ({"\udfff": 1}, ValueError), (["deep", {"x": "\udc80"}], ValueError),
):
    try:
        echo(bad)
    except kind as e:
        assert "HERMES" not in str(e)
    else:
        raise AssertionError("accepted: %r" % (bad,))
assert echo("still right") == "still right"
print("ok")
