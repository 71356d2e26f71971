"""What a block format does to real weights: a few of the open file's own, and other formats."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QSignalBlocker, Qt
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import (
    QComboBox,
    QCompleter,
    QSizePolicy,
    QSpacerItem,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from core.explain.blocks import SPAN, Sample, Trial, read_sample, readable, trials
from core.gguf import PageError, display
from core.gguf.header import ModelFile, Tensor
from core.gguf.tensor_data import rows_of
from core.language import mark, tr, trn, written
from core.problems import Problem
from core.provenance import Number, Rank, Source, Unit
from core.units import format_share
from gui.document import Document
from gui.widgets.block_picture import BlockPicture
from gui.widgets.live_text import LiveText
from gui.widgets.share_bars import ShareBars, ShareRow
from gui.widgets.text import Style, Text
from gui.widgets.together import labelled
from gui.widgets.wrap import Wrap
from gui.workers.runner import Function, Handle, Runner

_WORDS = mark(
    "A quantized file keeps a small whole number for every weight and a scale for each block of "
    "them. A weight can then only be where a level is: the lines. Move the pointer over a block."
)
_NONE = mark("nothing")
_SOURCE = Source(Rank.MEASURED, mark("these weights, written by the gguf package and read back"))
_FROM_FILE = Source(Rank.DERIVED, mark("block size of the format"))


@dataclass(frozen=True, slots=True)
class _Found:
    sample: Sample
    trials: tuple[Trial, ...]


class BlockView(QWidget):
    """Chooses a tensor, a row and a place in it; the file is read off the GUI thread."""

    def __init__(self, document: Document, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._document = document
        self._tensors: tuple[Tensor, ...] = ()
        self._found: _Found | None = None
        self._stale = True
        self._runner = Runner("weights of a row", self)
        self._runner.finished.connect(self._show)
        self.tensor = QComboBox()
        self.tensor.setEditable(True)
        self.tensor.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        line = self.tensor.lineEdit()
        assert line is not None
        for part in (self.tensor, line):
            part.setAccessibleName(tr("Tensor"))
        self.tensor.setSizeAdjustPolicy(
            QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        )
        self.tensor.setMinimumContentsLength(18)
        completer = self.tensor.completer()
        assert isinstance(completer, QCompleter)
        completer.setFilterMode(Qt.MatchFlag.MatchContains)
        completer.setCompletionMode(QCompleter.CompletionMode.PopupCompletion)
        self.row = _box(tr("Row of the tensor"))
        self.place = _box(tr("First element of the row"))
        self.beside = QComboBox()
        self.beside.setAccessibleName(tr("Format to draw beside it"))
        # Formats are listed once a row has been read, long after the first paint.
        self.beside.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.beside.addItem(tr(_NONE), "")
        self.picture = BlockPicture()
        self.says = LiveText(wrap=True)
        self.errors = ShareBars(
            [tr("bits"), tr("off by"), tr("worst")], ["6.5625", "100 %", "0.000123"]
        )
        self._heading = Text(tr("THE SAME WEIGHTS IN OTHER FORMATS"), Style.HEADING)
        self._note = Text(
            tr(
                "Off by: root mean square of the differences, as a share of the weights'. K and "
                "IQ formats are not tried: llama-quantize searches for their scales."
            ),
            Style.MUTED,
            wrap=True,
        )
        column = QVBoxLayout(self)
        space = self.fontMetrics().height()
        column.setContentsMargins(space, space, space, space)
        column.setSpacing(space // 2)
        column.addWidget(Text(tr(_WORDS), wrap=True))
        column.addWidget(self._controls())
        column.addWidget(self.says)
        column.addWidget(self.picture, 1)
        column.addWidget(self._heading)
        column.addWidget(self.errors)
        column.addWidget(self._note)
        # Takes the room where there is no picture; a stretch would share it.
        column.addItem(QSpacerItem(0, 0, vData=QSizePolicy.Policy.Expanding))
        self.tensor.activated.connect(self._tensor_chosen)
        self.row.valueChanged.connect(self._read)
        self.place.valueChanged.connect(self._read)
        self.beside.activated.connect(self._draw)
        document.model_changed.connect(self._model_changed)

    def showEvent(self, event: QShowEvent) -> None:
        """Another model may have been opened in the meantime."""
        super().showEvent(event)
        self._refresh()

    def _controls(self) -> Wrap:
        row = Wrap()
        row.set_cells(
            [
                labelled(tr("Te&nsor"), self.tensor),
                labelled(tr("&Row"), self.row),
                labelled(tr("&From"), self.place),
                labelled(tr("&Beside"), self.beside),
            ]
        )
        return row

    def _model_changed(self) -> None:
        self._stale = True
        self._runner.cancel()
        if self.isVisible():
            self._refresh()

    def _refresh(self) -> None:
        if not self._stale:
            return
        self._stale = False
        model = self._document.model
        tensors = model.file.tensors if model is not None else ()
        self._tensors = tuple(t for t in tensors if t.parameters and readable(t))
        with QSignalBlocker(self.tensor):
            self.tensor.clear()
            self.tensor.addItems([f"{display(t.name)}  {t.type_name}" for t in self._tensors])
        # A matrix says more than a norm.
        first = next((n for n, t in enumerate(self._tensors) if len(t.shape) > 1), 0)
        self.tensor.setCurrentIndex(first if self._tensors else -1)
        self._tensor_chosen()

    def _chosen(self) -> Tensor | None:
        number = self.tensor.currentIndex()
        return self._tensors[number] if 0 <= number < len(self._tensors) else None

    def _tensor_chosen(self) -> None:
        tensor = self._chosen()
        if tensor is not None:
            width = tensor.shape[0] if tensor.shape else 1
            for box, most, step in (
                (self.row, rows_of(tensor) - 1, 1),
                (self.place, max(0, (width - 1) // SPAN * SPAN), SPAN),
            ):
                with QSignalBlocker(box):
                    box.setRange(0, min(most, 2**31 - 1))
                    box.setSingleStep(step)
                    box.setValue(0)
        self._read()

    def _read(self) -> None:
        tensor, model = self._chosen(), self._document.model
        if tensor is None or model is None:
            self._show(Problem("nothing", tr("This file has no weights that can be decoded.")))
            return
        # A place between two blocks means the block that it is in.
        first = self.place.value() // SPAN * SPAN
        self._runner.start(_reading(model.file, tensor, self.row.value(), first))

    def _show(self, found: _Found | Problem) -> None:
        known = isinstance(found, _Found)
        self._found = found if isinstance(found, _Found) else None
        for widget in (self.picture, self.errors, self._heading, self._note):
            widget.setVisible(known)
        self.beside.setEnabled(known)
        if isinstance(found, Problem):
            self.says.set_text(f"{tr(found.message)} {tr(found.advice)}".rstrip())
            return
        kept = self.beside.currentData()
        with QSignalBlocker(self.beside):
            self.beside.clear()
            self.beside.addItem(tr(_NONE), "")
            for trial in found.trials:
                self.beside.addItem(trial.type_name, trial.type_name)
            self.beside.setCurrentIndex(max(0, self.beside.findData(kept)))
        worst = max((trial.error for trial in found.trials), default=0.0) or 1.0
        self.errors.set_rows([_row(trial, worst) for trial in found.trials])
        self._draw()

    def _draw(self) -> None:
        found = self._found
        if found is None:
            return
        name = self.beside.currentData()
        trial = next((t for t in found.trials if t.type_name == name), None)
        self.picture.show_sample(found.sample, trial)
        self.says.set_text(_said(found.sample, trial))


def _reading(file: ModelFile, tensor: Tensor, row: int, first: int) -> Function:
    def read(handle: Handle) -> _Found | Problem:
        try:
            sample = read_sample(file, tensor, row, first)
        except PageError as error:
            return error.problem
        return _Found(sample, trials(sample.values))

    return read


def _box(name: str) -> QSpinBox:
    box = QSpinBox()
    box.setAccessibleName(name)
    box.setGroupSeparatorShown(True)
    box.setKeyboardTracking(False)
    return box


def _row(trial: Trial, worst: float) -> ShareRow:
    bits = Number(trial.bits_per_weight, Unit.BITS_PER_WEIGHT, _FROM_FILE)
    error = Number(trial.error, Unit.SHARE, _SOURCE)
    most = Number(trial.worst, Unit.COUNT, _SOURCE)
    texts = (
        written(trial.bits_per_weight, ".6g"),
        format_share(trial.error),
        written(trial.worst, ".3g"),
    )
    return ShareRow(trial.type_name, trial.error / worst, (bits, error, most), texts=texts)


def _said(sample: Sample, trial: Trial | None) -> str:
    count = len(sample.values)
    facts = {
        "weights": trn("{count} weight", "{count} weights", count),
        "tensor": display(sample.tensor.name),
        "type": sample.tensor.type_name,
        "bits": sample.bits_per_weight,
    }
    if sample.block_size > 1:
        blocks = trn(
            "{count} block of {size}",
            "{count} blocks of {size}",
            count // sample.block_size,
            size=sample.block_size,
        )
        words = tr(
            "{weights} of {tensor}, as {type}: {blocks}, {bits:.6g} bits each.",
            blocks=blocks,
            **facts,
        )
    else:
        words = tr("{weights} of {tensor}, as {type}: {bits:.6g} bits each.", **facts)
    sentences = [words]
    if sample.odd:
        sentences.append(
            trn(
                "{count} of them is infinite or no number: the file is damaged, or whatever "
                "converted it failed. Models with such weights answer with nonsense.",
                "{count} of them are infinite or no numbers: the file is damaged, or whatever "
                "converted it failed. Models with such weights answer with nonsense.",
                sample.odd,
            )
        )
    if trial is not None:
        sentences.append(
            tr(
                "Diamonds: as {type}, {bits:.6g} bits, off by {error}.",
                type=trial.type_name,
                bits=trial.bits_per_weight,
                error=format_share(trial.error),
            )
        )
    return " ".join(sentences)
