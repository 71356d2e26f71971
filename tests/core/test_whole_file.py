"""A file is the old one or the new one, never a part of either."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from core.whole_file import open_file, write_out, write_whole


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


@pytest.mark.parametrize("step", ["os.fsync", "pathlib.Path.replace"])
def test_what_is_saved_over_an_older_file_loses_neither(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    path = tmp_path / ("x" * 240 + ".html")
    write_out(path, "old: ü\n")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(step, fail)
        with pytest.raises(OSError, match="No space"):
            write_out(path, "new")
    assert path.read_bytes() == "old: ü\n".encode()
    assert list(tmp_path.iterdir()) == [path]
    write_out(path, b"new")
    assert path.read_bytes() == b"new"


def test_nothing_is_saved_over_a_model(tmp_path: Path) -> None:
    """`report --html *.gguf` names the first of two models as the page to write."""
    path = tmp_path / "a.gguf"
    path.write_bytes(b"GGUF\x03\0\0\0 and forty gigabytes")
    with pytest.raises(FileExistsError) as refused:
        write_out(path, "<html>")
    assert refused.value.strerror == "it is a model"
    assert path.read_bytes().startswith(b"GGUF")


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
def test_what_is_saved_can_be_read_by_others_and_what_is_kept_by_its_user_alone(
    tmp_path: Path,
) -> None:
    saved, kept = tmp_path / "report.html", tmp_path / "settings.json"
    before = os.umask(0o022)
    try:
        write_out(saved, "a")
        write_whole(kept, b"a")
        modes = [stat.S_IMODE(path.stat().st_mode) for path in (saved, kept)]
        assert modes == [0o644, 0o600]
        kept.chmod(0o640)
        write_whole(kept, b"b")
        assert stat.S_IMODE(kept.stat().st_mode) == 0o640
    finally:
        os.umask(before)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="devices of Linux")
def test_a_device_is_written_to_and_a_folder_is_not(tmp_path: Path) -> None:
    write_out(Path("/dev/null"), "a")
    with pytest.raises(OSError, match="No space"):
        write_out(Path("/dev/full"), "a")
    assert Path("/dev/full").is_char_device()
    with pytest.raises(IsADirectoryError):
        write_out(tmp_path, "a")


def test_a_file_in_a_closed_folder_and_a_file_that_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "report.html"
    path.write_bytes(b"old")

    def closed(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr("core.whole_file.write_whole", closed)
        write_out(path, "new")
    assert path.read_bytes() == b"new"
    with monkeypatch.context() as patched:
        patched.setattr("os.access", lambda *_: False)
        patched.setattr(Path, "write_bytes", closed)
        with pytest.raises(PermissionError):
            write_out(path, "newer")
    assert path.read_bytes() == b"new"
