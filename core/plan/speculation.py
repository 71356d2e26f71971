"""What speculation brings: some tokens are drafted cheaply, one pass checks them all.

A round drafts g tokens, one after the other, and checks them in a pass that carries g + 1. Where
each is accepted with probability a, a round yields (1 - a^(g+1)) / (1 - a) tokens (Leviathan et
al., "Fast Inference from Transformers via Speculative Decoding", 2023).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from core.language import mark, tr
from core.model.cache_size import row_bytes
from core.model.model import Model, Role
from core.plan.passes import Passes
from core.plan.plan import Plan
from core.provenance import Input, Number, Rank, Source, Unit

MOST_DRAFTED = 16
_SOURCE = Source(Rank.ESTIMATED, mark("the plan's bytes and an acceptance that you chose"))
_FORMULA = mark("speed without x tokens of a round x time of a token / time of a round")
_ACCEPTED = mark("Accepted tokens are those that the model would have written itself.")
_STEPS = 40  # of the bisection


class Drafter(StrEnum):
    """Who drafts."""

    MODEL = mark("draft model")
    HEAD = mark("the file's own draft blocks")
    NGRAM = mark("n-grams of the text")


@dataclass(frozen=True, slots=True)
class Round:
    """One round with so many ``drafted`` tokens. ``tokens`` are expected of it; ``draft`` and
    ``check`` are seconds, at the ceilings; ``times`` is how many times as fast it is as without
    (below 1 it costs)."""

    drafted: int
    tokens: float
    draft: float
    check: float
    times: float


@dataclass(frozen=True, slots=True)
class Speculation:
    """What an acceptance brings. ``round`` is with the drafted tokens that were asked for, ``best``
    with as many as are best. ``pays_above`` is the acceptance from which the asked number is worth
    it, None where none is. ``rate`` is tok/s with it."""

    acceptance: float
    round: Round
    best: Round
    pays_above: float | None
    rate: Number[float]

    @property
    def pays(self) -> bool:
        """Whether it is faster than without."""
        return self.round.times > 1


def expected_tokens(acceptance: float, drafted: int) -> float:
    """Tokens of a round: those accepted before the first that is not, and one of the check."""
    if acceptance >= 1:
        return drafted + 1.0
    return float((1 - acceptance ** (drafted + 1)) / (1 - acceptance))


class Speculator:
    """Speculation with one plan and one drafter. Made once, asked for many acceptances."""

    def __init__(self, plan: Plan, drafter: Drafter, draft_bytes: int | None = None) -> None:
        """``draft_bytes`` are read for every drafted token; None takes those of what the plan has
        beside it, or of the file's own blocks."""
        self.plan = plan
        self.drafter = drafter
        self._passes = Passes(plan)
        self.draft_bytes = self._bytes() if draft_bytes is None else draft_bytes
        self.known = self._passes.known and self.draft_bytes is not None
        if self.known:
            self._one = self._passes.seconds(1)
            self._draft = (self.draft_bytes or 0) / self._passes.fastest()
            # A round of n drafted tokens has its check at place n.
            self._checks = [self._passes.seconds(n + 1) for n in range(MOST_DRAFTED + 1)]

    @property
    def note(self) -> str:
        """Why nothing can be told, or what is left out."""
        if self._passes.known and self.draft_bytes is None:
            if self.drafter is Drafter.HEAD:
                return tr("This file has no blocks for drafting.")
            return tr("No draft model is attached.")
        return self._passes.note

    def round(self, acceptance: float, drafted: int) -> Round:
        """One round. Ask only where it is `known`."""
        tokens = expected_tokens(acceptance, drafted)
        draft, check = drafted * self._draft, self._checks[drafted]
        return Round(drafted, tokens, draft, check, tokens * self._one / (draft + check))

    def best(self, acceptance: float) -> Round:
        """The round with as many drafted tokens as are fastest; none where none pays."""
        return max((self.round(acceptance, n) for n in range(MOST_DRAFTED + 1)), key=_times)

    def pays_above(self, drafted: int) -> float | None:
        """The least acceptance at which so many drafted tokens are as fast as none."""
        if self.round(1.0, drafted).times <= 1:
            return None
        if self.round(0.0, drafted).times >= 1:
            return 0.0
        low, high = 0.0, 1.0
        for _ in range(_STEPS):
            middle = (low + high) / 2
            low, high = (low, middle) if self.round(middle, drafted).times >= 1 else (middle, high)
        return high

    def speculate(self, acceptance: float, drafted: int) -> Speculation:
        """All of it. Ask only where it is `known`."""
        made = self.round(acceptance, drafted)
        expected, ceiling = self.plan.speed.expected.mid, self.plan.speed.ceiling
        base = expected if expected.value is not None else ceiling
        word = mark("expected without") if base is expected else mark("ceiling without")
        rate = Number(
            None if base.value is None else base.value * made.times,
            Unit.TOKENS_PER_SECOND,
            _SOURCE,
            _FORMULA,
            (
                Input(word, base.value, Unit.TOKENS_PER_SECOND),
                Input(mark("acceptance"), acceptance, Unit.SHARE),
                Input(mark("drafted"), drafted, Unit.TOKENS),
                Input(mark("tokens of a round"), made.tokens),
                Input(mark("time of a token"), self._one, Unit.SECONDS),
                Input(mark("drafting"), made.draft, Unit.SECONDS),
                Input(mark("checking"), made.check, Unit.SECONDS),
            ),
            self.note or _ACCEPTED,
        )
        return Speculation(acceptance, made, self.best(acceptance), self.pays_above(drafted), rate)

    def _bytes(self) -> int | None:
        if self.drafter is Drafter.NGRAM:
            return 0
        if self.drafter is Drafter.HEAD:
            return head_bytes(self.plan.model)
        draft = self.plan.choice.draft
        return None if draft is None else model_bytes(draft, self.plan)


def _times(made: Round) -> float:
    return made.times


def model_bytes(draft: Model, plan: Plan) -> int:
    """What a draft model reads for a token: its weights, and its cache at the plan's depth."""
    depth = plan.settings.depth
    cache = 0
    for group in draft.cache.groups:
        row = row_bytes(plan.choice.draft_cache_k, group.k_width)
        row += row_bytes(plan.choice.draft_cache_v, group.v_width) if group.v_read else 0
        rows = min(depth // group.stride, group.window or depth)
        cache += rows * row * (len(group.layers) + group.sharers)
    return draft.weights.read_per_token + cache


def head_bytes(model: Model) -> int | None:
    """What a block for drafting reads for a token: itself, of its experts those that one token
    wakes, and the output head, which it shares. None where the file has no such block."""
    shape = model.shape
    if not shape.draft_layers:
        return None
    own = experts = head = 0
    for tensor, size, role in zip(
        model.file.tensors, model.weights.tensor_bytes, model.tensor_roles, strict=True
    ):
        if role is Role.DRAFT:
            if "_exps" in tensor.name:
                experts += size
            else:
                own += size
    for block in model.weights.blocks:
        if block.role is Role.HEAD:
            head += block.read_bytes
    woken = shape.experts_used / shape.experts if shape.experts else 1.0
    return round((own + experts * woken) / shape.draft_layers) + head
