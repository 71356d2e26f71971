"""The models on this computer, as a dialog."""

from gui.panels.library.dialog import LibraryDialog

__all__ = ["LibraryDialog"]
