"""Which layers attend to a sliding window, and which rule of the file or the engine says so."""

from __future__ import annotations

from dataclasses import dataclass

from core.language import tr
from core.model import architectures
from core.model.architectures import WindowDefault
from core.model.keys import Keys
from core.model.outline import Outline

WINDOW = "attention.sliding_window"
PATTERN = "attention.sliding_window_pattern"
INTERVAL = "full_attention_interval"


@dataclass(frozen=True, slots=True)
class Windows:
    """``layers`` tells for every layer whether it is windowed; ``size`` is in tokens.

    ``decided`` is False where the file has a window and nothing says for which layers.
    """

    layers: tuple[bool, ...]
    size: int
    rule: str
    chunked: bool = False
    decided: bool = True

    @property
    def any(self) -> bool:
        """Whether any layer is windowed."""
        return any(self.layers)


def windows_of(keys: Keys, outline: Outline, recurrent: tuple[bool, ...]) -> Windows:
    """The pattern array decides, then an interval, then a period, then the engine's own default
    for the architecture."""
    architecture = outline.architecture
    stated = keys.integer(WINDOW)
    default = architectures.WINDOWS.get(architecture)
    if architecture == "exaone4" and outline.trunk != architectures.EXAONE4_WINDOWED_LAYERS:
        return _none(outline, tr("full attention: exaone4 has windows with 64 layers only"))
    if default is None:
        if not stated:
            return _none(outline, tr("full attention: the keys name no window"))
        if architecture in architectures.KNOWN:
            return _none(
                outline,
                tr(
                    "full attention: llama.cpp reads no window for {architecture}",
                    architecture=architecture,
                ),
            )
        default = WindowDefault(None)
    if stated == 0 and (default.needs_key or default.fixed_size):
        return _none(outline, tr("full attention: {key} is 0", key=WINDOW))
    if stated is None and default.needs_key:
        return _none(outline, tr("full attention: there is no {key}", key=WINDOW))
    size = default.fixed_size or (stated if stated is not None else default.size) or 0
    if architecture == "dflash" and keys.count("hyper_connection.count"):
        default = WindowDefault(0)
    layers, rule = _layers(keys, outline, default, any(recurrent))
    if layers is None:
        return Windows(
            (False,) * outline.total, size, tr("{key} without a pattern", key=WINDOW), decided=False
        )
    if default.fixed_size and default.fixed_size != stated:
        rule = tr(
            "{rule}; the window is {size:,} in llama.cpp whatever the keys say",
            rule=rule,
            size=size,
        )
    elif stated is None:
        rule = tr(
            "{rule}; window {size:,} by default for {architecture} (assumed)",
            rule=rule,
            size=size,
            architecture=architecture,
        )
    return Windows(layers, size, rule, default.chunked)


def _layers(
    keys: Keys, outline: Outline, default: WindowDefault, recurrent: bool
) -> tuple[tuple[bool, ...] | None, str]:
    if default.reads_pattern and keys.is_array(PATTERN):
        values = keys.per_layer(PATTERN, outline.total)
        if values is not None:
            return tuple(bool(value) for value in values), PATTERN
    # In a hybrid the interval tells attention from recurrence, not full from windowed.
    interval = keys.count(INTERVAL)
    if interval and not recurrent and outline.architecture not in architectures.KNOWN:
        return _periodic(outline, interval, False), f"{INTERVAL} {interval}"
    period = keys.integer(PATTERN) if default.reads_pattern else None
    if period is not None:
        rule = f"{PATTERN} {period}: {_ordinal(period, default.dense_first)}"
        return _periodic(outline, period, default.dense_first), rule
    if default.period is None:
        return None, ""
    rule = tr(
        "{rule}, by default for {architecture} (assumed: the keys do not say)",
        rule=_ordinal(default.period, default.dense_first),
        architecture=outline.architecture,
    )
    return _periodic(outline, default.period, default.dense_first), rule


def _periodic(outline: Outline, period: int, dense_first: bool) -> tuple[bool, ...]:
    """Draft blocks attend to everything, except where the whole model is windowed by design."""
    if dense_first:
        trunk = tuple(period == 0 or layer % period != 0 for layer in range(outline.trunk))
    else:
        trunk = tuple(period == 0 or layer % period < period - 1 for layer in range(outline.trunk))
    draft = period == 0 and outline.architecture in ("deepseek4", "dflash")
    return trunk + (draft,) * outline.draft


def _ordinal(period: int, dense_first: bool) -> str:
    if period == 0:
        return tr("every layer is windowed")
    if period == 1:
        return tr("every layer is full")
    if dense_first:
        return tr("of every {count} layers the first is full", count=period)
    return tr("of every {count} layers the last is full", count=period)


def _none(outline: Outline, rule: str) -> Windows:
    return Windows((False,) * outline.total, 0, rule)
