"""Start, pause, cancel and resume, with how far it is."""

from __future__ import annotations

from PySide6.QtWidgets import QProgressBar, QPushButton, QVBoxLayout, QWidget

from core.language import mark, tr, trc
from core.measure.events import Progress
from core.measure.run import Run, RunPlan, RunStatus, SampleKind
from core.problems import Severity
from core.units import format_rate, format_seconds, format_share
from gui.widgets.live_text import LiveText
from gui.widgets.text import Style, Text
from gui.widgets.wrap import Wrap

_PHASES = {
    "cold": mark("reading a new prompt"),
    "fill": mark("filling the cache"),
    "warm_up": mark("warming up"),
    "run": mark("writing"),
    "again": mark("once more, after the deepest"),
    "waiting": mark("waiting for the server"),
    "paused": mark("paused"),
}


class ProgressSection(QWidget):
    """Knows nothing of the worker: whoever owns it connects the buttons."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.start = QPushButton(tr("Start measuring"))
        self.start.setToolTip(tr("Measure the chosen server at these depths"))
        self.pause = QPushButton(tr("Pause"))
        self.cancel = QPushButton(tr("Stop"))
        self.cancel.setToolTip(tr("Stop now; what was finished is kept"))
        self.resume = QPushButton(tr("Resume"))
        self.resume.setToolTip(tr("Measure the depths that are missing; finished ones are kept"))
        self.bar = QProgressBar()
        self.bar.setRange(0, 1000)
        self.bar.setTextVisible(False)
        self.bar.setAccessibleName(tr("Measured so far"))
        self.now = Text("", Style.STRONG)
        self.words = LiveText(Style.MUTED, wrap=True)
        buttons = Wrap()
        buttons.set_cells([self.start, self.resume, self.pause, self.cancel])
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(self.fontMetrics().height() // 3)
        column.addWidget(Text(trc("noun: a measurement", "RUN"), Style.HEADING))
        column.addWidget(buttons)
        column.addWidget(self.bar)
        column.addWidget(self.now)
        column.addWidget(self.words)
        self.show_idle(False, "")

    def show_idle(self, startable: bool, words: str, *, resumable: bool = False) -> None:
        """Nothing runs; ``words`` say how the last run ended."""
        self.start.setEnabled(startable)
        self.start.show()
        self.resume.setVisible(resumable)
        self.resume.setEnabled(startable)
        for widget in (self.pause, self.cancel, self.bar, self.now):
            widget.hide()
        self.words.set_text(words)
        self.words.setVisible(bool(words))

    def show_running(self, words: str) -> None:
        """A run has begun."""
        self.start.hide()
        self.resume.hide()
        for widget in (self.pause, self.cancel, self.bar, self.now, self.words):
            widget.show()
        self.pause.setText(tr("Pause"))
        self.pause.setEnabled(True)
        self.cancel.setEnabled(True)
        self.bar.setValue(0)
        self.now.set_text(tr("Starting…"))
        self.words.set_text(words)

    def show_paused(self, paused: bool) -> None:
        """The button does the other thing now."""
        self.pause.setText(tr("Go on") if paused else tr("Pause"))
        if paused:
            self.now.set_text(tr("Paused."))

    def show_cancelling(self) -> None:
        """It was asked to end."""
        self.pause.setEnabled(False)
        self.cancel.setEnabled(False)
        self.now.set_text(tr("Stopping…"))

    def show_progress(self, event: Progress, plan: RunPlan, rounds: int) -> None:
        """Where it is. ``rounds`` runs of this depth are done."""
        self.bar.setValue(round(1000 * event.done))
        rate = format_rate(event.tok_s) if event.tok_s is not None else ""
        left = ""
        if event.left_seconds:
            left = tr("{time} left", time=format_seconds(max(1.0, event.left_seconds)))
        share = format_share(event.done) if event.done else ""
        self.now.set_text(", ".join(w for w in (rate, left, share) if w) or tr("Starting…"))
        words = [
            tr("depth {depth:,}", depth=event.depth),
            tr(_PHASES.get(event.phase, event.phase)),
        ]
        if event.phase == "run":
            run = min(rounds + 1, plan.runs)
            words[1] = tr("run {number} of {all}", number=run, all=plan.runs)
        if event.prompt_done and not event.tokens:
            words.append(tr("{tokens:,} tokens read", tokens=event.prompt_done))
        if event.concurrency > 1:
            words.append(tr("{count} at once", count=event.concurrency))
        self.words.set_text(", ".join(words))


def end_words(run: Run) -> str:
    """How a run ended."""
    match run.status:
        case RunStatus.DONE:
            return tr("Done. The run is kept in History.")
        case RunStatus.STOPPED:
            return tr("Stopped. What was finished is kept in History.")
    problems = [*run.problems, *(p for cell in run.cells for p in cell.problems)]
    worst = next((p for p in reversed(problems) if p.severity is Severity.ERROR), None)
    kept = tr("What was finished is kept in History.")
    if worst is None:
        return " ".join((tr("It failed."), kept))
    why = f"{tr(worst.message)} {tr(worst.advice)}".rstrip()
    return " ".join((tr("It failed: {why}", why=why), kept))


def rounds_done(run: Run, event: Progress) -> int:
    """Runs of the cell that is being measured which are done."""
    cell = next((c for c in run.cells if c.key == (event.depth, event.concurrency)), None)
    if cell is None:
        return 0
    return sum(s.kind is SampleKind.RUN for s in cell.samples) // event.concurrency
