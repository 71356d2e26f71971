"""The list of matches under a field that is searched by typing."""

from __future__ import annotations

from PySide6.QtWidgets import QCompleter, QStyle


def keep_whole(completer: QCompleter) -> None:
    """Let the list be wider than its field, so that no line of it is cut.

    To be called after the field has been given the completer.
    """
    model, matches = completer.model(), completer.popup()
    assert matches is not None

    def widen() -> None:
        bar = matches.style().pixelMetric(QStyle.PixelMetric.PM_ScrollBarExtent)
        frame = 2 * matches.frameWidth()
        matches.setMinimumWidth(matches.sizeHintForColumn(0) + bar + frame)

    model.modelReset.connect(widen)
    model.dataChanged.connect(widen)
