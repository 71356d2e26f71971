"""LM Studio: ``lms load``, and what its load settings are to say.

By lmstudio-ai/lms, src/subcommands/load.ts, its pull request 442 (--parallel) and the settings of
LM Studio 0.4; the same names are in LLMLoadModelConfig of its SDK.
"""

from __future__ import annotations

from pathlib import PurePath

from core.language import mark, tr
from core.machine.machine import Backend
from core.plan.choice import Engine, FlashAttention
from core.plan.commands.command import Command, Part, one_batch_size
from core.plan.commands.shells import Shell, joined
from core.plan.engines import RULES
from core.plan.plan import Plan
from core.plan.settings import layer_count

SETTINGS = mark("In the load settings of the model")
CACHE_K = "K Cache Quantization Type"
CACHE_V = "V Cache Quantization Type"
FLASH = "Flash Attention"
BATCH = "Evaluation Batch Size"
UNIFIED = "Unified KV Cache"
EXPERTS = "Layers whose experts are forced onto the CPU"
RUNTIME = "Runtime"
CPU_RUNTIME = "CPU llama.cpp"
_SWITCH = {FlashAttention.ON: "on", FlashAttention.OFF: "off"}


def write(plan: Plan, shell: Shell, path: str, *, everything: bool) -> Command:
    """``lms load`` with its options; what it has no option for, in the words of the settings."""
    s, rules = plan.settings, RULES[Engine.LM_STUDIO]
    words = ["lms", "load", PurePath(path).stem, "--context-length", str(s.requested_context)]
    if s.backend != Backend.CPU:
        words += ["--gpu", _ratio(s.gpu_layers, layer_count(plan.model))]
    if everything or s.slots != rules.slots:
        words += ["--parallel", str(s.slots)]
    notes: list[str] = []
    lines = _settings(plan, everything, notes)
    parts = [Part(tr("Load it with"), joined(words, shell))]
    if lines:
        remark = "rem" if shell is Shell.CMD else "#"
        told = "\n".join(f"{remark} {name}: {word}" for name, word in lines)
        parts.append(Part(tr(SETTINGS), told))
    return Command(Engine.LM_STUDIO, shell, tuple(parts), tuple(notes))


def _ratio(layers: int, count: int) -> str:
    if layers >= count:
        return "max"
    return f"{layers / count:.4f}" if layers else "off"


def _settings(plan: Plan, everything: bool, notes: list[str]) -> list[tuple[str, str]]:
    s, choice, rules = plan.settings, plan.choice, RULES[Engine.LM_STUDIO]
    found = []
    flash = _SWITCH.get(choice.flash_attention)
    if flash is None and everything:
        flash = "on" if s.flash_attention else "off"
    if flash:
        found.append((FLASH, flash))
    for name, kind in ((CACHE_K, s.cache_k), (CACHE_V, s.cache_v)):
        if everything or kind != "f16":
            found.append((name, kind))
    if s.batch != s.ubatch:
        notes.append(one_batch_size("LM Studio", plan))
    elif everything or s.batch != min(s.requested_context, rules.batch):
        found.append((BATCH, str(s.batch)))
    if everything or s.unified_cache != rules.unified:
        found.append((UNIFIED, "on" if s.unified_cache else "off"))
    if s.cpu_moe:
        found.append((EXPERTS, str(s.cpu_moe)))
    if s.backend == Backend.CPU and plan.machine.gpus:
        found.append((RUNTIME, CPU_RUNTIME))
    elif choice.backend is not None and s.backend != plan.machine.devices[0].backend:
        words = tr(
            "The runtime for {backend} is chosen in LM Studio's settings.", backend=choice.backend
        )
        notes.append(words)
    if s.swa_full:
        notes.append(tr("LM Studio has no option for a full window cache."))
    return found
