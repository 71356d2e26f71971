"""A file is the old one or the new one, never a part of either."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.whole_file import write_whole


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
