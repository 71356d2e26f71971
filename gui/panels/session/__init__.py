"""The page "Session": how long a whole conversation takes with the open model."""

from gui.panels.session.page import SessionPage

__all__ = ["SessionPage"]
