"""Measured runs as rows of CSV: the published ones that ship, or anybody's in the same columns."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import NamedTuple

from core.machine.machine import Backend
from core.machine.matching import match
from core.machine.rows import Row, all_rows
from core.plan.speed.features import IPEX, LLAMA_CPP, LLAMAFILE, Hardware, format_class

# Without a column for the bandwidth it is the catalogue's.
NEEDED = (
    *("backend", "layers", "moe", "weights_gb_per_token", "cache_gb_per_token"),
    "decode_tok_s",
)
# llama.cpp before it spent more on each layer, and read caches without flash attention.
_OLD = "2025"
# Of any column: nothing that is measured is larger, or smaller than one part of it.
_MOST = 1e12
# What a label stands for, as the type of most of its weights.
_LABELS = (
    (("IQ1", "IQ2", "IQ3"), "IQ3_S"),
    (("Q2", "Q3"), "Q3_K"),
    (("MXFP4",), "MXFP4"),
)


@dataclass(frozen=True, slots=True)
class PublishedRun:
    """One row. Sizes are bytes for one token, rates tokens per second; ``prefill`` is None where
    it was not measured. ``hardware`` is None where no bandwidth is known. ``flag`` says why a row
    is not compared ("multi"), empty for most."""

    machine_id: str
    machine: str
    backend: Backend
    engine: str
    model: str
    quantization: str
    experts: bool
    layers: int
    parameters: float
    active_parameters: float
    weights: float
    cache: float
    cache_type: str
    depth: int
    decode: float
    prefill: float | None
    hardware: Hardware | None
    flag: str
    date: str
    source: str

    @property
    def family(self) -> str:
        """The engine as far as speed goes: llamafile spends more on every token."""
        name = self.engine.lower()
        if "llamafile" in name:
            return LLAMAFILE
        return IPEX if "ipex" in name else LLAMA_CPP

    @property
    def old(self) -> bool:
        """Whether it ran a llama.cpp from before 2025."""
        return self.family == LLAMA_CPP and bool(self.date) and self.date[:4] < _OLD

    @property
    def flash(self) -> bool:
        """Whether its attention went through flash attention, as far as is told."""
        return not self.old or "+fa" in self.engine.lower()

    @property
    def packed(self) -> bool:
        """Whether the cache is quantized."""
        return self.cache_type not in ("", "f16", "bf16", "f32")

    @property
    def format_class(self) -> str:
        """How its weights are read, from the label of the quantization."""
        label = self.quantization.upper().removeprefix("UD-")
        stands_for = next((t for words, t in _LABELS if label.startswith(words)), label)
        return format_class(stands_for, self.backend, experts=self.experts)

    @property
    def whole(self) -> bool:
        """Whether its weights are in 16 bits."""
        return self.quantization.upper() in ("F16", "BF16")

    @property
    def bytes_per_token(self) -> float:
        """Weights and cache."""
        return self.weights + self.cache

    @property
    def share_of_peak(self) -> float | None:
        """Of the bandwidth, that the run reached; None where no bandwidth is known."""
        if self.hardware is None:
            return None
        return self.decode * self.bytes_per_token / self.hardware.bandwidth


@cache
def published_runs() -> tuple[PublishedRun, ...]:
    """The rows of resources/benchmarks.csv."""
    from importlib import resources

    text = resources.files("resources").joinpath("benchmarks.csv").read_text("utf-8")
    runs, _ = read_runs(text.splitlines())
    return tuple(runs)


class LeftOut(NamedTuple):
    """A row that is no run, and why. ``damaged`` tells one that could not be read from one that is
    of something else."""

    sentence: str
    damaged: bool


class _NoRunError(Exception):
    """A sound row that there is nothing to compare with."""


def read_runs(lines: Iterable[str]) -> tuple[list[PublishedRun], list[LeftOut]]:
    """The runs of a CSV with a heading, and what was left out.

    Raises ValueError with a sentence where the heading lacks a column that is needed.
    """
    reader = csv.DictReader(lines)
    try:
        heading = reader.fieldnames or ()
        missing = [name for name in NEEDED if name not in heading]
        if missing:
            raise ValueError(f"these columns are missing: {', '.join(missing)}")
        runs: list[PublishedRun] = []
        problems: list[LeftOut] = []
        for cells in reader:
            try:
                runs.append(_run({k: (v or "").strip() for k, v in cells.items() if k}))
            except (ValueError, AttributeError, _NoRunError) as error:
                damaged = not isinstance(error, _NoRunError)
                problems.append(LeftOut(f"line {reader.line_num}: {error}", damaged))
    except csv.Error as error:
        raise ValueError(f"line {reader.line_num}: {error}") from None
    return runs, problems


def _run(cells: dict[str, str]) -> PublishedRun:
    backend = _backend(cells["backend"])
    if not cells["decode_tok_s"]:
        raise _NoRunError("no decode speed was measured")
    active = _number(cells, "active_parameters_b", 0.0) * 1e9
    prefill = cells.get("prefill_tok_s", "")
    return PublishedRun(
        machine_id=cells.get("hardware_id", ""),
        machine=cells.get("hardware", "") or cells.get("hardware_id", ""),
        backend=backend,
        engine=cells.get("engine", ""),
        model=cells.get("model", ""),
        quantization=cells.get("quant", ""),
        experts=cells["moe"].lower() in ("1", "true", "yes"),
        layers=round(_positive(cells, "layers")),
        parameters=_number(cells, "parameters_b", 0.0) * 1e9,
        active_parameters=active,
        weights=_positive(cells, "weights_gb_per_token") * 1e9,
        cache=_number(cells, "cache_gb_per_token", 0.0) * 1e9,
        cache_type=cells.get("cache_type", ""),
        depth=round(_number(cells, "depth_tokens", 0.0)),
        decode=_positive(cells, "decode_tok_s"),
        prefill=_positive(cells, "prefill_tok_s") if prefill else None,
        hardware=_hardware(cells, backend),
        flag=cells.get("flag", ""),
        date=cells.get("date", ""),
        source=cells.get("source", ""),
    )


def _backend(word: str) -> Backend:
    try:
        return Backend(word.lower())
    except ValueError:
        named = f"the backend {word[:40]!r}" if word else "a backend without a name"
        raise _NoRunError(f"nothing is known of {named}") from None


def _hardware(cells: dict[str, str], backend: Backend) -> Hardware | None:
    """The row's own bandwidth and what the catalogue knows besides; the catalogue's where the row
    has none."""
    row = _rows_by_id().get(cells.get("hardware_id", ""))
    if row is None:
        row = _named(cells.get("hardware", ""))
    given = _number(cells, "bandwidth_gb_s", 0.0) * 1e9
    bandwidth = given or (row.bandwidth if row is not None else 0.0)
    if not bandwidth:
        return None
    if row is None:
        return Hardware(backend, bandwidth)
    return hardware_of_row(row, backend, bandwidth)


def hardware_of_row(row: Row, backend: Backend, bandwidth: float) -> Hardware:
    """A machine of the catalogue on a backend, with a bandwidth in bytes per second."""
    return Hardware(
        backend=backend,
        bandwidth=bandwidth,
        architecture=row.architecture,
        memory_type=row.memory_type,
        part=row.kind,
        catalogue_id=row.id,
        flops=None if row.fp16_tflops is None else row.fp16_tflops * 1e12,
        flops32=None if row.fp32_tflops is None else row.fp32_tflops * 1e12,
        cores=row.gpu_cores,
    )


@lru_cache(maxsize=4096)
def _named(name: str) -> Row | None:
    """The one machine of the catalogue that a name can mean."""
    found = match(name) if name else ()
    return found[0] if len(found) == 1 else None


@cache
def _rows_by_id() -> dict[str, Row]:
    return {row.id: row for row in all_rows()}


def _number(cells: dict[str, str], name: str, empty: float) -> float:
    text = cells.get(name, "")
    if not text:
        return empty
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"{name} is no number: {text[:40]!r}") from None
    if not 0 <= value <= _MOST or 0 < value < 1 / _MOST:  # no number is not either
        raise ValueError(f"{name} cannot be {text[:40]}")
    return value


def _positive(cells: dict[str, str], name: str) -> float:
    value = _number(cells, name, 0.0)
    if value <= 0:
        raise ValueError(f"{name} must be more than nothing")
    return value
