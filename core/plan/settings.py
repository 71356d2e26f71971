"""The choice with every default filled in, as the engine would run it."""

from __future__ import annotations

from typing import Any

from core.language import tr
from core.machine.machine import Backend, DeviceKind, Machine, spoken_name
from core.model.cache_size import padded_context
from core.model.model import Model
from core.plan.choice import Choice, FlashAttention
from core.plan.engines import RULES
from core.plan.legality import problems_of
from core.plan.plan import Settings
from core.problems import Problem, Severity

DEFAULT_CONTEXT = 16_384
DRAFTED = 3  # tokens; llama.cpp b11434, --spec-draft-n-max


def default_context(model: Model) -> int:
    """Tokens where nobody chose: 16,384, or what the model was trained for if that is less."""
    trained = model.shape.context_length
    return min(DEFAULT_CONTEXT, trained) if trained else DEFAULT_CONTEXT


def used_gpus(machine: Machine, backend: str | None) -> tuple[int, ...]:
    """The GPUs that an engine takes by itself, by their place among the machine's devices.

    All discrete ones; else the one beside the RAM (llama.cpp leaves an integrated GPU out where
    there is another). None on the cpu backend.
    """
    if backend == Backend.CPU:
        return ()
    gpus = [n for n, device in enumerate(machine.devices) if device.kind is DeviceKind.GPU]
    discrete = [n for n in gpus if not machine.devices[n].unified]
    return tuple(discrete or gpus[:1])


def layer_count(model: Model) -> int:
    """Layers as -ngl counts them: the trunk, the draft blocks, and the output as one more.

    A model that runs through its blocks several times has a layer for every pass.
    """
    return max(model.cache.layers, model.shape.layers + model.shape.draft_layers) + 1


def fill(model: Model, machine: Machine, choice: Choice) -> tuple[Settings, tuple[Problem, ...]]:
    """Every option as the engine resolves it, and what is illegal or worth a word about it."""
    rules = RULES[choice.engine]
    problems: list[Problem] = []
    slots, unified = _slots(choice)
    requested = max(1, choice.context or default_context(model))
    total = requested * slots if rules.per_request else requested
    context, _ = padded_context(total, slots, unified)
    batch = max(1, min(total, choice.batch or rules.batch))
    ubatch = max(1, min(batch, choice.ubatch or min(rules.ubatch, batch)))
    depth = requested if choice.depth is None else choice.depth
    if depth > context:
        problems.append(_beyond(depth, context))
        depth = context

    gpus = used_gpus(machine, choice.backend)
    backend = Backend.CPU.value
    if gpus:
        backend = choice.backend or machine.devices[gpus[0]].backend.value
    if choice.backend not in (None, Backend.CPU) and not gpus:
        problems.append(
            Problem(
                "no-gpu",
                tr(
                    "{machine} has no GPU for the {backend} backend; everything is planned in RAM.",
                    machine=spoken_name(machine.name),
                    backend=choice.backend,
                ),
                Severity.WARNING,
                tr("Choose another machine, or the cpu backend."),
            )
        )
    layers = layer_count(model)
    wanted = layers if choice.gpu_layers == "all" else max(0, choice.gpu_layers)
    gpu_layers = min(wanted, layers) if gpus else 0

    flash = choice.flash_attention is not FlashAttention.OFF and model.cache.flash_attention
    settings = Settings(
        requested_context=requested,
        context=context,
        depth=depth,
        cache_k=choice.cache_k,
        cache_v=choice.cache_v,
        flash_attention=flash,
        ubatch=ubatch,
        batch=batch,
        slots=slots,
        unified_cache=unified,
        swa_full=choice.swa_full or rules.full_windows,
        engine=choice.engine.value,
        requantize=choice.requantize,
        gpu_layers=gpu_layers,
        cpu_moe=min(max(0, choice.cpu_moe), model.shape.layers) if gpus else 0,
        backend=backend,
        **_beside(model, choice, bool(gpus)),
    )
    return settings, (*problems_of(model, choice, settings), *problems)


def _beside(model: Model, choice: Choice, gpu: bool) -> dict[str, Any]:
    """The settings of what is loaded beside the model."""
    draft, head = choice.draft, choice.draft_head and model.shape.draft_layers > 0
    made: dict[str, Any] = {}
    if choice.projector is not None:
        made["projector"] = str(choice.projector.file.header.path)
        made["projector_on_gpu"] = choice.projector_on_gpu and gpu
    if draft is None and not head:
        return made
    made["draft_cache_k"], made["draft_cache_v"] = choice.draft_cache_k, choice.draft_cache_v
    made["drafted"] = DRAFTED if choice.drafted is None else max(1, choice.drafted)
    if draft is None:
        made["draft_head"] = True
        return made
    made["draft"] = str(draft.file.header.path)
    layers, wanted = layer_count(draft), choice.draft_gpu_layers
    if gpu:
        made["draft_gpu_layers"] = layers if wanted == "all" else min(max(0, wanted), layers)
    return made


def _slots(choice: Choice) -> tuple[int, bool]:
    """Slots, and whether they share one pool.

    llama-server takes four that share; naming a number makes it split the context instead.
    """
    rules = RULES[choice.engine]
    slots = rules.slots if choice.slots is None else max(1, choice.slots)
    if choice.unified_cache is not None:
        return slots, choice.unified_cache
    return slots, rules.unified and not (rules.split_by_slots and choice.slots is not None)


def _beyond(depth: int, context: int) -> Problem:
    return Problem(
        "depth",
        tr(
            "A depth of {depth:,} tokens is beyond the context of {context:,}; "
            "speeds are those at its end.",
            depth=depth,
            context=context,
        ),
        Severity.WARNING,
        tr("Reserve a larger context, or choose a smaller depth."),
    )
