"""What a repository offers: every quantization with its size, and on demand whether it fits."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QCloseEvent, QKeyEvent
from PySide6.QtWidgets import QDialog, QPushButton, QVBoxLayout, QWidget

from core.gguf import display
from core.language import mark, tr, trn
from core.library import facts_of, fit_of
from core.machine.machine import spoken_name
from core.problems import Problem
from core.remote import FileLink, RepositoryLink
from core.remote.repository import Offer, Repository
from core.units import format_bytes
from gui.document import Document
from gui.panels.problem_area import ProblemArea
from gui.tables.model_rows import ModelLine, ModelSheet
from gui.tables.view import SheetView
from gui.widgets.dialog_size import open_at
from gui.widgets.elided_text import ElidedText
from gui.widgets.live_text import LiveText
from gui.widgets.text import Style
from gui.widgets.wrap import Wrap
from gui.workers import links
from gui.workers.feed import Feed
from gui.workers.runner import Runner

_SIZE = (112, 34)  # letters and lines
_COLUMNS = frozenset(("name", "label", "bits_per_weight", "bytes", "verdict", "ceiling_tok_s"))
_HEADER = mark("A header has some megabytes; no weights are downloaded.")
_WAITING = mark("reading…")
_REST_MS = 150


class RepositoryDialog(QDialog):
    """``open_asked`` carries the file of the row that shall be opened."""

    open_asked = Signal(FileLink)

    def __init__(
        self, document: Document, link: RepositoryLink, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._document = document
        self._link = link
        self._offers: tuple[Offer, ...] = ()
        self._checked: dict[Offer, links.Checked] = {}
        self._waiting: set[Offer] = set()
        self.lister = Runner("repository", self)
        self.checker = Feed("headers", self)
        self.sheet = ModelSheet(_COLUMNS, self)
        self.table = SheetView(self.sheet, "model")
        self.name = ElidedText(style=Style.HEADLINE)
        self.place = LiveText(Style.MUTED)
        self.machine = LiveText(Style.MUTED)
        self.problems = ProblemArea({})
        self.status = LiveText(Style.MUTED, wrap=True)
        self.check_one = QPushButton(tr("Check &this one"))
        self.check_all = QPushButton(tr("Check &all"))
        self.stop_button = QPushButton(tr("&Stop"))
        self.open_button = QPushButton(tr("&Open"))
        self.close_button = QPushButton(tr("Close"))
        self._beside = 0
        self._build()
        self._connect()
        self.status.set_text(tr("Asking for the list of files…"))
        self.table.set_placeholder(tr("Asking for the list of files…"))
        self._show()
        self.lister.start(links.listing(link))

    # What the user does.

    def check(self, offers: Sequence[Offer]) -> None:
        """Read the headers of these; they are judged for the machine and the choice of the plan."""
        wanted = [offer for offer in offers if offer not in self._checked]
        if not wanted:
            return
        self._waiting = set(wanted)
        self.checker.pull(links.checking(wanted))
        self._show()

    def stop(self) -> None:
        """Read no further headers."""
        self.checker.cancel()
        self._waiting = set()
        self._show()

    def open_chosen(self) -> None:
        """Open the model of the row under the cursor."""
        row = self.table.current_row()
        if 0 <= row < len(self._offers):
            self.stop()
            self.open_asked.emit(self._offers[row].link)

    # What comes.

    def _listed(self, answer: Repository | Problem) -> None:
        if isinstance(answer, Problem):
            self.problems.set_problems([answer])
            self.table.set_placeholder("")
            self.status.set_text("")
            return
        self._offers = answer.offers
        self.table.set_placeholder(tr("There is no GGUF file in this repository."))
        self._beside = len(answer.projectors)
        self._show(anew=True)
        self._choose_row(self._link.label)
        self.table.setFocus()

    def _choose_row(self, label: str) -> None:
        """The quantization that the link names, or the smallest."""
        wanted = label.upper()
        named = (n for n, o in enumerate(self._offers) if wanted and wanted in o.label)
        place = self.sheet.position(next(named, 0)) if self._offers else None
        if place is not None:
            self.table.choose_row(place)

    def _came(self, found: list[links.Checked]) -> None:
        for each in found:
            self._checked[each.offer] = each
            self._waiting.discard(each.offer)
        self._show()

    def _ended(self) -> None:
        self._waiting = set()
        self._show()

    # What is shown.

    def _show(self, *, anew: bool = False) -> None:
        units = self._document.units
        self.sheet.show([self._line(offer) for offer in self._offers], units, anew=anew)
        self.table.share_room()
        self.machine.set_text(
            tr(
                "Fits and ceiling: {machine}",
                machine=display(spoken_name(self._document.machine.name)),
            )
        )
        running = self.checker.running
        left = [offer for offer in self._offers if offer not in self._checked]
        self.check_all.setEnabled(bool(left) and not running)
        self.stop_button.setVisible(running)
        self.open_button.setEnabled(bool(self._offers))
        self._enable()
        if running:
            done = len(self._offers) - len(left)
            self.status.set_text(
                tr("{done} of {count} headers read.", done=done, count=len(self._offers))
            )
        elif self._offers:
            sizes = [o.bytes for o in self._offers if o.bytes is not None]
            words = [tr("{count} models", count=len(self._offers))]
            if len(sizes) > 1:
                least, most = format_bytes(min(sizes), units), format_bytes(max(sizes), units)
                words.append(tr("{least} to {most}", least=least, most=most))
            elif sizes:
                words.append(format_bytes(sizes[0], units))
            if self._beside:
                words.append(trn("{count} projector", "{count} projectors", self._beside))
            self.status.set_text(f"{', '.join(words)}. {tr(_HEADER)}")

    def _line(self, offer: Offer) -> ModelLine:
        checked = self._checked.get(offer)
        model = checked.model if checked else None
        document = self._document
        facts = facts_of(model) if model else None
        fit = fit_of(model, document.machine, document.choice) if model else None
        state, about = "", f"{offer.folder}/{offer.name}" if offer.folder else offer.name
        if offer.files > 1 or offer.missing:
            total = offer.files + offer.missing
            shards = trn("{count} shard", "{count} shards", total)
            if offer.missing:
                shards = tr("{found} of {total} shards", found=offer.files, total=total)
            about += f"\n{shards}"
        if checked is None:
            state = tr(_WAITING) if offer in self._waiting else tr("not checked")
        elif checked.problem is not None:
            state, about = tr("not readable"), f"{about}\n{checked.problem.message}"
        elif facts is not None and fit is None:
            state = tr(facts.kind.value)
        if fit is not None:
            about += f"\n{fit.why}"
        return ModelLine(
            name=display(offer.name),
            label=(facts.label if facts else "") or offer.label,
            bits=facts.bits if facts else None,
            bytes=offer.bytes,
            parameters=facts.parameters if facts else None,
            context=facts.context if facts else None,
            verdict=fit.verdict if fit else None,
            ceiling=fit.ceiling if fit else None,
            state=state,
            about=about,
        )

    def _enable(self) -> None:
        row = self.table.current_row()
        known = 0 <= row < len(self._offers) and self._offers[row] in self._checked
        self.check_one.setEnabled(row >= 0 and not known and not self.checker.running)

    # What Qt asks.

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Escape stops reading first."""
        if event.key() == Qt.Key.Key_Escape and self.checker.running:
            self.stop()
            return
        super().keyPressEvent(event)

    def done(self, result: int) -> None:
        """Closed: nothing more is read."""
        self.lister.cancel()
        self.checker.cancel()
        super().done(result)

    def closeEvent(self, event: QCloseEvent) -> None:
        """The window goes with what it had begun."""
        self.lister.stop()
        self.checker.stop()
        super().closeEvent(event)

    def _build(self) -> None:
        self.setWindowTitle(tr("{name} — models", name=display(self._link.name)))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.name.set_text(display(self._link.name))
        host = urlsplit(self._link.hub).hostname or ""
        on = tr("on {host}", host=host)
        self.place.set_text(f"{on}, {self._link.folder}" if self._link.folder else on)
        self.table.setAccessibleName(tr("Models of the repository"))
        self.check_one.setToolTip(tr("Read its header: does it fit, and how fast at most?"))
        self.check_all.setToolTip(tr("Read the header of each, a few at a time"))
        self.open_button.setToolTip(tr("Plan with it, without downloading it (Enter)"))
        top = Wrap()
        top.set_cells([self.name, self.place, self.machine])
        foot = Wrap(last_right=True)
        foot.set_cells(
            [self.open_button, self.check_one, self.check_all, self.stop_button, self.close_button]
        )
        column = QVBoxLayout(self)
        column.addWidget(top)
        column.addWidget(self.problems)
        column.addWidget(self.table, 1)
        column.addWidget(self.status)
        column.addWidget(foot)
        for button in self.findChildren(QPushButton):
            button.setAutoDefault(False)
        open_at(self, *_SIZE)

    def _connect(self) -> None:
        self.lister.finished.connect(self._listed)
        self.checker.came.connect(self._came)
        self.checker.ended.connect(self._ended)
        self.table.opened.connect(self.open_chosen)
        self.table.row_changed.connect(lambda _: self._enable())
        self.open_button.clicked.connect(self.open_chosen)
        self.check_one.clicked.connect(self._check_chosen)
        self.check_all.clicked.connect(lambda: self.check(self._offers))
        self.stop_button.clicked.connect(self.stop)
        self.close_button.clicked.connect(self.close)
        # A slider that is dragged is followed once it rests.
        self._rest = QTimer(self)
        self._rest.setSingleShot(True)
        self._rest.setInterval(_REST_MS)
        self._rest.timeout.connect(self._show)
        for signal in (
            self._document.plan_changed,
            self._document.machine_changed,
            self._document.units_changed,
        ):
            signal.connect(self._rest.start)

    def _check_chosen(self) -> None:
        row = self.table.current_row()
        if 0 <= row < len(self._offers):
            self.check([self._offers[row]])
