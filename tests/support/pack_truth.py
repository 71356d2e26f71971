"""Packs llama.cpp's memory figures into the small file that the tests read.

    python -m tests.support.pack_truth TRUTH_FOLDER

TRUTH_FOLDER holds ``models/*.json.gz`` and ``architectures/memory.jsonl`` as they were asked from
llama.cpp b11434. Of every row that is no refusal the options and the bytes are kept; the headers
and tensor tables that belong to them are in ``heads.py`` and ``quantized.py``.
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

from tests.support.memory import DATA, OPTIONS


def row_of(row: dict[str, Any]) -> list[Any]:
    """Options, then flash attention as resolved, context after padding, bytes of the context, and
    those of K, V and state where the row lists every cache."""
    memory = row.get("memory") or {}
    k = v = state = 0
    for cache in memory.values():
        if isinstance(cache, dict) and "k_bytes" in cache:
            k, v = k + cache["k_bytes"], v + cache["v_bytes"]
        elif isinstance(cache, dict):
            state += cache.get("total_bytes", 0)
    parts = [k, v, state] if k + v + state == row["context_bytes"] else None
    options = [row["options"].get(name) for name in OPTIONS]
    return [*options, row["flash_attn"], row["n_ctx"], row["context_bytes"], parts]


def pack(truth: Path) -> None:
    models = {}
    for path in sorted((truth / "models").glob("*.json.gz")):
        record = json.loads(gzip.decompress(path.read_bytes()))
        loaded = record["loaded"]
        models[record["label"]] = {
            "ftype": loaded["ftype"],
            "parameters": loaded["n_params"],
            "weights_bytes": loaded["weights_bytes"],
            "rows": [row_of(row) for row in record["memory"] if row["ok"]],
        }
    heads: dict[str, list[list[Any]]] = {}
    for line in (truth / "architectures" / "memory.jsonl").read_text().splitlines():
        row = json.loads(line)
        if row["ok"]:
            heads.setdefault(row["arch"], []).append(row_of(row))
    content = json.dumps({"models": models, "heads": heads}, separators=(",", ":")).encode()
    (DATA / "llama_cpp_memory.json.gz").write_bytes(gzip.compress(content, 9, mtime=0))


if __name__ == "__main__":
    pack(Path(sys.argv[1]))
