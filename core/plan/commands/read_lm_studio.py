"""LM Studio as it is pasted: lms load, lines of its load settings, a load configuration."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from core.language import tr
from core.machine.machine import Backend
from core.plan.choice import Engine
from core.plan.commands import lm_studio
from core.plan.commands.found import Found, pairs, switched
from core.plan.settings import layer_count

_SETTING = re.compile(r"(?:#|rem\b|-|\*)? *([A-Z][A-Za-z ]{1,60}?) *: *(\S.*)", re.IGNORECASE)
_LONGEST = 300  # characters of such a line
_KEYS = {  # of LM Studio's SDK and of its REST API
    "contextLength": "context",
    "context_length": "context",
    "evalBatchSize": "batch",
    "eval_batch_size": "batch",
    "flashAttention": "flash",
    "flash_attention": "flash",
    "llamaKCacheQuantizationType": "cache_k",
    "llamaVCacheQuantizationType": "cache_v",
    "maxParallelPredictions": "slots",
    "parallel": "slots",
    "useUnifiedKvCache": "unified",
}
_SWITCHES = frozenset(("-y", "--yes", "--exact", "--estimate-only", "--verbose", "--quiet"))
_NO_MATTER = frozenset(("--ttl", "--identifier", "--host", "--port", "--log-level"))


def key(name: str, value: Any, found: Found) -> bool:
    """A key of a load configuration; False for another."""
    text = f"{name}: {value}"
    if name in _KEYS:
        found.engine = Engine.LM_STUDIO
        _named(_KEYS[name], text, str(value), found)
    elif name == "gpu" and isinstance(value, dict):
        found.engine = Engine.LM_STUDIO
        _ratio(text, str(value.get("ratio", "")), found)
    else:
        return False
    return True


def setting(line: str, found: Found) -> bool:
    """A line as LM Studio's settings read: "K Cache Quantization Type: q8_0"."""
    line = line.strip()
    match = _SETTING.match(line) if len(line) <= _LONGEST else None
    if match is None:
        return False
    name, value, text = match[1].lower(), match[2].strip(), line.strip(" #")
    kinds = {
        lm_studio.CACHE_K.lower(): "cache_k",
        lm_studio.CACHE_V.lower(): "cache_v",
        lm_studio.FLASH.lower(): "flash",
        lm_studio.BATCH.lower(): "batch",
        lm_studio.UNIFIED.lower(): "unified",
        lm_studio.EXPERTS.lower(): "experts",
        "max concurrent predictions": "slots",
        "context length": "context",
    }
    if name == lm_studio.RUNTIME.lower() and value == lm_studio.CPU_RUNTIME:
        found.backend(text, Backend.CPU)
    elif name in kinds:
        _named(kinds[name], text, value, found)
    else:
        return False
    found.engine = Engine.LM_STUDIO
    return True


def command(words: Sequence[str], found: Found) -> None:
    """lms load, with its options."""
    if "load" not in words:
        found.decline(" ".join(["lms", *words]), tr("only lms load decides memory"))
        return
    found.engine = Engine.LM_STUDIO
    found.whole = True
    for option, value, text in pairs(words[words.index("load") + 1 :], _SWITCHES):
        if value is None and option not in _SWITCHES and option.startswith("-"):
            found.decline(text, tr("its value is missing"))
        elif option in ("-c", "--context-length"):
            found.context(text, value or "")
        elif option == "--gpu":
            _ratio(text, value or "", found)
        elif option == "--parallel":
            found.slots(text, value or "")
        elif option.startswith("-") and option not in _NO_MATTER | _SWITCHES:
            found.decline(text, tr("lms load has no such option"))
        else:
            found.pass_over(text)


def _named(kind: str, text: str, value: str, found: Found) -> None:
    match kind:
        case "context":
            found.context(text, value.replace(",", ""))
        case "batch":
            found.batch("batch", text, value)
            found.batch("ubatch", text, value)
        case "flash":
            found.flash(text, value)
        case "slots":
            found.slots(text, value)
        case "experts":
            found.experts(text, value)
        case "unified":
            if (switch := switched(value)) is None:
                found.decline(text, tr("it is on or off"), "unified_cache")
            else:
                found.put(text, unified_cache=switch)
        case _:
            off = value.lower() in ("false", "off", "none")
            found.cache_type(kind, text, "f16" if off else value)


def _ratio(text: str, value: str, found: Found) -> None:
    """LM Studio's share of the layers."""
    word = value.strip().lower()
    if word in ("max", "off"):
        found.put(text, gpu_layers="all" if word == "max" else 0)
        return
    if not re.fullmatch(r"\d?\.?\d{1,9}", word) or float(word) > 1:
        found.decline(text, tr("it is max, off, or a share between 0 and 1"), "gpu_layers")
        return
    found.layers(text, str(round(float(word) * layer_count(found.plan.model))))
