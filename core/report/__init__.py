"""A plan as text for people and as plain values for programs; both say what the window says."""

from core.report.comparison import comparison_as_json, comparison_text
from core.report.html import html
from core.report.text import problem_line, text
from core.report.values import SCHEMA, Values, all_problems, as_json, refusal

__all__ = [
    "SCHEMA",
    "Values",
    "all_problems",
    "as_json",
    "comparison_as_json",
    "comparison_text",
    "html",
    "problem_line",
    "refusal",
    "text",
]
