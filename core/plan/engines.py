"""What engines do differently about context, slots and batches, as data.

Every row says where its facts are from; `domain.md` section 9 in words.
"""

from __future__ import annotations

from dataclasses import dataclass

from core.plan.choice import Engine


@dataclass(frozen=True, slots=True)
class EngineRules:
    """How one engine turns options into memory.

    ``per_request``: the context option is for one request and is multiplied by the slots.
    ``unified``: slots share one pool of cells where nobody says otherwise. ``split_by_slots``:
    naming a number of slots gives every slot its own part instead. ``whole_batch_logits``: logits
    are reserved for a whole batch, not for one row per slot. ``full_windows``: layers with a
    sliding window keep the whole context. ``reserved_share`` of a GPU is taken whatever the
    context. ``source`` says who says so.
    """

    slots: int
    unified: bool
    batch: int
    ubatch: int
    source: str
    per_request: bool = False
    split_by_slots: bool = False
    whole_batch_logits: bool = False
    full_windows: bool = False
    reserved_share: float | None = None


RULES: dict[Engine, EngineRules] = {
    Engine.LLAMA_SERVER: EngineRules(
        slots=4,
        unified=True,
        split_by_slots=True,
        batch=2048,
        ubatch=512,
        source="llama.cpp b11434, tools/server/server.cpp",
    ),
    Engine.LLAMA_CLI: EngineRules(
        slots=1,
        unified=False,
        whole_batch_logits=True,
        batch=2048,
        ubatch=512,
        source="llama.cpp b11434, llama-completion and llama-bench",
    ),
    # The runner gets num_ctx x OLLAMA_NUM_PARALLEL, which is 1 unless set; num_batch is 512.
    Engine.OLLAMA: EngineRules(
        slots=1,
        unified=True,
        per_request=True,
        batch=512,
        ubatch=512,
        source="Ollama FAQ and ollama/ollama#9246",
    ),
    # "Max Concurrent Predictions" is 4 and the cache is unified unless changed.
    Engine.LM_STUDIO: EngineRules(
        slots=4,
        unified=True,
        batch=512,
        ubatch=512,
        source="lmstudio.ai/docs, Parallel Requests",
    ),
    # The fork has one pool for all slots and no shorter cache for window layers.
    Engine.IK_LLAMA: EngineRules(
        slots=1,
        unified=True,
        whole_batch_logits=True,
        full_windows=True,
        batch=2048,
        ubatch=512,
        source="ikawrakow/ik_llama.cpp, 2026-08-15",
    ),
    # Window layers of mixed models take whole pages for every token (vllm-project/vllm#39254).
    Engine.VLLM: EngineRules(
        slots=1,
        unified=False,
        per_request=True,
        full_windows=True,
        batch=2048,
        ubatch=2048,
        reserved_share=0.9,
        source="vLLM docs, gpu_memory_utilization",
    ),
}
