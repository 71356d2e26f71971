"""The report of a plan as text for the clipboard."""

from __future__ import annotations

from core.plan.plan import Plan
from core.tabular import TextFormat, json_text
from core.units import UnitSystem


def report_as(form: TextFormat, plan: Plan, units: UnitSystem) -> str:
    """JSON as the command line prints it, or text that keeps its columns inside of Markdown."""
    from core import report

    if form is TextFormat.JSON:
        return json_text(report.as_json(plan)) + "\n"
    return f"```\n{report.text(plan, units)}```\n"
