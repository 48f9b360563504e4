def patch(
    path: "str | None" = None,
    old_string: "str | None" = None,
    new_string: "str | None" = None,
    replace_all: bool = False,
    diff: bool = False,
    patch: "str | None" = None,
    mode: str = "replace",
) -> dict:
    """Replace a text in a file by another; the old text must occur once unless replace_all is set. Or change several files, all or nothing, by patch(mode='patch', patch=TEXT) in V4A format: a line *** Begin Patch, a line *** Update File: PATH (or Add File, Delete File), lines @@ and lines that begin with a space, - or +, a line *** End Patch.

    path: The file, relative to the current directory or absolute.
    old_string: The text to replace, literally; whole lines are found even if their white space differs.
    new_string: The text to put in its place, literally.
    replace_all: Replace every occurrence.
    diff: Return the unified diff too.
    patch: A patch in V4A format (*** Begin Patch …), for mode="patch": all of it is applied, or nothing.
    mode: Replace old_string, or apply patch. One of: replace, patch.

    Returns {"status": "success", "success": True, "replacements": int}; with diff=True also "diff": str and "files_modified": [str]; "note": str if the change is not literal.
    A failed call returns a dict with "error" and nothing else.
    """
    _args: dict = {}
    if path is not None:
        _args["path"] = path
    if old_string is not None:
        _args["old_string"] = old_string
    if new_string is not None:
        _args["new_string"] = new_string
    if replace_all is not False:
        _args["replace_all"] = replace_all
    if diff is not False:
        _args["diff"] = diff
    if patch is not None:
        _args["patch"] = patch
    if mode != "replace":
        _args["mode"] = mode
    return _call("patch", _args)


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


def search_files(
    pattern: str,
    target: str = "content",
    path: str = ".",
    file_glob: "str | None" = None,
    limit: int = 50,
    offset: int = 0,
    output_mode: str = "content",
    context: int = 0,
) -> dict:
    """Search file contents by regular expression (Python re), or find files by a glob of their names.

    pattern: A Python regular expression; for target="files" a glob, or a part of the name.
    target: Search in files, or for files. One of: content, files.
    path: The directory, or the one file, to search.
    file_glob: Search only files that match this glob, such as *.py, src/**/*.{ts,tsx} or *.py,!*_test.py.
    limit: The most matches to return.
    offset: The number of matches to skip: next_offset of a truncated result goes on behind it.
    output_mode: content: the matching lines; files_only: the files that have some; count: how many each has. One of: content, files_only, count.
    context: The lines before and after a match to return with it, up to 1 Mi characters on either side.

    Returns {"matches": [{"path": str, "line": int, "content": str}], "total_count": int, "truncated": bool, "next_offset": int or None}; with context, matches also have "before" and "after", lists of lines; "note": str says if that is cut or not heeded, or if something could not be read; for target="files" and output_mode="files_only" they have "path" alone, for "count" "path" and "count".
    A failed call returns a dict with "error" and nothing else.
    """
    _args: dict = {"pattern": pattern}
    if target != "content":
        _args["target"] = target
    if path != ".":
        _args["path"] = path
    if file_glob is not None:
        _args["file_glob"] = file_glob
    if limit != 50:
        _args["limit"] = limit
    if offset != 0:
        _args["offset"] = offset
    if output_mode != "content":
        _args["output_mode"] = output_mode
    if context != 0:
        _args["context"] = context
    return _call("search_files", _args)


search = search_files


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


def web_extract(urls: "str | list[str]", char_limit: "int | None" = None) -> dict:
    """Fetch web pages (http and https) as text; HTML becomes Markdown, PDF its text.

    urls: The addresses to fetch.
    char_limit: The most characters to return of each page; None is 50000. Of a longer page come head and tail, and the path of a file for read_file.

    Returns {"results": [{"url": str, "title": str, "content": str, "error": str or None}]}.
    A failed call returns a dict with "error" and nothing else.
    """
    _args: dict = {"urls": urls}
    if char_limit is not None:
        _args["char_limit"] = char_limit
    return _call("web_extract", _args)


def web_search(query: str, limit: int = 5) -> dict:
    """Search the web.

    query: What to search for.
    limit: The most results to return.

    Returns {"data": {"web": [{"title": str, "url": str, "description": str}]}}; "note": str if a further page of them did not come.
    A failed call returns a dict with "error" and nothing else.
    """
    _args: dict = {"query": query}
    if limit != 5:
        _args["limit"] = limit
    return _call("web_search", _args)


def write_file(path: str, content: str) -> dict:
    """Write a whole text file; parent directories are made, an existing file is replaced.

    path: The file, relative to the current directory or absolute.
    content: The whole text, written as UTF-8.

    Returns {"status": "success", "path": str, "bytes_written": int}.
    A failed call returns a dict with "error" and nothing else.
    """
    _args: dict = {"path": path, "content": content}
    return _call("write_file", _args)


__all__ = [
    "TransportError",
    "aio",
    "json_parse",
    "patch",
    "read_file",
    "retry",
    "search",
    "search_files",
    "shell_quote",
    "terminal",
    "web_extract",
    "web_search",
    "write_file",
]
