"""One model on several machines: a table, curves, and the whole catalogue."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QComboBox,
    QFrame,
    QLineEdit,
    QMenu,
    QPushButton,
    QScrollArea,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from core.compare import MachineRow, compare_machines, with_price
from core.compare.tables import machine_columns
from core.gguf import display
from core.language import mark, tr, trn, written
from core.machine.machine import spoken_name
from core.tabular import TextFormat
from gui.document import Document
from gui.panels.compare import exports
from gui.panels.compare.add_machine import AddMachine
from gui.panels.compare.catalogue_view import CatalogueView
from gui.panels.compare.chosen import Chosen
from gui.panels.compare.lines import curve_of
from gui.panels.compare.price import parse_price
from gui.panels.compare.ram_row import RamRow
from gui.panels.plan_title import plan_title
from gui.tables.facts import FactSheet
from gui.tables.view import SheetView
from gui.widgets.curves_plot import CurvesPlot
from gui.widgets.live_text import LiveText
from gui.widgets.menu_button import MenuButton
from gui.widgets.pictures import ask_for_picture
from gui.widgets.plot_frame import FramedPlot
from gui.widgets.quiet_wheel import QuietWheel
from gui.widgets.text import Style, Text
from gui.widgets.together import label_for, labelled, together
from gui.widgets.wrap import Wrap

_MOST_TOKENS = 10_000_000
_BESIDE = 140  # characters from which the two plots stand beside each other
_LEAST_ROWS, _MOST_ROWS = 4, 9
_NO_SPEED = mark("No speed is known: a bandwidth is missing, or there is no data for such a plan.")
_NOBODY = mark("Nothing is compared. Add machines above, or click one in the catalogue below.")


class MachinesView(QScrollArea):
    """Follows the document while it is in sight."""

    said = Signal(str)

    def __init__(self, document: Document, chosen: Chosen, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._document = document
        self._chosen = chosen
        self._rows: tuple[MachineRow, ...] = ()
        self._shown: tuple[str, ...] = ()
        self._asked: object = None
        self._priced: object = None
        self._build()
        self._connect()

    @property
    def rows(self) -> tuple[MachineRow, ...]:
        """What is compared, in the order it was added."""
        return self._rows

    # What the user does.

    def use(self) -> None:
        """Plan for the machine of the row under the cursor."""
        row = self._current()
        if row is not None:
            self._document.end_step()  # every click is a step of its own
            self._document.set_machine(row.machine)
            self._say(
                tr("The plan is for {name} now.", name=display(spoken_name(row.machine.name)))
            )

    def remove(self) -> None:
        """Compare the selected machines no longer."""
        gone = [self.sheet.items[n].key for n in self.table.selected_rows()]
        if gone:
            self._chosen.remove(gone)
            self._say(
                trn(
                    "{count} machine compared no longer; Add brings it back, prices are kept.",
                    "{count} machines compared no longer; Add brings them back, prices are kept.",
                    len(gone),
                )
            )

    def type_price(self, text: str, source_row: int | None = None) -> None:
        """Keep what the machine costs; "" for nobody knows."""
        row = self._current() if source_row is None else self.sheet.items[source_row]
        if row is None:
            return
        try:
            price = parse_price(text)
        except ValueError as error:
            self._say(str(error))
            return
        self._chosen.set_price(row.key, price)

    def copy(self, form: TextFormat) -> None:
        """Put the table on the clipboard as it is sorted."""
        exports.copy(form, self.sheet.facts, self.sheet.shown(), self._document.units)
        self._say(
            trn(
                "{count} machine copied as {form}.",
                "{count} machines copied as {form}.",
                len(self._rows),
                form=form.value,
            )
        )

    # What is shown.

    def showEvent(self, event: QShowEvent) -> None:
        """What changed while it was out of sight is shown now."""
        super().showEvent(event)
        self._chosen.read_own()
        self._follow()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The plots stand beside each other where there is room."""
        super().resizeEvent(event)
        beside = self.width() > _BESIDE * self.fontMetrics().averageCharWidth()
        direction = QBoxLayout.Direction.LeftToRight if beside else QBoxLayout.Direction.TopToBottom
        if self._plots.direction() != direction:
            self._plots.setDirection(direction)

    def _follow(self) -> None:
        model, choice = self._document.model, self._document.choice
        if model is None or not self.isVisible():
            return
        machines, prompt = self._chosen.machines(), self._chosen.prompt
        asked = (model, choice, machines, prompt)
        priced = (self._chosen.prices, self._chosen.stored.currency)
        if self._asked != asked:
            self._rows = compare_machines(
                model, machines, choice, prompt=prompt, prices=self._chosen.prices
            )
        elif self._priced != priced:
            self._rows = tuple(with_price(r, self._chosen.prices.get(r.key)) for r in self._rows)
        else:
            return
        self._asked, self._priced = asked, priced
        self._show()

    def _show(self) -> None:
        kept, before, where = self._current(), self._shown, self.table.currentIndex().row()
        self._shown = tuple(row.key for row in self._rows)
        columns = machine_columns(self._chosen.stored.currency)
        self.sheet.show(columns, self._rows, self._document.units)
        self.ram.show_units(self._document.units)
        self.table.share_room()
        new = [key for key in self._shown if key not in before]
        if before and new:
            self._go_to(new[-1])
        elif kept is not None and kept.key not in self._shown and self._shown:
            self.table.choose_row(min(max(where, 0), len(self._shown) - 1))
        else:
            self._go_to(kept.key if kept else None)
        lines = min(max(len(self._rows), _LEAST_ROWS), _MOST_ROWS) + 2
        self.table.setFixedHeight(lines * (self.fontMetrics().height() + 6))
        self._draw()
        self._show_row()

    def _go_to(self, key: str | None) -> None:
        """Put the cursor on a machine; on the plan's, or the first, where that is not there."""
        keys = [row.key for row in self._rows]
        here = next((row.key for row in self._rows if row.machine == self._document.machine), None)
        wanted = next((k for k in (key, here) if k in keys), keys[0] if keys else None)
        where = None if wanted is None else self.sheet.position(keys.index(wanted))
        if where is not None:
            self.table.choose_row(where)

    def _draw(self) -> None:
        expected = self.measure.currentIndex() == 1
        found = [(self._short(row), row.figures) for row in self._rows]
        plan = self._document.plan
        self.curves.set_words(tr(_NO_SPEED) if self._rows else tr("Nothing is compared."))
        self.curves.set_lines(
            [curve_of(name, figures, expected=expected) for name, figures in found],
            plan.settings.depth if plan else None,
            tr("expected, tok/s") if expected else tr("ceiling, tok/s"),
        )
        self.catalogue.show_expected(expected)

    def _show_row(self) -> None:
        row = self._current()
        for widget in (self.remove_button, self.price):
            widget.setEnabled(row is not None)
        used = row is not None and row.machine == self._document.machine
        self.use_button.setEnabled(row is not None and not used)
        self.name.set_text(display(spoken_name(row.machine.name)) if row else "")
        self.curves.set_strong(self._short(row) if row else "")
        self.used.setVisible(used)
        price = row.price.value if row else None
        if not self.price.hasFocus():
            self.price.setText("" if price is None else written(price, ",.15g"))

    def _short(self, row: MachineRow) -> str:
        """The name at a curve, where there is no room for what all cards have around them."""
        ram = self._chosen.ram
        name = spoken_name(row.machine.name)
        return display(name.removesuffix(ram.tail) if ram and "ram:" not in row.key else name)

    def _current(self) -> MachineRow | None:
        row = self.table.current_row()
        return self.sheet.items[row] if 0 <= row < len(self.sheet.items) else None

    def _say(self, sentence: str) -> None:
        self.said.emit(sentence)

    # How it is put together.

    def _build(self) -> None:
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setAccessibleName(tr("Machines compared"))
        self.add = AddMachine(self._document, self._chosen)
        self.ram = RamRow(self._chosen)
        self.prompt = QSpinBox()
        self.prompt.setGroupSeparatorShown(True)
        self.prompt.setRange(1, _MOST_TOKENS)
        self.prompt.setSingleStep(256)
        self.prompt.setSuffix(tr(" tokens"))
        self.prompt.setValue(self._chosen.prompt)
        self.prompt.setKeyboardTracking(False)
        self.currency = QLineEdit(self._chosen.stored.currency)
        self.currency.setPlaceholderText("EUR")
        self.currency.setMaxLength(8)
        self.currency.setFixedWidth(8 * self.fontMetrics().averageCharWidth())
        self.measure = QComboBox()
        self.measure.addItems([tr("Ceiling"), tr("Expected")])
        self.sheet = FactSheet[MachineRow]("price", self)
        self.table = SheetView(self.sheet, "machine")
        self.table.setAccessibleName(tr("Machines compared"))
        self.table.set_placeholder(tr(_NOBODY))
        self.table.setEditTriggers(SheetView.EditTrigger.EditKeyPressed)
        self.name = LiveText(Style.STRONG)
        self.used = Text(tr("the plan is for it"), Style.MUTED)
        self.use_button = QPushButton(tr("&Use this machine"))
        self.use_button.setToolTip(tr("Plan for it; so does Enter or a double-click on its row"))
        self.remove_button = QPushButton(tr("&Remove"))
        self.remove_button.setToolTip(tr("Compare it no longer; so does the Delete key on its row"))
        self.price = QLineEdit()
        self.price.setPlaceholderText(tr("not known"))
        self.price.setFixedWidth(12 * self.fontMetrics().averageCharWidth())
        self.copy_button = MenuButton(tr("Copy"), tr("The table, as text"), self._fill_copy)
        self.picture_button = MenuButton(
            tr("Save picture"), tr("A plot, as a file"), self._fill_pictures
        )
        self.curves = CurvesPlot(tr("Speed by depth"))
        self.catalogue = CatalogueView(self._document, self._chosen)
        quiet = QuietWheel(self)
        quiet.guard(self.prompt, self.measure)
        top = Wrap(last_right=True)
        top.set_cells(
            [
                self.add,
                labelled(tr("First token of a &prompt of"), self.prompt),
                labelled(tr("&Draw"), self.measure),
                together(self.copy_button, self.picture_button),
            ]
        )
        below = Wrap()
        below.set_cells(
            # The name is last: nothing to click moves when it becomes longer.
            [
                together(label_for(tr("Pri&ce"), self.price), self.price, self.currency),
                self.use_button,
                self.remove_button,
                self.name,
                self.used,
            ]
        )
        self.prompt.setAccessibleName(tr("First token of a prompt of"))
        self.measure.setAccessibleName(tr("Draw"))
        self.price.setAccessibleName(tr("Price of this machine"))
        self.currency.setAccessibleName(tr("Currency of all prices"))
        curves = QWidget()
        column = QVBoxLayout(curves)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(Text(tr("FROM AN EMPTY CACHE TO A FULL ONE"), Style.HEADING))
        column.addWidget(self.curves, 1)
        self._plots = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        space = self.fontMetrics().averageCharWidth()
        self._plots.setSpacing(3 * space)
        self._plots.addWidget(curves, 1)
        self._plots.addWidget(self.catalogue, 1)
        inside = QWidget()
        whole = QVBoxLayout(inside)
        whole.setContentsMargins(space, space, space, space)
        whole.addWidget(top)
        whole.addWidget(self.ram)
        whole.addWidget(self.table)
        whole.addWidget(below)
        whole.addLayout(self._plots, 1)
        self.setWidget(inside)

    def _connect(self) -> None:
        self.table.opened.connect(self.use)
        self.table.taken_away.connect(self.remove)
        self.table.row_changed.connect(lambda _: self._show_row())
        self.table.copied.connect(self._say)
        self.table.typed.connect(self._begin_price)
        self.sheet.typed_into.connect(lambda row, text: self.type_price(text, row))
        self.use_button.clicked.connect(self.use)
        self.remove_button.clicked.connect(self.remove)
        self.price.editingFinished.connect(self._price_edited)
        self.currency.editingFinished.connect(
            lambda: self._chosen.set_currency(self.currency.text())
        )
        self.prompt.valueChanged.connect(self._chosen.set_prompt)
        self.measure.currentIndexChanged.connect(lambda _: self._draw())
        self.add.said.connect(self._say)
        self.ram.said.connect(self._say)
        self.catalogue.added.connect(lambda id: self._chosen.add([id]))
        self._chosen.changed.connect(self._follow)
        self._document.plan_changed.connect(self._follow)
        self._document.machine_changed.connect(self._show_row)
        self._document.units_changed.connect(self._show)

    def _price_edited(self) -> None:
        if self.price.isModified():
            self.price.setModified(False)
            self.type_price(self.price.text())

    def _begin_price(self, letters: str) -> None:
        """A digit typed into the table is the beginning of a price."""
        row = self.table.currentIndex()
        if letters.isdigit() and row.isValid():
            self.price.setFocus(Qt.FocusReason.ShortcutFocusReason)
            self.price.setText(letters)
            self.price.setModified(True)

    def _save_picture(self, plot: FramedPlot, name: str) -> None:
        title = plan_title(self._document.plan, machine=False)
        self._say(ask_for_picture(self, [plot], name, title))

    def _fill_copy(self, menu: QMenu) -> None:
        exports.fill_copy(menu, self.copy)

    def _fill_pictures(self, menu: QMenu) -> None:
        for plot, words, name in (
            (self.curves, tr("Curves over depth…"), "speed-by-depth"),
            (self.catalogue.plot, tr("Memory against speed…"), "catalogue"),
        ):
            menu.addAction(words, partial(self._save_picture, plot, name))
