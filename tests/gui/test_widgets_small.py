"""Share bars, banners, verdicts and wrapping rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import (
    QAccessible,
    QColor,
    QFont,
    QGuiApplication,
    QHelpEvent,
    QImage,
    QPainter,
    QPalette,
    QTextDocument,
    QTextLayout,
)
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QLabel,
    QStackedWidget,
    QToolTip,
    QVBoxLayout,
    QWidget,
)
from pytestqt.qtbot import QtBot

from core.model.model import Role
from core.plan.plan import Verdict
from core.problems import Problem, Severity
from core.provenance import Number, Rank, Source, Unit
from gui.theme import DARK, LIGHT, Theme, ThemeMode
from gui.widgets.banner import Banner, BannerStack, details
from gui.widgets.breakable import breakable, unbroken
from gui.widgets.elided_text import ElidedText, plain_tip
from gui.widgets.fact_label import FactLabel
from gui.widgets.live_text import LiveText
from gui.widgets.mark_label import MarkLabel
from gui.widgets.note_lines import NoteLines
from gui.widgets.share_bars import ShareBars, ShareRow
from gui.widgets.text import Style, Text, qt_app
from gui.widgets.wrap import Wrap

SOURCE = Source(Rank.DERIVED, "file header")
TRUNCATED = Problem(
    "truncated",
    "The file ends inside blk.3.ffn_up.weight.",
    Severity.ERROR,
    "Download it again.",
    "/models/a b.gguf",
    123_456_789,
    4711,
)
LABEL = Problem("label", "The label does not say what is inside.", Severity.WARNING)
NOTE = Problem("note", "Worth knowing.", Severity.NOTE)


def row(name: str, share: float, size: int) -> ShareRow:
    return ShareRow(
        name,
        share,
        (Number(size, Unit.BYTES, SOURCE), Number(share, Unit.SHARE, SOURCE)),
        Role.ATTENTION,
    )


@pytest.fixture
def bars(qtbot: QtBot) -> ShareBars:
    made = ShareBars(["bytes", "share"], ["1,023 MiB", "100 %"])
    qtbot.addWidget(made)
    made.resize(500, 200)
    made.set_rows([row("Q4_K", 1.0, 2**30), row("Q6_K", 0.25, 2**28)])
    made.show()
    return made


def facts(bars: ShareBars) -> list[FactLabel]:
    return [f for f in bars.findChildren(FactLabel) if not f.isHidden()]


def test_every_row_has_a_figure_under_every_header(bars: ShareBars) -> None:
    assert [fact.shown for fact in facts(bars)] == ["1.00 GiB", "100 %", "256 MiB", "25 %"]
    assert facts(bars)[0].accessibleName() == "Q4_K, bytes: 1.00 GiB"


def test_figures_of_a_column_end_at_one_edge(bars: ShareBars) -> None:
    right = [fact.geometry().right() for fact in facts(bars)]
    assert right[0] == right[2]
    assert right[1] == right[3]


def test_bars_are_as_long_as_their_shares(bars: ShareBars) -> None:
    def column(line: int) -> int:
        """Pixels of the tone in one row of the picture."""
        image = bars.grab().toImage()
        fact = facts(bars)[2 * line].geometry()
        y = fact.center().y()
        tone = QColor(LIGHT.roles[Role.ATTENTION].color)
        return sum(image.pixelColor(x, y) == tone for x in range(image.width()))

    assert column(1) == pytest.approx(column(0) / 4, abs=1)
    assert column(0) > 100


def test_rows_come_and_go_and_keep_their_widgets(bars: ShareBars) -> None:
    first = facts(bars)[0]
    bars.set_rows([row("F32", 0.5, 1024)])
    assert [fact.shown for fact in facts(bars)][:2] == ["1.00 KiB", "50 %"]
    bars.set_rows([row("F32", 0.5, 1024), row("Q8_0", 0.5, 1024), row("IQ4_XS", 0.1, 10)])
    QApplication.processEvents()
    assert facts(bars)[0] is first
    assert [fact.shown for fact in facts(bars)][4:] == ["10 B", "10 %"]
    bars.set_rows([])
    assert facts(bars) == []


@pytest.fixture
def stack(qtbot: QtBot) -> BannerStack:
    made = BannerStack()
    qtbot.addWidget(made)
    made.resize(600, 200)
    return made


def words(banner: QWidget) -> str:
    return "\n".join(label.text() for label in banner.findChildren(QLabel))


def test_a_problem_says_what_where_with_its_byte_and_what_to_do(stack: BannerStack) -> None:
    stack.set_problems([TRUNCATED])
    assert not stack.isHidden()
    said = words(stack.banners[0])
    for part in (
        "Error: The file ends inside blk.3.ffn_up.weight.",
        "/models/a b.gguf",
        "at byte 123,456,789",
        "4,711 bytes missing",
        "Download it again.",
    ):
        assert part in said, part


def test_several_problems_stack_with_the_worst_on_top_and_none_twice(stack: BannerStack) -> None:
    stack.set_problems([NOTE, LABEL, TRUNCATED, LABEL])
    assert [banner.problem for banner in stack.banners] == [TRUNCATED, LABEL, NOTE]


def test_a_dismissed_problem_stays_away_until_it_comes_back(stack: BannerStack) -> None:
    stack.set_problems([LABEL, NOTE])
    stack.banners[0].dismiss.click()
    assert [banner.problem for banner in stack.banners] == [NOTE]
    stack.set_problems([LABEL, NOTE])
    assert [banner.problem for banner in stack.banners] == [NOTE]
    stack.set_problems([])
    assert stack.isHidden()
    stack.set_problems([LABEL])
    assert [banner.problem for banner in stack.banners] == [LABEL]


def test_the_last_banner_takes_its_room_along(stack: BannerStack) -> None:
    stack.set_problems([LABEL])
    stack.banners[0].dismiss.click()
    assert stack.isHidden()


def test_all_of_a_problem_can_be_copied(stack: BannerStack) -> None:
    stack.set_problems([TRUNCATED])
    stack.banners[0].copy.click()
    copied = QGuiApplication.clipboard().text()
    assert copied == details(TRUNCATED)
    for part in ("truncated", "123,456,789", "/models/a b.gguf", "Download it again."):
        assert part in copied


def test_banners_are_reached_and_dismissed_by_keyboard(stack: BannerStack) -> None:
    stack.set_problems([LABEL])
    stack.show()
    dismiss = stack.banners[0].dismiss
    assert dismiss.focusPolicy() & Qt.FocusPolicy.TabFocus
    QTest.keyClick(dismiss, Qt.Key.Key_Space)
    assert stack.banners == ()


def test_a_screen_reader_hears_the_severity_and_the_whole_problem(stack: BannerStack) -> None:
    stack.set_problems([TRUNCATED])
    spoken = QAccessible.queryAccessibleInterface(stack.banners[0])
    assert spoken.text(QAccessible.Text.Name) == "Error"
    assert spoken.text(QAccessible.Text.Description) == details(TRUNCATED)


def test_a_long_problem_wraps_in_a_narrow_window(qtbot: QtBot) -> None:
    page = QWidget()
    column = QVBoxLayout(page)
    column.addWidget(Banner(Problem("long", "word " * 60, Severity.NOTE)))
    qtbot.addWidget(page)
    assert page.minimumSizeHint().width() < 300


@pytest.mark.parametrize("verdict", list(Verdict))
def test_a_verdict_is_told_by_icon_and_word(
    qtbot: QtBot, theme: Theme, verdict: Verdict, qapp: QApplication
) -> None:
    label = MarkLabel()
    qtbot.addWidget(label)
    label.set_verdict(verdict)
    label.resize(label.sizeHint())
    label.show()
    spoken = QAccessible.queryAccessibleInterface(label)
    assert spoken.text(QAccessible.Text.Name) == LIGHT.verdict(verdict).word
    for mode, colors in ((ThemeMode.LIGHT, LIGHT), (ThemeMode.DARK, DARK)):
        theme.set_mode(mode)
        qapp.processEvents()
        image = label.grab().toImage()
        ground = QColor(colors.window)
        seen = [
            x
            for x in range(image.width())
            for y in range(image.height())
            if image.pixelColor(x, y) != ground
        ]
        assert min(seen) < label.height()  # the icon
        assert max(seen) > image.width() * 3 // 4  # the word


def wrapped(qtbot: QtBot, wrap: Wrap, texts: list[str], width: int) -> list[QLabel]:
    page = wrap if wrap.parentWidget() is None else wrap.parentWidget()
    qtbot.addWidget(page)
    labels = [QLabel(text) for text in texts]
    wrap.set_cells(labels)
    wrap.resize(width, wrap.heightForWidth(width))
    wrap.show()
    return labels


def test_what_has_no_room_goes_to_the_next_line(qtbot: QtBot) -> None:
    wrap = Wrap()
    a, b, c = wrapped(qtbot, wrap, ["a" * 20, "b" * 20, "c" * 20], 300)
    assert a.y() == 0
    assert b.y() > 0 or a.width() + b.width() < 300
    assert c.y() > a.y()
    assert all(label.geometry().right() < 300 for label in (a, b, c))
    assert wrap.heightForWidth(300) > wrap.heightForWidth(2000)


def test_uniform_cells_form_columns(qtbot: QtBot) -> None:
    wrap = Wrap(uniform=True)
    cells = wrapped(qtbot, wrap, ["short", "a longer one", "x", "y"], 250)
    lefts = {cell.x() for cell in cells}
    assert len(lefts) == 2
    assert len({cell.width() for cell in cells}) == 1


def test_a_hidden_cell_takes_no_room(qtbot: QtBot) -> None:
    wrap = Wrap()
    a, b, c = wrapped(qtbot, wrap, ["aaa", "bbb", "ccc"], 600)
    at = b.x()
    b.hide()
    QApplication.processEvents()
    assert c.x() == at
    assert a.x() == 0


def test_cells_that_come_and_go_between_two_widths_never_lose_their_places(qtbot: QtBot) -> None:
    """A width that was seen before, with other cells, before the layout hears of them."""
    wrap = Wrap(last_right=True)
    cells = wrapped(qtbot, wrap, ["aaa", "bbb", "ccc"], 600)
    for number, cell in enumerate(cells):
        cell.setHidden(not cell.isHidden())
        for width in (300, 600, 1, 600):
            wrap.resize(width, 50 + number)
            assert wrap.heightForWidth(width) >= 0
    QApplication.processEvents()
    assert wrap.heightForWidth(600) == 0  # all are hidden, the last one at the edge as well
    cells[1].show()
    wrap.resize(300, 50)
    QApplication.processEvents()
    assert cells[1].geometry().right() == cells[1].width() - 1


def test_a_cell_that_was_deleted_or_taken_away_is_forgotten(qtbot: QtBot) -> None:
    wrap = Wrap()
    a, b, c = wrapped(qtbot, wrap, ["aaa", "bbb", "ccc"], 600)
    before = b.x(), c.x()
    a.deleteLater()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    for width in (300, 600):
        wrap.resize(width, 50)
    QApplication.processEvents()
    assert (b.x(), c.x()) == (0, before[1] - before[0])
    b.setParent(None)
    qtbot.addWidget(b)
    QApplication.processEvents()
    assert c.x() == 0
    wrap.set_cells([QLabel("ddd")])
    assert c.isHidden()


def test_cells_that_changed_on_a_page_in_the_back_have_room_when_it_comes_to_the_front(
    qtbot: QtBot,
) -> None:
    pages, wrap = QStackedWidget(), Wrap()
    qtbot.addWidget(pages)
    page = QWidget()
    column = QVBoxLayout(page)
    column.addWidget(wrap)
    column.addStretch(1)
    cells = [QLabel("a"), QLabel("b"), QLabel("c")]
    wrap.set_cells(cells)
    pages.addWidget(page)
    pages.addWidget(QWidget())
    pages.resize(300, 200)
    pages.show()
    QApplication.processEvents()
    pages.setCurrentIndex(1)
    cells[0].setText("a much longer text")
    cells[1].setText("b, and it is long as well")
    wrap.heightForWidth(wrap.width())
    cells[1].setText("b, and it is so long that it needs a line")
    pages.setCurrentIndex(0)
    QApplication.processEvents()
    for cell in cells:
        assert cell.width() >= cell.sizeHint().width()
        assert cell.geometry().bottom() < wrap.height()
        others = [c for c in cells if c is not cell]
        assert not any(cell.geometry().intersects(other.geometry()) for other in others)


def test_the_last_cell_can_stand_at_the_right_edge(qtbot: QtBot) -> None:
    wrap = Wrap(last_right=True)
    _, verdict = wrapped(qtbot, wrap, ["23.1 of 24.0 GiB", "fits"], 400)
    assert verdict.geometry().right() == 399


class CountingText(LiveText):
    """Counts how often it asks to be laid out again."""

    asked = 0

    def updateGeometry(self) -> None:
        self.asked += 1
        super().updateGeometry()


@pytest.mark.parametrize("wrap", [False, True])
def test_text_that_changes_live_asks_for_room_only_when_it_needs_other_room(
    qtbot: QtBot, wrap: bool
) -> None:
    text = CountingText(wrap=wrap)
    qtbot.addWidget(text)
    text.resize(300, 40)
    text.set_text("1.10 GiB too much")
    before = text.asked
    text.set_text("1.23 GiB too much")
    assert text.asked == before
    text.set_text("only a little is free on a device with a name that is far too long for one line")
    assert text.asked > before


def test_live_text_is_heard_and_breaks_its_lines(qtbot: QtBot) -> None:
    text = LiveText(Style.MUTED, wrap=True)
    qtbot.addWidget(text)
    text.set_text("one two three four five six seven eight nine ten")
    assert text.heightForWidth(80) > text.heightForWidth(2000)
    assert text.minimumSizeHint().width() == 0
    spoken = QAccessible.queryAccessibleInterface(text)
    assert spoken.role() is QAccessible.Role.StaticText
    assert spoken.text(QAccessible.Text.Name).startswith("one two")


def test_notes_say_severity_message_and_advice_each_once(qtbot: QtBot) -> None:
    notes = NoteLines()
    qtbot.addWidget(notes)
    assert notes.isHidden()
    notes.set_problems([TRUNCATED, NOTE, NOTE])
    assert not notes.isHidden()
    assert [line.text.shown for line in notes.lines] == [
        "Error: The file ends inside blk.3.ffn_up.weight. Download it again.",
        "Note: Worth knowing.",
    ]
    notes.set_problems([LABEL])
    assert [line.text.shown for line in notes.lines] == [
        "Warning: The label does not say what is inside."
    ]
    notes.set_problems([])
    assert notes.isHidden()


def test_notes_give_no_room_back_while_a_slider_is_dragged(qtbot: QtBot) -> None:
    page = QWidget()
    qtbot.addWidget(page)
    column = QVBoxLayout(page)
    notes, below = NoteLines(), QLabel("below")
    column.addWidget(notes)
    column.addWidget(below)
    column.addStretch(1)
    page.resize(400, 400)
    page.show()
    notes.hold(True)
    notes.set_problems([TRUNCATED])
    qtbot.wait(20)
    place = below.y()
    notes.set_problems([])
    qtbot.wait(20)
    assert below.y() == place
    assert notes.lines == []
    notes.hold(False)
    qtbot.wait(20)
    assert below.y() < place


def test_the_same_cells_once_more_lay_out_nothing(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrap = Wrap()
    cells = wrapped(qtbot, wrap, ["one", "two"], 300)
    placed: list[Wrap] = []
    monkeypatch.setattr(Wrap, "_place", lambda self: placed.append(self))
    wrap.set_cells(cells)
    assert placed == []
    cells[1].hide()
    wrap.set_cells(cells)
    assert placed and not cells[1].isHidden()


def _inked_rows(width: int, height: int, draw: Callable[[QImage], None]) -> list[int]:
    image = QImage(width, height, QImage.Format.Format_Grayscale8)
    image.fill(Qt.GlobalColor.white)
    draw(image)
    line, pixels = image.bytesPerLine(), bytes(image.constBits())
    return [y for y in range(height) if min(pixels[y * line : y * line + width]) < 150]


_LETTERS = "ÓÉÑÜ"


@pytest.mark.parametrize("size", [8, 9, 11, 15])
@pytest.mark.parametrize("hinting", list(QFont.HintingPreference))
@pytest.mark.parametrize("kind", ["plain", "wrapped", "live", "live wrapped", "elided"])
def test_no_style_of_text_clips_the_accent_of_a_capital(
    qtbot: QtBot, theme: Theme, size: int, hinting: QFont.HintingPreference, kind: str
) -> None:
    """As many rows are inked in the label as on paper without an edge: with hinting a font draws
    above the ascent that it claims, and "REUTILIZACIÓN" became "REUTILIZACION"."""
    app = qt_app()
    before = QFont(app.font())
    font = QFont("DejaVu Sans", size)
    font.setHintingPreference(hinting)
    app.setFont(font)
    try:
        for style in Style:
            label = _label(kind, style)
            qtbot.addWidget(label)
            palette = label.palette()
            for role in (QPalette.ColorRole.WindowText, QPalette.ColorRole.PlaceholderText):
                palette.setColor(role, Qt.GlobalColor.black)
            palette.setColor(QPalette.ColorRole.Window, Qt.GlobalColor.white)
            label.setPalette(palette)
            hint = label.sizeHint()
            width = max(hint.width(), 4 * label.fontMetrics().maxWidth())
            height = label.heightForWidth(width) if label.hasHeightForWidth() else hint.height()
            label.resize(width, height)
            shown = _inked_rows(width, height, label.render)
            whole = _inked_rows(width, 90, partial(_on_paper, label.font()))
            assert len(shown) == len(whole), (style, kind)
    finally:
        app.setFont(before)


def _on_paper(font: QFont, image: QImage) -> None:
    painter = QPainter(image)
    painter.setFont(font)
    painter.drawText(QPoint(0, 60), _LETTERS)
    painter.end()


def _label(kind: str, style: Style) -> QLabel:
    if kind == "elided":
        return ElidedText(_LETTERS, style)
    if kind.startswith("live"):
        live = LiveText(style, wrap="wrapped" in kind)
        live.set_text(_LETTERS)
        return live
    return Text(_LETTERS, style, wrap=kind == "wrapped")


def test_no_style_of_text_takes_room_that_its_letters_do_not_need(theme: Theme) -> None:
    """As the tests' font is drawn, nothing stands above its ascent."""
    assert [style.headroom() for style in Style] == [0] * len(Style)


