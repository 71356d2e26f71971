"""vLLM: ``vllm serve``.

By vLLM's engine arguments and docs/features/quantization/gguf.md of 2026: a GGUF file is read
through a plugin, and --max-num-seqs is far more than one unless said.
"""

from __future__ import annotations

from core.language import mark, tr
from core.machine.machine import Backend
from core.plan.choice import Engine, FlashAttention
from core.plan.commands.command import Command, Part, one_batch_size
from core.plan.commands.shells import Shell, joined
from core.plan.engines import RULES
from core.plan.plan import Plan
from core.plan.settings import layer_count, used_gpus

_PLUGIN = mark(
    "vLLM reads GGUF files with vllm-gguf-plugin; --tokenizer with the name of the original model "
    "spares it a slow conversion."
)
TYPES = {"f16": "auto", "bf16": "bfloat16", "fp8": "fp8"}


def write(plan: Plan, shell: Shell, path: str, *, everything: bool) -> Command:
    """The command that serves this plan."""
    s, rules = plan.settings, RULES[Engine.VLLM]
    words = ["vllm", "serve", path, "--max-model-len", str(s.requested_context)]
    words += ["--max-num-seqs", str(s.slots)]
    notes = [tr(_PLUGIN)]
    if s.batch != s.ubatch:
        notes.append(one_batch_size("vLLM", plan))
    elif everything or s.batch != min(s.requested_context * s.slots, rules.batch):
        words += ["--max-num-batched-tokens", str(s.batch)]
    if s.cache_k != s.cache_v or s.cache_k not in TYPES:
        known = ", ".join(TYPES.values())
        notes.append(
            tr(
                "vLLM has one cache type ({known}): not {k} and {v}.",
                known=known,
                k=s.cache_k,
                v=s.cache_v,
            )
        )
    elif everything or s.cache_k != "f16":
        words += ["--kv-cache-dtype", TYPES[s.cache_k]]
    cards = len(used_gpus(plan.machine, plan.choice.backend))
    if cards > 1:
        words += ["--pipeline-parallel-size", str(cards)]
    if everything:
        words += ["--gpu-memory-utilization", str(rules.reserved_share)]
    if len(plan.model.file.headers) > 1:
        notes.append(tr("vLLM wants one file: join the parts with llama-gguf-split --merge."))
    if plan.choice.flash_attention is FlashAttention.OFF:
        notes.append(tr("vLLM chooses its attention kernel by itself."))
    if s.backend == Backend.CPU and plan.machine.gpus:
        notes.append(tr("vLLM for the processor is an installation of its own."))
    elif s.backend != Backend.CPU and s.gpu_layers < layer_count(plan.model):
        notes.append(
            tr("vLLM keeps whole models on the GPU; --cpu-offload-gb moves GiB, not layers.")
        )
    elif plan.choice.backend not in (None, plan.machine.devices[0].backend):
        notes.append(tr("vLLM is installed for one backend."))
    if s.cpu_moe:
        notes.append(tr("vLLM has no option for experts in RAM."))
    if s.unified_cache and s.slots > 1:
        notes.append(tr("vLLM gives cache to requests page by page, whatever is asked."))
    return Command(Engine.VLLM, shell, (Part("", joined(words, shell)),), tuple(notes))
