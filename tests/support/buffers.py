"""What llama.cpp reserves besides the context (build 11434): weights, compute and output buffers.

    python -m tests.support.buffers TRUTH_FOLDER

packs the rows into the small file that the tests read; the options of a row and its context are
those of ``tests.support.memory``, in the same order. ``gpu_like`` and ``cuda_like`` are what
llama.cpp's allocator answers for a whole model on such a device, and what the host keeps.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from core.plan.choice import Choice, Engine, FlashAttention
from tests.support.memory import DATA, Row

_FILE = DATA / "llama_cpp_buffers.json.gz"


class Share(NamedTuple):
    """Bytes on one device."""

    weights: int
    context: int
    compute: int


class Buffers(NamedTuple):
    """One row. ``library`` rows reserve logits for a whole batch, as llama-bench does.

    ``devices`` has device and host by kind of backend; empty where it was not asked.
    """

    library: bool
    compute: int
    output: int
    devices: Mapping[str, tuple[Share, Share]]

    def choice(self, row: Row) -> Choice:
        """The options of the row as a user would choose them."""
        return Choice(
            context=row.n_ctx,
            cache_k=row.ctk,
            cache_v=row.ctv,
            flash_attention=FlashAttention(row.fa),
            ubatch=row.n_ubatch,
            batch=row.n_batch,
            slots=row.n_seq_max,
            unified_cache=row.kv_unified,
            swa_full=row.swa_full,
            engine=Engine.LLAMA_CLI if self.library else Engine.LLAMA_SERVER,
        )


class Offload(NamedTuple):
    """``gpu_layers`` of a model on a CUDA-like device, the rest on the host."""

    gpu_layers: int
    choice: Choice
    device: Share
    host: Share


@cache
def _content() -> dict[str, Any]:
    with gzip.open(_FILE) as file:
        content: dict[str, Any] = json.load(file)
    return content


def rows_of(name: str) -> tuple[Buffers, ...]:
    """Of a model or an architecture, parallel to its rows in ``tests.support.memory``."""
    subject = _content()["subjects"][name]
    found = []
    for library, compute, output, *rest in subject["rows"]:
        devices = {}
        kinds = zip(("gpu_like", "cuda_like"), subject["weights"], rest, strict=True)
        for kind, weights, answer in kinds:
            if answer:
                shares = [Share(w, *pair) for w, pair in zip(weights, answer, strict=True)]
                devices[kind] = (shares[0], shares[1])
        found.append(Buffers(bool(library), compute, output, devices))
    return tuple(found)


def offloads() -> dict[str, list[Offload]]:
    """Rows with a part of the layers on the GPU, by model."""
    found: dict[str, list[Offload]] = {}
    for label, gpu_layers, context, ubatch, flash, outputs, slots, unified, *shares in _content()[
        "offloads"
    ]:
        choice = Choice(
            context=context,
            ubatch=ubatch,
            flash_attention=FlashAttention.ON if flash else FlashAttention.OFF,
            slots=slots,
            unified_cache=unified,
            gpu_layers=gpu_layers,
            engine=Engine.LLAMA_SERVER if outputs else Engine.LLAMA_CLI,
        )
        device, host = (Share(*share) for share in shares)
        found.setdefault(label, []).append(Offload(gpu_layers, choice, device, host))
    return found


def _packed(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The weights once, since no option changes them; everything else by row."""
    weights: list[list[int]] = [[], []]
    packed = []
    for row in rows:
        shares: list[list[list[int]] | None] = []
        for number, kind in enumerate(("gpu_like", "cuda_like")):
            answer = row.get(kind) or {}
            if not answer.get("device"):
                shares.append(None)
                continue
            both = [answer["device"], answer["host"]]
            weights[number] = weights[number] or [share["weights"] for share in both]
            assert weights[number] == [share["weights"] for share in both]
            shares.append([[share["context"], share["compute"]] for share in both])
        library = int(not row["options"]["n_outputs_max"])
        sizes = [row["compute_bytes"], row["output_buffer_bytes"]]
        packed.append([library, *sizes, *shares])
    return {"weights": weights, "rows": packed}


def pack(truth: Path) -> None:
    """Every row that is no refusal, of all models and architectures, and the partial offloads."""
    rows: dict[str, list[dict[str, Any]]] = {}
    for path in sorted((truth / "models").glob("*.json.gz")):
        record = json.loads(gzip.decompress(path.read_bytes()))
        rows[record["label"]] = record["memory"]
    for line in (truth / "architectures" / "memory.jsonl").read_text().splitlines():
        row = json.loads(line)
        rows.setdefault(row["arch"], []).append(row)
    offloads = []
    for line in (truth / "partial_offload.jsonl").read_text().splitlines():
        row = json.loads(line)
        if "nokvo" in row["id"]:  # the KV cache kept in RAM: no option here
            continue
        names = ("label", "n_gpu_layers", "n_ctx", "n_ubatch", "flash_attn", "n_outputs_max")
        offload = [*(row[name] for name in names), row["n_seq_max"], row["kv_unified"]]
        host, device = row["breakdown"]
        offload += [[b["model"], b["context"], b["compute"]] for b in (device, host)]
        offloads.append(offload)
    subjects = {
        name: _packed([row for row in all_rows if row["ok"]]) for name, all_rows in rows.items()
    }
    content = json.dumps({"subjects": subjects, "offloads": offloads}, separators=(",", ":"))
    _FILE.write_bytes(gzip.compress(content.encode(), 9, mtime=0))


if __name__ == "__main__":
    pack(Path(sys.argv[1]))
