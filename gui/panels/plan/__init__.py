"""The plan: machine, memory, what if, speed."""

from gui.panels.plan.panel import PlanPanel

__all__ = ["PlanPanel"]
