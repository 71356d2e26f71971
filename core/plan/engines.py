"""What engines do differently about context, slots, batches, cache types and RAM, as data.

Every row says where its facts are from; ``core.plan.engine_words`` says them in sentences.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from core.language import mark
from core.model.cache_size import FP8
from core.plan.choice import CACHE_TYPES, Engine

MIB, GIB = 2**20, 2**30


class BeyondTraining(Enum):
    """What an engine does with a context longer than the model was trained for."""

    USES = auto()
    RESERVES = auto()  # takes the memory, and lets no request use more than the trained length
    CAPS = auto()  # loads the trained length instead
    REFUSES = auto()


@dataclass(frozen=True, slots=True)
class EngineRules:
    """How one engine turns options into memory. ``name`` is as its makers write it, ``source`` says
    who says so. Words are marked for translation.

    ``per_request``: the context option is for one request and is multiplied by the slots.
    ``unified``: slots share one pool of cells where nobody says otherwise. ``split_by_slots``:
    naming a number of slots gives every slot its own part instead. ``whole_batch_logits``: logits
    are reserved for a whole batch, not for one row per slot. ``full_windows``: layers with a
    sliding window keep the whole context. ``cache_types`` are those it has an option for;
    ``one_cache_type`` is the name of a single option that sets K and V alike, else empty.
    ``prompt_cache`` bytes of RAM may fill with earlier prompts, limited by ``prompt_cache_option``,
    and each slot may keep ``checkpoints`` copies of what cannot be rolled back (windows, state).
    ``reserved_share`` of a GPU is taken whatever the context. ``default_contexts`` are pairs (GPU
    memory from which it holds, tokens), largest first, where the engine chooses by memory.
    """

    name: str
    slots: int
    unified: bool
    batch: int
    ubatch: int
    source: str
    context_option: str
    per_request: bool = False
    split_by_slots: bool = False
    whole_batch_logits: bool = False
    full_windows: bool = False
    cache_types: tuple[str, ...] = CACHE_TYPES
    one_cache_type: str = ""
    beyond_training: BeyondTraining = BeyondTraining.USES
    prompt_cache: int = 0
    prompt_cache_option: str = ""
    checkpoints: int = 0
    reserved_share: float | None = None
    default_contexts: tuple[tuple[int, int], ...] = ()


RULES: dict[Engine, EngineRules] = {
    # common.h: cache_ram_mib 8192, n_ctx_checkpoints 32; server-context.cpp caps a slot's context.
    Engine.LLAMA_SERVER: EngineRules(
        name="llama-server",
        slots=4,
        unified=True,
        split_by_slots=True,
        batch=2048,
        ubatch=512,
        context_option="-c",
        beyond_training=BeyondTraining.RESERVES,
        prompt_cache=8192 * MIB,
        prompt_cache_option="--cache-ram",
        checkpoints=32,
        source=mark("llama.cpp b11434, tools/server and common/common.h"),
    ),
    Engine.LLAMA_CLI: EngineRules(
        name="llama-cli",
        slots=1,
        unified=False,
        whole_batch_logits=True,
        batch=2048,
        ubatch=512,
        context_option="-c",
        source=mark("llama.cpp b11434, llama-completion and llama-bench"),
    ),
    # It starts llama-server with -c num_ctx x OLLAMA_NUM_PARALLEL (1 unless set) and -np, which
    # gives every slot its own part, and -b and -ub of num_batch (512). One variable sets both
    # halves of the cache; SupportsKVCacheType knows three. The tiers of ollama/ollama#13946 start
    # a GiB early. It sets no --cache-ram: the default of llama-server holds (ollama/ollama#18264).
    Engine.OLLAMA: EngineRules(
        name="Ollama",
        slots=1,
        unified=False,
        per_request=True,
        batch=512,
        ubatch=512,
        context_option="num_ctx",
        cache_types=("f16", "q8_0", "q4_0"),
        one_cache_type="OLLAMA_KV_CACHE_TYPE",
        beyond_training=BeyondTraining.CAPS,
        prompt_cache=8192 * MIB,
        prompt_cache_option="LLAMA_ARG_CACHE_RAM",
        checkpoints=32,
        default_contexts=((47 * GIB, 262_144), (23 * GIB, 32_768), (0, 4096)),
        source=mark("ollama/ollama, llm/llama_server.go, FAQ and #13946"),
    ),
    # "Max Concurrent Predictions" is 4 and the cache is unified unless changed. Its SDK names the
    # cache types; its log the prompt cache (lmstudio-ai/lmstudio-bug-tracker#2086).
    Engine.LM_STUDIO: EngineRules(
        name="LM Studio",
        slots=4,
        unified=True,
        batch=512,
        ubatch=512,
        context_option=mark("the context length"),
        cache_types=tuple(name for name in CACHE_TYPES if name != "bf16"),
        prompt_cache=8192 * MIB,
        prompt_cache_option=mark("--cache-ram among the advanced parameters"),
        checkpoints=32,
        source=mark("lmstudio.ai/docs, Parallel Requests, and its SDK"),
    ),
    # The fork has one pool for all slots and no shorter cache for window layers.
    Engine.IK_LLAMA: EngineRules(
        name="ik_llama.cpp",
        slots=1,
        unified=True,
        whole_batch_logits=True,
        full_windows=True,
        batch=2048,
        ubatch=512,
        context_option="-c",
        prompt_cache=8192 * MIB,
        prompt_cache_option="--cache-ram",
        source=mark("ikawrakow/ik_llama.cpp, 2026-08-15, docs/parameters.md"),
    ),
    # Window layers of mixed models take whole pages for every token (vllm-project/vllm#39254).
    Engine.VLLM: EngineRules(
        name="vLLM",
        slots=1,
        unified=False,
        per_request=True,
        full_windows=True,
        batch=2048,
        ubatch=2048,
        context_option="--max-model-len",
        cache_types=("f16", "bf16", FP8),
        one_cache_type="--kv-cache-dtype",
        beyond_training=BeyondTraining.REFUSES,
        reserved_share=0.9,
        source=mark("vLLM docs, gpu_memory_utilization and kv_cache_dtype"),
    ),
}
