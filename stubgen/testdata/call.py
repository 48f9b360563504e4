"""Calls functions of hermes_tools, every parameter by keyword, and prints what they returned."""

from __future__ import annotations

import asyncio
import json
import sys

import hermes_tools
from hermes_tools import *  # noqa: F403

calls = json.loads(sys.argv[1])
results = {name: globals()[name](**arguments) for name, arguments in calls.items()}


async def main() -> None:
    for name, arguments in calls.items():
        assert await getattr(hermes_tools.aio, name)(**arguments) == results[name], name


asyncio.run(main())
# P176: the helpers do what the schema says.
assert json_parse("\ufeff" + '{"a": "x\ty"}') == {"a": "x\ty"}  # noqa: F405
assert shell_quote("it's; rm") == "'it'\"'\"'s; rm'"  # noqa: F405
assert retry(lambda: 7, max_attempts=1, delay=0) == 7  # noqa: F405
assert issubclass(TransportError, RuntimeError)  # noqa: F405
json.dump(results, sys.stdout)
