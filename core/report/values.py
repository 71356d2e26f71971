"""A plan as plain values for json.dumps: bytes are integers, speeds floats, unknown is null."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, TypeAlias

from core.gguf.header import ModelFile
from core.model.model import FormatShare, Model
from core.plan.plan import DevicePlan, MemoryPlan, Part, Plan, SpeedPlan
from core.plan.verdict import reason
from core.problems import Problem, as_values
from core.provenance import Number

SCHEMA = 1
Values: TypeAlias = dict[str, Any]


def as_json(plan: Plan) -> Values:
    """The plan by the names of the command line's JSON, schema 1.

    Sizes and counts that are not known are None, never 0; a file without tensors has no figures.
    ``problems`` are all that there are, those of the file included.
    """
    empty = not plan.model.file.tensors
    weights = plan.weights
    return {
        "schema": SCHEMA,
        "file": _file(plan.model.file),
        "model": _model(plan.model),
        "formats": [] if empty else _formats(weights.formats),
        "weights": {
            "bytes": None if empty else weights.bytes,
            "read_per_token": None if empty else weights.read_per_token,
        },
        "settings": {
            **{f.name: getattr(plan.settings, f.name) for f in fields(plan.settings)},
            "machine": plan.machine.id,
        },
        "memory": _memory(plan, empty),
        "speed": _speed(plan.speed, empty),
        "requantized": _requantized(plan),
        "problems": [as_values(problem) for problem in all_problems(plan)],
    }


def all_problems(plan: Plan) -> tuple[Problem, ...]:
    """Those of the file, of its facts and of the choice; of the file alone where it is empty."""
    model = plan.model
    if not model.file.tensors:
        return model.file.problems
    return (*model.file.problems, *model.problems, *plan.problems)


def size_on_disk(file: ModelFile) -> int | None:
    """Bytes of all files found; None where not even the file opened could be."""
    opened = file.header.version is not None or file.file_bytes or file.header.modified_ns
    return file.file_bytes if opened else None


def refusal(path: str | None, sentence: str) -> Values:
    """The answer to a request that could not be carried out: nothing but why."""
    problems = [as_values(Problem("bad-request", sentence))]
    file = dict.fromkeys(("bytes", "gguf_version", "endianness", "alignment", "kind"))
    names = ("model", "formats", "weights", "settings", "memory", "speed", "requantized")
    return {
        "schema": SCHEMA,
        "file": {"paths": [] if path is None else [path], **file, "problems": problems},
        **dict.fromkeys(names),
        "problems": problems,
    }


def _file(file: ModelFile) -> Values:
    header = file.header
    readable = header.version is not None
    return {
        "paths": list(file.addresses),
        "bytes": size_on_disk(file),
        "gguf_version": header.version,
        "endianness": header.byte_order.value if readable else None,
        "alignment": header.alignment if readable else None,
        "kind": file.kind.value,
        "problems": [as_values(problem) for problem in file.problems],
    }


def _model(model: Model) -> Values:
    weights, shape = model.weights, model.shape
    known = bool(model.file.tensors)
    return {
        "architecture": model.architecture or None,
        "name": model.name or None,
        "label": model.label or None,
        "layers": shape.layers or None,
        "context_length": shape.context_length or None,
        "parameters": weights.parameters if known else None,
        "active_parameters": weights.active_parameters if known else None,
        "bits_per_weight": weights.bits_per_weight if weights.parameters else None,
    }


def _formats(formats: tuple[FormatShare, ...]) -> list[Values]:
    return [
        {
            "type": each.type_name,
            "tensors": each.tensors,
            "parameters": each.parameters,
            "bytes": each.bytes,
            "bits_per_weight": each.bits_per_weight if each.parameters else None,
        }
        for each in formats
    ]


def _memory(plan: Plan, empty: bool) -> Values:
    memory: MemoryPlan = plan.memory

    def value(number: Number[int]) -> int | None:
        return None if empty else number.value

    return {
        "cache_bytes": value(memory.cache),
        "cache_k_bytes": value(memory.cache_k),
        "cache_v_bytes": value(memory.cache_v),
        "cache_bytes_per_token": value(memory.cache_per_token),
        "state_bytes": value(memory.state),
        "compute_bytes": value(memory.compute),
        "output_bytes": value(memory.output),
        "total_bytes": value(memory.total),
        "devices": [] if empty else [_device(device) for device in memory.devices],
        "verdict": "unknown" if empty else plan.verdict.value,
        "reason": None if empty else reason(plan),
    }


def _device(plan: DevicePlan) -> Values:
    return {
        "name": plan.device.name,
        "kind": plan.device.kind.value,
        "capacity": plan.device.memory.value,
        "bandwidth": plan.device.bandwidth.value,
        "parts": [_part(part) for part in plan.parts],
        "total": plan.total.value,
        "free": plan.free.value,
        "verdict": plan.verdict.value,
        "growth": [{"name": g.name, "at_most_bytes": g.bytes.value} for g in plan.growth],
    }


def _part(part: Part) -> Values:
    return {"part": part.kind.value, "bytes": part.bytes.value}


def _speed(speed: SpeedPlan, empty: bool) -> Values:
    band = speed.expected
    known = band.known and not empty
    expected = {"low": band.low.value, "mid": band.mid.value, "high": band.high.value}
    return {
        "bytes_per_token": None if empty else speed.bytes_per_token.value,
        "ceiling_tok_s": None if empty else speed.ceiling.value,
        "expected_tok_s": expected if known else None,
        "expected_basis": band.basis if known else None,
        "prefill_tok_s": None if empty else speed.prefill.value,
        "ttft_s": None if empty else speed.ttft.value,
    }


def _requantized(plan: Plan) -> Values | None:
    """What such a file would weigh; None for the file as it is."""
    if plan.settings.requantize is None or plan.weights is plan.model.weights:
        return None
    weights = plan.weights
    return {
        "ftype": plan.settings.requantize,
        "bytes": weights.file_bytes,
        "tensor_bytes": weights.bytes,
        "bits_per_weight": weights.bits_per_weight,
        "formats": _formats(weights.formats),
    }
