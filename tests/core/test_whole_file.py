"""A file is the old one or the new one, never a part of either."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from core.whole_file import open_file, write_whole


def test_a_file_is_written_and_replaced_and_nothing_else_stays(tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    for data in (b"", b"one", b"another, longer"):
        write_whole(path, data)
        assert path.read_bytes() == data
        assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("step", ["os.fsync", "pathlib.Path.replace"])
def test_a_write_that_fails_leaves_the_old_file_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    path = tmp_path / "kept.json"
    path.write_bytes(b"old")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(step, fail)
    with pytest.raises(OSError, match="No space"):
        write_whole(path, b"new")
    monkeypatch.undo()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(os.name == "nt", reason="links of POSIX")
def test_a_link_stays_one_and_its_file_is_replaced(tmp_path: Path) -> None:
    """Who keeps settings in a folder of dotfiles has links where programs look."""
    real, link = tmp_path / "dotfiles" / "settings.json", tmp_path / "settings.json"
    real.parent.mkdir()
    real.write_bytes(b"old")
    link.symlink_to(real)
    write_whole(link, b"new")
    assert link.is_symlink()
    assert real.read_bytes() == b"new"
    assert [*real.parent.iterdir()] == [real]


@pytest.mark.skipif(os.name == "nt", reason="links of POSIX")
@pytest.mark.parametrize("target", ["/dev/null", "/nowhere/at/all", "kept.json"])
def test_a_link_that_leads_to_no_file_gives_way(tmp_path: Path, target: str) -> None:
    path = tmp_path / "kept.json"
    path.symlink_to(target)
    write_whole(path, b"new")
    assert not path.is_symlink()
    assert path.read_bytes() == b"new"


def test_what_is_read_is_a_file_or_an_error_of_the_system(tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    with pytest.raises(FileNotFoundError):
        open_file(path)
    path.write_bytes(b"some\r\nbytes")
    with open_file(path) as file:
        assert file.read() == b"some\r\nbytes"
    with pytest.raises(OSError) as refused:
        open_file(tmp_path)
    assert refused.value.strerror