def test_no_line_ends_inside_an_option_and_what_is_heard_is_as_it_was(qtbot: QtBot) -> None:
    text = LiveText(Style.MUTED, wrap=True)
    qtbot.addWidget(text)
    words = "Earlier prompts stay in RAM (--cache-ram) up to -1 GiB - or use --no-mmap."
    text.set_text(words)
    assert text.shown == words
    drawn = unbroken(words)
    assert drawn.replace("\u2060", "").replace("\u00a0", " ") == words
    for option in ("--cache-ram", "--no-mmap"):
        assert option.replace("-", "-\u2060") in drawn
    assert " -1\u00a0GiB - or" in drawn
    width = text.fontMetrics().horizontalAdvance("in RAM (--cache-")
    layout = QTextLayout(unbroken("in RAM (--cache-ram)"), text.font())
    layout.beginLayout()
    line = layout.createLine()
    line.setLineWidth(width)
    layout.endLayout()
    assert line.textLength() == len("in RAM ")


def test_no_line_ends_with_the_first_stroke_of_a_path() -> None:
    words = "The model is as large as the open file (/home/me/a.gguf), 5 tok/s and/or more."
    assert unbroken(words) == words.replace("(/", "(/\u2060").replace("5 tok", "5\u00a0tok")


@pytest.mark.parametrize("number", ["21.702.472.192", "4.96", "1,234.5"])
def test_a_line_ends_in_no_number(number: str) -> None:
    assert breakable(f"models/x_y.gguf has {number}.") == (
        f"models/\u200bx_\u200by.\u200bgguf has {number}.\u200b"
    )


