"""The command line: what the window shows, without a screen."""

from core.command_line.main import main

__all__ = ["main"]
