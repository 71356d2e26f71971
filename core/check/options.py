"""Like with like: where the options of a plan and those of an engine's log differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from core.check.engine_log import Context, Load
from core.language import mark, tr, trc, written
from core.model.model import Model
from core.plan.choice import Engine, FlashAttention
from core.plan.engines import RULES
from core.plan.plan import PartKind, Plan
from core.plan.settings import layer_count, used_gpus

_W, _C, _S = PartKind.WEIGHTS, PartKind.CACHE, PartKind.STATE
_B, _O = PartKind.COMPUTE, PartKind.OUTPUT
ALL = frozenset((_W, _C, _S, _B, _O))

# Names of devices in a log, by the backend that gives them (ggml's own *_NAME).
BACKENDS = {
    "CUDA": "cuda",
    "ROCm": "rocm",
    "Vulkan": "vulkan",
    "SYCL": "sycl",
    "Metal": "metal",
    "MTL": "metal",
}


@dataclass(frozen=True, slots=True)
class Mismatch:
    """An option that the plan and the log have differently. ``parts`` cannot be compared then."""

    option: str
    plan: str
    log: str
    parts: frozenset[PartKind]

    @property
    def sentence(self) -> str:
        """ "context: 4,096 in the log, 16,384 in the plan"."""
        return tr(
            "{option}: {log} in the log, {plan} in the plan",
            option=tr(self.option),
            log=self.log,
            plan=self.plan,
        )


def other_model(model: Model, load: Load) -> str:
    """Why the log is of another model altogether; empty where it is not, or does not say."""
    if load.architecture and load.architecture != model.architecture:
        return tr(
            "The log is of a {other} model, the open one is {own}.",
            other=load.architecture,
            own=model.architecture,
        )
    if load.tensors is not None and load.tensors != len(model.file.tensors):
        return tr(
            "The log is of a model with {other:,} tensors, the open one has {own:,}.",
            other=load.tensors,
            own=len(model.file.tensors),
        )
    return ""


def mismatches(plan: Plan, load: Load, context: Context | None) -> tuple[Mismatch, ...]:
    """Every option that decides sizes and differs; what the log does not tell is left out."""
    return (
        *_file(plan, load),
        *_devices(plan, load),
        *(_options(plan, context) if context else ()),
    )


def changes(plan: Plan, load: Load, context: Context | None) -> dict[str, Any]:
    """The fields of the `Choice` that make a plan like the log; empty where it is like it as far
    as a choice can make it."""
    wanted = _wanted(plan, load, context)
    choice = plan.choice
    if all(_same(plan, name, value) for name, value in wanted.items()):
        return {}
    return {name: value for name, value in wanted.items() if getattr(choice, name) != value}


def log_backend(name: str) -> str | None:
    """The backend of a device by its name in a log; None for one that has no name here."""
    return next((b for prefix, b in BACKENDS.items() if name.startswith(prefix)), None)


def is_host(name: str) -> bool:
    """Whether a buffer of this name lies in RAM."""
    return name.startswith(("CPU", "AMX", "BLAS", "Host")) or name.endswith("_Host")


def gpu_names(load: Load, context: Context | None) -> list[str]:
    """The GPUs of a log in order, "CUDA0" before "CUDA1"."""
    names = {buffer.name for buffer in load.buffers}
    names |= {buffer.name for buffer in (context.buffers if context else ())}
    names |= {row.name for row in load.table}
    found = {device_name(name) for name in names if not is_host(name)}
    return sorted(found, key=lambda name: (len(name), name))


def device_name(buffer: str) -> str:
    """The device of a buffer: "Metal" of "Metal_Mapped"."""
    return buffer.removesuffix("_Mapped").removesuffix("_Private")


def rows_of_logits(plan: Plan) -> int:
    """How many rows of logits the plan's engine reserves."""
    s = plan.settings
    whole = RULES[Engine(s.engine)].whole_batch_logits
    return min(s.ubatch, s.batch if whole else s.slots)


def _log_rows(context: Context) -> int | None:
    """Builds that do not print n_outputs_max reserve them for a whole batch."""
    if context.ubatch is None:
        return None
    return context.ubatch if not context.outputs else min(context.ubatch, context.outputs)


def _file(plan: Plan, load: Load) -> list[Mismatch]:
    size = load.file_size
    if size is None or size.low <= plan.weights.bytes <= size.high:
        return []
    kind = load.file_type or tr("of another size")
    shown = plan.weights.label or tr("as it is")
    return [Mismatch(mark("quantization"), shown, kind, frozenset((_W,)))]


def _devices(plan: Plan, load: Load) -> list[Mismatch]:
    found = []
    context = load.contexts[0] if load.contexts else None
    names = gpu_names(load, context)
    gpus = used_gpus(plan.machine, plan.choice.backend)
    if bool(names) != bool(gpus) or (names and len(names) != len(gpus)):
        none = trc("how many GPUs", "none")
        found.append(Mismatch(mark("GPUs"), str(len(gpus) or none), ", ".join(names) or none, ALL))
    elif names:
        backend = log_backend(names[0])
        if backend is not None and backend != plan.settings.backend:
            found.append(Mismatch(mark("backend"), plan.settings.backend, backend, ALL - {_O}))
    layers = load.gpu_layers
    if gpus and names and layers is not None and layers != plan.settings.gpu_layers:
        parts = ALL - {_O}
        found.append(
            Mismatch(mark("layers on the GPU"), str(plan.settings.gpu_layers), str(layers), parts)
        )
    experts = len(load.experts_on_host)
    if gpus and experts and experts != plan.settings.cpu_moe:
        found.append(
            Mismatch(
                mark("layers with experts in RAM"),
                str(plan.settings.cpu_moe),
                str(experts),
                frozenset((_W, _B)),
            )
        )
    return found


