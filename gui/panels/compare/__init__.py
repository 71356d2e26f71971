"""Comparing machines, models and quantizations."""

from gui.panels.compare.page import ComparePage

__all__ = ["ComparePage"]
