"""The metadata panel."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QDialog,
    QFileDialog,
    QHBoxLayout,
    QMenu,
    QSplitter,
    QVBoxLayout,
    QWidget,
)

from core.gguf import PageError, display, excerpt
from core.gguf.header import Entry, Header
from core.language import tr, trn
from core.machine.places import home_of
from core.problems import Problem
from core.tabular import TextFormat
from core.whole_file import write_out
from gui.document import Document
from gui.panels.metadata import reading
from gui.panels.metadata.value_view import ValueView
from gui.tables.copied import copied_words
from gui.tables.filter_edit import FilterEdit
from gui.tables.metadata import MetadataTable
from gui.tables.view import SheetView
from gui.widgets.banner import BannerStack
from gui.widgets.dialog_size import open_at
from gui.widgets.menu_button import MenuButton
from gui.widgets.scrolled import yielding
from gui.widgets.text import Style, Text
from gui.workers.runner import Handle, Runner

_FORMS = (TextFormat.MARKDOWN, TextFormat.JSON)
_SUFFIXES = {TextFormat.MARKDOWN: ".md", TextFormat.JSON: ".json"}

_SIZE = (100, 40)  # letters and lines of a value's own window


class MetadataPanel(QWidget):
    """Every key of the file; the chosen one below, in full."""

    def __init__(self, document: Document, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._document = document
        self._windows: list[_ValueWindow] = []
        self._previews = Runner("array previews", self)
        self._previews.finished.connect(self._show_previews)
        self._exports = Runner("metadata export", self)
        self._exports.finished.connect(self._exported)
        self.filter = FilterEdit(tr("Search keys and values"))
        self.table = MetadataTable(self)
        self.view = SheetView(self.table, "key", forms=_FORMS)
        self.view.setAccessibleName(tr("Metadata"))
        self.view.copy_by(self.copy_rows)
        self.value = ValueView(with_window=True)
        self.status = Text("", Style.MUTED, wrap=True)
        self.problems = BannerStack()
        self.copy_button = MenuButton(
            tr("Copy"), tr("Copy or save keys as Markdown or JSON"), self._fill
        )
        row = QHBoxLayout()
        row.addWidget(self.filter, 1)
        row.addWidget(self.copy_button)
        upper = QWidget()
        upper_column = QVBoxLayout(upper)
        upper_column.setContentsMargins(0, 0, 0, 0)
        upper_column.addWidget(self.view, 1)
        upper_column.addWidget(self.status)
        self.splitter = QSplitter(Qt.Orientation.Vertical)
        self.splitter.setChildrenCollapsible(False)
        self.splitter.addWidget(upper)
        self.splitter.addWidget(self.value)
        self.splitter.setStretchFactor(0, 3)
        self.splitter.setStretchFactor(1, 2)
        space = self.fontMetrics().averageCharWidth()
        column = QVBoxLayout(self)
        column.setContentsMargins(space, space, space, space)
        column.setSpacing(space)
        column.addLayout(row)
        column.addWidget(self.problems)
        column.addWidget(yielding(self.splitter, tr("Metadata")), 1)
        self.filter.textChanged.connect(self.table.set_filter)
        self.filter.left.connect(self.view.enter)
        self.view.typed.connect(self.filter.take)
        self.view.row_changed.connect(self._show_value)
        self.view.opened.connect(self._enlarge)
        self.value.open_asked.connect(self._enlarge)
        self.table.modelReset.connect(self._count)
        document.model_changed.connect(self._show_model)
        self._show_model()

    def focus_filter(self) -> None:
        """Put the cursor in the search field."""
        self.filter.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.filter.selectAll()

    def copy_rows(self, rows: Sequence[int], form: TextFormat) -> None:
        """Copy these rows as text, long arrays complete in JSON; the answer may take a while."""
        self._make_text(rows, form, None)

    def save_all(self, path: Path, form: TextFormat) -> None:
        """Write every key to a file, long arrays complete in JSON."""
        self._make_text(range(self.table.total), form, path)

    def _show_model(self) -> None:
        model = self._document.model
        for window in list(self._windows):
            window.close()
        self._exports.cancel()
        self.problems.set_problems(())
        header = model.file.header if model else None
        self.table.set_header(header, model.label if model else "")
        self.view.share_room()
        self.filter.setEnabled(bool(self.table.total))
        self.copy_button.setEnabled(bool(self.table.total))
        self.value.set_entry(None, None)
        self._count()
        self._previews.cancel()
        if header is not None:
            self._read_previews(header)

    def _read_previews(self, header: Header) -> None:
        def read(handle: Handle) -> object:
            try:
                return reading.first_items(header, handle.cancelled)
            except PageError as error:
                return error.problem

        self._previews.start(read)

    def _show_previews(self, answer: object) -> None:
        if isinstance(answer, Problem):
            self.problems.set_problems([answer])
        elif isinstance(answer, dict):
            self.table.set_first_items(answer)

    def _show_value(self, row: int) -> None:
        entry = self.table.entry(row) if row >= 0 else None
        self.value.set_entry(self.table.header, entry)

    def _enlarge(self) -> None:
        row = self.view.current_row()
        if row >= 0 and self.table.header is not None:
            window = _ValueWindow(self.table.header, self.table.entry(row), self)
            self._windows.append(window)
            window.finished.connect(lambda _=0: self._windows.remove(window))
            window.show()

    def _make_text(self, rows: Sequence[int], form: TextFormat, path: Path | None) -> None:
        header = self.table.header
        if header is None:
            return
        entries = [self.table.entry(row) for row in rows]
        first = {n: self.table.first_items(row) for n, row in enumerate(rows)}
        self.status.set_text(tr("Reading…"))

        def work(handle: Handle) -> tuple[str | None, str] | Problem:
            try:
                if form is TextFormat.JSON:
                    text = reading.json_of(header, entries, handle.cancelled)
                else:
                    text = reading.markdown_of(entries, first)
                if path is None:
                    return text, copied_words("key", len(entries), form)
                if not handle.cancelled():
                    write_out(path, text)
                return None, trn(
                    "{count:,} key saved as {format} in {file}",
                    "{count:,} keys saved as {format} in {file}",
                    len(entries),
                    format=form.value,
                    file=display(path.name),
                )
            except PageError as error:
                return error.problem
            except OSError as error:
                return Problem(
                    "not-saved",
                    tr(
                        "{name} could not be written: {reason}.",
                        name=display(str(path)),
                        reason=error.strerror or error,
                    ),
                    advice=tr("Choose another folder."),
                )

        self._exports.start(work)

    def _exported(self, answer: tuple[str | None, str] | Problem) -> None:
        if isinstance(answer, Problem):
            self.problems.set_problems([answer])
            self._count()
            return
        text, words = answer
        if text is not None:
            QGuiApplication.clipboard().setText(text)
        self.status.set_text(words)

    def _fill(self, menu: QMenu) -> None:
        self.view.add_copy_actions(menu)
        menu.addSection(tr("Save all"))
        for form in _FORMS:
            action = menu.addAction(tr("Save all as {format}…", format=form.value))
            action.triggered.connect(lambda _checked=False, f=form: self._ask_where(f))

    def _ask_where(self, form: TextFormat) -> None:
        header = self.table.header
        if header is None:
            return
        name = tr("{name} metadata", name=header.path.stem) + _SUFFIXES[form]
        chosen, _ = QFileDialog.getSaveFileName(
            self, tr("Save metadata as {format}", format=form.value), str(home_of() / name)
        )
        if chosen:
            self.save_all(Path(chosen), form)

    def _count(self) -> None:
        model = self._document.model
        if model is None:
            self.view.set_placeholder(tr("Open a GGUF file to see its metadata."))
            self.status.set_text("")
            return
        total, shown = self.table.total, len(self.table.rows)
        self.view.set_placeholder(
            tr("This file holds no metadata."),
            tr(
                "“{words}” is in no key and no value. Long arrays are searched one by one: "
                "choose a key. Esc in the field shows all keys.",
                words=excerpt(self.filter.text()),
            ),
        )
        words = [_count_words(total)]
        if shown != total:
            words.append(trn("{count:,} shown", "{count:,} shown", shown))
        duplicates = sum(entry.duplicate for entry in model.file.header.entries)
        if duplicates:
            words.append(trn("{count:,} duplicate", "{count:,} duplicate", duplicates))
        if len(model.file.headers) > 1:
            words.append(tr("of {file}", file=display(model.file.header.path.name)))
        self.status.set_text("; ".join(words))


class _ValueWindow(QDialog):
    """One value in a window of its own; it goes when another file is opened."""

    def __init__(self, header: Header, entry: Entry, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(excerpt(entry.key))
        self.value = ValueView(with_window=False)
        self.value.set_entry(header, entry)
        column = QVBoxLayout(self)
        column.addWidget(self.value)
        open_at(self, *_SIZE)


def _count_words(count: int) -> str:
    return trn("{count:,} key", "{count:,} keys", count)
