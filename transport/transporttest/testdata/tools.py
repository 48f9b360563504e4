# The tools of this suite. The runtime of hermes_tools stands above.


def echo(value):
    return _call("echo", {"value": value})["value"]


def cwd():
    return _call("cwd", {})["cwd"]


def size(text):
    return _call("size", {"text": text})


def text(length):
    return _call("text", {"length": length})


def fail(message):
    return _call("fail", {"message": message})


def boom():
    return _call("boom", {})


def wait(until=""):
    """Returns only when the call is cancelled, or when until is called with the same name."""
    return _call("wait", {"until": until})


def go(name):
    return _call("go", {"name": name})
