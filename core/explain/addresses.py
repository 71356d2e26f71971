"""Where a published run can be read again: the address that its source stands for."""

from __future__ import annotations

import re

_GITHUB = "https://github.com"
_REPOSITORY = re.compile(r"(?:\S+ via )?([A-Za-z0-9][\w.-]*/[\w.-]+)")
_THREAD = re.compile(r"\b(discussion|issue|pull)s?(?: request)?[ /](\d+)")
_KINDS = {"discussion": "discussions", "issue": "issues", "pull": "pull"}
_BLOB = re.compile(r"/blob/(\w+)/(\S+)")
_FILE = re.compile(r"^\s(\S+\.\w+)(?:@(\w+))?(?=[\s,;]|$)")
_COMMIT = re.compile(r"@([0-9a-f]{7,40})\b")
_BENCHES = re.compile(r"^llama\.cpp (benches/\S+)")
_PAGE = re.compile(r"^(llm-tracker\.info) (\S+)")
_FORUM = "r/"  # of another site


def address(source: str) -> str:
    """The web address of a source of ``resources/benchmarks.csv``; "" where it names none."""
    benches = _BENCHES.match(source)
    if benches is not None:
        return f"{_GITHUB}/ggml-org/llama.cpp/tree/HEAD/{benches[1]}"
    page = _PAGE.match(source)
    if page is not None:
        return f"https://{page[1]}/{page[2]}"
    named = _REPOSITORY.match(source)
    if named is None or named[1].startswith(_FORUM):
        return ""
    # "owner/name/issues/3" is one word with the thread behind it.
    repository, rest = named[1], source[named.end() :]
    thread = _THREAD.search(rest.partition(" via ")[0])
    if thread is not None:
        return f"{_GITHUB}/{repository}/{_KINDS[thread[1]]}/{thread[2]}"
    blob = _BLOB.match(rest)
    if blob is not None:
        return f"{_GITHUB}/{repository}/blob/{blob[1]}/{blob[2]}"
    file = _FILE.match(rest)
    if file is not None:
        return f"{_GITHUB}/{repository}/blob/{file[2] or 'HEAD'}/{file[1]}"
    commit = _COMMIT.search(rest)
    return f"{_GITHUB}/{repository}" + (f"/tree/{commit[1]}" if commit is not None else "")
