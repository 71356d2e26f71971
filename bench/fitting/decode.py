"""What decoding costs, fitted on the published runs."""

from __future__ import annotations

import csv
import math
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources

from bench.fitting.solve import Case, Term, seconds, solve
from core.machine.machine import Backend
from core.plan.speed.features import LLAMA_CPP, Hardware, names, read_names
from core.plan.speed.published import PublishedRun, published_runs

_WEIGHT = 0.5  # of a row against the priors
PROCESSORS = "processors"  # the source of rows that are made from bandwidths
# Means: bytes reach about four fifths of the bandwidth, a layer costs some tens of microseconds.
_MEANS = {
    "read": (0.2, 1.0),
    "read cpu measured": (0.24, 0.05),
    "layer": (-9.8, 1.0),
    "experts": (-10.3, 1.0),
    "token llamafile": (-7.8, 2.0),
    "token ipex-llm": (-9.8, 2.0),
    "cache": (0.4, 0.5),
}
# How far a coefficient may go, by how its name begins; the first that fits.
_WIDTHS = (
    ("read llamafile", 0.3),
    ("read ipex-llm", 0.3),
    ("read HBM", 0.5),
    ("read two dies", 0.3),
    ("read small gpu", 0.5),
    ("layer llamafile", 0.7),
    ("layer ipex-llm", 0.7),
    ("layer old", 0.3),
    ("format bf16 experts", 1.0),
    ("format", 0.3),
    ("cache without flash", 1.0),
    ("cache packed", 0.5),
    ("cache ", 0.3),
    ("token", 0.5),
)
_ARCHITECTURE_READ, _ARCHITECTURE_LAYER = 0.15, 0.3
_GROUP_READ, _GROUP_LAYER = 0.3, 0.8


@dataclass(frozen=True, slots=True)
class Row:
    """A run that is fitted, and the groups that are left out together."""

    run: PublishedRun
    hardware: Hardware
    machine: str
    source: str


def prior(name: str) -> tuple[float, float]:
    """Mean and width of a coefficient."""
    if name in _MEANS:
        return _MEANS[name]
    for start, width in _WIDTHS:
        if name.startswith(start):
            return 0.0, width
    kind, _, group = name.partition(" ")
    if kind == "read":
        return 0.0, _ARCHITECTURE_READ if " " in group else _GROUP_READ
    return 0.0, _ARCHITECTURE_LAYER if " " in group else _GROUP_LAYER


def rows() -> list[Row]:
    """The published runs without a flag, and the processors whose memory's rating is known."""
    found = [
        Row(run, run.hardware, run.machine_id or run.machine, _source(run.source))
        for run in published_runs()
        if not run.flag and run.hardware is not None
    ]
    return found + list(_processors())


def _source(words: str) -> str:
    """Who published: a repository or a discussion, whatever the build or the date."""
    return " ".join(words.replace(";", " ").replace(",", " ").split()[:3])


def _processors() -> Iterable[Row]:
    """Bandwidths that processors reached with a model of 8 B parameters in Q4_K_M, depth 1837."""
    text = resources.files("resources").joinpath("cpu_bandwidth.csv").read_text("utf-8")
    weights, cache = 4.62e9, 1837 * 131_072.0
    for cells in csv.DictReader(text.splitlines()):
        if not cells["rated_gb_s"]:
            continue
        hardware = Hardware(Backend.CPU, float(cells["rated_gb_s"]) * 1e9)
        run = PublishedRun(
            machine_id="",
            machine=cells["cpu"],
            backend=Backend.CPU,
            engine="llama.cpp",
            model="llama3.1-8b",
            quantization="Q4_K_M",
            experts=False,
            layers=32,
            parameters=8.03e9,
            active_parameters=7.5e9,
            weights=weights,
            cache=cache,
            cache_type="f16",
            depth=1837,
            decode=float(cells["gb_s_median"]) * 1e9 / (weights + cache),
            prefill=None,
            hardware=hardware,
            flag="",
            date="2025",
            source=cells["source"],
        )
        yield Row(run, hardware, cells["cpu"], PROCESSORS)


def terms(run: PublishedRun, hardware: Hardware) -> tuple[Term, ...]:
    """What the time of one token is made of."""
    found = names(hardware, run.family, old=run.old, flash=run.flash)
    rate = hardware.bandwidth_counted
    made: list[Term] = [
        (run.weights / rate, read_names(found.read, run.format_class)),
        (run.cache / rate, found.packed if run.packed else found.cache),
        (run.layers, found.layer),
    ]
    if run.experts:
        made.append((run.layers, found.experts))
    if found.token:
        made.append((1.0, found.token))
    return tuple(made)


def fit(of: Sequence[Row]) -> dict[str, float]:
    """Coefficients from these rows; many rows of one machine count less each."""
    by_machine = Counter(row.machine for row in of)
    repeats = Counter(_cell(row) for row in of)
    weights = [1 / math.sqrt(by_machine[row.machine] * repeats[_cell(row)]) for row in of]
    mean = sum(weights) / len(weights)
    cases = [
        Case(terms(row.run, row.hardware), 1 / row.run.decode, _WEIGHT * weight / mean)
        for row, weight in zip(of, weights, strict=True)
    ]
    return solve(cases, prior)


def _cell(row: Row) -> tuple[str, str, str, int]:
    return (row.machine, row.run.model, row.run.quantization, row.run.depth)


def ratio(row: Row, coefficients: Mapping[str, float]) -> float:
    """Measured speed over predicted."""
    return row.run.decode * seconds(terms(row.run, row.hardware), coefficients, prior)


def held_out(of: Sequence[Row], key: Callable[[Row], str], folds: int, seed: int) -> list[float]:
    """Measured over predicted for every row, by a fit that has not seen its group."""
    groups = sorted({key(row) for row in of})
    random.Random(seed).shuffle(groups)
    fold = {group: number % folds for number, group in enumerate(groups)}
    ratios = [0.0] * len(of)
    for number in range(folds):
        fitted = fit([row for row in of if fold[key(row)] != number])
        for place, row in enumerate(of):
            if fold[key(row)] == number:
                ratios[place] = ratio(row, fitted)
    return ratios


def by_machine(of: Sequence[Row], seed: int = 0) -> list[float]:
    """Ten folds, whole machines left out."""
    return held_out(of, lambda row: row.machine, 10, seed)


def by_source(of: Sequence[Row]) -> list[float]:
    """Every source left out once, all of its rows at a time."""
    return held_out(of, lambda row: row.source, len({row.source for row in of}), 0)


def is_main(row: Row) -> bool:
    """Whether the engine is one that plans are made for."""
    return row.run.family == LLAMA_CPP or row.run.backend is Backend.CPU
