"""The headers of 88 small models that llama.cpp wrote itself, with what it says of them.

Each is one architecture of its ``test-llama-archs`` (build 11434). ``file_bytes`` is the length of
the whole file, ``weights_bytes`` and ``parameters`` are llama.cpp's own sums over the tensors.
"""

from __future__ import annotations

import json
import tarfile
from functools import cache
from pathlib import Path
from typing import NamedTuple

_ARCHIVE = Path(__file__).parent.parent / "data" / "architecture_heads.tar.xz"


class Head(NamedTuple):
    """One header. ``data`` ends where the tensor data would begin."""

    name: str
    data: bytes
    file_bytes: int
    weights_bytes: int
    parameters: int

    def write(self, path: Path) -> Path:
        """A file of full length; its data is a hole."""
        path.write_bytes(self.data)
        with path.open("r+b") as file:
            file.truncate(self.file_bytes)
        return path


@cache
def heads() -> dict[str, Head]:
    """All of them by name ("llama-dense", "qwen35moe-moe")."""
    with tarfile.open(_ARCHIVE) as archive:
        members = {
            member.name: file.read()
            for member in archive
            if (file := archive.extractfile(member)) is not None
        }
    facts = json.loads(members.pop("llama_cpp.json"))
    found = {}
    for file_name, data in members.items():
        name = file_name.removesuffix(".head")
        row = facts[name]
        found[name] = Head(name, data, row["file_bytes"], row["weights_bytes"], row["n_params"])
    return found
