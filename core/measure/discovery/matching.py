"""Whether a server runs the file that is open."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from core.gguf import display
from core.measure.run import Target
from core.model.model import Model
from core.units import format_count, format_exact_bytes

_SIZES = {"small": "S", "medium": "M", "large": "L"}


@dataclass(frozen=True, slots=True)
class Match:
    """``same`` is None where nothing that the server tells can decide; ``sentence`` says why."""

    same: bool | None
    sentence: str


def match_file(target: Target, model: Model) -> Match:
    """Whether the server's model is this one: by its path, else by what both tell of it."""
    name = display(target.model or target.model_path or "its model")
    if target.model_path and _same_file(target.model_path, model):
        return Match(True, f"The server runs the open file ({name}).")
    weights = model.weights
    pairs = [
        ("bytes of weights", target.model_bytes, weights.bytes, format_exact_bytes),
        ("parameters", target.parameters, weights.parameters, format_count),
    ]
    known = [(what, a, b, form) for what, a, b, form in pairs if a is not None and b]
    for what, theirs, ours, form in known:
        if theirs != ours:
            return Match(
                False,
                f"The server runs another model: {name} has {form(theirs)}"
                f"{'' if what == 'bytes of weights' else f' {what}'}, the open file {form(ours)}.",
            )
    theirs_label, ours_label = _label(target.label), _label(model.label)
    if theirs_label and ours_label and theirs_label != ours_label:
        return Match(
            False,
            f"The server runs another quantization: {display(target.label)}, the open file is "
            f"{model.label}.",
        )
    if any(what == "bytes of weights" for what, *_ in known):
        return Match(True, f"The server's model is as large as the open file ({name}).")
    if known and theirs_label:
        return Match(True, f"The server's model is of the same kind as the open file ({name}).")
    return Match(None, f"Whether {name} is the open file, the server does not tell.")


def _same_file(path: str, model: Model) -> bool:
    """Whether a path names one of the model's files; a relative one is relative to who knows."""
    theirs = Path(path)
    try:
        return theirs.is_absolute() and any(
            theirs.samefile(ours) for ours in model.file.paths if ours.exists()
        )
    except (OSError, ValueError):  # a server may tell what no path can be
        return False


def _label(text: str) -> str:
    """ "Q4_K - Medium" and "Q4_K_M" as one."""
    kind, _, size = text.partition(" - ")
    letter = _SIZES.get(size.strip().lower(), "")
    name = f"{kind.strip()}_{letter}" if letter else kind.strip()
    return re.sub(r"^all[_ ]|^mostly[_ ]", "", name.lower()).split(" ")[0].upper()
