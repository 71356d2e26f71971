"""Whether a request's figures may be used, and what is odd about a cell's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from core.language import tr, trn
from core.measure import metrics
from core.measure.metrics import DEPTH_SLACK, KEPT_SLACK
from core.measure.prompts import believable
from core.measure.run import Cell, Run, Sample, SampleKind
from core.problems import Problem, Severity
from core.units import format_share, format_tokens

LEAST_SHARE = 0.9  # of the tokens asked for; a shorter answer ended by itself
COUNT_SLACK = 16  # tokens that a server may write beyond those asked for
COLD_SLACK = 16  # tokens that a fresh prompt may share with another one: what begins every text
RELOAD_SECONDS = 0.2
COLLECTED_SHARE = 0.2  # of arrivals
COLLECTED_SECONDS = 2e-3  # between two tokens; quicker ones may share a read by themselves

# What a second try may cure.
PASSING = frozenset(
    ("cut_off", "garbage", "server_error", "slept", "reloaded", "stall", "no_text", "cached")
)


def checked(sample: Sample, depth: int, tokens: int, exact: bool) -> Sample:
    """The sample with what is wrong about it. ``exact``: the prompt went as token ids."""
    if sample.problems:
        return sample
    found = _miscounted(sample, depth, tokens) or [
        *_ended_well(sample, tokens),
        *_prompt_as_sent(sample, depth, exact),
        *_cache_as_meant(sample, depth),
    ]
    load = sample.server_timings.get("load_duration")
    if isinstance(load, int | float) and load / 1e9 > RELOAD_SECONDS:
        found.append(
            Problem(
                "reloaded",
                tr(
                    "The server loaded the model for this request ({seconds:.1f} s), so that it "
                    "does not count.",
                    seconds=load / 1e9,
                ),
            )
        )
    return replace(sample, problems=tuple(found)) if found else sample


def _miscounted(sample: Sample, depth: int, tokens: int) -> list[Problem]:
    """Rates follow from the server's counts: those that cannot be give no figure."""
    read = sample.prompt_tokens or 0
    if not believable(read, depth):
        counted = tr("{read:,} tokens in a prompt of {sent:,}", read=read, sent=depth)
        return [_miscount(counted)]
    told = (sample.server_timings.get(name) for name in ("predicted_n", "eval_count"))
    written = max(n for n in (sample.tokens, *told, 0) if isinstance(n, int | float))
    if written > 2 * max(tokens, len(sample.arrivals_ns)) + COUNT_SLACK:
        return [
            _miscount(
                tr(
                    "{written:,} tokens, although {asked:,} were asked for and {pieces:,} pieces "
                    "of text came",
                    written=int(written),
                    asked=tokens,
                    pieces=len(sample.arrivals_ns),
                )
            )
        ]
    return []


def _miscount(what: str) -> Problem:
    return Problem(
        "miscounted",
        tr("The server counted {what}: no figure can follow from that.", what=what),
        advice=tr("Is something between this program and the server, such as a proxy?"),
    )


def _ended_well(sample: Sample, tokens: int) -> list[Problem]:
    written = sample.tokens or 0
    measured = sample.kind in (SampleKind.RUN, SampleKind.WARM_UP)
    if not written and not sample.arrivals_ns:
        return [Problem("no_text", tr("The server ended its answer without a single token."))]
    if measured and not sample.arrivals_ns:
        return [Problem("no_text", tr("The answer had tokens but no text to be timed by."))]
    if sample.truncated or (sample.finish in ("length", "limit") and written < tokens):
        return [
            Problem(
                "context_full",
                tr(
                    "The context was full after {written:,} of {tokens:,} tokens.",
                    written=written,
                    tokens=tokens,
                ),
                advice=tr("Measure at a smaller depth, or start the server with a larger context."),
            )
        ]
    if measured and written < LEAST_SHARE * tokens:
        return [
            Problem(
                "early_end",
                tr(
                    "The model ended its text after {written:,} of {tokens:,} tokens.",
                    written=written,
                    tokens=tokens,
                ),
            )
        ]
    return []


def _prompt_as_sent(sample: Sample, depth: int, exact: bool) -> list[Problem]:
    counted = sample.prompt_tokens
    if sample.kind in (SampleKind.RUN, SampleKind.WARM_UP) and sample.cached_tokens is None:
        return []  # it may count only what it read anew; the fill before was checked
    if counted is None or abs(counted - depth) <= (0 if exact else DEPTH_SLACK):
        return []
    if counted < depth // 2 + depth // 4:
        return [
            Problem(
                "prompt_cut",
                tr(
                    "The server read {read:,} of {sent:,} tokens of the prompt: it cut the rest "
                    "away.",
                    read=counted,
                    sent=depth,
                ),
                advice=tr("Its context is smaller than the depth; start it with a larger one."),
            )
        ]
    return [
        Problem(
            "depth_differs",
            tr("The prompt had {read:,} tokens instead of {sent:,}.", read=counted, sent=depth),
            Severity.WARNING,
        )
    ]


def _cache_as_meant(sample: Sample, depth: int) -> list[Problem]:
    kept = sample.cached_tokens
    if kept is None:
        return []
    if sample.kind is SampleKind.COLD and kept > COLD_SLACK:
        return [
            Problem(
                "cached",
                tr(
                    "The server had {kept:,} tokens of this fresh prompt already, so it says "
                    "nothing about reading prompts.",
                    kept=kept,
                ),
            )
        ]
    if sample.kind is SampleKind.RUN and kept < depth - KEPT_SLACK:
        return [
            Problem(
                "read_again",
                tr(
                    "The server had kept {kept:,} of {sent:,} tokens and read the rest again.",
                    kept=kept,
                    sent=depth,
                ),
                Severity.WARNING,
            )
        ]
    return []


