def read_file(path: str, offset: int = 1, limit: int = 2000) -> dict:
    """Read lines of a text file; content is the raw text, without line numbers.

    path: The file, relative to the current directory or absolute.
    offset: The first line to read; lines are counted from 1.
    limit: The most lines to read.

    Returns {"content": str, "total_lines": int or None, "truncated": bool, "next_offset": int or None, "encoding": str}.
    A failed call returns a dict with "error" and nothing else.
    """
    _args: dict = {"path": path}
    if offset != 1:
        _args["offset"] = offset
    if limit != 2000:
        _args["limit"] = limit
    return _call("read_file", _args)


def terminal(command: str, timeout: "float | None" = None, workdir: "str | None" = None) -> dict:
    """Run a shell command in the foreground; stdout and stderr come back merged, stdin is empty.

    command: The command, for bash or else sh.
    timeout: The most seconds it may take; None is the run's remaining time.
    workdir: The directory to run it in; None is the current one.

    Returns {"output": str, "exit_code": int}; exit_code 124 is a timeout, "truncated": True is there when output was cut.
    A failed call returns a dict with "error" and nothing else.
    """
    _args: dict = {"command": command}
    if timeout is not None:
        _args["timeout"] = timeout
    if workdir is not None:
        _args["workdir"] = workdir
    return _call("terminal", _args)


__all__ = [
    "TransportError",
    "aio",
    "json_parse",
    "read_file",
    "retry",
    "shell_quote",
    "terminal",
]
