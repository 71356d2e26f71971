"""How far a measurement is, on standard error."""

from __future__ import annotations

import sys

from core.command_line.output import complain, mutter
from core.measure.events import CellDone, Event, ProblemFound, Progress
from core.measure.metrics import best_decode
from core.units import format_rate, format_seconds, format_share, format_tokens


class ProgressLine:
    """One line that is written over on a terminal; elsewhere one line for each cell."""

    def __init__(self) -> None:
        self._live = sys.stderr is not None and sys.stderr.isatty()
        self._shown = 0
        self._told_duration = False

    def take(self, event: Event) -> None:
        match event:
            case Progress():
                self._progress(event)
            case CellDone(cell=cell):
                rate = best_decode(cell)
                words = format_rate(rate.median) if rate else "not measured"
                many = f", {cell.concurrency} at once" if cell.concurrency > 1 else ""
                self._line(f"depth {format_tokens(cell.depth)}{many}: {words}")
            case ProblemFound(problem=problem):
                self._line(f"{problem.message} {problem.advice}".rstrip())

    def clear(self) -> None:
        if self._shown:
            mutter("\r" + " " * self._shown + "\r")
            self._shown = 0

    def _progress(self, now: Progress) -> None:
        if now.left_seconds is not None and not self._told_duration:
            self._told_duration = True
            self._line(f"It takes about {format_seconds(max(1.0, now.left_seconds))}.")
        if not self._live:
            return
        words = [format_share(now.done), now.phase.replace("_", " ")]
        words.append(f"at {format_tokens(now.depth)} tokens")
        if now.prompt_done and not now.tokens:
            words.append(f"{format_tokens(now.prompt_done)} read")
        if now.tok_s is not None:
            words.append(format_rate(now.tok_s))
        if now.left_seconds is not None:
            words.append(f"{format_seconds(max(1.0, now.left_seconds))} left")
        line = ", ".join(words)
        mutter("\r" + line.ljust(self._shown))
        self._shown = len(line)

    def _line(self, words: str) -> None:
        self.clear()
        complain(words)
