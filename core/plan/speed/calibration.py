"""resources/calibration.json as rates: what was fitted on published runs.

``python -m bench.fitting`` writes the file.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, NamedTuple

from core.language import mark, tr, trn
from core.machine.machine import Backend
from core.plan.speed.features import (
    LLAMA_CPP,
    Hardware,
    names,
    prefill_names,
    read_names,
)
from core.provenance import Rank, Source

# So much wider, in the logarithm, for a part of which no run is known.
_STRANGER = 1.25
BACKEND_NAMES = {
    Backend.CPU: "CPU",
    Backend.CUDA: "CUDA",
    Backend.METAL: "Metal",
    Backend.VULKAN: "Vulkan",
    Backend.ROCM: "ROCm",
    Backend.SYCL: "SYCL",
}
_VENDORS = {"amd": "AMD", "intel": "Intel", "nvidia": "NVIDIA"}


def counted_runs(count: int) -> str:
    """ "241 runs"."""
    return trn("{count:,} run", "{count:,} runs", count)


def counted_parts(backend: Backend, count: int) -> str:
    """So many of the parts that a backend runs on: "46 cards"."""
    match backend:
        case Backend.CPU:
            return trn("{count} processor", "{count} processors", count)
        case Backend.CUDA:
            return trn("{count} card", "{count} cards", count)
        case Backend.METAL:
            return trn("{count} chip", "{count} chips", count)
    return trn("{count} GPU", "{count} GPUs", count)


class Rates(NamedTuple):
    """Seconds that a device spends: on a byte of weights, of a cache as it is and of a quantized
    one, on a layer, on a layer with experts (besides), and on a token."""

    read: float
    cache: float
    packed: float
    layer: float
    experts: float
    token: float


class Group(NamedTuple):
    """Runs that a device is compared with, and the band around what they lead to expect: measured
    over predicted speed. ``known`` is False for an architecture that none of them is of."""

    backend: Backend
    vendor: str
    runs: int
    machines: int
    low: float
    high: float
    known: bool

    @property
    def words(self) -> str:
        """ "CUDA, 241 runs on 46 cards"."""
        backend = BACKEND_NAMES[self.backend]
        if self.vendor:
            backend = tr("{backend} on {vendor}", backend=backend, vendor=_VENDORS[self.vendor])
        runs, parts = counted_runs(self.runs), counted_parts(self.backend, self.machines)
        if self.known:
            return tr("{backend}, {runs} on {parts}", backend=backend, runs=runs, parts=parts)
        return tr(
            "{backend}, {runs} on {parts}, none of this architecture",
            backend=backend,
            runs=runs,
            parts=parts,
        )


@dataclass(frozen=True, slots=True)
class _Calibration:
    decode: Mapping[str, float]
    prefill: Mapping[str, float]
    groups: Mapping[str, Mapping[str, Any]]
    machines: Mapping[str, Mapping[str, float]]
    own: Mapping[str, Mapping[str, float]]
    prefill_bands: Mapping[str, Mapping[str, float]]
    errors: Mapping[str, float]
    source: Source


@cache
def calibration() -> _Calibration:
    """What ships, read once."""
    import json
    from importlib import resources

    text = resources.files("resources").joinpath("calibration.json").read_text("utf-8")
    made = json.loads(text)
    decode, prefill = made["decode"], made["prefill"]
    return _Calibration(
        decode=decode["coefficients"],
        prefill=prefill["coefficients"],
        groups=decode["groups"],
        machines=decode["machines"],
        own=made["own"],
        prefill_bands={name: prefill[name] for name in ("dense", "experts")},
        errors=decode["errors_by_machine"],
        source=Source(Rank.ESTIMATED, mark("published runs of llama.cpp"), made["fitted"]),
    )


def _factor(coefficients: Mapping[str, float], group: Iterable[str]) -> float:
    return math.exp(sum(coefficients.get(name, 0.0) for name in group))


@lru_cache(maxsize=512)
def rates(
    hardware: Hardware,
    format_class: str = "",
    engine: str = LLAMA_CPP,
    old: bool = False,
    flash: bool = True,
) -> Rates:
    """Seconds by what they are spent on. No byte is read faster than the bandwidth allows."""
    coefficients = calibration().decode
    found = names(hardware, engine, old=old, flash=flash)
    counted = hardware.bandwidth_counted
    fastest = 1 / hardware.bandwidth
    return Rates(
        read=max(_factor(coefficients, read_names(found.read, format_class)) / counted, fastest),
        cache=max(_factor(coefficients, found.cache) / counted, fastest),
        packed=max(_factor(coefficients, found.packed) / counted, fastest),
        layer=_factor(coefficients, found.layer),
        experts=_factor(coefficients, found.experts),
        token=_factor(coefficients, found.token) if found.token else 0.0,
    )


@lru_cache(maxsize=512)
def group(hardware: Hardware) -> Group:
    """Whom a device is compared with. Where the vendor is not known, everybody on its backend."""
    groups = calibration().groups
    names = [hardware.group]
    vendor = "" if hardware.group == hardware.backend.value else hardware.vendor
    if hardware.group not in groups:
        vendor = ""
        names = [name for name in groups if name.partition("/")[0] == hardware.backend.value]
    found = [groups[name] for name in names]
    low = min(each["low"] for each in found)
    high = max(each["high"] for each in found)
    architectures = {word for each in found for word in each["architectures"]}
    known = hardware.backend is Backend.CPU or hardware.architecture in architectures
    if not known:
        low, high = low**_STRANGER, high**_STRANGER
    return Group(
        hardware.backend,
        vendor,
        sum(each["runs"] for each in found),
        sum(each["machines"] for each in found),
        low,
        high,
        known or not hardware.architecture,
    )


def machine_factor(hardware: Hardware) -> tuple[float, int]:
    """How much faster than the fit the runs of this very part were, shrunk, and how many."""
    found = calibration().machines.get(f"{hardware.catalogue_id} {hardware.backend.value}")
    return (1.0, 0) if found is None else (found["factor"], int(found["runs"]))


class PrefillRates(NamedTuple):
    """Seconds of one operation of a prompt's arithmetic, and of reading one byte of weights for a
    chunk; ``low`` and ``high`` bound measured over predicted speed."""

    operation: float
    read: float
    low: float
    high: float


@lru_cache(maxsize=512)
def prefill_rates(hardware: Hardware, experts: bool, whole: bool) -> PrefillRates | None:
    """None where nobody tells how fast the device computes."""
    found = prefill_names(hardware, experts=experts, whole=whole)
    if found is None:
        return None
    made = calibration()
    band = made.prefill_bands["experts" if experts else "dense"]
    return PrefillRates(
        _factor(made.prefill, found.compute) / found.rate,
        _factor(made.prefill, found.read) / hardware.bandwidth,
        band["low"],
        band["high"],
    )
