"""What the engine of a plan does differently, in sentences."""

from __future__ import annotations

from core.language import tr
from core.machine.machine import DeviceKind, Machine
from core.model.model import Model
from core.plan.choice import Engine
from core.plan.engines import RULES
from core.plan.growth import context_per_request
from core.plan.plan import Growth, Plan, Settings
from core.plan.settings import used_gpus
from core.provenance import format_value
from core.units import UnitSystem, format_bytes


def own_context(engine: Engine, model: Model, machine: Machine, backend: str | None) -> int | None:
    """Tokens that the engine reserves for a request where nobody says; None where the file does
    not tell.

    Ollama goes by the memory of its GPUs; the others take what the model was trained for
    (llama-server less, where it would not fit).
    """
    trained = model.shape.context_length
    tiers = RULES[engine].default_contexts
    if not tiers:
        return trained
    gpus = [machine.devices[n] for n in used_gpus(machine, backend)]
    memory = sum(device.memory.value or 0 for device in gpus if device.kind is DeviceKind.GPU)
    tokens = next(tokens for least, tokens in tiers if memory >= least)
    return min(tokens, trained) if trained else tokens


def engine_words(plan: Plan, system: UnitSystem = UnitSystem.GIB) -> tuple[str, ...]:
    """Sentences about context and slots, what is taken by default, what grows with use."""
    settings = plan.settings
    engine = Engine(settings.engine)
    rules = RULES[engine]
    words = [_slots(settings)]
    own = own_context(engine, plan.model, plan.machine, plan.choice.backend)
    if own is not None and own != settings.requested_context:
        words.append(_left_alone(engine, own, settings))
    if rules.full_windows and any(group.window for group in plan.model.cache.groups):
        words.append(
            tr(
                "{engine} keeps the whole context in layers with a sliding window.",
                engine=rules.name,
            )
        )
    if rules.reserved_share is not None:
        words.append(
            tr(
                "{engine} takes {share:.0%} of each GPU whatever the context; what "
                "the model and this context leave of it becomes more cache.",
                engine=rules.name,
                share=rules.reserved_share,
            )
        )
    for device in plan.memory.devices:
        for each in device.growth:
            size = format_bytes(each.bytes.value or 0, system)
            words.append(
                tr(
                    "In use, {engine} may keep up to {size} more in RAM: {what} ({details}).",
                    engine=rules.name,
                    size=size,
                    what=tr(each.name),
                    details=_details(each, system),
                )
            )
    return tuple(words)


def _slots(settings: Settings) -> str:
    rules = RULES[Engine(settings.engine)]
    total, each = settings.context, context_per_request(settings)
    option, slots = tr(rules.context_option), settings.slots
    if rules.per_request and slots > 1:
        return tr(
            "{option} is for one request: {each:,} tokens x {slots} requests = {total:,}.",
            option=option,
            each=each,
            slots=slots,
            total=total,
        )
    if rules.per_request:
        return tr("{option} is for one request: {each:,} tokens.", option=option, each=each)
    if slots == 1:
        return tr(
            "{option} is the whole: {each:,} tokens for one request at a time.",
            option=option,
            each=each,
        )
    if settings.unified_cache:
        return tr(
            "{option} is the whole: {slots} slots share {total:,} tokens, "
            "and one request may use them all.",
            option=option,
            slots=slots,
            total=total,
        )
    return tr(
        "{option} is divided: {slots} slots get {each:,} tokens each, {total:,} in all.",
        option=option,
        slots=slots,
        each=each,
        total=total,
    )


def _left_alone(engine: Engine, own: int, settings: Settings) -> str:
    rules = RULES[engine]
    if rules.default_contexts:
        why = tr("by the memory of its GPUs")
    elif engine is Engine.LLAMA_SERVER:
        why = tr("as the model was trained for, or less to fit")
    else:
        why = tr("as the model was trained for")
    return tr(
        "Left alone, {engine} would take {own:,} tokens ({why}): set {option} to {context:,}.",
        engine=rules.name,
        own=own,
        why=why,
        option=tr(rules.context_option),
        context=settings.requested_context,
    )


def _details(each: Growth, system: UnitSystem) -> str:
    """ "one checkpoint 150 MiB, checkpoints per slot 32, slots 4"."""
    return ", ".join(
        f"{tr(part.name)} {format_value(part.value, part.unit, system)}"
        for part in each.bytes.inputs
    )
