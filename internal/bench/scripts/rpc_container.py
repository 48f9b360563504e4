"""Call a tool over each of the channels on stdin, and the bare echo beside it, in turns.

Prints a JSON object a row.
"""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from rpc_stub_loader import bare_socket, bare_spool, interleave, row, stub  # noqa: E402


def main():
    value = {"text": "x" * 100}
    for plan in json.load(sys.stdin):
        product = stub(plan["channel"])
        floor = {"socket": bare_socket, "spool": bare_spool}[plan["kind"]](plan["floor"])
        both = interleave(lambda: product("echo", value), lambda: floor(value), plan["blocks"], plan["calls"])
        row(plan["name"], plan["unit"], {"µs": 1, "ms": 1000}[plan["unit"]], both, plan["goal"])


main()
