"""One answer's bytes and stamps become a sample. It knows no socket and no clock, so that a test
can play any stream at any times."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from core.language import mark, tr
from core.measure.dialects.pieces import Piece, Summary, error_in, object_in, words_in
from core.measure.run import Sample, SampleKind, TokenSource
from core.measure.wire.events import JsonLines, ServerSentEvents, Splitter, StreamEvent
from core.measure.wire.http import Response, WireError
from core.problems import Problem, Severity

Read = Callable[[dict[str, Any]], Piece]
_MOST_REFUSAL = 1 << 20
_END = b"[DONE]"


class Recorder:
    """Feed it every read with its stamp (ns since the request went out), then ask for `sample`.

    ``lines``: the stream is JSON lines. ``ends_at_done``: it ends with [DONE] (the OpenAI kind);
    others end with an event that says so. ``written``, ``prompt_done`` and ``model`` are what is
    known so far, for whoever shows progress.
    """

    def __init__(self, read: Read, *, lines: bool = False, ends_at_done: bool = False) -> None:
        self.response = Response()
        self.done = False
        self.written = 0
        self.prompt_done: int | None = None
        self.model = ""
        self._read = read
        self._ends_at_done = ends_at_done
        self._splitter: Splitter = JsonLines() if lines else ServerSentEvents()
        self._refusal = bytearray()
        self._first_byte: int | None = None
        self._first_answer: int | None = None
        self._ended: int | None = None
        self._arrivals: list[int] = []
        self._counts: list[int] = []
        self._new = 0
        self._summary = Summary()
        self._problem: Problem | None = None

    def first_text_ns(self, started_ns: int) -> int | None:
        """When the first text came, on the clock of ``started_ns``."""
        return started_ns + self._arrivals[0] if self._arrivals else None

    def feed(self, data: bytes, at: int) -> None:
        """Bytes that were read at this moment."""
        if self.done:
            return
        try:
            body = self.response.feed(data)
            if body and self._first_byte is None:
                self._first_byte = at
            if self.response.status >= 300:
                self._refusal += body[: _MOST_REFUSAL - len(self._refusal)]
            else:
                for event in self._splitter.feed(body):
                    self._take(event, at)
                    if self.done:
                        return
            if self.response.complete:
                self._finish(at)
        except WireError as error:
            self.fail(_garbage(str(error)), at)

    def close(self, at: int) -> None:
        """The other side has closed the connection."""
        if not self.done:
            self.response.close()
            self._finish(at)

    def fail(self, problem: Problem, at: int) -> None:
        """It ends here, for this reason; the first one counts."""
        if self._problem is None:
            self._problem = problem
        self._ended = at
        self.done = True

    def sample(self, kind: SampleKind, started_ns: int, user: int = 0, round: int = 0) -> Sample:
        """What was recorded, whole or not."""
        summary = self._summary
        timings = summary.timings
        tokens, source = summary.tokens, TokenSource.USAGE
        if tokens is not None and timings:
            source = TokenSource.TIMINGS
        elif isinstance(timings.get("predicted_n"), int):
            tokens, source = timings["predicted_n"], TokenSource.TIMINGS
        elif tokens is None:
            tokens, source = max(self._new, len(self._arrivals)) or None, TokenSource.EVENTS
        counts = self._counts if len(self._counts) == len(self._arrivals) else []
        return Sample(
            kind=kind,
            started_ns=started_ns,
            arrivals_ns=tuple(self._arrivals),
            counts=tuple(counts),
            first_byte_ns=self._first_byte,
            first_answer_ns=self._first_answer,
            ended_ns=self._ended,
            tokens=tokens,
            token_source=source,
            prompt_tokens=summary.prompt_tokens,
            cached_tokens=summary.cached_tokens,
            finish=summary.finish,
            truncated=summary.truncated,
            user=user,
            round=round,
            server_timings=timings,
            problems=() if self._problem is None else (self._problem,),
        )

    def _take(self, event: StreamEvent, at: int) -> None:
        if event.data.strip() == _END:
            self._ended = at
            self.done = True
            return
        try:
            values = json.loads(event.data)
        except (ValueError, RecursionError):
            values = None
        if not isinstance(values, dict):
            # Its text is lost, so no rate of this answer means anything.
            self._problem = self._problem or _garbage(tr("a part of the answer is no JSON"))
            return
        if event.name == "error" and not error_in(values):
            values = {"error": values}
        piece = self._read(values)
        self.model = piece.model or self.model
        if piece.error:
            self.fail(error_in_stream(piece.error), at)
            return
        if piece.prompt_done is not None:
            self.prompt_done = piece.prompt_done
        if piece.new is not None:
            self._new += piece.new
        if piece.text:
            self._arrivals.append(at)
            if self._first_answer is None and not piece.thinking:
                self._first_answer = at
            count = piece.count if piece.count is not None else self._new or None
            if count is not None:
                self._counts.append(count)
            self.written = self.written + 1 if count is None else count
        if piece.summary is not None:
            self._summary = _merged(self._summary, piece.summary)
        if piece.ends:
            self._ended = at
            self.done = True

    def _finish(self, at: int) -> None:
        """The answer is over: whole, refused, or cut off."""
        status = self.response.status
        if status >= 300:
            self.fail(refusal(status, bytes(self._refusal)), at)
        elif status == 0:
            self.fail(CUT_OFF, at)
        elif (
            self._ends_at_done
            and self._summary.finish
            and self.response.complete
            and not self._splitter.rest()
        ):
            self._ended = at  # some servers leave [DONE] out
            self.done = True
        else:
            self.fail(CUT_OFF, at)


def _merged(old: Summary, new: Summary) -> Summary:
    return Summary(
        tokens=old.tokens if new.tokens is None else new.tokens,
        prompt_tokens=old.prompt_tokens if new.prompt_tokens is None else new.prompt_tokens,
        cached_tokens=old.cached_tokens if new.cached_tokens is None else new.cached_tokens,
        finish=new.finish or old.finish,
        truncated=old.truncated or new.truncated,
        timings=new.timings or old.timings,
    )


CUT_OFF = Problem(
    "cut_off",
    mark("The server closed the connection in the middle of an answer."),
    advice=mark("See its log for the reason; often it ran out of memory."),
)


def _garbage(clause: str) -> Problem:
    return Problem(
        "garbage",
        tr("The answer could not be understood: {why}.", why=clause),
        advice=tr("Is something between this program and the server, such as a proxy?"),
    )


def error_in_stream(words: str) -> Problem:
    """A server that fails after it had said 200."""
    return Problem(
        "server_error",
        tr("The server gave up in the middle of an answer: {words}", words=_shortened(words)),
        advice=tr("See its log for the reason."),
    )


def refusal(status: int, body: bytes) -> Problem:
    """Why a request was turned down, in words; what the server said is told with it."""
    try:
        values = json.loads(body)
    except (ValueError, RecursionError):
        values = None
    values = values if isinstance(values, dict) else {}
    said = _shortened(error_in(values) or words_in(values, "detail"))
    told = " " + tr('It says: "{words}"', words=said) if said else ""
    error = object_in(values, "error")
    if status in (401, 403):
        return Problem(
            "needs_key",
            tr("The server wants a key.")
            if status == 401
            else tr("The server does not take this key."),
            advice=tr("Give the key that it was started with."),
        )
    if status == 503:
        return Problem(
            "loading",
            tr("The server is not ready.") + told,
            severity=Severity.ERROR,
            advice=tr("Wait until it has loaded its model."),
        )
    if status == 400 and (
        error.get("type") == "exceed_context_size_error" or "context" in said.lower()
    ):
        return Problem(
            "beyond_context",
            tr("The prompt does not fit into the server's context.") + told,
            advice=tr("Measure at smaller depths, or start the server with a larger context."),
        )
    if status == 404:
        return Problem(
            "not_there",
            tr("The server does not know this model or this address.") + told,
            advice=tr("Check the model's name and the address."),
        )
    return Problem(
        "refused",
        tr("The server turned the request down with status {status}.", status=status) + told,
        advice=tr("See its log for the reason."),
    )


def _shortened(words: str, most: int = 300) -> str:
    line = " ".join("".join(c if c.isprintable() else " " for c in words).split())
    return line if len(line) <= most else f"{line[:most]}…"
