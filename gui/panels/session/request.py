"""One request of the session, to scale, and played."""

from __future__ import annotations

from time import monotonic

from PySide6.QtCore import QTimer
from PySide6.QtGui import QHideEvent
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from core.language import mark, tr
from core.plan.plan import PartKind, Plan
from core.plan.session import Segment, SegmentKind, Session, timeline
from core.plan.session.rates import PlanRates
from core.units import format_seconds, format_tokens
from gui.widgets.live_text import LiveText
from gui.widgets.motion import pace
from gui.widgets.pictures import Picture
from gui.widgets.request_picture import RequestPicture, Stretch
from gui.widgets.text import Style, Text
from gui.widgets.tone_legend import ToneLegend

_FRAME_MS = 50
_MOMENTS = {
    SegmentKind.PREFILL: mark("{at}: reading, {done} of {whole} tokens"),
    SegmentKind.THINK: mark("{at}: thinking, {done} of {whole} tokens"),
    SegmentKind.ANSWER: mark("{at}: answering, {done} of {whole} tokens"),
}
# A request that takes longer is played faster, so that nobody waits as long as it takes.
_LONGEST_PLAY = 12.0
_PARTS = {
    SegmentKind.LOAD: PartKind.OTHERS,
    SegmentKind.PREFILL: PartKind.CACHE,
    SegmentKind.THINK: PartKind.COMPUTE,
    SegmentKind.ANSWER: PartKind.WEIGHTS,
}
_LEGEND = (
    (PartKind.OTHERS, mark("loading the model")),
    (PartKind.CACHE, mark("reading the prompt, chunk by chunk")),
    (PartKind.COMPUTE, mark("thinking")),
    (PartKind.WEIGHTS, mark("answering")),
)
_UNKNOWN = mark(
    "How fast this machine reads a prompt is not known. Type a rate that was measured, on the left."
)


class RequestView(QWidget):
    """The stretches of one turn, with a button that plays them in their own time, or faster."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._segments: tuple[Segment, ...] = ()
        self._began = 0.0
        self._speed = 1.0
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._advance)
        self.heading = Text(tr("ONE REQUEST"), Style.HEADING)
        self.play = QPushButton(tr("Play"))
        self.play.setAccessibleName(tr("Play the request"))
        self.play.clicked.connect(self._toggle)
        self.moment = LiveText(Style.MUTED)
        self.picture = RequestPicture()
        self.legend = ToneLegend([(tone, tr(words)) for tone, words in _LEGEND])
        self.unknown = LiveText(Style.MUTED, wrap=True)
        self.unknown.set_text(tr(_UNKNOWN))
        head = QHBoxLayout()
        head.addWidget(self.heading)
        head.addStretch(1)
        head.addWidget(self.moment)
        head.addWidget(self.play)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addLayout(head)
        column.addWidget(self.unknown)
        column.addWidget(self.picture)
        column.addWidget(self.legend)
        Picture(self.picture, self.legend)

    @property
    def playing(self) -> bool:
        """Whether the hand moves by itself."""
        return self._timer.isActive()

    def show_turn(self, plan: Plan, session: Session, place: int) -> None:
        """Show one turn of a session."""
        self._stop()
        turn = session.turns[place] if place < len(session.turns) else None
        found = None
        if turn is not None:
            rates = PlanRates(plan, session.choice)
            found = timeline(turn, session.choice, rates, plan.settings.ubatch)
            self.heading.set_text(tr("THE REQUEST OF TURN {turn}", turn=turn.number))
        self._segments = found or ()
        known = bool(self._segments)
        for widget in (self.picture, self.legend, self.play, self.moment):
            widget.setVisible(known)
        self.unknown.setVisible(not known and turn is not None)
        self.heading.setVisible(turn is not None)
        first = next((s.start for s in self._segments if s.kind in _WRITING), None)
        self.picture.set_request(_stretches(self._segments), first)
        self.picture.setAccessibleDescription(self._whole())
        self.moment.set_text("")

    def hideEvent(self, event: QHideEvent) -> None:
        """Nothing moves where nobody looks."""
        self._stop()
        super().hideEvent(event)

    def show_moment(self, now: float) -> None:
        """Put the hand at a second and say what happens then."""
        self.picture.set_now(now)
        self.moment.set_text(moment_words(self._segments, now))

    def _toggle(self) -> None:
        if self.playing:
            self._stop()
            return
        whole = self._segments[-1].end
        self._speed = max(1.0, whole / _LONGEST_PLAY)
        self._began = monotonic()
        self._timer.start(pace(self, _FRAME_MS))
        self.play.setText(tr("Stop"))

    def _stop(self) -> None:
        self._timer.stop()
        self.play.setText(tr("Play"))
        self.picture.set_now(None)
        self.moment.set_text("")

    def _advance(self) -> None:
        now = (monotonic() - self._began) * self._speed
        if not self._segments or now >= self._segments[-1].end:
            self._stop()
            return
        self.show_moment(now)

    def _whole(self) -> str:
        spans: dict[SegmentKind, float] = {}
        for segment in self._segments:
            spans[segment.kind] = spans.get(segment.kind, 0.0) + segment.end - segment.start
        return "; ".join(
            f"{tr(kind.value)}: {format_seconds(span)}" for kind, span in spans.items()
        )


_WRITING = (SegmentKind.THINK, SegmentKind.ANSWER)


def _stretches(segments: tuple[Segment, ...]) -> list[Stretch]:
    """Chunks of the prompt one by one, everything else in one piece."""
    found: list[Stretch] = []
    for segment in segments:
        part = _PARTS[segment.kind]
        if found and found[-1].part is part and segment.kind is not SegmentKind.PREFILL:
            found[-1] = Stretch(found[-1].start, segment.end, part)
        else:
            found.append(Stretch(segment.start, segment.end, part))
    return found


def moment_words(segments: tuple[Segment, ...], now: float) -> str:
    """What happens at a second of a request: "12.0 s: reading, 6,144 of 23,000 tokens"."""
    current = next((s for s in segments if s.end >= now), None)
    if current is None:
        return ""
    at = format_seconds(now) if now else "0 s"
    if current.kind is SegmentKind.LOAD:
        return tr("{at}: loading the model", at=at)
    same = [s for s in segments if s.kind is current.kind]
    whole = sum(s.tokens for s in same)
    share = (now - current.start) / max(current.end - current.start, 1e-9)
    done = sum(s.tokens for s in same if s.end < now) + round(share * current.tokens)
    return tr(_MOMENTS[current.kind], at=at, done=format_tokens(done), whole=format_tokens(whole))
