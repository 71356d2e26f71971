"""One model on several machines, a row for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from core.machine import catalogue
from core.machine.machine import Machine
from core.model.model import Model
from core.plan import LargestContext, largest_contexts, resolve, room
from core.plan.choice import Choice
from core.plan.placement import place
from core.plan.plan import Plan, SpeedPlan, Verdict
from core.plan.speed import prefill_seconds
from core.provenance import Input, Number, Rank, Source, Unit

PROMPT = 2_048  # tokens, where nobody chose a prompt for the time to the first token
PER = 1_000  # units of currency that speed per price is told for

_SEARCH = Source(Rank.DERIVED, "budgets of ever larger contexts")
_USER = Source(Rank.REPORTED, "typed by you")
_RUNS = Source(Rank.ESTIMATED, "published runs")
_WATTS_NOTE = "What the maker allows the chip or the card to draw; the rest of the computer adds."


@dataclass(frozen=True, slots=True)
class MachineRow:
    """What the open model costs on one machine.

    ``key`` is the machine in one line (``core.machine.spec``), by which prices are kept too.
    ``plan`` is for the chosen context; ``whole`` is the speed with all the context that the model
    was trained for, from an empty cache to a full one. ``room`` is what is free, or lacking where
    it is negative, on the device that decides. ``per_price`` is tok/s expected for 1,000 units of
    the currency that the price was typed in.
    """

    key: str
    plan: Plan
    whole: SpeedPlan
    room: Number[int]
    largest: Number[int]
    at_empty: Number[float]
    at_full: Number[float]
    prompt: Number[float]
    watts: Number[int]
    price: Number[float]
    per_price: Number[float]

    @property
    def machine(self) -> Machine:
        """The machine of this row."""
        return self.plan.machine

    @property
    def at_depth(self) -> Number[float]:
        """The ceiling at the chosen depth, tok/s."""
        return self.plan.speed.ceiling


def compare(
    model: Model,
    machines: Sequence[tuple[str, Machine]],
    choice: Choice,
    *,
    prompt: int = PROMPT,
    prices: Mapping[str, float] | None = None,
) -> tuple[MachineRow, ...]:
    """A row for each machine, in the same order; machines come with their keys.

    ``prompt`` is in tokens, ``prices`` are by key, in a currency that only the user knows.
    """
    return tuple(
        compare_one(model, machine, choice, key=key, prompt=prompt, price=(prices or {}).get(key))
        for key, machine in machines
    )


def compare_one(
    model: Model,
    machine: Machine,
    choice: Choice,
    *,
    key: str,
    prompt: int = PROMPT,
    price: float | None = None,
) -> MachineRow:
    """The row of one machine."""
    plan = resolve(model, machine, choice)
    context = max(model.shape.context_length or 0, plan.settings.requested_context)
    whole = resolve(model, machine, replace(choice, context=context, depth=None))
    empty = resolve(model, machine, replace(choice, context=context, depth=0))
    paid = _price(price)
    return MachineRow(
        key=key,
        plan=plan,
        whole=whole.speed,
        room=room(place(model, machine, plan.settings), plan.memory.devices),
        largest=largest(model, machine, choice),
        at_empty=empty.speed.ceiling,
        at_full=whole.speed.ceiling,
        prompt=_first_token(plan, prompt),
        watts=watts(machine),
        price=paid,
        per_price=_per_price(plan, paid),
    )


def largest(model: Model, machine: Machine, choice: Choice) -> Number[int]:
    """The largest context, in tokens, that is at least tight with the chosen cache types."""
    pair = (choice.cache_k, choice.cache_v)
    found = largest_contexts(model, machine, choice, (pair,))
    if not found:
        note = "No context decides: this model keeps no cache, or what it keeps is not known."
        return Number(None, Unit.TOKENS, _SEARCH, note=note)
    (answer,) = found
    return Number(
        answer.most or (0 if _is_too_small(answer, model, machine, choice) else None),
        Unit.TOKENS,
        _SEARCH,
        "the largest context whose budget fits, with these cache types",
        (
            Input("K type", choice.cache_k),
            Input("V type", choice.cache_v),
            Input("comfortable up to", answer.comfortable, Unit.TOKENS),
        ),
        _largest_note(answer),
    )


def _is_too_small(answer: LargestContext, model: Model, machine: Machine, choice: Choice) -> bool:
    """Whether not even the smallest context fits, rather than that nobody knows."""
    if answer.refused:
        return False
    trial = replace(choice, context=1, depth=None)
    return resolve(model, machine, trial).verdict is Verdict.DOES_NOT_FIT


def _largest_note(answer: LargestContext) -> str:
    if answer.refused:
        return answer.refused
    if answer.most is None:
        return "Not even the smallest context is known to fit."
    return "All that the model was trained for." if answer.whole else ""


def watts(machine: Machine) -> Number[int]:
    """What the GPUs may draw together, or the chip of a machine without any; by the catalogue."""
    devices = machine.gpus or machine.devices
    found: list[tuple[str, int]] = []
    for device in devices:
        row = catalogue.find(device.catalogue_id)
        if row is None or row.watts is None:
            note = f"The catalogue does not say what {device.name} draws."
            return Number(None, Unit.WATTS, Source(Rank.REPORTED, "catalogue"), note=note)
        # Two chips of one card share what it may draw.
        found.append((device.name, row.watts // row.devices))
    row = catalogue.find(devices[0].catalogue_id)
    assert row is not None
    return Number(
        sum(each for _, each in found),
        Unit.WATTS,
        row.provenance,
        "sum over the devices" if len(found) > 1 else "",
        tuple(Input(name, each, Unit.WATTS) for name, each in found) if len(found) > 1 else (),
        _WATTS_NOTE,
    )


def _first_token(plan: Plan, prompt: int) -> Number[float]:
    """Seconds from sending a prompt of so many tokens to the first token of the answer."""
    span = prefill_seconds(plan, 0, prompt)
    inputs: tuple[Input, ...] = (Input("prompt", prompt, Unit.TOKENS),)
    if span is None:
        note = plan.speed.ttft.note or plan.speed.expected.mid.note
        if prompt > plan.settings.context:
            note = f"A prompt of {prompt:,} tokens is longer than the context."
        return Number(None, Unit.SECONDS, _RUNS, "", inputs, note or "Not known.")
    inputs += (
        Input("at best", span.low, Unit.SECONDS),
        Input("at worst", span.high, Unit.SECONDS),
    )
    return Number(span.mid, Unit.SECONDS, plan.speed.ttft.source, "prompt / prefill rate", inputs)


def _price(price: float | None) -> Number[float]:
    note = "" if price else "No price was typed for this machine."
    return Number(price or None, Unit.COUNT, _USER, note=note)


def _per_price(plan: Plan, price: Number[float]) -> Number[float]:
    """Tokens per second expected at the chosen depth for 1,000 units of currency."""
    rate = plan.speed.expected.mid
    if price.value is None or rate.value is None or plan.verdict is Verdict.DOES_NOT_FIT:
        note = price.note or rate.note or "It does not fit."
        return Number(None, Unit.TOKENS_PER_SECOND, _RUNS, note=note)
    return Number(
        PER * rate.value / price.value,
        Unit.TOKENS_PER_SECOND,
        rate.source,
        f"speed expected / price x {PER:,}",
        (
            Input("speed expected", rate.value, Unit.TOKENS_PER_SECOND),
            Input("price", price.value),
        ),
    )
