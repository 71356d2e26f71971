"""The sweep: fill each depth once, warm up, measure, and lose nothing when something goes wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from time import perf_counter_ns
from typing import Any
from uuid import uuid4

from core.gguf import display
from core.language import mark, tr
from core.measure.checks import PASSING, checked, oddities
from core.measure.client import Client, ClientError
from core.measure.clocks import asleep_seconds, utc_now
from core.measure.control import Control, StoppedError
from core.measure.events import (
    CellDone,
    Ended,
    Event,
    ProblemFound,
    SampleDone,
    Started,
)
from core.measure.exchange import Exchange, exchange_all
from core.measure.pace import Pace
from core.measure.prompts import Prompt
from core.measure.run import Cell, Run, RunStatus, Sample, SampleKind, ServerKind
from core.measure.waiting import RunError, Waiting
from core.measure.wire.ask import NoAnswerError
from core.measure.work import (
    COLD_TOKENS,
    PROBE_PROMPT,
    PROBE_TOKENS,
    Rates,
    cells_of,
)
from core.problems import Problem, Severity

MARGIN = 16  # tokens of a context that are left free
TRIES = 3  # of a round of requests, before its cell is given up
SLOWEST_PREFILL = 10.0  # tokens per second: patience with a silent server grows with the prompt

# A server that writes on beyond so much passes over the number of tokens that it was asked for.
_MORE_THAN_ASKED, _FEW_TOKENS = 16, 64
_LEAST_RATED_NS = 200_000_000  # from the first text on, before a rate is shown

Say = Callable[[Event], None]


class _CellError(Exception):
    """This cell cannot be finished; the others may."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem


