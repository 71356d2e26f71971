"""What a model is, at a glance: facts, layers, formats, roles and what one token reads."""

from gui.panels.overview.panel import OverviewPanel

__all__ = ["OverviewPanel"]
