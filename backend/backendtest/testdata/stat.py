"""Print what the paths given as arguments are, as a JSON list."""

import json
import os
import stat
import sys

KINDS = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "dir",
    stat.S_IFLNK: "link",
    stat.S_IFIFO: "fifo",
    stat.S_IFSOCK: "socket",
}
found = []
for path in sys.argv[1:]:
    try:
        st = os.lstat(path)
    except FileNotFoundError:
        found.append({})
        continue
    kind = KINDS.get(stat.S_IFMT(st.st_mode), "other")
    found.append(
        {
            "Kind": kind,
            "Target": os.readlink(path) if kind == "link" else "",
            "Mode": stat.S_IMODE(st.st_mode),
            "Size": st.st_size,
            "Dev": st.st_dev,
            "Ino": st.st_ino,
        }
    )
print(json.dumps(found))
