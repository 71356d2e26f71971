"""Plans of real models: a specimen on an RTX 3090, or on a computer without a GPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from core.gguf import open_file
from core.machine import Machine, catalogue, combine, custom
from core.model import model_from
from core.plan import resolve
from core.plan.choice import Choice
from core.plan.plan import Plan
from resources import specimens

RAM = custom(64 * 2**30, 51.2e9, name="dual-channel DDR4-3200", gpu=False)


def on_a_3090() -> Machine:
    """With 64 GiB of RAM at 51.2 GB/s beside it."""
    return combine(catalogue.machine("nvidia-geforce-rtx-3090"), RAM)


def specimen_plan(word: str, machine: Machine | None = None, **choice: Any) -> Plan:
    """The specimen with this word in its name, on a 3090 unless another machine is named."""
    path = next(path for path in specimens() if word in path.stem)
    return resolve(model_from(open_file(path)), machine or on_a_3090(), Choice(**choice))


def file_plan(path: Path, machine: Machine | None = None, **choice: Any) -> Plan:
    """A file's plan, in RAM unless a machine is named."""
    return resolve(model_from(open_file(path)), machine or RAM, Choice(**choice))