@pytest.mark.parametrize(
    "words", ["9.68 s", "1 min", "4.08 GiB", "21.702.472.192 B", "936 GB/s", "17.0 tok/s", "67 %"]
)
def test_a_line_ends_between_no_number_and_its_unit(words: str) -> None:
    for drawn in (unbroken(f"It is {words}, at turn 1."), breakable(f"It is {words}, at turn 1")):
        assert words.replace(" ", "\u00a0") in drawn
    assert unbroken("3 slots, 2 bars") == "3 slots, 2 bars"


def test_a_tip_is_as_it_is_in_lines_of_their_own() -> None:
    words = "feed forward: 465 MiB (487,587,840 B), 52 % of what one token reads"
    document = QTextDocument()
    for text, shown in (
        (words, words),
        ("<b>a</b>\n/b", "<b>a</b>\n/b"),
        (f"{'a' * 70} {'b' * 70}", f"{'a' * 70}\n{'b' * 70}"),
        ("x" * 100, f"{'x' * 72}\n{'x' * 28}"),
    ):
        document.setHtml(plain_tip(text))
        assert document.toPlainText() == shown


def test_a_sentence_gives_way_at_its_end_and_a_name_in_its_middle(qtbot: QtBot) -> None:
    words = "Doubtful, measure again when the computer is idle."
    for sentence in (True, False):
        text = ElidedText(words, sentence=sentence)
        qtbot.addWidget(text)
        text.resize(text.sizeHint().width() // 2, text.sizeHint().height())
        drawn = text.drawn
        assert text.elided and drawn.startswith("Doubtful")
        assert drawn.endswith("…") is sentence
        place = QPoint(2, 2)
        QApplication.sendEvent(text, QHelpEvent(QEvent.Type.ToolTip, place, place))
        assert words in QToolTip.text()
