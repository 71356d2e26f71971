"""What several tokens in one pass bring: speculation, and several users at a time."""

from gui.panels.passes.dialog import PassesDialog

__all__ = ["PassesDialog"]
