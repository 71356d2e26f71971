"""Measurements that were made, with the plan of their moment."""

from core.measure.history.file import history_path
from core.measure.history.snapshot import DepthFigures, PlanSnapshot, snapshot
from core.measure.history.store import History, HistoryError, Listed, Stored

__all__ = [
    "DepthFigures",
    "History",
    "HistoryError",
    "Listed",
    "PlanSnapshot",
    "Stored",
    "history_path",
    "snapshot",
]
