"""Whether a server runs the file that is open."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from core.gguf import display
from core.language import tr
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
    name = display(target.model or target.model_path or tr("its model"))
    if target.model_path and _same_file(target.model_path, model):
        return Match(True, tr("The server runs the open file ({name}).", name=name))
    weights = model.weights
    size, parameters = target.model_bytes, target.parameters
    if size is not None and weights.bytes and size != weights.bytes:
        return Match(
            False,
            tr(
                "The server runs another model: {name} has {theirs}, the open file {ours}.",
                name=name,
                theirs=format_exact_bytes(size),
                ours=format_exact_bytes(weights.bytes),
            ),
        )
    if parameters is not None and weights.parameters and parameters != weights.parameters:
        return Match(
            False,
            tr(
                "The server runs another model: {name} has {theirs} parameters, the open file "
                "{ours}.",
                name=name,
                theirs=format_count(parameters),
                ours=format_count(weights.parameters),
            ),
        )
    theirs_label, ours_label = _label(target.label), _label(model.label)
    if theirs_label and ours_label and theirs_label != ours_label:
        return Match(
            False,
            tr(
                "The server runs another quantization: {theirs}, the open file is {ours}.",
                theirs=display(target.label),
                ours=model.label,
            ),
        )
    if size is not None and weights.bytes:
        return Match(
            True, tr("The server's model is as large as the open file ({name}).", name=name)
        )
    if parameters is not None and weights.parameters and theirs_label:
        return Match(
            True, tr("The server's model is of the same kind as the open file ({name}).", name=name)
        )
    return Match(None, tr("Whether {name} is the open file, the server does not tell.", name=name))


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
