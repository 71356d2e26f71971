"""Settings out and in: the command for the choice, and a pasted command as a choice."""

from gui.panels.command.dialog import CommandDialog

__all__ = ["CommandDialog"]
