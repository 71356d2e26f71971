"""The user's own measurements, which correct what published runs lead to expect."""

from __future__ import annotations

from core.plan.plan import Settings


def configuration(settings: Settings) -> str:
    """What must be the same for a run at another depth to count in full: all that places or
    stores the model differently, in one line."""
    flash = "on" if settings.flash_attention else "off"
    words = [
        settings.engine,
        settings.backend,
        f"{settings.gpu_layers} layers on the GPU",
        f"{settings.cpu_moe} layers' experts in RAM",
        f"K {settings.cache_k}",
        f"V {settings.cache_v}",
        f"flash attention {flash}",
    ]
    if settings.requantize is not None:
        words.append(f"as {settings.requantize}")
    return ", ".join(words)
