"""Every field report that this program answers is a test that names it.

A report is a case of somebody for whom another tool, or an earlier state of one, had it wrong. Its
id stands in the name or the docstring of the test.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
# By what they are about. Numbers that are missing were cases of the same as another one.
REPORTS = [
    # files
    *("P01", "P03", "P04", "P05", "P06", "P07", "P08", "P09", "P10", "P11", "P14", "P15", "P16"),
    *("P17", "P18", "P19", "P20", "P21", "P22", "P24", "P25", "P26", "P28", "P30", "P31", "P32"),
    *("P35", "P36", "P37", "P38", "P40", "P41", "P42", "P43", "P44"),
    # memory
    *("M03", "M04", "M05", "M07", "M11", "M12", "M15", "M16", "M19", "M20", "M21", "M23", "M24"),
    *("M25", "M26", "M27", "M28", "M29", "M30", "M31", "M32", "M33", "M34", "M35", "M37", "M38"),
    *("M39", "M40", "M41", "M44", "M45", "M46", "M48"),
    # speed
    *("S01", "S02", "S04", "S07", "S09", "S10", "S13", "S14", "S15", "S16", "S17"),
    # sessions of agents
    *("A01", "A02", "A03", "A04", "A05", "A07"),
    # measuring
    *("B01", "B03", "B04", "B05", "B06", "B07"),
    # machines and use
    *("U01", "U03", "U06", "U14", "U16", "U17", "U19", "U20", "U21", "U22", "U23", "U24", "U25"),
]
# Reports of which no test can be, and why. A report is here or in a test, never in both.
WITHOUT: dict[str, str] = {}
_IN_TEXT = re.compile(r"\b[PMSABU][0-9]{2}\b")
_IN_NAME = re.compile(r"(?<=_)[pmsabu][0-9]{2}(?=_)")


@pytest.fixture(scope="module")
def named() -> set[str]:
    """What the names, docstrings and comments of all other tests name; a card called Tesla P40
    among their data names nothing."""
    found: set[str] = set()
    for path in TESTS.rglob("test_*.py"):
        if path == Path(__file__):
            continue
        text = path.read_text("utf-8")
        for comment in re.findall(r"#(.*)", text):
            found.update(_IN_TEXT.findall(comment))
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module):
                found.update(_IN_TEXT.findall(ast.get_docstring(node) or ""))
            if isinstance(node, ast.FunctionDef):
                found.update(name.upper() for name in _IN_NAME.findall(node.name))
    return found


@pytest.mark.parametrize("report", REPORTS)
def test_a_report_is_a_test(report: str, named: set[str]) -> None:
    assert (report in named) is not (report in WITHOUT), WITHOUT.get(report, "no test names it")
