"""The command of an engine for a plan."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from core.language import tr
from core.plan.choice import Engine
from core.plan.commands import llama, lm_studio, ollama, vllm
from core.plan.commands.command import Command, Part
from core.plan.commands.shells import Shell, joined, writable
from core.plan.plan import Plan

QUANTIZE = "llama-quantize"
_STAND_IN = "model.gguf"
_WRITERS = {
    Engine.OLLAMA: ollama.write,
    Engine.LM_STUDIO: lm_studio.write,
    Engine.VLLM: vllm.write,
}


def command(plan: Plan, shell: Shell, *, everything: bool = False) -> Command:
    """How the plan's engine is told the plan's choice, for one shell.

    Only what the engine would not do by itself is said, unless ``everything`` is asked for. A path
    that cannot be written there has a stand-in, and a note.
    """
    source = plan.model.file.header.path
    named = writable(str(source), shell) and _is_text(str(source))
    source = source if named else Path(_STAND_IN)
    recipe = plan.settings.requantize
    path = str(requantized(source, recipe) if recipe else source)
    writer = _WRITERS.get(Engine(plan.settings.engine), llama.write)
    made = writer(plan, shell, path, everything=everything)
    parts, notes = made.parts, made.notes
    if recipe:
        quantize = joined([QUANTIZE, str(source), path, recipe], shell)
        start = parts[0] if parts[0].title else replace(parts[0], title=tr("Then start it with"))
        parts = (Part(tr("Quantize first"), quantize), start, *parts[1:])
    if writer is not llama.write and (plan.settings.projector or plan.settings.drafted):
        notes = (*notes, tr("What is loaded beside the model is chosen in the program itself."))
    if not named:
        notes = (
            tr(
                "The file's path cannot be written in {shell}: {file} is meant.",
                shell=shell,
                file=_STAND_IN,
            ),
            *notes,
        )
    if not plan.model.file.local:
        address = plan.model.file.addresses[0]
        first = tr("The model is not on this computer: download {address} first.", address=address)
        notes = (first, *notes)
    return replace(made, parts=parts, notes=notes)


def requantized(path: Path, recipe: str) -> Path:
    """Where a quantization of a file goes."""
    return path.with_name(f"{path.stem}-{recipe}.gguf")


def _is_text(path: str) -> bool:
    """Whether a path is text at all: bytes that are no UTF-8 are kept as lone surrogates."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
