"""Puts the guest library into an image, compiled: install.py SOURCE FOLDER.

Source is the folder "hermes" beside this file. A hermes-exec of the same version, which is what the name
stands for, need not send it then (see alone/offer.py), so that a container is some 10 ms sooner ready. All others
send their own.
"""

import compileall
import hashlib
import os
import py_compile
import shutil
import sys

PACKAGE = "_hermes_exec"


def name(source: str) -> str:
    """What Files in embed.go calls the library with this content."""
    total = hashlib.sha256()
    for file in _files(source):
        with open(os.path.join(source, file), "rb") as f:
            code = f.read()
        total.update(b"hermes/%s %d\n" % (file.encode("ascii"), len(code)) + code)
    return "hermes-" + total.hexdigest()[:16]


def install(source: str, folder: str) -> str:
    """Returns the directory."""
    target = os.path.join(folder, name(source))
    package = os.path.join(target, PACKAGE)
    os.makedirs(package, 0o755)
    for file in _files(source):
        shutil.copyfile(os.path.join(source, file), os.path.join(package, file))
    # Unchecked: the sources never change, and a look at each costs time.
    if not compileall.compile_dir(
        package, quiet=1, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH
    ):
        sys.exit("the library does not compile")
    sys.path.insert(0, target)
    from _hermes_exec import bundle  # type: ignore[import]

    bundle.write(target)
    return target


def _files(source: str) -> "list[str]":
    return sorted(f for f in os.listdir(source) if f.endswith(".py"))


if __name__ == "__main__":
    print(install(*sys.argv[1:]))
