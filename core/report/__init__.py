"""A plan as text for people and as plain values for programs; both say what the window says."""

from core.report.text import text
from core.report.values import SCHEMA, as_json, problem_values

__all__ = ["SCHEMA", "as_json", "problem_values", "text"]
