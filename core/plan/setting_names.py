"""What the settings of a plan are called."""

from __future__ import annotations

from core.language import mark

# In the order of the window.
NAMES = {
    "engine": mark("engine"),
    "context": mark("context"),
    "requested_context": mark("context"),
    "depth": mark("depth"),
    "cache_k": mark("K cache type"),
    "cache_v": mark("V cache type"),
    "slots": mark("slots"),
    "unified_cache": mark("one cache for all slots"),
    "flash_attention": mark("flash attention"),
    "requantize": mark("quantization"),
    "gpu_layers": mark("GPU layers"),
    "cpu_moe": mark("layers with experts in RAM"),
    "batch": mark("batch"),
    "ubatch": mark("ubatch"),
    "swa_full": mark("full window cache"),
    "backend": mark("backend"),
    "projector": mark("projector"),
    "projector_on_gpu": mark("projector on the GPU"),
    "draft": mark("draft model"),
    "draft_head": mark("draft blocks of the file"),
    "drafted": mark("drafted tokens"),
    "draft_gpu_layers": mark("GPU layers of the draft"),
    "draft_cache_k": mark("K cache type of the draft"),
    "draft_cache_v": mark("V cache type of the draft"),
}


def setting_name(field: str) -> str:
    """A field of `Choice` or `Settings` in English, to be translated where it is shown. One that is
    unknown, as a file of another version may have, keeps its own name."""
    return NAMES.get(field, field.replace("_", " "))
