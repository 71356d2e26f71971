"""Changes that are tried, one after the other, each by making its plan."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import log2
from typing import Any, TypeAlias

from core.language import mark, tr, trn
from core.machine.machine import Backend, DeviceKind, Machine
from core.model.recipes import RecipeSize, recipe_sizes
from core.plan.advice import hardware
from core.plan.advice.advice import FITTING, Advice, Aim, paces, starts
from core.plan.advice.rank import LEAST_GAIN, WORTH
from core.plan.choice import Choice, FlashAttention
from core.plan.fits import pairs_for, search_context
from core.plan.plan import Plan, Verdict
from core.plan.settings import layer_count

Attempt: TypeAlias = Callable[[Machine, Choice], Plan]
Search: TypeAlias = "Generator[Advice | None, None, None]"

_LEAST_CONTEXT = 1024  # tokens; less is of no use
_UBATCHES = (256, 128)
_FASTER_UBATCHES = (2048, 1024)
# Formats for models that were trained in them; others lose too much to be advised.
_TRAINED_FOR = frozenset({"TQ1_0", "TQ2_0", "Q1_0", "Q2_0", "MXFP4_MOE"})
# Recipes worth a download for speed, the best first.
_USUAL = ("Q8_0", "Q6_K", "Q5_K_M", "Q4_K_M", "IQ4_XS")
# Below four bits these need much arithmetic for few bytes: 10 against 15 tok/s on a Radeon, 35
# against 40 on an RTX 3090, for IQ3_M against the larger IQ4_XS (ggml-org/llama.cpp).
_SLOW = ("IQ1", "IQ2", "IQ3")
_SLOW_NOTE = mark("computes more than it reads: it may be slower than its ceiling says")
_FEW_BITS = 3.5  # below them models lose much more than above
_FILE = mark("another file, less accurate")
# What cache types cost, and how that weighs.
_CACHE_COSTS = {
    "q8_0": (mark("hardly less accurate; memory, not speed"), 0.25),
    "fp8": (mark("a little less accurate; memory, not speed"), 0.35),
    "q4_0": (mark("less accurate over long texts; memory, not speed"), 1.0),
}


@dataclass(frozen=True, slots=True)
class _Question:
    """A plan, what is asked of it, and how a change is tried."""

    plan: Plan
    aim: Aim
    attempt: Attempt

    def what_if(self, **changes: Any) -> Plan:
        return self.attempt(self.plan.machine, replace(self.plan.choice, **changes))

    def good(self, plan: Plan) -> bool:
        """Whether a plan is what is asked for, as far as memory goes."""
        if self.aim is Aim.ROOM:
            return starts(plan) and plan.verdict is Verdict.FITS
        if self.aim is Aim.SPEED and self.plan.verdict is Verdict.FITS:
            return starts(plan) and plan.verdict is Verdict.FITS
        return starts(plan)

    def cards_good(self, plan: Plan) -> bool:
        """The same of the cards alone, whatever the RAM."""
        wanted = FITTING if self.aim is Aim.FIT else (Verdict.FITS,)
        if self.aim is Aim.SPEED and self.plan.verdict is Verdict.TIGHT:
            wanted = FITTING
        cards = [d for d in plan.memory.devices if d.device.kind is DeviceKind.GPU]
        return all(card.verdict in wanted for card in cards)

    @property
    def has_cards(self) -> bool:
        gpus = self.plan.machine.gpus
        return bool(gpus) and not gpus[0].unified


def find_advice(plan: Plan, aim: Aim, attempt: Attempt) -> Search:
    """Advice in no order (`ranked` puts it into one). Nothing where the verdict is not known, or
    where the aim is reached already.

    None is yielded before each trial: all of them take longer than a frame, so that is where
    somebody else may have a turn.
    """
    if not _asked(plan, aim):
        return
    question = _Question(plan, aim, attempt)
    ways = (*_ROOMY, *_MOVING) if aim is not Aim.SPEED else (*_FASTER, *_MOVING)
    enough = False
    for way in ways:
        for each in way(question):
            enough = enough or (each is not None and _enough(each, question))
            yield each
    if not enough:
        yield from hardware.advice(plan, aim, attempt)


def _asked(plan: Plan, aim: Aim) -> bool:
    match aim:
        case Aim.FIT:
            known = plan.verdict is not Verdict.UNKNOWN
            return plan.verdict is Verdict.DOES_NOT_FIT or (known and not starts(plan))
        case Aim.ROOM:
            return plan.verdict is Verdict.TIGHT and starts(plan)
        case Aim.SPEED:
            return starts(plan) and plan.speed.ceiling.known


def _enough(advice: Advice, question: _Question) -> bool:
    old, new = paces(question.plan, advice.plan)
    return question.aim is not Aim.SPEED or bool(old and new and new >= (1 + WORTH) * old)


def largest(low: int, high: int, good: Callable[[int], bool]) -> Generator[None, None, int | None]:
    """The largest number from ``low`` to ``high`` that is good, where all below it are; None
    where ``low`` is not. Yields before each question."""
    yield
    if low > high or not good(low):
        return None
    while low < high:
        yield
        middle = (low + high + 1) // 2
        if good(middle):
            low = middle
        else:
            high = middle - 1
    return low


# More room.


def _context(q: _Question) -> Search:
    """The largest context there is, the very number that the plan offers beside its slider."""
    plan, choice = q.plan, q.plan.choice
    found = yield from search_context(
        plan.model,
        plan.machine,
        choice,
        choice.cache_k,
        choice.cache_v,
        lambda _, machine, trial: q.attempt(machine, trial),
    )
    whole = plan.settings.requested_context
    tokens = found and found.offered
    if not tokens or not _LEAST_CONTEXT <= tokens < whole:
        return
    changes = {"context": tokens, "depth": None}
    yield None
    changed = q.what_if(**changes)
    if q.good(changed):
        cost = tr("{count:,} tokens fewer to remember", count=whole - tokens)
        words = tr("context {tokens:,}", tokens=tokens)
        yield Advice(words, changes, changed, cost, 0.5 * log2(whole / tokens))


def _cache(q: _Question) -> Search:
    for cache, _ in pairs_for(q.plan.choice.engine)[1:]:
        yield None
        changes = {
            "cache_k": cache,
            "cache_v": cache,
            "flash_attention": FlashAttention.AUTO,
        }
        changed = q.what_if(**changes)
        smaller = (changed.memory.cache.value or 0) < (q.plan.memory.cache.value or 0)
        if smaller and q.good(changed):
            cost, penalty = _CACHE_COSTS[cache]
            yield Advice(_cache_words(cache), changes, changed, tr(cost), penalty)
            return


def _cache_words(cache: str) -> str:
    return tr("KV cache {type}", type=cache)


def _plain_cache(q: _Question) -> Search:
    """Where the engine refuses the cache types."""
    s = q.plan.settings
    if q.aim is Aim.FIT and (s.cache_k, s.cache_v) != ("f16", "f16"):
        yield from _one(q, _cache_words("f16"), {"cache_k": "f16", "cache_v": "f16"})


def _flash(q: _Question) -> Search:
    if q.plan.choice.flash_attention is not FlashAttention.OFF:
        return
    yield from _one(q, tr("flash attention"), {"flash_attention": FlashAttention.AUTO})


def _one_slot(q: _Question) -> Search:
    if q.plan.settings.slots > 1:
        yield from _one(q, tr("one slot"), {"slots": 1}, tr("one request at a time"), 0.1)


def _ubatch(q: _Question) -> Search:
    for size in _UBATCHES:
        if size < q.plan.settings.ubatch:
            yield None
            changed = q.what_if(ubatch=size)
            if q.good(changed):
                cost = tr("prompts are read in smaller pieces, more slowly")
                yield Advice(_ubatch_words(size), {"ubatch": size}, changed, cost, 0.3)
                return


def _ubatch_words(size: int) -> str:
    return tr("ubatch {size}", size=size)


def _companions(q: _Question) -> Search:
    s = q.plan.settings
    if s.drafted:
        changes = {"draft": None, "draft_head": False}
        yield from _one(q, tr("no drafting"), changes, tr("no speculation"))
    if s.projector_on_gpu:
        yield from _one(
            q,
            tr("projector in RAM"),
            {"projector_on_gpu": False},
            tr("pictures are read slowly"),
            0.2,
        )


def _quantization(q: _Question) -> Search:
    """The largest recipe that fits, of those that are not slow on these devices where one does."""
    smaller = [
        size
        for size in reversed(recipe_sizes(q.plan.model))
        if size.bytes < q.plan.weights.bytes and size.ftype not in _TRAINED_FOR
    ]
    quick = [size for size in smaller if not size.ftype.startswith(_SLOW)]
    for offered in (quick, smaller):
        found = yield from largest(0, len(offered) - 1, partial(_fits_as, q, offered))
        if found is not None:
            recipe = offered[found]
            changes = {"requantize": recipe.ftype}
            words = _recipe_words(recipe.ftype)
            if recipe.needs_imatrix:
                words = tr("{recipe} (with an imatrix)", recipe=words)
            yield _file(q, words, changes, q.what_if(**changes))
            return


def _recipe_words(ftype: str) -> str:
    return tr("quantization {ftype}", ftype=ftype)


def _fits_as(q: _Question, offered: Sequence[RecipeSize], number: int) -> bool:
    return q.good(q.what_if(requantize=offered[number].ftype))


def _file(q: _Question, words: str, changes: dict[str, Any], changed: Plan) -> Advice:
    lost = q.plan.weights.bits_per_weight - changed.weights.bits_per_weight
    slow = str(changes["requantize"]).startswith(_SLOW)
    cost = f"{tr(_FILE)}; {tr(_SLOW_NOTE)}" if slow else tr(_FILE)
    few = max(0.0, _FEW_BITS - changed.weights.bits_per_weight)
    return Advice(words, changes, changed, cost, 0.5 + 0.5 * lost + 2 * few + slow)


# Where layers and experts lie.


def _layers(q: _Question) -> Search:
    """The most layers that the cards hold; the host must hold the others."""
    if not q.has_cards or q.plan.choice.backend == Backend.CPU:
        return
    now, every = q.plan.settings.gpu_layers, layer_count(q.plan.model)
    most, least = (every, now + 1) if q.aim is Aim.SPEED else (now - 1, 0)
    layers = yield from largest(least, most, lambda n: q.cards_good(q.what_if(gpu_layers=n)))
    if not layers:  # none at all is what `_no_card` offers
        return
    whole: dict[str, Any] = {"gpu_layers": "all" if layers == every else layers}
    changed = q.what_if(**whole)
    if q.good(changed):
        yield Advice(_layer_words(layers, every), whole, changed, _slower(q, changed))


def _layer_words(layers: int, every: int) -> str:
    if layers == every:
        return tr("all layers on the GPU")
    return trn("{count} layer on the GPU", "{count} layers on the GPU", layers)


def _no_card(q: _Question) -> Search:
    """The processor alone, beside a split and with its own speed."""
    if q.aim is Aim.FIT and q.plan.machine.gpus and q.plan.choice.backend != Backend.CPU:
        yield from _one(q, tr("CPU only"), {"backend": "cpu"}, tr("the GPU does nothing"))


def _use_card(q: _Question) -> Search:
    if q.plan.machine.gpus and q.plan.choice.backend == Backend.CPU:
        yield from _one(q, tr("use the GPU"), {"backend": None, "gpu_layers": "all"})


def _experts(q: _Question) -> Search:
    """The fewest layers whose experts move to RAM; the host must hold them."""
    layers = q.plan.model.shape.layers
    if not q.has_cards or not q.plan.model.shape.experts or q.plan.choice.backend == Backend.CPU:
        return
    now = q.plan.settings.cpu_moe
    if q.aim is Aim.SPEED:
        everything: dict[str, Any] = {"gpu_layers": "all"}
        low, high = (layers - now + 1, layers) if _whole(q.plan) else (0, layers)
    else:
        everything, low, high = {}, 0, layers - now - 1
    kept = yield from largest(
        low, high, lambda n: q.cards_good(q.what_if(cpu_moe=layers - n, **everything))
    )
    if kept is None:
        return
    changes = {"cpu_moe": layers - kept, **everything}
    changed = q.what_if(**changes)
    if q.good(changed):
        rest = bool(everything) and not _whole(q.plan)
        words = _expert_words(layers - kept, rest=rest)
        yield Advice(words, changes, changed, _slower(q, changed))


def _expert_words(left: int, *, rest: bool) -> str:
    """So many layers leave their experts in RAM; the ``rest`` was not on the GPU before."""
    if not left:
        return tr("all experts on the GPU")
    if rest:
        return trn(
            "experts of {count} layer in RAM, the rest on the GPU",
            "experts of {count} layers in RAM, the rest on the GPU",
            left,
        )
    return trn("experts of {count} layer in RAM", "experts of {count} layers in RAM", left)


def _whole(plan: Plan) -> bool:
    return plan.settings.gpu_layers == layer_count(plan.model)


def _slower(q: _Question, changed: Plan) -> str:
    old, new = paces(q.plan, changed)
    return tr("RAM is slower than the card") if old and new and new < old else ""


# Faster.


def _room_for_layers(q: _Question) -> Search:
    """A smaller cache or context, where that brings more layers onto the cards than go there
    anyway. A mixture is better split by its experts."""
    if not q.has_cards or _whole(q.plan) or q.plan.choice.backend == Backend.CPU:
        return
    every, now = layer_count(q.plan.model), q.plan.settings.gpu_layers
    anyway = yield from largest(now, every, partial(_holds, q, {}))
    least = (anyway or now) + max(1, every // 10)
    if q.plan.model.shape.experts or least > every:
        return
    half = max(_LEAST_CONTEXT, q.plan.settings.requested_context // 2)
    halved = {"context": half, "depth": None}
    q8 = {"cache_k": "q8_0", "cache_v": "q8_0", "flash_attention": FlashAttention.AUTO}
    lost, penalty = _CACHE_COSTS["q8_0"]
    tries: list[tuple[str, dict[str, Any], str, float]] = [
        (_cache_words("q8_0"), q8, tr(lost), penalty),
        (tr("context {tokens:,}", tokens=half), halved, tr("half the tokens to remember"), 0.5),
    ]
    for words, changes, cost, penalty in tries:
        layers = yield from largest(least, every, partial(_holds, q, changes))
        if layers:
            made = {**changes, "gpu_layers": "all" if layers == every else layers}
            changed = q.what_if(**made)
            if q.good(changed):
                both = f"{words}, {_layer_words(layers, every)}"
                yield Advice(both, made, changed, cost, penalty)


def _holds(q: _Question, changes: dict[str, Any], layers: int) -> bool:
    return q.cards_good(q.what_if(gpu_layers=layers, **changes))


def _smaller_file(q: _Question) -> Search:
    """The best usual recipe that is a tenth faster, and Q4_K_M where that is smaller still."""
    offered = 0
    for ftype in _USUAL:
        yield None
        changes = {"requantize": ftype}
        changed = q.what_if(**changes)
        if changed.settings.requantize != ftype or changed.weights.bytes >= q.plan.weights.bytes:
            continue
        old, new = paces(q.plan, changed)
        if old and new and new >= (1 + WORTH) * old and q.good(changed):
            yield _file(q, _recipe_words(ftype), changes, changed)
            offered += 1
            if offered == 2 or ftype == "Q4_K_M":
                return


def _larger_ubatch(q: _Question) -> Search:
    """Where a prompt is read sooner; decoding is the same."""
    before = q.plan.speed.ttft.value
    for size in _FASTER_UBATCHES:
        if before is None or size <= q.plan.settings.ubatch:
            continue
        yield None
        changed = q.what_if(ubatch=size, batch=max(size, q.plan.settings.batch))
        after = changed.speed.ttft.value
        if after and after * (1 + LEAST_GAIN) < before and q.good(changed):
            changes = {"ubatch": size, "batch": max(size, q.plan.settings.batch)}
            yield Advice(_ubatch_words(size), changes, changed, tr("larger work buffers"))
            return


def _one(
    q: _Question, words: str, changes: dict[str, Any], cost: str = "", penalty: float = 0.0
) -> Search:
    """A change that is good or not."""
    yield None
    changed = q.what_if(**changes)
    if q.good(changed):
        yield Advice(words, changes, changed, cost, penalty)


_ROOMY = (_flash, _plain_cache, _context, _cache, _one_slot, _ubatch, _companions, _quantization)
_MOVING = (_use_card, _layers, _experts, _no_card)
_FASTER = (_flash, _room_for_layers, _smaller_file, _larger_ubatch)
