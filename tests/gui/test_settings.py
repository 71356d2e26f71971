"""Settings: typed, versioned, never in the way."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from core.units import UnitSystem
from gui import settings
from gui.main_window.kept_settings import KeptSettings
from gui.settings import Settings, StoredComparison

FULL = Settings(
    units=UnitSystem.GB,
    theme="dark",
    recent_files=("/models/größe 模型.gguf", "/models/bad \udcff byte.gguf"),
    last_folder="/models",
    geometry="AdnQywADAAA=",
    splitter="AAAA/w==",
    comparison=StoredComparison(
        machines=("this", "2x nvidia-geforce-rtx-3090 + ram:64GiB@51.2"),
        prices=(("nvidia-geforce-rtx-3090", 699.5),),
        currency="EUR",
        models=("/models/größe 模型.gguf",),
        prompt=6500,
        ram="128GiB@89.6",
    ),
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "config" / "settings.json"


def test_without_a_file_there_are_defaults(path: Path) -> None:
    assert settings.load(path) == Settings()
    assert not path.parent.exists()


def test_what_was_saved_is_loaded(path: Path) -> None:
    settings.save(path, FULL)
    assert settings.load(path) == FULL


def test_saving_leaves_nothing_but_the_file(path: Path) -> None:
    settings.save(path, Settings())
    settings.save(path, FULL)
    assert [p.name for p in path.parent.iterdir()] == ["settings.json"]


def test_a_save_that_fails_keeps_the_old_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.save(path, FULL)

    def no_room(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", no_room)
    with pytest.raises(OSError, match="No space"):
        settings.save(path, Settings())
    assert settings.load(path) == FULL
    assert [p.name for p in path.parent.iterdir()] == ["settings.json"]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"\xff\xfe\x00",
        b"[]",
        b"{}",
        b'{"version": 2, "units": "GB"}',
        b'{"version": "1"}',
        b"[" * 100_000,
        b" " * 1_000_001,
    ],
    ids=["empty", "cut", "not text", "list", "no version", "newer", "text", "deep", "huge"],
)
def test_a_file_that_is_not_understood_is_kept_and_defaults_are_used(
    path: Path, data: bytes
) -> None:
    path.parent.mkdir()
    path.write_bytes(data)
    assert settings.load(path) == Settings()
    assert path.with_name("settings.json.kept").read_bytes() == data


def test_a_file_that_cannot_be_read_is_not_written_over(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one that belongs to another user, after the program was once started as root."""
    settings.save(path, FULL)

    def closed(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(settings, "open_file", closed)
    assert settings.load(path) == Settings()
    settings.save_changes(path, Settings(), Settings(tips=False))
    monkeypatch.undo()
    assert settings.load(path) == Settings(tips=False)
    assert settings.load(path.with_suffix(".json.kept")) == FULL


def test_a_file_that_could_not_be_read_for_a_moment_loses_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As while another program holds it, or a network is away."""
    settings.save(path, FULL)

    def away(*_: object) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(settings, "open_file", away)
        base = settings.load(path)
    assert base == Settings()
    settings.save_changes(path, base, replace(base, tips=False))
    assert settings.load(path) == replace(FULL, tips=False)


def test_a_value_of_the_wrong_type_costs_only_itself(path: Path) -> None:
    path.parent.mkdir()
    stored = {
        "version": 1,
        "units": 7,
        "theme": "plaid",
        "recent_files": ["/a.gguf", 5, None],
        "last_folder": ["x"],
        "geometry": "AAAA",
        "something new": 1,
    }
    path.write_text(json.dumps(stored))
    assert settings.load(path) == Settings(recent_files=("/a.gguf",), geometry="AAAA")


def test_a_folder_in_place_of_the_file_gives_defaults(path: Path) -> None:
    path.mkdir(parents=True)
    assert settings.load(path) == Settings()


def test_the_latest_file_is_first_and_stands_once() -> None:
    recent = Settings()
    for name in ("/m/a.gguf", "/m/b.gguf", "/n/a.gguf", "/m/a.gguf"):
        recent = recent.with_recent(name)
    assert recent.recent_files == ("/m/a.gguf", "/n/a.gguf", "/m/b.gguf")
    assert recent.last_folder == "/m"


def test_only_ten_files_are_remembered() -> None:
    recent = Settings()
    for number in range(15):
        recent = recent.with_recent(f"/{number}.gguf")
    assert recent.recent_files == tuple(f"/{n}.gguf" for n in range(14, 4, -1))


def test_settings_lie_in_the_users_configuration(tmp_path: Path) -> None:
    assert settings.default_path().is_relative_to(tmp_path / "xdg_config_home")


def test_two_windows_keep_each_others_changes(path: Path) -> None:
    start = Settings(theme="dark", recent_files=("/m/old.gguf",), engine_folder="/llama")
    settings.save(path, start)
    first = replace(start.with_recent("/m/first.gguf"), units=UnitSystem.GB)
    second = replace(start.with_recent("/m/second.gguf"), theme="light", geometry="AAAA")
    settings.save_changes(path, start, first)
    kept = settings.save_changes(path, start, second)
    assert settings.load(path) == kept
    assert kept == Settings(
        units=UnitSystem.GB,
        theme="light",
        recent_files=("/m/second.gguf", "/m/first.gguf", "/m/old.gguf"),
        last_folder="/m",
        geometry="AAAA",
        engine_folder="/llama",
    )


def test_two_windows_keep_what_each_put_into_the_same_lists(path: Path) -> None:
    start = Settings(
        margins={"this": 1, "gone": 2},
        model_folders=("/a", "/gone"),
        links=("hf:a/old",),
        comparison=StoredComparison(
            machines=("this", "x"), prices=(("this", 5.0),), models=("/m/a.gguf",)
        ),
    )
    settings.save(path, start)
    first = replace(
        start.with_link("hf:a/first"),
        margins={"this": 1, "one": 3},
        model_folders=("/a", "/first"),
        comparison=replace(start.comparison, machines=("this", "x", "1"), currency="EUR"),
    )
    second = replace(
        start.with_link("hf:a/second"),
        margins={"this": 9, "gone": 2, "two": 4},
        model_folders=("/second", "/a", "/gone"),
        comparison=replace(
            start.comparison,
            machines=("2", "this"),
            prices=(("this", 5.0), ("2", 7.0)),
            models=(),
        ),
    )
    settings.save_changes(path, start, first)
    kept = settings.save_changes(path, start, second)
    assert settings.load(path) == kept
    assert kept.margins == {"this": 9, "one": 3, "two": 4}
    assert kept.model_folders == ("/second", "/a", "/first")
    assert kept.links == ("hf:a/second", "hf:a/first", "hf:a/old")
    assert kept.comparison == StoredComparison(
        machines=("2", "this", "1"),
        prices=(("this", 5.0), ("2", 7.0)),
        currency="EUR",
        models=(),
    )


def test_what_could_not_be_written_counts_and_is_written_beside_what_came_meanwhile(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.save(path, FULL)
    kept = KeptSettings(path)

    def fail(path: Path, stored: Settings) -> None:
        raise OSError(30, "Read-only file system")

    with monkeypatch.context() as patch:
        patch.setattr(settings, "save", fail)
        kept.save(theme="light")
    assert kept.now.theme == "light"
    assert settings.load(path) == FULL
    settings.save(path, replace(FULL, units=UnitSystem.GIB))
    kept.save()
    assert settings.load(path) == kept.now
    assert kept.now == replace(FULL, theme="light", units=UnitSystem.GIB)


def test_a_full_list_of_recent_files_takes_what_both_windows_opened(path: Path) -> None:
    start = Settings(recent_files=tuple(f"/m/{n}.gguf" for n in range(10)))
    settings.save(path, start)
    settings.save_changes(path, start, start.with_recent("/m/a.gguf"))
    again = start.with_recent("/m/b.gguf").with_recent("/m/4.gguf")
    kept = settings.save_changes(path, start, again)
    numbers = ("4", "b", "a", "0", "1", "2", "3", "5", "6", "7")
    assert kept.recent_files == tuple(f"/m/{n}.gguf" for n in numbers)


def test_settings_that_were_deleted_while_the_window_was_open_are_written_whole(
    path: Path,
) -> None:
    assert settings.save_changes(path, FULL, replace(FULL, theme="light")) == replace(
        FULL, theme="light"
    )


@pytest.mark.parametrize(
    "stored",
    [
        3,
        {"machines": "this", "prices": {"a": 1}, "currency": 4, "prompt": "many"},
        {"prices": [["a"], ["a", -1], ["a", "1"], [1, 1], ["a", float("nan")]], "prompt": -1},
        {"prices": [["a", 10**400], ["a", float("inf")], ["a", True]], "prompt": True},
    ],
)
def test_a_comparison_that_is_none_costs_only_itself(path: Path, stored: object) -> None:
    path.parent.mkdir()
    path.write_text(json.dumps({"version": 1, "theme": "dark", "comparison": stored}))
    loaded = settings.load(path)
    assert loaded.theme == "dark"
    assert loaded.comparison == StoredComparison()
