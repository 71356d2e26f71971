"""The largest context that fits, by cache type: found by making budgets, never by estimate."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias, TypeVar

from core.language import tr, trc
from core.machine.machine import Machine
from core.model.cache_size import FP8, PADDING
from core.model.model import Model
from core.plan.budget import budget
from core.plan.choice import Choice, Engine
from core.plan.engines import RULES
from core.plan.plan import MemoryPlan, Settings, Verdict
from core.plan.verdict import margin, why_refused
from core.problems import Problem, Severity
from core.units import format_tokens

# The cache types that are worth comparing: none, one and two halvings.
PAIRS = (("f16", "f16"), ("q8_0", "q8_0"), ("q4_0", "q4_0"))
# vLLM has one halving of its own.
_VLLM_PAIRS = (("f16", "f16"), (FP8, FP8))
# How far to look where a file does not say what its model was trained for.
UNTRAINED = 2**20

T = TypeVar("T")
Turns: TypeAlias = Generator[None, None, T]


class Tried(Protocol):
    """What a trial must tell: a budget or a plan."""

    @property
    def settings(self) -> Settings: ...
    @property
    def memory(self) -> MemoryPlan: ...
    @property
    def problems(self) -> tuple[Problem, ...]: ...


# A context with room to spare that is less than this part of a tight one is not offered for it.
_OF_USE = 4


@dataclass(frozen=True, slots=True)
class LargestContext:
    """How far the context can go with these cache types, as the engine's option takes it.

    ``comfortable`` is the largest whose verdict is *fits*, ``most`` the largest that is at least
    *tight*; None where not even the smallest is. ``whole`` says that ``most`` is all that the
    model was trained for. ``refused`` is why the engine would not start with these types at all.
    """

    cache_k: str
    cache_v: str
    comfortable: int | None
    most: int | None
    whole: bool = False
    refused: str = ""

    @property
    def offered(self) -> int | None:
        """The one figure that stands for both: the largest that fits with room to spare, or that
        fits tightly where none does or only one too small to be of use beside it."""
        least = (self.most or 0) // _OF_USE
        return self.comfortable if (self.comfortable or -1) >= least else self.most

    @property
    def tight(self) -> bool:
        """Whether what is offered fits, but tightly."""
        return self.offered is not None and self.offered != self.comfortable

    @property
    def words(self) -> str:
        """The same in words: "145,920", "50,176, tight", "none"."""
        if not self.offered:
            return trc("no context fits", "none")
        tokens = format_tokens(self.offered)
        return tr("{context}, tight", context=tokens) if self.tight else tokens

    @property
    def types(self) -> str:
        """One name, or both where they differ."""
        if self.cache_k == self.cache_v:
            return self.cache_k
        return f"{self.cache_k}/{self.cache_v}"


def pairs_for(engine: Engine) -> tuple[tuple[str, str], ...]:
    """The cache types worth comparing for an engine."""
    return _VLLM_PAIRS if engine is Engine.VLLM else PAIRS


def largest_contexts(
    model: Model,
    machine: Machine,
    choice: Choice,
    pairs: Sequence[tuple[str, str]] | None = None,
) -> tuple[LargestContext, ...]:
    """The largest context for each pair of cache types (`pairs_for` its engine unless given), the
    rest of the choice as it is.

    Every figure is one whose budget was made and found good: where memory does not rise with the
    context at every step, a larger one may fit as well, never a smaller one only. Empty where no
    context decides: a model without a cache, or of which the cache is not known.
    """
    found = []
    for cache_k, cache_v in pairs_for(choice.engine) if pairs is None else pairs:
        search = search_context(model, machine, choice, cache_k, cache_v)
        try:
            while True:
                next(search)
        except StopIteration as end:
            found.append(end.value)
    return tuple(each for each in found if each is not None)


def search_context(
    model: Model,
    machine: Machine,
    choice: Choice,
    cache_k: str,
    cache_v: str,
    attempt: Callable[[Model, Machine, Choice], Tried] = budget,
) -> Turns[LargestContext | None]:
    """The search for one pair of types. Yields before each ``attempt``, so that a window can go
    on; None where no context decides."""
    if not model.cache.known or not model.cache.groups:
        return None
    yield
    trial = replace(choice, context=None, depth=None, cache_k=cache_k, cache_v=cache_v)
    settings = attempt(model, machine, trial).settings
    per_request = RULES[choice.engine].per_request
    parts = 1 if per_request or settings.unified_cache else settings.slots
    trained = model.shape.context_length
    limit = (trained or UNTRAINED) * parts
    step = PADDING * parts

    made: dict[int, Tried] = {}

    def of(count: int) -> Tried:
        if count not in made:
            context = min(count * step, limit)
            made[count] = attempt(model, machine, replace(trial, context=context))
        return made[count]

    yield
    errors = [p for p in of(1).problems if p.severity is Severity.ERROR]
    refused = next((p.message for p in errors if p.code == "illegal"), "")
    if refused:
        return LargestContext(cache_k, cache_v, None, None, refused=refused)
    last = -(-limit // step)
    most = yield from _largest(last, lambda n: _trial(of(n), Verdict.FITS, Verdict.TIGHT))
    comfortable = yield from _largest(most, lambda n: _trial(of(n), Verdict.FITS))
    return LargestContext(
        cache_k,
        cache_v,
        min(comfortable * step, limit) or None,
        min(most * step, limit) or None,
        whole=bool(trained) and most == last,
    )


def _trial(made: Tried, *verdicts: Verdict) -> tuple[bool, int]:
    """Whether the verdict is one of these and the engine would start, and the bytes to spare (or
    lacking) on the device that has least, which only help to guess."""
    kept = Verdict.TIGHT not in verdicts
    room = min(
        (
            plan.free.value - (margin(plan.device) if kept else 0)
            for plan in made.memory.devices
            if plan.free.value is not None
        ),
        default=0,
    )
    starts = not why_refused(made.problems)
    return starts and made.memory.verdict in verdicts, room


def _largest(last: int, ask: Callable[[int], tuple[bool, int]]) -> Turns[int]:
    """The largest number from 1 to ``last`` that is good where all below it are, 0 for none.

    The ends are asked first: often one of them is the answer. Memory grows nearly in a line, so
    that the room at both sides says where it ends; a guess that does not halve what is left is
    followed by halving it.
    """
    if last < 1:
        return 0
    yield
    good, above = ask(last)
    if good:
        return last
    yield
    good, below = ask(1)
    if not good:
        return 0
    low, high, halve = 1, last, False
    while (left := high - low) > 1:
        yield
        middle = low + left // 2
        if not halve and below >= 0 > above:
            middle = low + min(max(left * below // (below - above), 1), left - 1)
        good, room = ask(middle)
        if good:
            low, below = middle, room
        else:
            high, above = middle, room
        halve = 2 * (high - low) > left
    return low
