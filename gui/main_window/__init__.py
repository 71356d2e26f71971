"""The window: menus, drops, what is being read, and which page is in front."""

from gui.main_window.window import MainWindow

__all__ = ["MainWindow"]
