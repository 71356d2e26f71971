"""Check with llama.cpp: a plan beside what the engine itself would allocate."""

from gui.panels.check.dialog import CheckDialog

__all__ = ["CheckDialog"]