def said(run: Run) -> tuple[Problem, ...]:
    """What is to be said about a run and its cells, the worst first, each once. What does not
    concern every depth says which."""
    cells = [cell for cell in run.cells if cell.samples or cell.problems]
    depths: dict[Problem, list[int]] = {}
    for cell in cells:
        for problem in dict.fromkeys(_in_words_of_now(cell)):
            depths.setdefault(problem, []).append(cell.depth)
    found = dict.fromkeys(run.problems)
    for problem, where in depths.items():
        if len(where) < len(cells):
            named = ", ".join(format_tokens(depth) for depth in dict.fromkeys(where))
            message = tr("At depth {depths}: {message}", depths=named, message=tr(problem.message))
            problem = replace(problem, message=message)
        found[problem] = None
    worst = list(Severity)
    return tuple(sorted(found, key=lambda p: worst.index(p.severity), reverse=True))


def _in_words_of_now(cell: Cell) -> tuple[Problem, ...]:
    """The cell's problems in the reader's language, whatever was spoken when it was measured."""
    if not cell.finished or not cell.problems:
        return cell.problems
    again = {problem.code: problem for problem in oddities(cell)}
    return tuple(again.get(problem.code, problem) for problem in cell.problems)


def oddities(cell: Cell) -> tuple[Problem, ...]:
    """What is to be said about a finished cell's figures."""
    found: list[Problem] = []
    measured = cell.measured
    if metrics.reads_again(cell):
        found.append(
            Problem(
                "read_again",
                tr(
                    "The server read the prompt again for each request, which takes time but does "
                    "not change the speed of writing."
                ),
                Severity.NOTE,
                tr("Models with windows or states cannot always go back; --swa-full may help."),
            )
        )
    busy = sum(any(p.code == "busy" for p in s.problems) for s in measured)
    if busy:
        found.append(
            Problem(
                "busy",
                tr(
                    "The server worked for somebody else during {busy} of {total} requests.",
                    busy=busy,
                    total=len(measured),
                ),
                Severity.WARNING,
                tr("Close other programs that use it and measure again."),
            )
        )
    differs = metrics.disagreement(cell)
    if differs is not None and abs(differs) > metrics.DELIVERY:
        share = format_share(abs(differs))
        found.append(
            Problem(
                "delivery",
                tr(
                    "Text arrived {share} faster than the server says it wrote; its own times are "
                    "used.",
                    share=share,
                )
                if differs > 0
                else tr(
                    "Text arrived {share} slower than the server says it wrote; its own times are "
                    "used.",
                    share=share,
                ),
                Severity.WARNING,
                tr("Something holds text back: a proxy, a scanner, or the server itself."),
            )
        )
    if _held_back(measured):
        found.append(
            Problem(
                "held_back",
                tr(
                    "Several tokens arrived at once although they were written one by one, so that "
                    "the first one came late."
                ),
                Severity.WARNING,
                tr(
                    "Text is collected on its way: by a proxy, a scanner or the server itself, or "
                    "because the computer is too busy to take it."
                ),
            )
        )
    if measured and all(s.token_source == "events" for s in measured):
        found.append(
            Problem(
                "only_arrivals",
                tr(
                    "The server does not count its tokens; arrivals were counted, so it wrote at "
                    "least so fast."
                ),
                Severity.WARNING,
            )
        )
    drifts = metrics.drift(cell)
    if drifts is not None and abs(drifts) > 0.05:
        found.append(_not_steady(drifts))
    far = len(metrics.outliers(cell))
    if far:
        found.append(
            Problem(
                "outliers",
                trn(
                    "{count} of {total} requests was far from the rest; it is counted.",
                    "{count} of {total} requests were far from the rest; they are counted.",
                    far,
                    total=len(measured),
                ),
                Severity.NOTE,
            )
        )
    depth = metrics.exact_depth(cell)
    if depth is not None and abs(depth - max(1, cell.depth)) > DEPTH_SLACK:
        found.append(
            Problem(
                "depth_differs",
                tr(
                    "It was measured at {real:,} tokens instead of {asked:,}.",
                    real=depth,
                    asked=cell.depth,
                ),
                Severity.WARNING,
            )
        )
    return tuple(found)


def _not_steady(drifts: float) -> Problem:
    share = format_share(abs(drifts))
    if drifts > 0:
        return Problem(
            "not_steady",
            tr("It became {share} faster from the first requests to the last.", share=share),
            Severity.WARNING,
            tr(
                "Something else used the computer at first, or it was not warm yet: measure "
                "again, with more runs."
            ),
        )
    return Problem(
        "not_steady",
        tr("It became {share} slower from the first requests to the last.", share=share),
        Severity.WARNING,
        tr("Let the computer cool down and measure again, with more runs."),
    )


def _held_back(measured: Sequence[Sample]) -> bool:
    """Whether text is collected somewhere: a fifth of it shares a read with what came before,
    although the engine takes milliseconds for each token and drafts none."""
    shares = [
        share
        for s in measured
        if metrics.drafted(s) is None
        and (metrics.best_decode_rate(s) or 0) < 1 / COLLECTED_SECONDS
        and (share := metrics.shared_reads(s)) is not None
    ]
    return bool(shares) and median(shares) > COLLECTED_SHARE
