"""Why a run is as fast as it is, in words, with the evidence for each."""

from __future__ import annotations

from collections.abc import Callable

from core.language import tr
from core.measure.diagnosis import causes, setup
from core.measure.diagnosis.facts import Facts, Finding, Point, point_of
from core.measure.history.snapshot import PlanSnapshot
from core.measure.run import Run
from core.units import format_rate, format_rates, format_share

__all__ = ["Facts", "Finding", "Point", "diagnose", "point_of"]

Rule = Callable[[Facts], Finding | None]

# What makes every other figure one of something else comes first, then causes by how sure their
# evidence is, then what only explains.
_SETUP: tuple[Rule, ...] = (
    setup.wrong_model,
    setup.smaller_context,
    setup.other_cache,
)
_CAUSES: tuple[Rule, ...] = (
    setup.split,
    setup.other_device,
    causes.spill,
    causes.slower_after,
    setup.no_kernel,
    causes.paging,
    causes.throttle,
    causes.battery,
    causes.busy,
    causes.single_stick,
    causes.launch_overhead,
)
_REMARKS: tuple[Rule, ...] = (
    setup.speculation,
    setup.above_ceiling,
    setup.read_again,
    setup.flattered_prefill,
    causes.memory_figures,
    causes.unsteady,
    causes.delivery,
)


def diagnose(run: Run, plan: PlanSnapshot | None) -> tuple[Finding, ...]:
    """What can be said about a run: how far it is from the ceiling, whether that is normal, and
    the likely causes in order. Empty where nothing was measured."""
    facts = Facts(run, plan)
    first = tuple(_found(_SETUP, facts))
    if not facts.points:
        return first
    found = tuple(_found(_CAUSES, facts))
    verdict = [reach(facts), expectation(facts)]
    if facts.slow and not found and not any(f.code == "other-model" for f in first):
        verdict.append(unexplained(facts))
    return (*first, *(v for v in verdict if v is not None), *found, *_found(_REMARKS, facts))


def _found(rules: tuple[Rule, ...], facts: Facts) -> list[Finding]:
    return [finding for rule in rules if (finding := rule(facts)) is not None]


def reach(f: Facts) -> Finding:
    """How much of the ceiling it reaches, and how many bytes it read in a second."""
    if not f.shares:
        why = (
            tr("No model is open whose ceiling could be drawn.")
            if f.plan is None
            else tr("The ceiling is not known: a bandwidth or the cache of this model is missing.")
        )
        return Finding(
            "cannot-tell",
            tr("How near to the ceiling it is cannot be told."),
            why,
            tr(
                "Open the file that the server runs, choose the machine that it runs on, and "
                "measure its memory bandwidth (Machine menu) where that is not known."
            ),
        )
    told = [p for p in f.points if p.share is not None]
    first, last = told[0], told[-1]
    share = format_share(first.share or 0)
    if last is first:
        return Finding(
            "reach", tr("It reaches {share} of the ceiling.", share=share), f"{_rates(first)}."
        )
    message = tr(
        "It reaches {share} of the ceiling at depth {depth:,.0f} and {deep_share} at {deep:,.0f}.",
        share=share,
        depth=first.depth,
        deep_share=format_share(last.share or 0),
        deep=last.depth,
    )
    return Finding("reach", message, f"{_rates(first)}, {_rates(last)}.")


def _rates(point: Point) -> str:
    ceiling = point.figures.ceiling if point.figures else 0
    return tr(
        "{rate} of {ceiling} and {bandwidth:,.1f} GB/s at depth {depth:,.0f}",
        rate=_passes(point),
        ceiling=format_rate(ceiling or 0),
        bandwidth=(point.bandwidth or 0) / 1e9,
        depth=point.depth,
    )


def _passes(point: Point) -> str:
    if point.steps.median == point.tok_s.median:
        return format_rate(point.tok_s.median)
    return tr("{rate:,.1f} passes/s", rate=point.steps.median)


def expectation(f: Facts) -> Finding | None:
    """Whether that is normal for this hardware."""
    if not f.shares:
        return None
    told = [p for p in f.points if p.figures is not None and p.figures.low is not None]
    if not told:
        return Finding(
            "no-band",
            tr(
                "Whether that is normal cannot be told: there are no published runs to compare "
                "with."
            ),
            "",
            tr("Runs of your own are kept, and correct what is expected the next time."),
        )
    shown = told[len(told) // 2]
    assert shown.figures is not None
    low, high = shown.figures.low or 0.0, shown.figures.high or 0.0
    band = tr(
        "Expected at depth {depth:,.0f}: {rates}; measured: {rate}.",
        depth=shown.depth,
        rates=format_rates(low, high),
        rate=format_rate(shown.steps.median),
    )
    slower = sum(p.steps.median < (p.figures.low or 0.0) for p in told if p.figures)
    faster = sum(p.steps.median > (p.figures.high or 0.0) for p in told if p.figures)
    most = len(told) // 2
    if slower > most:
        message = tr("That is slower than usual for this hardware.")
        return Finding("slower", message, band, amber=True)
    if faster > most:
        return Finding("faster", tr("That is faster than usual for this hardware."), band)
    if slower and slower >= faster:
        some = tr("At {some} of {all} depths it is slower.", some=slower, all=len(told))
        band = f"{band} {some}"
    elif faster:
        some = tr("At {some} of {all} depths it is faster.", some=faster, all=len(told))
        band = f"{band} {some}"
    return Finding("normal", tr("That is normal for this hardware."), band)


def unexplained(f: Facts) -> Finding:
    """Slow, and nothing that was looked at says why."""
    looked = [tr("the server's settings")]
    if f.readings:
        looked.append(tr("processor and memory while it ran"))
    if f.gpus:
        looked.append(tr("clocks, limits and memory of the GPU"))
    return Finding(
        "cannot-tell-why",
        tr("Why cannot be told from what was looked at."),
        tr("Looked at: {what}. None of it stands out.", what=", ".join(looked)),
        tr(
            "Compare with the engine alone (llama-bench, copied with the run as Markdown): a "
            "server is 5 to 10 % slower. Then try another build, another backend, or other thread "
            "counts."
        ),
    )
