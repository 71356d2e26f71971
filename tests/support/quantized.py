"""What llama-quantize makes of a model: the recorded answers of llama.cpp itself (build 11434).

``quantized_models`` has 52 models of real shapes, by the command's dry run; ``quantized_variants``
small ones made to reach the rules that those do not, asked through ``llama_model_quantize`` with
``dry_run``. Both hold every recipe, with and without an importance matrix.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from math import prod
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from core.gguf.header import Array, Tensor, Value, ValueType

DATA = Path(__file__).resolve().parent.parent / "data"
Bank: TypeAlias = Literal["quantized_models", "quantized_variants"]


class Case(NamedTuple):
    """One recipe on one model. ``refused`` names the tensor at which llama-quantize stopped;
    everything after it is then empty. ``bytes`` are None where they were not recorded."""

    recipe: str
    imatrix: bool
    refused: str | None
    types: tuple[str, ...] = ()
    fallbacks: int = 0
    needs_imatrix: bool = False
    bytes: int | None = None
    file_bytes: int | None = None


@dataclass(frozen=True)
class Recorded:
    """A model as it was before: metadata as written, 16-bit tensors, and all answers."""

    label: str
    keys: Mapping[str, Any]
    tensors: tuple[Tensor, ...]
    cases: tuple[Case, ...]

    @property
    def metadata(self) -> dict[str, Value]:
        """The keys as a header holds them."""
        return {key: _as_read(value) for key, value in self.keys.items()}

    def case(self, recipe: str, *, imatrix: bool = False) -> Case:
        return next(c for c in self.cases if c.recipe == recipe and c.imatrix is imatrix)


def _as_read(value: Any) -> Value:
    if isinstance(value, list):
        return Array(ValueType.INT32, len(value), 0, 0, tuple(value))
    assert isinstance(value, bool | int | float | str)
    return value


@cache
def _load(bank: Bank) -> dict[str, Any]:
    with gzip.open(DATA / f"{bank}.json.gz") as file:
        content: dict[str, Any] = json.load(file)
    return content


def labels(bank: Bank) -> list[str]:
    """The models of a bank."""
    return list(_load(bank)["models"])


@cache
def recorded(bank: Bank, label: str) -> Recorded:
    """One model with its answers."""
    content = _load(bank)
    model = content["models"][label]

    def types(codes: str) -> tuple[str, ...]:
        return tuple(content["types"][ord(code) - 65] for code in codes)

    def cases() -> Iterator[Case]:
        for recipe, answer in model["recipes"].items():
            for imatrix in (False, True):
                if "refused" in answer:
                    yield Case(recipe, imatrix, answer["refused"])
                    continue
                own = answer.get("with_imatrix", answer) if imatrix else answer
                yield Case(
                    recipe=recipe,
                    imatrix=imatrix,
                    refused=None,
                    types=types(own["types"]),
                    fallbacks=own["fallbacks"],
                    needs_imatrix=answer["needs_imatrix"] and not imatrix,
                    bytes=own.get("bytes"),
                    file_bytes=own.get("file_bytes"),
                )

    return Recorded(
        label=label,
        keys=model["metadata"],
        tensors=tuple(
            Tensor(name, tuple(shape), 0, kind, 0, 0, prod(shape))
            for name, shape, kind in zip(
                model["names"], model["shapes"], types(model["types"]), strict=True
            )
        ),
        cases=tuple(cases()),
    )