class Sweep:
    """Measures one run and says what happens; `measure` never raises for what a server does.

    Cells in ``skip`` are finished already. ``rates`` are what to expect, for the duration.
    ``zero_ns`` is the run's beginning on ``clock``; now, if nobody says.
    """

    def __init__(
        self,
        run: Run,
        client: Client,
        control: Control,
        say: Say,
        *,
        skip: Iterable[tuple[int, int]] = (),
        rates: Rates | None = None,
        clock: Callable[[], int] = perf_counter_ns,
        zero_ns: int | None = None,
        asleep: Callable[[], float] = asleep_seconds,
    ) -> None:
        self._run = run
        self._plan = run.plan
        self._client = client
        self._control = control
        self._say = say
        self._skip = frozenset(skip)
        self._clock = clock
        self._zero = clock() if zero_ns is None else zero_ns
        self._asleep = asleep
        self._pace = Pace(run.plan, self._skip, rates or Rates())
        self._waiting = Waiting(client, control, lambda: self._progress("waiting"))
        self._cell = Cell(0)
        self._phase = "waiting"
        self._other_model_said = False
        self._least: tuple[Cell, list[Prompt]] | None = None

    def measure(self) -> RunStatus:
        """Every cell that is left, in order. Says `Started` first and `Ended` last."""
        self._say(Started(self._run, self._pace.seconds_left()))
        problems: tuple[Problem, ...] = ()
        try:
            status = self._measure()
        except StoppedError:
            status = RunStatus.STOPPED
        except RunError as error:
            status, problems = RunStatus.FAILED, (error.problem,)
        except ClientError as error:
            status, problems = RunStatus.FAILED, (error.problem,)
        except NoAnswerError as error:
            status, problems = RunStatus.FAILED, (_no_answer(error),)
        self._say(Ended(status, utc_now(), problems))
        return status

    def _measure(self) -> RunStatus:
        self._waiting.until_ready()
        cells = self._possible()
        if cells:
            self._client.prepare(uuid4().hex)  # no run may find another one's prompts in a cache
            self._probe()
        finished = len(self._skip)
        for depth, level in cells:
            try:
                self._measure_cell(depth, level)
                finished += 1
            except _CellError as error:
                self._give_up(replace(self._cell, problems=(error.problem,)))
            self._pace.cell_done(depth, level)
        if self._plan.again and self._least is not None and self._cell.depth > self._least[0].depth:
            self._measure_again(*self._least)
        return RunStatus.DONE if finished else RunStatus.FAILED

    def _possible(self) -> list[tuple[int, int]]:
        """The cells that the server has room for; the others are given up with the reason."""
        target, plan = self._run.target, self._plan
        found = []
        for depth, level in cells_of(plan):
            if (depth, level) in self._skip:
                continue
            problem = None
            if target.context is not None and depth + plan.tokens + MARGIN > target.context:
                problem = Problem(
                    "beyond_context",
                    tr(
                        "Depth {depth:,} and {tokens:,} tokens more do not fit into the server's "
                        "context of {context:,}.",
                        depth=depth,
                        tokens=plan.tokens,
                        context=target.context,
                    ),
                    advice=tr(_MORE_CONTEXT.get(target.kind, _MORE_CONTEXT_ELSEWHERE)),
                )
            elif target.slots is not None and level > target.slots:
                problem = Problem(
                    "too_few_slots",
                    tr(
                        "The server takes {slots} requests at the same time, not {asked}.",
                        slots=target.slots,
                        asked=level,
                    ),
                    advice=tr("Start it with more slots (-np)."),
                )
            if problem is None:
                found.append((depth, level))
            else:
                self._give_up(Cell(depth, level, problems=(problem,)))
                self._pace.cell_done(depth, level)
        return found

    def _give_up(self, cell: Cell) -> None:
        self._say(CellDone(cell))

    # One cell -----------------------------------------------------------------------------------

    def _measure_cell(self, depth: int, level: int) -> None:
        self._cell = Cell(depth, level)
        prompts = self._fill(depth, level, 0)
        done, fresh, warm = 0, 0, self._plan.warm_ups
        failures = 0
        while done < self._plan.runs:
            kind = SampleKind.WARM_UP if warm > 0 else SampleKind.RUN
            samples = self._perform(kind, prompts, self._plan.tokens, done)
            fault = _fault(samples)
            if fault is None:
                self._pace.step_done(depth, level, kind)
                if kind is SampleKind.RUN:
                    done, failures = done + 1, 0  # a warm-up that went well gets nowhere
                else:
                    warm -= 1
                continue
            failures += 1
            self._react(fault, failures)
            warm = max(warm, 1)  # whatever happened, the next request is not like the others
            if fault.code == "early_end":  # the same prompt would end the same way
                fresh += 1
                prompts = self._fill(depth, level, fresh)
        cell = replace(self._cell, finished=True)
        cell = replace(cell, problems=oddities(cell))
        self._cell = cell
        if self._least is None and level == 1:
            self._least = cell, prompts
        self._say(CellDone(cell))

    def _measure_again(self, cell: Cell, prompts: Sequence[Prompt]) -> None:
        """The least depth once more, now that the deepest is behind it. What goes wrong here costs
        nothing that was measured."""
        self._cell = cell
        kinds = [SampleKind.WARM_UP] + [SampleKind.AGAIN] * self._plan.again
        for round, kind in enumerate(kinds):
            if _fault(self._perform(kind, prompts, self._plan.tokens, round)) is not None:
                break
        self._say(CellDone(self._cell))

    def _fill(self, depth: int, level: int, attempt: int) -> list[Prompt]:
        """Bring a prompt of this depth into the cache for each user, and time how it is read."""
        kinds = [SampleKind.COLD] * self._plan.cold if not attempt else [SampleKind.FILL]
        prompts: list[Prompt] = []
        for round, kind in enumerate(kinds or [SampleKind.FILL]):
            failures = corrections = 0
            while True:
                base = f"{depth}/{level}/{round}/{failures}/{corrections}"
                if kind is SampleKind.FILL:
                    base = f"shared/{attempt}/{failures}"
                prompts = [
                    self._client.prompts.prompt(depth, f"{base}/{user}") for user in range(level)
                ]
                tokens = COLD_TOKENS if kind is SampleKind.COLD else 1
                samples = self._perform(kind, prompts, tokens, round)
                fault = _fault(samples)
                if fault is not None:
                    failures += 1
                    self._react(fault, failures)
                    continue
                counted = samples[0].prompt_tokens
                if (
                    counted is not None
                    and corrections < TRIES
                    and self._client.prompts.learn(prompts[0], counted)
                ):
                    corrections += 1
                    continue
                self._pace.step_done(depth, level, kind)
                break
        return prompts

    def _react(self, fault: Problem, failures: int) -> None:
        """After a request that went wrong: wait, or give up the cell or the run."""
        match fault.code:
            case "stopped":
                raise StoppedError
            case "needs_key" | "not_there":
                raise RunError(fault)
            case "server_gone" | "cut_off":
                self._waiting.until_back(fault)
            case "loading":
                self._waiting.until_ready()
            case "early_end":
                pass
            case code if code not in PASSING:
                raise _CellError(fault)
        if failures >= TRIES:
            raise _CellError(fault)

    # One round of requests ----------------------------------------------------------------------

    def _perform(
        self, kind: SampleKind, prompts: Sequence[Prompt], tokens: int, round: int
    ) -> list[Sample]:
        """One request for each prompt, at the same time."""
        samples = self._exchange(kind, prompts, tokens, round)
        for sample in samples:
            self._pace.learn(sample)
            self._cell = replace(self._cell, samples=(*self._cell.samples, sample))
            self._say(SampleDone(self._cell.depth, self._cell.concurrency, sample))
        return samples

    def _exchange(
        self, kind: SampleKind, prompts: Sequence[Prompt], tokens: int, round: int
    ) -> list[Sample]:
        if self._control.paused:
            self._progress("paused")
        self._control.wait_while_paused()
        busy = self._waiting.until_idle()
        self._phase = kind.value
        cold = kind is SampleKind.COLD
        exchanges = [
            Exchange(*self._client.request(p, tokens, user=user, cold=cold, salt=self._run.id))
            for user, p in enumerate(prompts)
        ]
        to_read = sum(p.tokens for p in prompts)
        slowest = (self._pace.rates.prefill or 4 * SLOWEST_PREFILL) / 4
        exchange_all(
            self._client.address,
            exchanges,
            self._control,
            first_seconds=self._plan.stall_seconds + to_read / slowest,
            stall_seconds=self._plan.stall_seconds,
            most_tokens=_MORE_THAN_ASKED * (tokens + _FEW_TOKENS),
            watch=lambda now: self._watch(now, tokens),
            clock=self._clock,
            asleep=self._asleep,
        )
        shared = kind is SampleKind.RUN and self._waiting.shared()
        found = []
        for user, (each, prompt) in enumerate(zip(exchanges, prompts, strict=True)):
            sample = each.recorder.sample(kind, each.started_ns - self._zero, user, round)
            sample = replace(sample, round_trip_ns=each.round_trip_ns)
            sample = checked(sample, prompt.tokens, tokens, bool(prompt.ids))
            if kind is SampleKind.RUN and (busy or shared) and sample.sound:
                sample = replace(sample, problems=(*sample.problems, _BUSY))
            found.append(sample)
            self._note_model(each.recorder.model)
        return found

    def _note_model(self, model: str) -> None:
        """A server with a single model takes any name and answers as if nothing were."""
        asked = self._run.target.model
        if self._other_model_said or not model or not asked or _same_name(model, asked):
            return
        self._other_model_said = True
        problem = Problem(
            "other_model",
            tr(
                "{model} answered, although {asked} was asked for.",
                model=display(model),
                asked=display(asked),
            ),
            Severity.WARNING,
            tr("The figures are those of the model that answered."),
        )
        self._say(ProblemFound(problem))

    def _probe(self) -> None:
        """A first, discarded request: it wakes everything up and tells about how fast it is."""
        limit = self._run.target.context or PROBE_PROMPT * 2
        depth = max(1, min(PROBE_PROMPT, limit - PROBE_TOKENS - MARGIN))
        self._cell = Cell(depth)
        for failures in range(1, TRIES + 1):
            prompt = self._client.prompts.prompt(depth, f"probe/{failures}")
            (sample,) = self._exchange(SampleKind.COLD, [prompt], PROBE_TOKENS, 0)
            if sample.prompt_tokens is not None:
                self._client.prompts.learn(prompt, sample.prompt_tokens)
            fault = _fault([sample])
            if fault is None or fault.code in ("cached", "early_end", "prompt_cut", "reloaded"):
                self._pace.learn(sample)
                break
            try:
                self._react(fault, failures)
            except _CellError as error:
                raise RunError(error.problem) from None
        self._progress("waiting")

    # Progress -----------------------------------------------------------------------------------

    def _watch(self, exchanges: Sequence[Exchange], tokens: int) -> None:
        """Said some ten times a second while a round of requests is under way."""
        written = sum(each.recorder.written for each in exchanges)
        now = self._clock()
        rates = [
            (each.recorder.written - 1) * 1e9 / (now - begun)
            for each in exchanges
            if (begun := each.recorder.first_text_ns(each.started_ns)) is not None
            and each.recorder.written > 1
            and now - begun > _LEAST_RATED_NS
        ]
        self._progress(
            self._phase,
            tokens=written,
            prompt_done=exchanges[0].recorder.prompt_done,
            tok_s=sum(rates) if rates else None,
            share=written / max(1, tokens * len(exchanges)),
        )

    def _progress(self, phase: str, **figures: Any) -> None:
        cell = self._cell
        self._say(self._pace.progress(cell.depth, cell.concurrency, phase, **figures))


