"""Compiles generated functions and says whether they do what their specs say.

Reads one case a line from stdin, as JSON, and answers each with a line: "ok", or what is wrong.
"""

import inspect
import json
import sys
import warnings
from typing import Any, Dict, List, Tuple

warnings.simplefilter("error")


def check(case: Dict[str, Any]) -> None:
    sent: List[Tuple[str, Dict[str, Any]]] = []

    def call(name: str, args: Dict[str, Any]) -> Dict[str, Any]:
        sent.append((name, args))
        return args

    module: Dict[str, Any] = {"_call": call}
    exec(compile(case["source"], "hermes_tools.py", "exec"), module)
    for tool in case["tools"]:
        del sent[:]
        check_tool(module, tool)
        assert [name for name, _ in sent] == [tool["name"]] * 3, sent
        assert tool["name"] in module["__all__"]


def check_tool(module: Dict[str, Any], tool: Dict[str, Any]) -> None:
    function = module[tool["name"]]
    for line in tool["doc"].split("\n"):
        assert line in function.__doc__, (line, function.__doc__)
    params = tool["params"]
    signature = list(inspect.signature(function).parameters.values())
    assert [p.name for p in signature] == [p["py"] for p in params], signature
    for have, want in zip(signature, params):
        default = inspect.Parameter.empty if want["required"] else want["default"]
        assert have.default == default and type(have.default) is type(default), have
    # Every parameter by keyword, then by position, then no more than must be.
    everything = {p["name"]: [i] for i, p in enumerate(params)}
    assert function(**{p["py"]: everything[p["name"]] for p in params}) == everything
    assert function(*everything.values()) == everything
    least = {p["name"]: everything[p["name"]] for p in params if p["required"]}
    assert function(*least.values()) == least


def main() -> None:
    for line in sys.stdin:
        try:
            check(json.loads(line))
            answer = "ok"
        except (AssertionError, SyntaxError, ValueError, KeyError, TypeError, NameError, Warning) as error:
            answer = ascii(error)
        print(answer, flush=True)


main()
