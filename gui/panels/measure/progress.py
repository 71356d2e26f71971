"""Start, pause, cancel and resume, with how far it is."""

from __future__ import annotations

from PySide6.QtWidgets import QProgressBar, QPushButton, QVBoxLayout, QWidget

from core.measure.events import Progress
from core.measure.run import Run, RunPlan, RunStatus, SampleKind
from core.problems import Severity
from core.units import format_rate, format_seconds, format_share, format_tokens
from gui.widgets.live_text import LiveText
from gui.widgets.text import Style, Text
from gui.widgets.wrap import Wrap

_PHASES = {
    "cold": "reading a new prompt",
    "fill": "filling the cache",
    "warm_up": "warming up",
    "run": "writing",
    "again": "once more, after the deepest",
    "waiting": "waiting for the server",
    "paused": "paused",
}


class ProgressSection(QWidget):
    """Knows nothing of the worker: whoever owns it connects the buttons."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.start = QPushButton("Start measuring")
        self.start.setToolTip("Measure the chosen server at these depths")
        self.pause = QPushButton("Pause")
        self.cancel = QPushButton("Stop")
        self.cancel.setToolTip("Stop now; what was finished is kept")
        self.resume = QPushButton("Resume")
        self.resume.setToolTip("Measure the depths that are missing; finished ones are kept")
        self.bar = QProgressBar()
        self.bar.setRange(0, 1000)
        self.bar.setTextVisible(False)
        self.bar.setAccessibleName("Measured so far")
        self.now = Text("", Style.STRONG)
        self.words = LiveText(Style.MUTED, wrap=True)
        buttons = Wrap()
        buttons.set_cells([self.start, self.resume, self.pause, self.cancel])
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(self.fontMetrics().height() // 3)
        column.addWidget(Text("RUN", Style.HEADING))
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
        self.pause.setText("Pause")
        self.pause.setEnabled(True)
        self.cancel.setEnabled(True)
        self.bar.setValue(0)
        self.now.set_text("Starting…")
        self.words.set_text(words)

    def show_paused(self, paused: bool) -> None:
        """The button does the other thing now."""
        self.pause.setText("Go on" if paused else "Pause")
        if paused:
            self.now.set_text("Paused.")

    def show_cancelling(self) -> None:
        """It was asked to end."""
        self.pause.setEnabled(False)
        self.cancel.setEnabled(False)
        self.now.set_text("Stopping…")

    def show_progress(self, event: Progress, plan: RunPlan, rounds: int) -> None:
        """Where it is. ``rounds`` runs of this depth are done."""
        self.bar.setValue(round(1000 * event.done))
        rate = format_rate(event.tok_s) if event.tok_s is not None else ""
        left = f"{format_seconds(max(1.0, event.left_seconds))} left" if event.left_seconds else ""
        share = format_share(event.done) if event.done else ""
        self.now.set_text(", ".join(w for w in (rate, left, share) if w) or "Starting…")
        words = [f"depth {format_tokens(event.depth)}", _PHASES.get(event.phase, event.phase)]
        if event.phase == "run":
            words[1] = f"run {min(rounds + 1, plan.runs)} of {plan.runs}"
        if event.prompt_done and not event.tokens:
            words.append(f"{format_tokens(event.prompt_done)} tokens read")
        if event.concurrency > 1:
            words.append(f"{event.concurrency} at once")
        self.words.set_text(", ".join(words))


def end_words(run: Run) -> str:
    """How a run ended."""
    match run.status:
        case RunStatus.DONE:
            return "Done. The run is kept in History."
        case RunStatus.STOPPED:
            return "Stopped. What was finished is kept in History."
    problems = [*run.problems, *(p for cell in run.cells for p in cell.problems)]
    worst = next((p for p in reversed(problems) if p.severity is Severity.ERROR), None)
    why = f"It failed: {worst.message} {worst.advice}".rstrip() if worst else "It failed."
    return f"{why} What was finished is kept in History."


def rounds_done(run: Run, event: Progress) -> int:
    """Runs of the cell that is being measured which are done."""
    cell = next((c for c in run.cells if c.key == (event.depth, event.concurrency)), None)
    if cell is None:
        return 0
    return sum(s.kind is SampleKind.RUN for s in cell.samples) // event.concurrency