_MORE_CONTEXT_ELSEWHERE = mark("Measure at smaller depths, or start it with a larger context.")
_MORE_CONTEXT = {
    # A larger num_ctx in a request would load the model anew, and /v1 passes it over.
    ServerKind.OLLAMA: mark(
        "Measure at smaller depths, set OLLAMA_CONTEXT_LENGTH for the server, or "
        "make a model of your own with PARAMETER num_ctx."
    ),
    ServerKind.LM_STUDIO: mark(
        "Measure at smaller depths, or load the model with a larger context."
    ),
}
_BUSY = Problem(
    "busy",
    mark("The server worked for somebody else at the same time."),
    Severity.WARNING,
    mark("Close other programs that use it and measure again."),
)


def _fault(samples: Sequence[Sample]) -> Problem | None:
    """Why a round of requests does not count: the first error of any."""
    return next((p for s in samples for p in s.problems if p.severity is Severity.ERROR), None)


def _same_name(one: str, other: str) -> bool:
    """Whether two names mean one model: a path counts by its last part, Ollama's tag may lack."""
    short = [
        name.replace("\\", "/").rsplit("/", 1)[-1].removesuffix(":latest").removesuffix(".gguf")
        for name in (one, other)
    ]
    return short[0].lower() == short[1].lower()


def _no_answer(error: NoAnswerError) -> Problem:
    return Problem(
        "server_gone",
        tr("The server could not be asked: {why}.", why=error),
        advice=tr("Is it running, and is this its address?"),
    )
