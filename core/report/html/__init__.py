"""A plan as one web page that needs nothing else: for sharing, printing, keeping."""

from core.report.html.page import html

__all__ = ["html"]
