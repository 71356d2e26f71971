"""The page "Session": it plans, it says what goes wrong, it plays, it counts a dropped text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

import resources
from core.gguf import open_file
from core.machine import custom
from core.machine.machine import Disk, DiskKind
from core.model import model_from
from core.plan.choice import Engine
from core.plan.session import PRESETS, Change
from core.plan.session.values import Reading
from core.provenance import Number, Rank, Source, Unit
from gui.document import Document
from gui.main_window import MainWindow
from gui.main_window.kept_settings import KeptSettings
from gui.panels.session import SessionPage
from gui.panels.session.request import moment_words
from gui.theme import Theme
from gui.widgets.stop_slider import StopSlider
from gui.workers import computer
from tests.support.marking import marked
from tests.support.record_tokens import recorded
from tests.support.tiny_gguf import write_tiny_llama
from tests.support.vocabularies import TEXTS

HOST = custom(64 * 2**30, 100e9, gpu=False)


@pytest.fixture
def document() -> Document:
    made = Document()
    made.set_this_computer(HOST)
    return made


@pytest.fixture
def page(qtbot: QtBot, document: Document) -> Iterator[SessionPage]:
    made = SessionPage(document)
    qtbot.addWidget(made)
    made.resize(1280, 700)
    made.show()
    yield made
    made.runner.stop()


def open_specimen(document: Document, name: str, **choice: object) -> None:
    (path,) = (p for p in resources.specimens() if p.name.startswith(name))
    document.set_model(model_from(open_file(path)))
    document.choose(**{"context": 131_072, **choice})


def notes(page: SessionPage) -> str:
    return " ".join(line.text.shown for line in page.notes.lines)


def agent(page: SessionPage) -> None:
    QTest.mouseClick(page.controls.presets[1], Qt.MouseButton.LeftButton)


def set_rates(page: SessionPage, prefill: float = 1000.0, decode: float = 50.0) -> None:
    page.controls.prefill.setValue(prefill)
    page.controls.decode.setValue(decode)


def test_the_sliders_have_room_for_a_hand(document: Document, page: SessionPage) -> None:
    """At 1280 pixels they were 59 long, with twelve stops."""
    open_specimen(document, "Llama-3.1-8B")
    sliders = page.findChildren(StopSlider)
    assert len(sliders) >= 4
    for slider in sliders:
        assert slider.width() >= 15 * page.fontMetrics().averageCharWidth()


def test_it_says_first_how_long_all_of_it_takes(document: Document, page: SessionPage) -> None:
    open_specimen(document, "Llama-3.1-8B")
    agent(page)
    set_rates(page)
    page.controls.turns.setValue(2)
    page.controls.pause.setValue(0)
    # 23 s and 3.4 s of reading (the answer's 400 tokens follow dropped thinking), twice 16 s of
    # writing, and 4.9 GB from a disk of 2 GB/s.
    assert page.headline.shown.startswith("2 turns take 1 min 1 s; the longest wait")
    assert page.reuse.shown.startswith("Without reuse")


def test_a_disk_that_was_timed_counts_until_a_rate_is_typed(
    document: Document, page: SessionPage
) -> None:
    open_specimen(document, "Llama-3.1-8B")
    assert page.controls.disk.text() == "2,000, assumed"
    before = page.session and page.session.turns[0].load
    rate = Number(4e9, Unit.BYTES_PER_SECOND, Source(Rank.MEASURED, "file read"))
    document.set_this_computer(replace(HOST, id="this", disk=Disk(DiskKind.NVME, "", rate)))
    assert page.controls.disk.text() == "4,000, this machine's"
    after = page.session and page.session.turns[0].load
    assert before and after
    assert after.mid == pytest.approx(before.mid / 2)
    page.controls.disk.setValue(1000)
    typed = page.session and page.session.turns[0].load
    assert typed and typed.mid == pytest.approx(before.mid * 2)


def test_the_table_the_bars_and_the_request_show_the_same_turn(
    document: Document, page: SessionPage
) -> None:
    open_specimen(document, "Llama-3.1-8B")
    agent(page)
    set_rates(page)
    page.picture.setFocus()
    QTest.keyClick(page.picture, Qt.Key.Key_End)
    assert page.table.currentIndex().row() == 19
    assert page.request.heading.text() == "THE REQUEST OF TURN 20"
    page.table.selectRow(4)
    assert page.picture.current == 4
    assert page.picture.accessibleDescription().startswith("Turn 5: 36,600 tokens sent, 3,400 read")


def test_a_click_on_a_bar_chooses_its_turn(document: Document, page: SessionPage) -> None:
    open_specimen(document, "Llama-3.1-8B")
    agent(page)
    set_rates(page)
    where = QPoint(page.picture.width() - 70, page.picture.height() // 2)
    QTest.mouseClick(page.picture, Qt.MouseButton.LeftButton, pos=where)
    assert page.picture.current > 15


def test_what_changes_each_turn_is_warned_of(document: Document, page: SessionPage) -> None:
    open_specimen(document, "Llama-3.1-8B")
    agent(page)
    set_rates(page)
    page.controls.change.activated.emit(list(Change).index(Change.START))
    page.controls._set(change=Change.START)
    assert "tokens are read again" in notes(page)
    assert "Move clocks" in notes(page)


def test_a_hybrid_model_has_its_badge_whatever_happens(
    document: Document, page: SessionPage
) -> None:
    """A02: it is said before anything goes wrong."""
    open_specimen(document, "Qwen3.6-27B")
    set_rates(page)
    assert "keeps a recurrent state and cannot go back" in notes(page)


def test_what_only_ollama_does_is_asked_only_there(document: Document, page: SessionPage) -> None:
    open_specimen(document, "Llama-3.1-8B")
    assert not page.controls.endpoint.isVisible()
    document.choose(engine=Engine.OLLAMA)
    assert page.controls.endpoint.isVisible()
    page.controls.endpoint.setChecked(True)
    assert "/v1 endpoint ignores num_ctx" in notes(page)


def test_a_session_of_unknown_speed_says_what_to_do(document: Document, page: SessionPage) -> None:
    open_specimen(document, "Llama-3.1-8B")
    assert page.session is not None
    if page.session.total.known:  # where published runs tell how fast this machine reads
        pytest.skip("the plan knows how fast this machine reads")
    assert "is not known" in page.headline.shown
    assert page.request.unknown.isVisible()


def test_a_session_beyond_the_trained_context_says_why_none_is_offered(
    document: Document, page: SessionPage
) -> None:
    open_specimen(document, "Llama-3.1-8B", context=16_384)
    agent(page)
    page.controls.compacts.setChecked(False)
    assert page.reserve.isVisible()
    assert not page.beyond.isVisible()
    page.controls.take(turns=40)  # 20,000 + 39 x 3,400 + 3,800 = 156,400 tokens
    assert not page.reserve.isVisible()
    assert page.beyond.isVisible()
    assert page.beyond.shown.startswith(
        "All turns would need 156,672 tokens, more than the 131,072 that the model was trained for"
    )
    page.controls.take(turns=20)
    assert page.reserve.isVisible()
    assert not page.beyond.isVisible()


def test_a_session_that_does_not_fit_offers_a_context_that_does(
    document: Document, page: SessionPage
) -> None:
    open_specimen(document, "Llama-3.1-8B", context=16_384)
    agent(page)
    assert page.headline.shown == "Not even the first request fits into the context."
    assert not page.picture.isVisible()
    page.controls.compacts.setChecked(False)
    # Four slots share one pool: 20,000 + 19 x 3,400 + 3,800 = 88,400 tokens.
    assert page.reserve.text() == "Reserve 89,088 tokens"
    QTest.mouseClick(page.reserve, Qt.MouseButton.LeftButton)
    assert document.choice.context == 89_088
    assert not page.reserve.isVisible()
    assert page.session is not None
    assert len(page.session.turns) == 20
    document.undo_stack.undo()
    assert document.choice.context == 16_384


def test_every_sum_says_how_it_was_come_by(document: Document, page: SessionPage) -> None:
    open_specimen(document, "Llama-3.1-8B")
    set_rates(page)
    for name, fact in page.facts.facts.items():
        assert fact.shown not in ("", "unknown"), name
        assert "=" in fact.explanation(), name


def test_presets_are_a_way_back(document: Document, page: SessionPage) -> None:
    open_specimen(document, "Llama-3.1-8B")
    page.controls.turns.setValue(7)
    assert page.controls.basis.text() == "Your own session."
    for button, preset in zip(page.controls.presets, PRESETS, strict=True):
        QTest.mouseClick(button, Qt.MouseButton.LeftButton)
        assert page.controls.choice == preset.choice
        assert button.isChecked()


def test_every_control_changes_the_plan_and_is_kept(document: Document, qtbot: QtBot) -> None:
    kept: list[str] = []
    page = SessionPage(document, "", kept.append)
    qtbot.addWidget(page)
    page.show()
    open_specimen(document, "Llama-3.1-8B")
    page.controls.tokens["new_tokens"].box.setValue(1234)
    page.controls.compacts.setChecked(False)
    page.controls.side_requests.setValue(2)
    again = SessionPage(document, kept[-1])
    qtbot.addWidget(again)
    choice = again.controls.choice
    assert (choice.new_tokens, choice.compact_above, choice.side_requests) == (1234, None, 2)


def test_it_plays_a_request_to_its_end(qtbot: QtBot, document: Document, page: SessionPage) -> None:
    open_specimen(document, "Llama-3.1-8B")
    set_rates(page, 1e6, 1e6)
    page.controls.disk.setValue(100_000)
    QTest.mouseClick(page.request.play, Qt.MouseButton.LeftButton)
    assert (page.request.playing, page.request.play.text()) == (True, "Stop")
    qtbot.waitUntil(lambda: not page.request.playing)
    assert page.request.play.text() == "Play"


def test_nothing_moves_where_nobody_looks(document: Document, page: SessionPage) -> None:
    open_specimen(document, "Llama-3.1-8B")
    set_rates(page)
    QTest.mouseClick(page.request.play, Qt.MouseButton.LeftButton)
    page.hide()
    assert not page.request.playing


def test_a_moment_of_a_request_is_said_in_words(document: Document, page: SessionPage) -> None:
    open_specimen(document, "Llama-3.1-8B")
    agent(page)
    set_rates(page)
    segments = page.request._segments
    assert moment_words(segments, 0.5).endswith("loading the model")
    start = segments[0].end
    assert moment_words(segments, start + 11.5).endswith("reading, 11,500 of 23,000 tokens")
    assert moment_words(segments, start + 23 + 4).endswith("thinking, 200 of 400 tokens")


def drop(widget: QWidget, path: Path) -> bool:
    """Drop a file; whether the widget took it."""
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    common = (data, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.ShiftModifier)  # to move it
    offered = Qt.DropAction.CopyAction | Qt.DropAction.MoveAction
    enter = QDragEnterEvent(QPoint(2, 2), offered, *common)
    QApplication.sendEvent(widget, enter)
    if not enter.isAccepted():
        return False
    dropped = QDropEvent(QPointF(2, 2), offered, *common)
    QApplication.sendEvent(widget, dropped)
    assert dropped.dropAction() == Qt.DropAction.CopyAction  # what was moved may be deleted
    return True


def test_a_text_dropped_on_a_number_is_counted_with_the_model_s_vocabulary(
    qtbot: QtBot, document: Document, page: SessionPage, tmp_path: Path
) -> None:
    made, answers = recorded()["qwen35"]
    model = write_tiny_llama(tmp_path / "tiny.gguf", tokenizer=made.add_to)
    document.set_model(model_from(open_file(model)))
    text = tmp_path / "prompt.txt"
    text.write_bytes(TEXTS[5].encode())
    field = page.controls.tokens["system_tokens"]
    with qtbot.waitSignal(page.runner.ended):
        assert drop(field, text)
    assert field.value == len(answers[5])
    (line,) = page.counted.lines
    assert f"has {len(answers[5])} tokens" in line.text.shown
    assert "own vocabulary" in line.text.shown


def test_a_text_dropped_beside_the_numbers_asks_which_one_it_is_for(
    qtbot: QtBot, document: Document, page: SessionPage, tmp_path: Path
) -> None:
    open_specimen(document, "Llama-3.1-8B")
    text = tmp_path / "prompt.md"
    text.write_text("word " * 400)
    assert drop(page, text)
    first, *_ = page.count_menu.actions()
    page.count_menu.close()
    with qtbot.waitSignal(page.runner.ended):
        first.trigger()
    assert page.controls.choice.system_tokens == 500


def test_two_captured_requests_are_compared(
    qtbot: QtBot, document: Document, page: SessionPage, tmp_path: Path
) -> None:
    """A01: the planner finds the first token that differs."""
    made, _ = recorded()["qwen35"]
    model = write_tiny_llama(tmp_path / "tiny.gguf", tokenizer=made.add_to)
    document.set_model(model_from(open_file(model)))
    texts = [f"Rules.\nNow: 12:00:0{n}\n" + "tools " * 300 for n in (1, 2)]
    paths = [tmp_path / "one.txt", tmp_path / "two.txt"]
    for path, text in zip(paths, texts, strict=True):
        path.write_bytes(text.encode())
    with qtbot.waitSignal(page.runner.ended):
        page.compare(*paths)
    choice = page.controls.choice
    assert choice.change is Change.OWN
    assert 5 < choice.change_at < 25
    assert "from “2 tools tools" in page.counted.lines[0].text.shown
    paths[1].write_bytes((texts[0] + "and more").encode())
    with qtbot.waitSignal(page.runner.ended):
        page.compare(*paths)
    assert page.controls.choice.change is Change.NOTHING


def test_a_model_without_tokens_gives_an_estimate_that_says_so(
    qtbot: QtBot, document: Document, page: SessionPage, tmp_path: Path
) -> None:
    open_specimen(document, "Llama-3.1-8B")
    text = tmp_path / "prompt.md"
    text.write_text("word " * 800)
    with qtbot.waitSignal(page.runner.ended):
        page.count("new_tokens", text)
    assert page.controls.choice.new_tokens == 1000
    (line,) = page.counted.lines
    assert "has about 1,000 tokens" in line.text.shown
    assert "An estimate" in line.text.shown


def test_what_is_no_text_is_refused_in_words(
    qtbot: QtBot, document: Document, page: SessionPage, tmp_path: Path
) -> None:
    open_specimen(document, "Llama-3.1-8B")
    before = page.controls.choice
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\0\0")
    for path, words in (("picture.png", "is no plain text"), ("gone.txt", "cannot be read")):
        with qtbot.waitSignal(page.runner.ended):
            page.count("new_tokens", tmp_path / path)
        assert words in page.counted.lines[0].text.shown
    assert page.controls.choice == before


def test_a_model_dropped_on_a_number_is_the_window_s(page: SessionPage, tmp_path: Path) -> None:
    assert not drop(page.controls.tokens["new_tokens"], tmp_path / "model.gguf")


@pytest.mark.parametrize("width", [1280, 800, 500])
def test_nothing_is_cut_off_at_the_side(document: Document, page: SessionPage, width: int) -> None:
    open_specimen(document, "Qwen3.6-27B")
    set_rates(page)
    page.resize(width, 600)
    QApplication.processEvents()
    for area in (page._left, page._right):
        inner = area.widget()
        assert inner is not None
        assert inner.minimumSizeHint().width() <= area.viewport().width()


def test_the_window_opens_it_by_its_key_and_keeps_the_session(
    qtbot: QtBot, theme: Theme, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(computer, "detecting", lambda handle: HOST)
    path = tmp_path / "settings.json"
    for turns in (5, 6):
        window = MainWindow(Document(), theme, KeptSettings(path))
        qtbot.addWidget(window)
        window.show()
        document = window.document
        qtbot.waitUntil(lambda doc=document: doc.this_computer is not None)  # type: ignore[misc]
        open_specimen(document, "Llama-3.1-8B")
        window.commands.session.trigger()
        (page,) = window.findChildren(SessionPage)
        assert page.isVisible()
        if turns == 6:
            assert page.controls.choice.turns == 5
        page.controls.turns.setValue(turns)
        window.close()


def test_what_a_program_reads_of_the_table_is_english_in_every_language(
    document: Document, page: SessionPage
) -> None:
    open_specimen(document, "Qwen3-30B-A3B")
    (why,) = (column for column in page.sheet.columns if column.name == "why")
    assert why.exact(0) == why.text(0) == Reading.FIRST.value
    with marked():
        page.controls.turns.setValue(3)
    (why,) = (column for column in page.sheet.columns if column.name == "why")
    assert why.text(0) == f"⟦{Reading.FIRST.value}⟧"
    assert why.exact(0) == Reading.FIRST.value
