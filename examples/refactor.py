"""Rename a function in every file that mentions it, by patch, and prove that the program still runs.

    hermes-exec run examples/refactor.py

It works in a directory of its own, so that running it changes nothing of yours.
"""
import os
import sys
import tempfile

from hermes_tools import patch, search_files, terminal, write_file

with tempfile.TemporaryDirectory() as work:
    os.chdir(work)  # relative paths of the tools follow
    write_file("shop/cart.py", "def total(prices):\n    return sum(prices)\n")
    write_file("shop/__init__.py", "from .cart import total\n")
    write_file("main.py", "import shop\n\nprint(shop.total([1, 2, 3]))\n")

    before = terminal("%s main.py" % sys.executable)["output"]

    hits = search_files(r"\btotal\b", output_mode="files_only")["matches"]
    for row in hits:
        done = patch(row["path"], "total", "sum_of_prices", replace_all=True)
        if "error" in done:
            sys.exit("%s: %s" % (row["path"], done["error"]))
        print("%s: %d replaced" % (row["path"], done["replacements"]))

    after = terminal("%s main.py" % sys.executable)
    print("same output:", after["exit_code"] == 0 and after["output"] == before)
    os.chdir("/")  # a directory that is in use cannot be removed everywhere
