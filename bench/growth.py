"""An hour at the sliders: what the process holds at the start, after a tenth, and at the end.

    python -m bench.growth [EVENTS]

A hand that slides without pause moves the mouse some 60 times a second: 216,000 events an hour. A
tenth of them is sent here, as fast as the window takes them, and weighed after every tenth of
these; what grew since the first is told for a thousand events and for the whole hour, as the
median of the slopes between any two. ``EVENTS`` 216000 runs all of them. Every drag is a press, 60
moves through the whole slider or a part of it, and a release, on one slider of the plan after the
other, each event once what the one before asked for has been painted. The same events go to a bare
window with four QSliders and a label, in a process of its own.
"""

from __future__ import annotations

import gc
import os
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PySide6.QtWidgets import QSlider

HOUR = 60 * 60 * 60
EVENTS = HOUR // 10
_MOVES = 60  # of a drag
_WARM_UP = 30  # drags; every stop of every slider has been seen then


def drags(sliders: Sequence[QSlider]) -> Iterator[int]:
    """Drag one slider after the other, for ever, one event a step; tells how many events there
    were once a drag is over, else 0."""
    from PySide6.QtCore import QEvent, QPointF, Qt
    from PySide6.QtGui import QMouseEvent
    from PySide6.QtWidgets import QApplication, QStyle

    chance = random.Random(7)
    whole = True

    def send(slider: QSlider, kind: QEvent.Type, x: float) -> None:
        point = QPointF(x, slider.height() // 2)
        left, none = Qt.MouseButton.LeftButton, Qt.MouseButton.NoButton
        event = QMouseEvent(
            kind,
            point,
            QPointF(slider.mapToGlobal(point)),
            none if kind is QEvent.Type.MouseMove else left,
            none if kind is QEvent.Type.MouseButtonRelease else left,
            Qt.KeyboardModifier.NoModifier,
        )
        QApplication.sendEvent(slider, event)

    for slider in cycle(sliders):
        length = slider.style().pixelMetric(QStyle.PixelMetric.PM_SliderLength, None, slider)
        ends = (0, slider.width()) if whole else [chance.randrange(slider.width()) for _ in "12"]
        share = (slider.value() - slider.minimum()) / max(slider.maximum() - slider.minimum(), 1)
        send(slider, QEvent.Type.MouseButtonPress, length / 2 + share * (slider.width() - length))
        yield 0
        for move in range(_MOVES):
            # There and back, as a hand that tries things out.
            share = abs(2 * move / (_MOVES - 1) - 1)
            send(slider, QEvent.Type.MouseMove, ends[0] + share * (ends[1] - ends[0]))
            yield 0
        send(slider, QEvent.Type.MouseButtonRelease, ends[0])
        whole = chance.random() < 0.5
        yield _MOVES + 2


def slide(words: str, sliders: Sequence[QSlider], events: int) -> None:
    """Send so many events in the event loop, each once what the one before asked for is painted,
    and print what the process holds meanwhile."""
    from PySide6.QtCore import QCoreApplication, QTimer

    from bench.weight import Weight, slope, weigh

    hand, done = drags(sliders), 0
    waiting = [_WARM_UP * (_MOVES + 2)]
    waiting += [waiting[0] + events * tenth // 10 for tenth in range(1, 11)]
    seen: list[tuple[int, Weight]] = []

    def move() -> None:
        nonlocal done
        done += next(hand)
        if done >= waiting[len(seen)]:
            seen.append((done, weigh()))
            if len(seen) == len(waiting):
                timer.stop()
                QCoreApplication.exit()

    timer = QTimer()  # of no time: due when nothing else is
    timer.timeout.connect(move)
    timer.start(0)
    QCoreApplication.exec()
    memory, objects = slope(seen[1:])
    print(f"{words}: {seen[-1][0] - seen[0][0]:,} events")
    for when, (_, weight) in (("start", seen[0]), ("a tenth", seen[1]), ("end", seen[-1])):
        print(f"  {when:8} {weight.megabytes}, {weight.counts}")
    print(
        f"  since the tenth: {memory:+.1f} kB and {1000 * objects:+.1f} objects for a thousand "
        f"events, {memory * HOUR / 1e6:+.1f} MB for an hour ({HOUR:,})",
        flush=True,
    )


def ours(events: int) -> None:
    """The whole window with the model that has the most to draw."""
    from bench.slider import loaded_window

    with TemporaryDirectory() as folder, loaded_window(Path(folder)) as (_, window):
        gc.freeze()  # as the program does when its event loop begins
        what_if = window.page.plan.what_if
        fields = (what_if.context, what_if.quantization, what_if.layers, what_if.experts)
        sliders = [field.slider for field in fields if field.isVisible()]
        assert len(sliders) == len(fields)
        slide("the window", sliders, events)


def bare(events: int) -> None:
    """What anybody pays who lets a slider be moved."""
    from PySide6.QtCore import Qt
    from PySide6.QtWidgets import QApplication, QLabel, QSlider, QVBoxLayout, QWidget

    _app = QApplication(sys.argv[:1])
    window, label = QWidget(), QLabel()
    column = QVBoxLayout(window)
    column.addWidget(label)
    sliders = []
    for _ in range(4):
        slider = QSlider(Qt.Orientation.Horizontal)
        slider.setRange(0, 1000)
        slider.valueChanged.connect(lambda value: label.setText(f"{value:,}"))
        column.addWidget(slider)
        sliders.append(slider)
    window.resize(1280, 800)
    window.show()
    gc.freeze()
    slide("bare window with four sliders", sliders, events)
    window.close()


def main(events: int = EVENTS) -> None:
    """Both, each in a process of its own."""
    for way in ("--bare", "--ours"):
        command = [sys.executable, "-m", "bench.growth", way, str(events)]
        environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
        subprocess.run(command, env=environment, stderr=subprocess.DEVNULL, check=True)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--ours", count]:
            ours(int(count))
        case ["--bare", count]:
            bare(int(count))
        case [count]:
            main(int(count))
        case _:
            main()
