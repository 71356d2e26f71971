"""Every field report about memory is a test that names it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
# Reports about memory (M) and those about files (P) that decide what memory is computed.
REPORTS = [
    *("M03", "M04", "M05", "M07", "M11", "M12", "M15", "M16", "M19", "M20", "M21", "M23", "M24"),
    *("M25", "M26", "M27", "M28", "M29", "M30", "M31", "M32", "M33", "M34", "M35", "M37", "M38"),
    *("M39", "M40", "M41", "M44", "M45", "M46", "M48"),
    *("P01", "P19", "P20", "P21", "P22", "P24", "P35", "P43"),
]


@pytest.fixture(scope="module")
def named() -> set[str]:
    """What the docstrings and comments of all other tests name."""
    texts = (p.read_text("utf-8") for p in TESTS.rglob("test_*.py") if p != Path(__file__))
    return {word for text in texts for word in re.findall(r"\b[MP][0-9]{2}\b", text)}


@pytest.mark.parametrize("report", REPORTS)
def test_a_report_about_memory_is_a_test(report: str, named: set[str]) -> None:
    assert report in named
