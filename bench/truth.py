"""How many of llama.cpp's own figures the plan repeats: ``python -m bench.truth FOLDER``.

FOLDER holds `models/*.json.gz` and `architectures/`; sparse files of full length are made of them
in a temporary folder and opened like any other file.
"""

from __future__ import annotations

import gzip
import json
import runpy
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from core.gguf import open_file
from core.machine import custom
from core.machine.machine import Backend, Machine
from core.model import model_from
from core.model.model import Model
from core.plan import resolve
from core.plan.choice import Choice, Engine, FlashAttention
from core.plan.plan import PartKind, Plan

Row = dict[str, Any]
_GIB = 2**30
_DRAFTED = 3  # tokens, in the rows of models that draft
MACHINES = {
    "host": custom(4096 * _GIB, gpu=False),
    "gpu_like": custom(4096 * _GIB, backend=Backend.VULKAN),
    "cuda_like": custom(4096 * _GIB, backend=Backend.CUDA),
}


def choice_of(options: Row) -> Choice:
    """A row's options as a choice; what it leaves open is llama.cpp's default there. Rows with a
    kind of context are of a model that drafts with its own blocks."""
    lib = not options["n_outputs_max"]
    drafts = bool(options.get("ctx_type"))
    return Choice(
        context=options["n_ctx"],
        cache_k=options["ctk"],
        cache_v=options["ctv"],
        flash_attention=FlashAttention(options["fa"]),
        ubatch=options["n_ubatch"],
        batch=options["n_batch"],
        slots=options["n_seq_max"],
        unified_cache=options["kv_unified"],
        swa_full=options["swa_full"],
        engine=Engine.LLAMA_CLI if lib else Engine.LLAMA_SERVER,
        draft_head=drafts,
        draft_cache_k=options["ctk"],
        draft_cache_v=options["ctv"],
        drafted=_DRAFTED if drafts else None,
    )


def part(plan: Plan, device: int, kind: PartKind) -> int:
    """Bytes of one part on one device; 0 where there is none."""
    for each in plan.memory.devices[device].parts:
        if each.kind is kind:
            return each.bytes.value or 0
    return 0


def compare(model: Model, row: Row, kind: str, machine: Machine) -> Iterator[tuple[str, int, int]]:
    """(what, ours, theirs) of one row on one kind of backend."""
    plan = resolve(model, machine, choice_of(row["options"]))
    if row["options"].get("ctx_type"):
        yield from _drafting(plan, row)
        return
    if kind == "host":
        yield "context", *_context(plan, 0, row["context_bytes"])
        yield "compute", part(plan, 0, PartKind.COMPUTE), row["compute_bytes"]
        yield "output", part(plan, 0, PartKind.OUTPUT), row["output_buffer_bytes"]
        return
    truth = row[kind]
    for number, where in enumerate(("device", "host")):
        yield f"{where} weights", part(plan, number, PartKind.WEIGHTS), truth[where]["weights"]
        yield f"{where} context", *_context(plan, number, truth[where]["context"])
        yield f"{where} compute", part(plan, number, PartKind.COMPUTE), truth[where]["compute"]


def _drafting(plan: Plan, row: Row) -> Iterator[tuple[str, int, int]]:
    """The context of the draft blocks, or what drafting makes of the model's own."""
    if row["options"]["ctx_type"] != "mtp":
        yield "drafting compute", part(plan, 0, PartKind.COMPUTE), row["compute_bytes"]
        return
    (drafted,) = (p.bytes for p in plan.memory.devices[0].parts if p.kind is PartKind.DRAFT)
    ours = {each.name: each.value for each in drafted.inputs}
    for what, name, theirs in (
        ("draft cache", "cache", "context_bytes"),
        ("draft compute", "work buffer", "compute_bytes"),
        ("draft output", "output buffer", "output_buffer_bytes"),
    ):
        size = ours[name]
        assert isinstance(size, int)
        yield what, size, row[theirs]


def _context(plan: Plan, device: int, truth: int) -> tuple[int, int]:
    return part(plan, device, PartKind.CACHE) + part(plan, device, PartKind.STATE), truth


def subjects(folder: Path, wanted: list[str]) -> Iterator[tuple[str, Model, list[Row]]]:
    """Every model and head of the folder with its rows, opened from a sparse file."""
    make = runpy.run_path(str(folder / "make_gguf.py"))
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "subject.gguf"
        for record in sorted((folder / "models").glob("*.json.gz")):
            label = record.name.removesuffix(".json.gz")
            if not wanted or label in wanted:
                with gzip.open(record) as file:
                    contents = json.load(file)
                make["from_record"](contents, str(path))
                yield label, model_from(open_file(path)), contents["memory"]
        rows: dict[str, list[Row]] = defaultdict(list)
        with (folder / "architectures" / "memory.jsonl").open() as lines:
            for line in lines:
                row = json.loads(line)
                rows[row["arch"]].append(row)
        for head in sorted((folder / "architectures").glob("*.head")):
            if not wanted or head.stem in wanted:
                make["from_head"](str(head), str(path))
                yield head.stem, model_from(open_file(path)), rows[head.stem]


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit("usage: python -m bench.truth FOLDER [MODEL ...]")
    folder, wanted = Path(sys.argv[1]), sys.argv[2:]
    errors: dict[tuple[str, str], list[float]] = defaultdict(list)
    for label, model, rows in subjects(folder, wanted):
        misses: dict[str, list[float]] = defaultdict(list)
        for row in rows:
            options = row["options"]
            if not row["ok"] or options.get("n_rs_seq"):
                continue
            for kind, machine in MACHINES.items():
                if kind != "host" and not row.get(kind, {}).get("device"):
                    continue
                for what, ours, theirs in compare(model, row, kind, machine):
                    error = ours / theirs - 1 if theirs else float(ours != theirs)
                    errors[kind, what].append(error)
                    if abs(error) > (0.02 if "compute" in what else 0):
                        misses[f"{kind} {what}"].append(error)
        for name, found in misses.items():
            print(f"{label}: {name}: {len(found)} off, worst {max(found, key=abs):+.2%}")
    for (kind, what), found in errors.items():
        sizes = sorted(abs(e) for e in found)
        exact = sum(e == 0 for e in sizes)
        p95 = sizes[int(0.95 * (len(sizes) - 1))]
        close = sum(e < 0.02 for e in sizes)
        print(
            f"{kind:10} {what:15} n={len(sizes)} exact={exact} within_2_percent={close}"
            f" median={sizes[len(sizes) // 2]:.4f} p95={p95:.4f} worst={sizes[-1]:.2f}"
        )


if __name__ == "__main__":
    main()
