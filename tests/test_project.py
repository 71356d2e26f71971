"""What holds for the project as a whole, whatever the code says."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize("folder", ["packaging", "tests"])
def test_a_folder_that_would_shadow_a_package_has_no_init(folder: str) -> None:
    # `packaging/__init__.py` would hide PyPI's `packaging`; `tests/gui/__init__.py` our `gui`.
    assert not list((ROOT / folder).rglob("__init__.py"))


@pytest.mark.parametrize(
    "arguments", [["--help"], ["catalogue", "3090"], ["report", "no-such-file"]]
)
def test_the_command_line_never_imports_qt_or_the_plots(arguments: list[str]) -> None:
    program = (
        "import sys\n"
        "from core import command_line\n"
        "try:\n"
        "    command_line.main(sys.argv[1:], lambda files: 0)\n"
        "except SystemExit:\n"
        "    pass\n"
        "loaded = {name.split('.')[0] for name in sys.modules}\n"
        "sys.exit(', '.join(loaded & {'PySide6', 'pyqtgraph', 'gguf'}) or None)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr


def test_setting_a_label_keeps_the_references_to_none(qapp: object) -> None:
    # PySide6 6.12.0 drops one per call and aborts Python 3.11 after a few thousand.
    from PySide6.QtWidgets import QLabel

    label = QLabel()
    before = sys.getrefcount(None)
    for _ in range(1000):
        label.setText("x")
    assert abs(sys.getrefcount(None) - before) < 100


def test_pins_are_exact_and_name_no_host() -> None:
    lines = (ROOT / "constraints.txt").read_text().split()
    assert all(re.fullmatch(r"[A-Za-z0-9_.-]+==[A-Za-z0-9_.]+", line) for line in lines)


def test_every_declared_dependency_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = project["dependencies"] + project["optional-dependencies"]["dev"]
    pinned = {
        line.partition("==")[0].lower().replace("_", "-")
        for line in (ROOT / "constraints.txt").read_text().split()
    }
    names = {re.split(r"[<>=!\[ ]", w)[0].lower().replace("_", "-") for w in wanted}
    assert names <= pinned
