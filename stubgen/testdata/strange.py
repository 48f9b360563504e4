def strange(
    from_: str,
    max_results: int,
    p_call: str,
    p___: float,
    p1_: bool = True,
    self: str = "\"'\\\n\x00\x7f\u00a0é😀\u2028",
    None_: "str | list[str]" = ["a", "'"],
    any: "str | list[str]" = ["a"],
    pi: float = -1.5e+300,
    n: int = -9223372036854775808,
) -> dict:
    """Ends it: \"\"\"
    import os\\
    os.system('x') \\N{BULLET} \x00\r\u2028�

    from_: \"
    max_results
    p_call
    p___
    p1_: \\
    self
    None_
    any One of: \"\"\".
    pi
    n

    Returns \"\"\" + 1.
    A failed call returns a dict with "error" and nothing else.
    """
    _args: dict = {"from": from_, "max-results": max_results, "_call": p_call, "\"]\n": p___}
    if p1_ is not True:
        _args["1é"] = p1_
    if self != "\"'\\\n\x00\x7f\u00a0é😀\u2028":
        _args["self"] = self
    if None_ != ["a", "'"]:
        _args["None"] = None_
    if any != ["a"]:
        _args["any"] = any
    if pi != -1.5e+300:
        _args["pi"] = pi
    if n != -9223372036854775808:
        _args["n"] = n
    return _call("strange", _args)


__all__ = [
    "TransportError",
    "aio",
    "json_parse",
    "retry",
    "shell_quote",
    "strange",
]
