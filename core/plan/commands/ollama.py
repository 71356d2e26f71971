"""Ollama: variables of the server's environment, and a Modelfile.

By ollama/ollama, envconfig/config.go, api/types.go (Runner), docs/modelfile.mdx and docs/gpu.mdx of
2026: the cache type needs flash attention, and a GPU number that does not exist leaves the GPUs
out.
"""

from __future__ import annotations

import re
from pathlib import PurePath

from core.language import tr
from core.machine.machine import Backend
from core.plan.choice import UNPACKED, Engine, FlashAttention
from core.plan.commands.command import Command, Part, one_batch_size
from core.plan.commands.shells import Shell, quote
from core.plan.engines import RULES
from core.plan.plan import Plan
from core.plan.settings import layer_count, used_gpus

PARALLEL = "OLLAMA_NUM_PARALLEL"
CACHE_TYPE = "OLLAMA_KV_CACHE_TYPE"
FLASH = "OLLAMA_FLASH_ATTENTION"
CONTEXT = "OLLAMA_CONTEXT_LENGTH"
# Without any GPU of this backend where the variable is -1.
HIDDEN = {
    Backend.CUDA: "CUDA_VISIBLE_DEVICES",
    Backend.ROCM: "ROCR_VISIBLE_DEVICES",
    Backend.VULKAN: "GGML_VK_VISIBLE_DEVICES",
}
_FLASH_VALUES = {FlashAttention.ON: "1", FlashAttention.OFF: "0"}


def write(plan: Plan, shell: Shell, path: str, *, everything: bool) -> Command:
    """The server's environment, the Modelfile, and what makes a model of it."""
    name = re.sub(r"[^a-z0-9._-]+", "-", PurePath(path).stem.lower()).strip("-._") or "model"
    notes: list[str] = []
    variables = _variables(plan, everything=everything, notes=notes)
    modelfile = "\n".join(["FROM " + _value(path), *_parameters(plan, everything, notes)])
    return Command(
        Engine.OLLAMA,
        shell,
        (
            Part(tr("Start the server with"), environment(variables, shell, "ollama serve")),
            Part(tr("Modelfile"), modelfile),
            Part(tr("Then"), f"ollama create {name} -f Modelfile\nollama run {name}"),
        ),
        tuple(notes),
    )


def environment(variables: dict[str, str], shell: Shell, command: str) -> str:
    """A command with variables set for it."""
    if shell is Shell.BASH:
        words = [f"{name}={quote(value, shell)}" for name, value in variables.items()]
        return " ".join([*words, command])
    if shell is Shell.POWERSHELL:
        lines = [f"$env:{name} = '{value}'" for name, value in variables.items()]
    else:
        lines = [f"set {name}={value}" for name, value in variables.items()]
    return "\n".join([*lines, command])


def _variables(plan: Plan, *, everything: bool, notes: list[str]) -> dict[str, str]:
    s, choice = plan.settings, plan.choice
    found = {}
    if everything or s.slots != RULES[Engine.OLLAMA].slots:
        found[PARALLEL] = str(s.slots)
    if s.cache_k != s.cache_v:
        notes.append(
            tr(
                "Ollama has one cache type for K and V: not {k} and {v}.",
                k=s.cache_k,
                v=s.cache_v,
            )
        )
    elif s.cache_k not in RULES[Engine.OLLAMA].cache_types:
        notes.append(tr("Ollama has no cache type {kind}.", kind=s.cache_k))
    elif everything or s.cache_k != "f16":
        found[CACHE_TYPE] = s.cache_k
    flash = _FLASH_VALUES.get(choice.flash_attention)
    if flash is None and (everything or s.cache_k not in UNPACKED):
        flash = "1" if s.flash_attention else "0"
    if flash is not None:
        found[FLASH] = flash
    own, chosen = used_gpus(plan.machine, None), used_gpus(plan.machine, choice.backend)
    backend = plan.machine.devices[own[0]].backend if own else Backend.CPU
    if own and not chosen:
        if backend in HIDDEN:
            found[HIDDEN[backend]] = "-1"
        else:
            notes.append(tr("Ollama chooses this GPU by itself; PARAMETER num_gpu 0 comes near."))
    elif own and choice.backend not in (None, backend):
        notes.append(
            tr(
                "Ollama chooses its backend by itself: {backend} cannot be asked for.",
                backend=choice.backend,
            )
        )
    return found


def _parameters(plan: Plan, everything: bool, notes: list[str]) -> list[str]:
    s, rules = plan.settings, RULES[Engine.OLLAMA]
    lines = [f"PARAMETER num_ctx {s.requested_context}"]
    if s.batch != s.ubatch:
        notes.append(one_batch_size("Ollama", plan))
    elif everything or s.batch != min(s.requested_context * s.slots, rules.batch):
        lines.append(f"PARAMETER num_batch {s.batch}")
    on_gpu = s.backend != Backend.CPU
    if on_gpu and (everything or s.gpu_layers < layer_count(plan.model)):
        lines.append(f"PARAMETER num_gpu {s.gpu_layers}")
    if s.cpu_moe:
        notes.append(tr("Ollama has no option for experts in RAM."))
    if s.swa_full:
        notes.append(tr("Ollama has no option for a full window cache."))
    if s.unified_cache and s.slots > 1:
        notes.append(tr("Ollama gives every request a cache of its own."))
    return lines


def _value(path: str) -> str:
    """As ``ollama show --modelfile`` writes a value: in quotes only where it must be."""
    if "\n" in path or path != path.strip():
        return f'"""{path}"""' if '"' in path or "\n" in path else f'"{path}"'
    return path
