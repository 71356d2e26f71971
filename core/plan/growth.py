"""What engines add to RAM with use: earlier prompts, and checkpoints of what cannot be rolled back.

Nothing of it is there when a model has loaded, and how much comes depends on who asks what, so it
is in no total: bounds beside the budget, and a problem where they are more than is free.
"""

from __future__ import annotations

from core.language import mark, tr
from core.model.cache_size import CacheSettings, cache_size, row_bytes
from core.model.model import CacheFacts
from core.plan.choice import Engine
from core.plan.engines import RULES
from core.plan.plan import Growth, Settings
from core.provenance import Input, Number, Rank, Source, Unit

PROMPT_CACHE = mark("prompt cache")
CHECKPOINTS = mark("context checkpoints")


def context_per_request(settings: Settings) -> int:
    """Tokens that one request can use: the whole pool where slots share one."""
    return settings.context if settings.unified_cache else settings.context // settings.slots


def growth(facts: CacheFacts, settings: Settings) -> tuple[Growth, ...]:
    """What may come on top in RAM; empty where the engine or the model keeps nothing."""
    rules = RULES[Engine(settings.engine)]
    if not facts.known or not (facts.groups or facts.states):
        return ()
    found = []
    if rules.prompt_cache:
        found.append(Growth(PROMPT_CACHE, _prompts(facts, settings)))
    size = checkpoint_bytes(facts, settings) if rules.checkpoints else 0
    if size:
        count = rules.checkpoints * settings.slots
        bound = Number(
            size * count,
            Unit.BYTES,
            Source(Rank.ASSUMED, rules.source),
            mark("bytes of one checkpoint x checkpoints per slot x slots"),
            (
                Input(mark("one checkpoint"), size, Unit.BYTES),
                Input(mark("checkpoints per slot"), rules.checkpoints),
                Input(mark("slots"), settings.slots),
            ),
            mark(
                "At most, in long conversations: copies of windows and states, so that a changed "
                "prompt need not be read again from its start. --ctx-checkpoints sets the number."
            ),
        )
        found.append(Growth(CHECKPOINTS, bound))
    return tuple(found)


def _prompts(facts: CacheFacts, settings: Settings) -> Number[int]:
    rules = RULES[Engine(settings.engine)]
    one = cache_size(
        facts,
        CacheSettings(
            context_per_request(settings),
            ubatch=settings.ubatch,
            swa_full=settings.swa_full,
            type_k=settings.cache_k,
            type_v=settings.cache_v,
            flash_attention=settings.flash_attention,
        ),
    )
    entry = one.cache_bytes + one.state_bytes
    return Number(
        max(rules.prompt_cache, entry),
        Unit.BYTES,
        Source(Rank.ASSUMED, rules.source),
        mark("the engine's limit, or one prompt if that is more"),
        (
            Input(mark("limit"), rules.prompt_cache, Unit.BYTES),
            Input(mark("a prompt as long as the context"), entry, Unit.BYTES),
        ),
        tr(
            "At most, as prompts come and go: earlier ones stay in RAM. "
            "{option} sets the limit in MiB, 0 for none.",
            option=tr(rules.prompt_cache_option),
        ),
    )


def checkpoint_bytes(facts: CacheFacts, settings: Settings) -> int:
    """One checkpoint of one slot: its windows and its states, 0 where all can be rolled back."""
    if settings.swa_full and not facts.states:
        return 0
    total = sum(state.bytes_per_sequence for state in facts.states)
    most = context_per_request(settings)
    for group in facts.groups:
        if group.window is not None and not settings.swa_full:
            row = row_bytes(settings.cache_k, group.k_width)
            row += row_bytes(settings.cache_v, group.v_width)
            total += min(group.window + settings.ubatch, most) * row * len(group.layers)
    return total
