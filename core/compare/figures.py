"""What one plan is compared by, whichever of model and machine it is compared with."""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.language import mark, tr
from core.machine.machine import Machine
from core.model.model import Model
from core.plan import LargestContext, largest_contexts, resolve, room
from core.plan.choice import Choice
from core.plan.plan import Plan, SpeedPlan, Verdict
from core.plan.speed import prefill_seconds
from core.plan.verdict import why_refused
from core.provenance import Input, Number, Rank, Source, Unit

PROMPT = 2_048  # tokens, where nobody chose a prompt for the time to the first token

_SEARCH = Source(Rank.DERIVED, mark("budgets of ever larger contexts"))
_RUNS = Source(Rank.ESTIMATED, mark("published runs"))


@dataclass(frozen=True, slots=True)
class Figures:
    """A plan, and what needs other plans of the same model, machine and choice.

    ``whole`` is the speed with all the context that the model was trained for, from an empty cache
    to a full one. ``room`` is what is free, or lacking where it is negative, on the device that
    decides. ``largest`` is the largest context (tokens) that fits with room to spare, or tightly
    where none of use does (``only_tight``); ``most`` the largest that fits at all. Both are 0
    where none does, None where nobody knows. ``at_empty`` and ``at_full`` are the ceilings at
    both ends of ``whole``, tok/s. ``prompt`` is the time to the first token of a prompt that was
    chosen, s.
    """

    plan: Plan
    whole: SpeedPlan
    room: Number[int]
    largest: Number[int]
    most: int | None
    only_tight: bool
    at_empty: Number[float]
    at_full: Number[float]
    prompt: Number[float]

    @property
    def refused(self) -> str:
        """Why the engine would not start so at all; empty where it would."""
        return why_refused(self.plan.problems)

    @property
    def fits(self) -> bool:
        """Whether it can run so, as far as is known; else its speeds are those of a wish."""
        return self.plan.verdict is not Verdict.DOES_NOT_FIT and not self.refused


def figures(model: Model, machine: Machine, choice: Choice, prompt: int = PROMPT) -> Figures:
    """The figures of a model on a machine with a choice; ``prompt`` in tokens."""
    plan = resolve(model, machine, choice)
    context = max(model.shape.context_length or 0, plan.settings.requested_context)
    whole = resolve(model, machine, replace(choice, context=context, depth=None))
    empty = resolve(model, machine, replace(choice, context=context, depth=0))
    answer = _search(model, machine, choice)
    most = None if answer is None else answer.most
    if answer and not most and not answer.refused and _is_too_small(model, machine, choice):
        most = 0
    return Figures(
        plan=plan,
        whole=whole.speed,
        room=room(plan.memory.devices),
        largest=_largest(choice, answer, most),
        most=most,
        only_tight=answer is not None and answer.tight,
        at_empty=empty.speed.ceiling,
        at_full=whole.speed.ceiling,
        prompt=_first_token(plan, prompt),
    )


def _search(model: Model, machine: Machine, choice: Choice) -> LargestContext | None:
    """How far the context can go with the chosen cache types; None where no context decides."""
    found = largest_contexts(model, machine, choice, ((choice.cache_k, choice.cache_v),))
    return found[0] if found else None


def _largest(choice: Choice, answer: LargestContext | None, most: int | None) -> Number[int]:
    """The largest context as the plan offers it."""
    if answer is None:
        note = mark("No context decides: this model keeps no cache, or what it keeps is not known.")
        return Number(None, Unit.TOKENS, _SEARCH, note=note)
    return Number(
        answer.offered or most,
        Unit.TOKENS,
        _SEARCH,
        mark("the largest context whose budget fits, with these cache types"),
        (
            Input(mark("K type"), choice.cache_k),
            Input(mark("V type"), choice.cache_v),
            Input(
                mark("with room to spare up to"), answer.comfortable or mark("nothing"), Unit.TOKENS
            ),
            Input(mark("tightly up to"), answer.most or mark("nothing"), Unit.TOKENS),
        ),
        _largest_note(answer, most),
    )


def _is_too_small(model: Model, machine: Machine, choice: Choice) -> bool:
    """Whether not even one token fits, rather than that nobody knows."""
    trial = replace(choice, context=1, depth=None)
    return resolve(model, machine, trial).verdict is Verdict.DOES_NOT_FIT


def _largest_note(answer: LargestContext, most: int | None) -> str:
    if answer.refused:
        return answer.refused
    if most == 0:
        return mark("Not even the smallest context fits.")
    if most is None:
        return mark("Of no context it is known that it fits.")
    if answer.tight:
        if not answer.comfortable:
            return mark("It fits, but tightly.")
        return tr(
            "It fits, but tightly, with room to spare up to {count:,}.", count=answer.comfortable
        )
    if answer.comfortable != most:
        return tr("From there up to {count:,} tokens it fits, but tightly.", count=most)
    return mark("All that the model was trained for.") if answer.whole else ""


def _first_token(plan: Plan, prompt: int) -> Number[float]:
    """Seconds from sending a prompt of so many tokens to the first token of the answer."""
    span = prefill_seconds(plan, 0, prompt)
    inputs: tuple[Input, ...] = (Input(mark("prompt"), prompt, Unit.TOKENS),)
    if span is None:
        note = plan.speed.ttft.note or plan.speed.expected.mid.note
        if prompt > plan.settings.context:
            note = tr("A prompt of {count:,} tokens is longer than the context.", count=prompt)
        return Number(None, Unit.SECONDS, _RUNS, "", inputs, note or mark("It is not known."))
    inputs += (
        Input(mark("at best"), span.low, Unit.SECONDS),
        Input(mark("at worst"), span.high, Unit.SECONDS),
    )
    source = plan.speed.prefill.source
    return Number(span.mid, Unit.SECONDS, source, mark("prompt / prefill rate"), inputs)
