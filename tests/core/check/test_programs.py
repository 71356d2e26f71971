"""Where llama.cpp's programs are looked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.check import programs
from tests.support.stand_in import stand_in
from tests.support.surroundings import without_a_home


def test_a_user_without_a_home_finds_what_lies_in_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_a_home(monkeypatch)
    path = stand_in(tmp_path / "with a space", "llama-server", "")
    monkeypatch.setenv("PATH", str(path.parent))
    assert programs.find(["llama-server", "no-such-program"]) == {"llama-server": str(path)}


def test_a_build_in_the_users_home_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = stand_in(tmp_path / "llama.cpp" / "build" / "bin", "llama-odd", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert programs.find(["llama-odd"]) == {"llama-odd": str(path)}
