"""The plan that a run is held against."""

from __future__ import annotations

from dataclasses import replace

from core.measure.discovery import match_file
from core.measure.history import PlanSnapshot, snapshot
from core.measure.planned import choice_for
from core.measure.run import RunPlan, Target
from core.measure.wire.connect import is_this_computer
from core.measure.wire.http import address_of
from core.plan import resolve
from core.plan.plan import Plan
from gui.document import Document

_BESIDE = (
    *("projector", "projector_on_gpu", "draft", "draft_head", "draft_gpu_layers"),
    *("draft_cache_k", "draft_cache_v", "drafted"),
)


def held_against(
    document: Document, target: Target, run: RunPlan, started: Plan | None = None
) -> PlanSnapshot | None:
    """The plan of what a server really runs, on the computer that it runs on; what it does not tell
    is as on the screen. None where no model is open; without a curve where the server is known to
    run another one: then it is said, and nothing is worked out with the open file's bytes.

    ``started`` is the plan that a server of ours was started with.
    """
    model, asked = document.model, document.plan
    if model is None or asked is None:
        return None
    machine = asked.machine
    if is_this_computer(address_of(target.url).host) and document.this_computer:
        machine = document.this_computer
    choice = choice_for(target, model)
    if not target.cache_k and not target.cache_v:
        choice = replace(choice, cache_k=asked.choice.cache_k, cache_v=asked.choice.cache_v)
    if target.gpu_layers is None and target.gpu_bytes is None:
        choice = replace(choice, gpu_layers=asked.choice.gpu_layers, cpu_moe=asked.choice.cpu_moe)
    choice = replace(
        choice,
        context=target.context or asked.choice.context,
        backend=asked.choice.backend,
        flash_attention=asked.choice.flash_attention,
        swa_full=asked.choice.swa_full,
    )
    if started is not None:  # with what it loads beside the model
        choice = replace(choice, **{name: getattr(started.choice, name) for name in _BESIDE})
    real = resolve(model, machine, choice)
    kept = snapshot(real, run.depths, tokens=run.tokens, asked=started or asked)
    if match_file(target, model).same is False:  # no ceiling and no bandwidth follows from it
        return replace(kept, curve=(), at=())
    return kept
