"""Why every token reads everything, and what a cache saves: the open model's own, played."""

from __future__ import annotations

from PySide6.QtCore import QTimer
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from core.explain.simple import simple_formula
from core.explain.story import Story, story
from core.language import listed, mark, tr
from core.model.model import Role
from core.plan.plan import PartKind
from core.provenance import Input, Number, Rank, Source, Unit
from core.units import format_operations, format_tokens
from gui.document import Document
from gui.widgets.cache_picture import CachePicture
from gui.widgets.live_text import LiveText
from gui.widgets.motion import pace
from gui.widgets.pictures import Picture
from gui.widgets.share_bars import ShareBars, ShareRow
from gui.widgets.slider_field import SliderField
from gui.widgets.text import Style, Text

# Six seconds from an empty context to a full one.
_STEPS = 64
_STEP_MS = 90
_WHY = mark(
    "A model writes one token at a time, and every token takes a pass through all layers. "
    "What the layers worked out for the tokens before it would be worked out again each time; "
    "the cache keeps it instead. The price is memory, and that all of it is read for every token."
)
_RULE = Source(Rank.DERIVED, mark("the file's tensor table and the cache rule"))
_UNKNOWN = mark("What this architecture keeps for each token is not known, so nothing is drawn.")


class CacheGrowth(QWidget):
    """A slider over the context and a button that plays it."""

    def __init__(self, document: Document, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._document = document
        self._story: Story | None = None
        self._stale = True
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._advance)
        self.play = QPushButton(tr("Play"))
        self.play.setAccessibleName(tr("Play the cache filling up"))
        self.play.clicked.connect(self._toggle)
        self.step = SliderField(tr("Tokens in the &cache"), unit=tr("tokens"))
        self.step.value_changed.connect(self._slid)
        self.picture = CachePicture()
        self.unknown = Text(tr(_UNKNOWN), wrap=True)
        self.reads = ShareBars([tr("for the next token")], ["999 MiB"])
        self.saved = LiveText(wrap=True)
        self.simple = LiveText(wrap=True)
        self.legend = Text("", Style.MUTED, wrap=True)
        controls = QHBoxLayout()
        controls.addWidget(self.step.label)
        controls.addWidget(self.step, 1)
        controls.addWidget(self.play)
        column = QVBoxLayout(self)
        space = self.fontMetrics().height()
        column.setContentsMargins(space, space, space, space)
        column.setSpacing(space)
        column.addWidget(Text(tr(_WHY), wrap=True))
        column.addLayout(controls)
        column.addWidget(self.unknown)
        column.addWidget(self.picture)
        column.addWidget(self.legend)
        Picture(self.picture, self.legend)
        column.addWidget(Text(tr("WHAT THE NEXT TOKEN READS"), Style.HEADING))
        column.addWidget(self.reads)
        column.addWidget(self.saved)
        column.addWidget(self.simple)
        column.addStretch(1)
        document.plan_changed.connect(self._plan_changed)
        document.units_changed.connect(self._show)
        document.units_changed.connect(self._compare)

    @property
    def playing(self) -> bool:
        """Whether the context is filling up by itself."""
        return self._timer.isActive()

    def showEvent(self, event: QShowEvent) -> None:
        """The plan may have changed in the meantime."""
        super().showEvent(event)
        self._refresh()

    def hideEvent(self, event: QHideEvent) -> None:
        """Nothing moves where nobody looks."""
        self._stop()
        super().hideEvent(event)

    def _plan_changed(self) -> None:
        self._stale = True
        if self.isVisible():
            self._refresh()

    def _refresh(self) -> None:
        if not self._stale:
            return
        self._stale = False
        plan = self._document.plan
        self._story = story(plan) if plan is not None else None
        if self._story is None:
            self._stop()
        else:
            context = self._story.context
            self.step.set_range(_stops(context), 0, context)
            self.step.set_value(min(self._story.plan.settings.depth, context))
        self._show()
        self._compare()

    def _compare(self) -> None:
        """The page of a calculator may say something else; then it is explained."""
        plan = self._document.plan
        formula = simple_formula(plan) if plan is not None else None
        self.simple.set_text(formula.words(self._document.units) if formula is not None else "")
        self.simple.setVisible(formula is not None)

    def _toggle(self) -> None:
        if self.playing:
            self._stop()
            return
        if self._story is not None:
            if self.step.value >= self._story.context:
                self.step.set_value(0)
                self._show()
            self._timer.start(pace(self, _STEP_MS))
            self.play.setText(tr("Stop"))

    def _stop(self) -> None:
        self._timer.stop()
        self.play.setText(tr("Play"))

    def _slid(self) -> None:
        self._stop()
        self._show()

    def _advance(self) -> None:
        later = [at for at in self.step.slider.stops if at > self.step.value]
        if not later:
            self._stop()
            return
        # As long either way; where no motion is wanted in fewer steps.
        stride = round(self._timer.interval() / _STEP_MS)
        self.step.set_value(later[min(stride, len(later)) - 1])
        self._show()

    def _show(self) -> None:
        known = self._story is not None
        for widget in (self.picture, self.legend, self.reads, self.saved, self.step, self.play):
            widget.setVisible(known)
        self.step.label.setVisible(known)
        self.unknown.setVisible(not known)
        if self._story is None:
            return
        self.legend.set_text(_legend(self._story))
        units = self._document.units
        moment = self._story.moment(self.step.value)
        self.picture.show_moment(self._story, moment.depth, units)
        most = self._story.moment(self._story.context)
        scale = max(1, most.weights + most.cache + most.state)
        depth = Input(mark("tokens in the cache"), moment.depth, Unit.TOKENS)
        rows: list[tuple[str, int, PartKind | Role]] = [
            (tr("weights, all that are active"), moment.weights, Role.FEED_FORWARD),
            (tr("cache"), moment.cache, PartKind.CACHE),
            (tr("state, read and written"), moment.state, PartKind.STATE),
        ]
        self.reads.set_rows(
            [
                ShareRow(
                    name,
                    size / scale,
                    (Number(size, Unit.BYTES, _RULE, inputs=(depth,)),),
                    tone,
                )
                for name, size, tone in rows
                if size or tone is not PartKind.STATE
            ],
            units,
        )
        self.saved.set_text(
            tr(
                "With the cache the next token takes {operations} operations. Without it all "
                "{tokens} tokens would be worked out again: {more} operations, for one token.",
                operations=format_operations(moment.operations),
                tokens=format_tokens(moment.depth + 1),
                more=format_operations(moment.operations_without),
            )
        )


def _legend(told: Story) -> str:
    """What the cells mean, and how often the plan keeps what is drawn once."""
    words = [tr("Full: kept, and read by the next token; the last one is the newest.")]
    if any(lane.window is not None for lane in told.lanes):
        words.append(tr("Outlined: written, but out of the window."))
    words.append(tr("Dotted: reserved, not written yet."))
    each = [
        name
        for name, kept in (
            (tr("windows"), any(lane.window is not None for lane in told.lanes)),
            (tr("states"), any(lane.state for lane in told.lanes)),
        )
        if kept
    ]
    slots = told.plan.settings.slots
    if slots > 1 and each:
        words.append(
            tr(
                "Drawn for one request: the plan has {slots} slots and keeps {what} for each of "
                "them.",
                slots=slots,
                what=listed(each),
            )
        )
    return " ".join(words)


def _stops(context: int) -> list[int]:
    return sorted({context * step // _STEPS for step in range(_STEPS + 1)})