def _options(plan: Plan, context: Context) -> list[Mismatch]:
    s = plan.settings
    groups = plan.model.cache.groups
    windows = any(group.window is not None for group in groups)
    padded = any(group.v_width_padded != group.v_width for group in groups)
    both = frozenset((_C, _B))
    found: list[Mismatch] = []

    def check(
        option: str,
        planned: Any,
        logged: Any,
        parts: frozenset[PartKind],
        words: Callable[[Any], str] = str,
    ) -> None:
        if logged is not None and logged != planned:
            found.append(Mismatch(option, words(planned), words(logged), parts))

    check(mark("context"), s.context, context.context, both, written)
    check(mark("slots"), s.slots, context.slots, both | {_S, _O})
    if max(s.slots, context.slots or 1) > 1:
        check(mark("one cache for all slots"), s.unified_cache, context.unified, both, _yes)
    check(mark("ubatch"), s.ubatch, context.ubatch, both if windows else frozenset((_B,)))
    types = context.types()
    if types:
        check(mark("K cache type"), s.cache_k, types[0], both)
        if any(group.v_width for group in groups):
            check(mark("V cache type"), s.cache_v, types[1], both)
    flash = both if padded else frozenset((_B,))
    check(mark("flash attention"), s.flash_attention, context.flash_attention, flash, _yes)
    if windows:
        check(mark("full window cache"), s.swa_full, _swa_full(context), both, _yes)
    check(mark("rows of logits"), rows_of_logits(plan), _log_rows(context), frozenset((_B,)))
    check(mark("drafted tokens"), 0, context.drafted, frozenset((_S, _B)))
    return found


def _swa_full(context: Context) -> bool | None:
    """Only builds that name their caches tell."""
    if context.swa_full:
        return True
    return False if any(cache.name == "SWA" for cache in context.caches) else None


def _wanted(plan: Plan, load: Load, context: Context | None) -> dict[str, Any]:
    """The options of the log as fields of a choice."""
    wanted: dict[str, Any] = {}
    size = load.file_size
    if size and size.low <= plan.model.weights.bytes <= size.high:
        wanted["requantize"] = None
    names = gpu_names(load, context)
    gpus = used_gpus(plan.machine, None)
    if gpus and not names and (load.buffers or load.table):
        wanted["backend"] = "cpu"
    elif gpus and len(names) == len(gpus):
        backend = log_backend(names[0])
        if backend is not None and backend != plan.settings.backend:
            wanted["backend"] = backend
        if load.gpu_layers is not None:
            every = load.gpu_layers >= layer_count(plan.model)
            wanted["gpu_layers"] = "all" if every else load.gpu_layers
        experts = load.experts_on_host
        if experts and experts == set(range(len(experts))):
            wanted["cpu_moe"] = len(experts)
    if context is None:
        return wanted
    rules = RULES[Engine(plan.settings.engine)]
    rows = _log_rows(context)
    slots = context.slots or plan.settings.slots
    if rows is not None and rows != rows_of_logits(plan):
        if rows == context.ubatch:
            wanted["engine"] = Engine.LLAMA_CLI
        elif rows == slots:
            wanted["engine"] = Engine.LLAMA_SERVER
        rules = RULES[wanted.get("engine", Engine(plan.settings.engine))]
    if context.context is not None:
        wanted["context"] = context.context // (slots if rules.per_request else 1)
    wanted["slots"] = slots
    told = {
        "unified_cache": context.unified,
        "batch": context.batch,
        "ubatch": context.ubatch,
    }
    wanted |= {name: value for name, value in told.items() if value is not None}
    if types := context.types():
        wanted["cache_k"] = types[0]
        if any(group.v_width for group in plan.model.cache.groups):
            wanted["cache_v"] = types[1]
    if context.flash_attention is not None:
        on = context.flash_attention
        wanted["flash_attention"] = FlashAttention.ON if on else FlashAttention.OFF
    if (full := _swa_full(context)) is not None:
        wanted["swa_full"] = full
    return wanted


def _same(plan: Plan, name: str, value: Any) -> bool:
    """Whether the plan resolved a field to this value, whoever chose it."""
    s = plan.settings
    match name:
        case "context":
            rules = RULES[Engine(s.engine)]
            return bool(s.context == value * (s.slots if rules.per_request else 1))
        case "flash_attention":
            return bool(s.flash_attention == (value is FlashAttention.ON))
        case "gpu_layers":
            count = layer_count(plan.model) if value == "all" else value
            return bool(s.gpu_layers == count)
        case "unified_cache":
            return bool(s.slots == 1 or s.unified_cache == value)
        case "batch":  # alone it changes nothing but what the other options say already
            return True
    return bool(getattr(s, name) == value)


def _yes(value: object) -> str:
    return tr("yes") if value else tr("no")
