"""What the user chose: the only thing that sliders change."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal, TypeAlias

from core.model.cache_size import BLOCKS, FP8
from core.model.model import Model


class Engine(StrEnum):
    LLAMA_SERVER = "llama-server"
    LLAMA_CLI = "llama-cli"
    OLLAMA = "ollama"
    LM_STUDIO = "lm-studio"
    IK_LLAMA = "ik-llama"
    VLLM = "vllm"


class FlashAttention(StrEnum):
    ON = "on"
    OFF = "off"
    AUTO = "auto"


CACHE_TYPES = tuple(name for name in BLOCKS if name != FP8)  # llama.cpp's
ALL_CACHE_TYPES = (*CACHE_TYPES, FP8)
# Cache types whose rows are stored as they are: they need no flash attention.
UNPACKED = frozenset(("f32", "f16", "bf16"))
# Cache types that CUDA's flash attention reads (llama.cpp b11434, ggml-cuda/fattn.cu; the same
# code runs on ROCm).
CUDA_ATTENDS = UNPACKED | {"q4_0", "q4_1", "q5_0", "q5_1", "q8_0"}
MOST_SLOTS = 256  # LLAMA_MAX_SEQ of llama.cpp b11434
MOST_TOKENS = 2**24  # of a context: the controls end there
INT_MAX = 2**31 - 1  # llama.cpp keeps contexts and batches in 32-bit integers
GpuLayers: TypeAlias = int | Literal["all"]


@dataclass(frozen=True, slots=True)
class Choice:
    """Options by the names of the command line; None takes the default of engine and model.

    ``context`` and ``depth`` are tokens. ``requantize`` is an ftype name ("Q4_K_M") or None for the
    file as it is. ``cpu_moe`` keeps the experts of so many first layers in RAM.

    ``projector`` and ``draft`` are files loaded beside the model, read once by whoever attaches
    them; ``projector_on_gpu`` is False for --no-mmproj-offload. ``draft_head`` uses the blocks that
    the file has for drafting (MTP, NextN) where no draft model is attached. The cache types of
    either are ``draft_cache_k`` and ``draft_cache_v``; ``drafted`` tokens are proposed at once.
    """

    context: int | None = None
    depth: int | None = None
    cache_k: str = "f16"
    cache_v: str = "f16"
    flash_attention: FlashAttention = FlashAttention.AUTO
    ubatch: int | None = None
    batch: int | None = None
    slots: int | None = None
    unified_cache: bool | None = None
    swa_full: bool = False
    engine: Engine = Engine.LLAMA_SERVER
    requantize: str | None = None
    gpu_layers: GpuLayers = "all"
    cpu_moe: int = 0
    backend: str | None = None
    projector: Model | None = None
    projector_on_gpu: bool = True
    draft: Model | None = None
    draft_head: bool = False
    draft_gpu_layers: GpuLayers = "all"
    draft_cache_k: str = "f16"
    draft_cache_v: str = "f16"
    drafted: int | None = None

    def alone(self) -> Choice:
        """The same with nothing loaded beside the model."""
        return replace(self, projector=None, draft=None, draft_head=False)

    def for_another(self, model: Model | None) -> Choice:
        """What goes along to another model: nothing that was meant for one alone, and no context
        beyond what this one was trained for."""
        trained = model.shape.context_length if model else None
        fits = self.context is not None and trained is not None and self.context <= trained
        return replace(
            self.alone(),
            context=self.context if fits else None,
            depth=None,
            requantize=None,
            gpu_layers="all",
            cpu_moe=0,
            draft_gpu_layers="all",
        )
