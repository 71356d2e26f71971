"""The pages beside the plan. Each is imported when somebody first looks at it."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from gui.document import Document


def explain(document: Document) -> QWidget:
    """How a cache grows, and what a format does to weights."""
    from gui.panels.explain.page import ExplainPage

    return ExplainPage(document)
