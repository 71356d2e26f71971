"""The overview panel: what the file is, what its layers keep, where its bytes are."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QShowEvent
from PySide6.QtWidgets import (
    QFrame,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from core.gguf import display, excerpt
from core.gguf.header import ByteOrder, Kind, ModelFile
from core.language import mark, tr, trc, written
from core.model.model import Model, Role, Weights
from core.plan.plan import PartKind
from core.problems import Problem, Severity
from core.provenance import Number, Rank, Source, Unit, format_value
from core.units import UnitSystem
from gui.document import Document
from gui.panels.overview import facts, layer_facts
from gui.panels.overview.facts import Fact
from gui.panels.overview.kinds import EXPLAINED
from gui.panels.overview.layer_strip import LayerStrip
from gui.panels.overview.sections import FactList, Notes, Section
from gui.widgets.breakable import breakable
from gui.widgets.share_bars import ShareBars, ShareRow
from gui.widgets.text import Style, Text

_MOST_PATHS = 12
_NAME_LETTERS = 300
_WIDEST_SIZE = "1,023 MiB"
_SEVERITIES = (Severity.ERROR, Severity.WARNING, Severity.NOTE)


class OverviewPanel(QScrollArea):
    """Follows the document: the file's own facts, and what the what-if quantization changes."""

    def __init__(self, document: Document, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._document = document
        self._model_stale = True
        self._plan_stale = True
        self._weights: tuple[Weights, UnitSystem] | None = None  # whose rows are shown
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName(tr("Overview"))
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # the figures in it take the keyboard
        self._empty = Text(tr("Open a GGUF file to see what it holds."), Style.MUTED, wrap=True)
        self._empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._name = Text("", Style.STRONG, wrap=True)
        self._what = Text("", Style.MUTED, wrap=True)
        self._bound = Text("", Style.STRONG, wrap=True)
        self._kind = Section(tr("What this file is for"))
        self._headline = FactList()
        self._label = Text("", Style.BODY, wrap=True)
        self._notes = Notes()
        self._notes_section = Section(tr("Notes"))
        self._notes_section.add(self._notes)
        self._strip = LayerStrip()
        self._keeps = FactList()
        self._layers = Section(tr("What the layers keep"))
        self._layers.add(self._strip)
        self._layers.add(self._keeps)
        self._format_bars = ShareBars(
            (tr("bytes"), tr("bits"), tr("tensors")), (_WIDEST_SIZE, "32.00", "1,000")
        )
        self._formats = Section(tr("By format"))
        self._formats.add(self._format_bars)
        self._role_bars = ShareBars((tr("bytes"),), (_WIDEST_SIZE,))
        self._roles = Section(tr("By role"))
        self._roles.add(self._role_bars)
        self._read_bars = ShareBars((trc("bytes of a role", "read"),), (_WIDEST_SIZE,))
        self._reads = Section(tr("One token reads"))
        self._reads.add(self._read_bars)
        self._file = Section(tr("File"))
        self._file_facts = FactList()
        self._paths = Text("", Style.MUTED, wrap=True)
        self.copy_paths = QPushButton(tr("Copy path"))
        self.copy_paths.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.copy_paths.clicked.connect(self._copy_paths)
        self._file.add(self._file_facts)
        self._file.add(self._paths)
        self._file.add(self.copy_paths)
        self._page = QWidget()
        column = QVBoxLayout(self._page)
        space = self.fontMetrics().averageCharWidth()
        column.setContentsMargins(space, space, space, 2 * space)
        column.setSpacing(2 * space)
        head = QVBoxLayout()
        head.setSpacing(2)
        for text in (self._name, self._what, self._bound):
            head.addWidget(text)
        column.addWidget(self._empty)
        column.addLayout(head)
        column.addWidget(self._kind)
        facts_column = QVBoxLayout()
        facts_column.setSpacing(4)
        facts_column.addWidget(self._headline)
        facts_column.addWidget(self._label)
        column.addLayout(facts_column)
        self._sections = (
            self._notes_section,
            self._formats,
            self._reads,
            self._roles,
            self._layers,
            self._file,
        )
        for section in self._sections:
            column.addWidget(section)
        column.addStretch(1)
        self.setWidget(self._page)
        # A page that becomes longer is painted anew only where something moved.
        self._page.setAttribute(Qt.WidgetAttribute.WA_StaticContents)
        document.model_changed.connect(self._model_changed)
        document.plan_changed.connect(self._plan_changed)
        document.units_changed.connect(self._model_changed)
        self._refresh()

    def showEvent(self, event: QShowEvent) -> None:
        """What changed while the panel was hidden is drawn now."""
        self._refresh()
        super().showEvent(event)

    def _model_changed(self) -> None:
        self._model_stale = self._plan_stale = True
        if self.isVisible():
            self._refresh()

    def _plan_changed(self) -> None:
        self._plan_stale = True
        if self.isVisible():
            self._refresh()

    def _refresh(self) -> None:
        model = self._document.model
        if self._model_stale:
            self._model_stale = False
            self._show_model(model)
        if self._plan_stale and model is not None:
            self._plan_stale = False
            self._show_plan(model)

    def _show_model(self, model: Model | None) -> None:
        self._weights = None
        self._empty.setVisible(model is None)
        for widget in (self._name, self._what, self._headline, *self._sections):
            widget.setVisible(model is not None)
        self._kind.setVisible(model is not None and model.file.kind in EXPLAINED)
        self._bound.setVisible(model is not None and facts.is_lower_bound(model))
        if model is None:
            self._label.hide()
            return
        units = self._document.units
        self._name.set_text(_name(model))
        title, words = EXPLAINED.get(model.file.kind, (mark("Language model"), ""))
        architecture = excerpt(model.architecture) or tr("architecture not stated")
        self._what.set_text(f"{architecture} · {tr(title).lower()}")
        self._kind.set_words(tr(words))
        self._bound.set_text(_bound_words(model.file))
        self._headline.set_facts(facts.headline(model, units), units)
        label = _label_words(model)
        self._label.set_text(label)
        self._label.setVisible(bool(label))
        self._show_notes(model)
        self._show_layers(model)
        self._show_file(model)

    def _show_notes(self, model: Model) -> None:
        found: list[Problem] = [*model.file.problems, *model.problems]
        if model.cache.problem is not None:
            found.append(model.cache.problem)
        # The kind is explained above, and the one file needs no path.
        kind, path = model.file.kind.value, display(model.file.header.place.address)
        found = [
            replace(problem, where="") if problem.where == path else problem
            for problem in dict.fromkeys(found)
            if problem.code != kind
        ]
        found.sort(key=lambda problem: _SEVERITIES.index(problem.severity))
        self._notes.set_problems(found)
        self._notes_section.setVisible(bool(found))

    def _show_layers(self, model: Model) -> None:
        self._strip.set_model(model)
        writes = facts.decodes(model) or model.file.kind is Kind.EMBEDDING
        self._layers.setVisible(writes and model.shape.layers > 0)
        words = ""
        if not model.cache.known:
            words = tr("Which layers keep what is not known for this architecture.")
            if layer_facts.cache_bounds(model):
                bounds = tr("What one more token adds to an f16 cache lies between these.")
                words = f"{words} {bounds}"
        elif not model.cache.groups and not model.cache.states:
            words = tr("No layer keeps anything from one token to the next.")
        self._layers.set_words(words)

    def _show_kept(self, model: Model) -> None:
        choice = self._document.choice
        if model.cache.known:
            kept = layer_facts.keeps(model, choice.cache_k, choice.cache_v)
        else:
            kept = layer_facts.cache_bounds(model)
        self._keeps.set_facts(kept, self._document.units)

    def _show_file(self, model: Model) -> None:
        file = model.file
        header = file.header
        source = Source(Rank.REPORTED, mark("file header"))
        shown = []
        if header.version is not None:
            order = "big-endian" if header.byte_order is ByteOrder.BIG else "little-endian"
            version = Number(header.version, Unit.COUNT, source)
            shown.append(Fact(tr("GGUF version"), version, f"{header.version}, {order}"))
            shown.append(Fact(tr("Alignment"), Number(header.alignment, Unit.BYTES, source)))
        if header.data_offset is not None:
            formula = mark("bytes before the data of the tensors")
            size = Number(header.data_offset, Unit.BYTES, source, formula)
            shown.append(Fact(tr("Header"), size))
        self._file_facts.set_facts(shown, self._document.units)
        paths = [display(path.name) for path in file.paths[:_MOST_PATHS]]
        if len(file.paths) > _MOST_PATHS:
            paths.append(tr("and {count:,} more", count=len(file.paths) - _MOST_PATHS))
        paths += [tr("missing: {file}", file=display(name)) for name in file.missing[:_MOST_PATHS]]
        paths.append(_place(file))
        self._paths.set_text("\n".join(breakable(path) for path in paths))

    def _copy_paths(self) -> None:
        model = self._document.model
        if model is not None:
            QGuiApplication.clipboard().setText("\n".join(model.file.addresses))

    def _show_plan(self, model: Model) -> None:
        plan = self._document.plan
        weights = plan.weights if plan is not None else model.weights
        units = self._document.units
        # Most sliders leave the weights alone.
        if self._weights is None or self._weights[0] is not weights or self._weights[1] != units:
            self._weights = (weights, units)
            self._show_weights(model, weights, units)
        self._show_reads(model, weights)
        self._show_kept(model)

    def _show_weights(self, model: Model, weights: Weights, units: UnitSystem) -> None:
        tried = _tried_words(model, weights)
        stored = Number(
            weights.bytes,
            Unit.BYTES,
            facts.weights_source(model, weights),
            mark("sum of all tensors, without padding and metadata"),
        )
        bound = "≥ " if facts.is_lower_bound(model) else ""
        stored_text = bound + format_value(weights.bytes, Unit.BYTES, units)
        for section in (self._formats, self._roles):
            section.set_total(stored, units, stored_text)
            section.set_words(tried)
            section.setVisible(bool(weights.formats))
        self._format_bars.set_rows(
            [
                ShareRow(
                    row.name,
                    row.share,
                    (row.bytes, row.bits, row.tensors),
                    texts=(None, _bits(row.bits), None),
                )
                for row in facts.by_format(model, weights)
            ],
            units,
        )
        self._role_bars.set_rows(
            [
                ShareRow(tr(row.role.value), row.share, (row.bytes,), row.role)
                for row in facts.by_role(model, weights)
            ],
            units,
        )

    def _show_reads(self, model: Model, weights: Weights) -> None:
        plan = self._document.plan
        units = self._document.units
        self._reads.setVisible(facts.decodes(model) and weights.read_per_token > 0)
        total: Number[int] = Number(
            weights.read_per_token,
            Unit.BYTES_PER_TOKEN,
            facts.weights_source(model, weights),
            mark("sum of what is read of every tensor"),
        )
        cache = None
        if plan is not None:
            cache = facts.cache_read(plan)
            if plan.speed.bytes_per_token.value is not None:
                total = plan.speed.bytes_per_token
        whole = total.value or weights.read_per_token

        def row_of(name: str, share: float, number: Number[int], tone: Role | PartKind) -> ShareRow:
            text = format_value(number.value, Unit.BYTES, units)
            return ShareRow(name, share, (number,), tone, (text,))

        rows = [
            row_of(tr(row.role.value), row.share, row.bytes, row.role)
            for row in facts.read_by_role(model, weights, whole)
        ]
        tried = _tried_words(model, weights)
        words = [tried] if tried else []
        if plan is not None and cache is not None:
            name = tr("cache and state") if model.cache.states else tr("KV cache")
            share = (cache.value or 0) / whole if whole else 0.0
            rows.append(row_of(name, share, cache, PartKind.CACHE))
            rows.sort(key=lambda row: -row.share)
            words.append(tr("With {count:,} tokens already written.", count=plan.settings.depth))
        idle = [tr(role.value) for role, _ in facts.unread(model, weights)]
        if idle:
            words.append(tr("Not read while writing: {roles}.", roles=", ".join(idle)))
        self._reads.set_words(" ".join(words))
        bound = "≥ " if facts.is_lower_bound(model) else ""
        self._reads.set_total(total, units, bound + format_value(total.value, Unit.BYTES, units))
        self._read_bars.set_rows(rows, units)


def _bits(number: Number[float]) -> str | None:
    """Two digits: the heading says the unit."""
    return None if number.value is None else written(number.value, ".2f")


def _name(model: Model) -> str:
    return breakable(excerpt(model.name, _NAME_LETTERS) or display(model.file.header.path.name))


def _place(file: ModelFile) -> str:
    """Where the file and its shards lie."""
    if file.local:
        return tr("in {folder}", folder=display(str(file.header.path.parent)))
    return tr("at {address}", address=display(file.header.place.address))


def _bound_words(file: ModelFile) -> str:
    """What is missing, and what that does to every total."""
    if not file.missing:
        return tr("The header ends before its last tensor: every total below is a lower bound.")
    names = ", ".join(excerpt(name) for name in file.missing[:3])
    rest = len(file.missing) - 3
    if rest > 0:
        names = tr("{names} and {count:,} more", names=names, count=rest)
    words = tr(
        "A part of the model is missing: every total below is a lower bound. Missing: {names}",
        names=names,
    )
    return breakable(words)


def _label_words(model: Model) -> str:
    """What the file calls itself, beside what is inside."""
    if model.label and model.mix:
        return tr("Labelled {label}, really {mix}", label=excerpt(model.label), mix=model.mix)
    if model.mix:
        return tr("No label; inside is {mix}", mix=model.mix)
    return tr("Labelled {label}", label=excerpt(model.label)) if model.label else ""


def _tried_words(model: Model, weights: Weights) -> str:
    if weights is model.weights:
        return ""
    return tr("As if it were quantized to {recipe}.", recipe=weights.label)
