"""A double-click on a .gguf file: what is written for the desktop, and whose default it stays."""

from __future__ import annotations

import configparser
import os
import shlex
import shutil
import subprocess
from importlib import metadata, resources
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PySide6.QtGui import QImage
from pytestqt.qtbot import QtBot

from core.problems import Problem
from gui.main_window.double_click import DoubleClickDialog
from gui.workers import association, desktop_files
from gui.workers.association import Association, put_in, state, take_out
from tests.support.surroundings import without_a_home

MIME = "{http://www.freedesktop.org/standards/shared-mime-info}"


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """A desktop of its own, with the tools of the system that there are."""
    return {
        **os.environ,
        "XDG_DATA_HOME": str(tmp_path / "data"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "XDG_CURRENT_DESKTOP": "X-Generic",
    }


def stand_in(folder: Path, name: str, script: str) -> None:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_what_is_written_is_what_the_desktop_reads(
    qapp: object, environ: dict[str, str], tmp_path: Path
) -> None:
    found = put_in(environ, default=False, platform="linux")
    assert found.offered and found.problem is None
    data = tmp_path / "data"
    entry = configparser.ConfigParser(interpolation=None)
    entry.optionxform = str  # type: ignore[assignment,method-assign]
    entry.read(data / "applications" / "weighbridge.desktop", "utf-8")
    section = entry["Desktop Entry"]
    assert section["MimeType"] == "application/x-gguf;"
    assert section["Exec"].endswith(" %F")
    kind = ElementTree.parse(data / "mime" / "packages" / "weighbridge.xml").getroot()[0]
    assert kind.get("type") == "application/x-gguf"
    (match,) = kind.iter(f"{MIME}match")
    assert (match.get("offset"), match.get("value")) == ("0", "GGUF")
    (glob,) = kind.iter(f"{MIME}glob")
    assert glob.get("pattern") == "*.gguf"
    icons = data / "icons" / "hicolor"
    for side in (16, 48, 512):
        image = QImage(str(icons / f"{side}x{side}" / "apps" / "weighbridge.png"))
        assert (image.width(), image.height()) == (side, side)
        assert image.pixelColor(side // 2, side // 8).alpha() == 255
    assert (icons / "scalable" / "apps" / "weighbridge.svg").is_file()


def test_the_metadata_for_software_centres_names_the_same_files() -> None:
    root = ElementTree.fromstring(
        (resources.files("resources") / "desktop/weighbridge.metainfo.xml").read_text()
    )
    assert root.findtext("launchable") == "weighbridge.desktop"
    assert root.findtext("provides/mediatype") == desktop_files.MIME_TYPE
    release = root.find("releases/release")
    assert release is not None and release.get("version") == metadata.version("weighbridge")


TOOLS = ("xdg-mime", "update-desktop-database", "update-mime-database")


@pytest.mark.skipif(None in map(shutil.which, TOOLS), reason="needs the tools")
@pytest.mark.parametrize("asked", [False, True])
def test_a_default_that_nobody_chose_is_not_taken_either(
    qapp: object, environ: dict[str, str], tmp_path: Path, asked: bool
) -> None:
    """The only program for a kind of file is its default until another one lies nearer."""
    if " " in str(tmp_path):
        pytest.skip("xdg-mime cuts the names of folders at a space")
    system = tmp_path / "usr" / "applications"
    system.mkdir(parents=True)
    (system / "other.desktop").write_text(
        "[Desktop Entry]\nType=Application\nName=Other\nExec=true %f\n"
        f"MimeType={desktop_files.MIME_TYPE};\n"
    )
    subprocess.run(["update-desktop-database", str(system)], check=True)
    environ["XDG_DATA_DIRS"] = str(tmp_path / "usr")
    assert state(environ, "linux").default == "other.desktop"
    found = put_in(environ, default=asked, platform="linux")
    assert found.offered and found.ours is asked
    assert take_out(environ, platform="linux") == Association(False, "other.desktop")


def test_what_was_written_is_taken_away_again_and_nothing_else(
    qapp: object, environ: dict[str, str], tmp_path: Path
) -> None:
    others = tmp_path / "data" / "applications" / "other.desktop"
    others.parent.mkdir(parents=True)
    others.write_text("[Desktop Entry]\n")
    found = put_in(environ, default=False, platform="linux")
    assert found.ours_to_take
    assert not take_out(environ, platform="linux").offered
    left = list((tmp_path / "data").rglob("*weighbridge*"))
    assert left == [] and others.is_file()


def test_what_a_package_of_the_system_offers_is_seen_and_left_alone(
    environ: dict[str, str], tmp_path: Path
) -> None:
    entry = tmp_path / "usr" / "applications" / "weighbridge.desktop"
    entry.parent.mkdir(parents=True)
    entry.write_text("[Desktop Entry]\n")
    environ["XDG_DATA_DIRS"] = f"{tmp_path / 'nothing'}:{tmp_path / 'usr'}"
    found = state(environ, "linux")
    assert found.offered and not found.ours_to_take


@pytest.mark.skipif(shutil.which("gio") is None, reason="needs gio")
@pytest.mark.skipif(shutil.which("update-mime-database") is None, reason="needs the tool")
def test_the_desktop_knows_a_model_by_its_first_bytes(
    qapp: object, environ: dict[str, str], tmp_path: Path
) -> None:
    """A blob of Ollama's has no ending: field report P36."""
    put_in(environ, default=False, platform="linux")
    for name in ("model.gguf", "sha256-0123"):
        (tmp_path / name).write_bytes(b"GGUF\x03\0\0\0" + bytes(64))
        told = subprocess.run(
            ["gio", "info", "-a", "standard::content-type", str(tmp_path / name)],
            env=environ,
            capture_output=True,
            text=True,
            check=True,
        )
        assert desktop_files.MIME_TYPE in told.stdout


@pytest.mark.parametrize("default", [False, True])
def test_the_default_is_taken_only_where_it_was_asked_for(
    qapp: object, environ: dict[str, str], tmp_path: Path, default: bool
) -> None:
    asked = tmp_path / "asked"
    stand_in(
        tmp_path / "bin",
        "xdg-mime",
        f'echo "$@" >> {shlex.quote(str(asked))}\nif [ "$1" = query ]; then echo other.desktop; fi',
    )
    environ["PATH"] = f"{tmp_path / 'bin'}:{environ['PATH']}"
    found = put_in(environ, default=default, platform="linux")
    assert found.default == "other.desktop" and not found.ours
    lines = asked.read_text().splitlines()
    wanted = "default weighbridge.desktop application/x-gguf"
    assert (wanted in lines) is default


def test_a_tool_that_is_missing_or_fails_leaves_the_default_unknown(
    environ: dict[str, str], tmp_path: Path
) -> None:
    environ["PATH"] = str(tmp_path / "nothing")
    assert state(environ, "linux") == Association()
    stand_in(tmp_path / "bin", "xdg-mime", "echo x; exit 3")
    environ["PATH"] = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    assert state(environ, "linux").default == ""


def test_a_home_that_cannot_be_written_to_gets_a_sentence(
    qapp: object, environ: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "data").write_text("a file, no folder")
    found = put_in(environ, default=False, platform="linux")
    assert found.problem is not None
    assert "could not be written" in found.problem.message


@pytest.mark.parametrize(
    ("words", "line"),
    [
        # Quoting by the Desktop Entry Specification, "The Exec key".
        (["/usr/bin/weighbridge"], "/usr/bin/weighbridge"),
        (["/opt/my programs/weighbridge"], '"/opt/my programs/weighbridge"'),
        (["/opt/100%/weighbridge"], "/opt/100%%/weighbridge"),
        (['/opt/a"b/w'], '"/opt/a\\\\"b/w"'),
        (["/opt/a$b/w"], '"/opt/a\\\\$b/w"'),
        (["/opt/a\nb/w"], '"/opt/a\\nb/w"'),  # one line of the file, whatever is in the name
    ],
)
def test_a_program_in_an_odd_folder_is_quoted(words: list[str], line: str) -> None:
    assert desktop_files.exec_line(words) == line


def test_a_package_brings_the_entry_as_it_is(tmp_path: Path) -> None:
    desktop_files.write(tmp_path, ["weighbridge"])
    kept = resources.files("resources") / "desktop/weighbridge.desktop"
    assert (tmp_path / "applications/weighbridge.desktop").read_text("utf-8") == kept.read_text()


@pytest.mark.skipif(shutil.which("desktop-file-validate") is None, reason="no validator here")
def test_the_entry_is_valid() -> None:
    path = str(resources.files("resources") / "desktop/weighbridge.desktop")
    done = subprocess.run(["desktop-file-validate", path], check=True, capture_output=True)
    assert done.stdout == b""  # not even a hint


@pytest.mark.skipif(shutil.which("appstreamcli") is None, reason="no validator here")
def test_the_metadata_are_valid() -> None:
    path = str(resources.files("resources") / "desktop/weighbridge.metainfo.xml")
    subprocess.run(["appstreamcli", "validate", "--pedantic", "--no-net", path], check=True)


@pytest.mark.parametrize(
    ("found", "words", "ticked", "able"),
    [
        (Association(), "no program is set", True, True),
        (Association(True, "other.desktop"), "a double-click opens other.", False, True),
        (Association(True, "weighbridge.desktop"), "opens Weighbridge", False, True),
        (Association(problem=Problem("x", "It cannot be.", advice="Do this.")), "Do this.", False,
         False),
    ],
)  # fmt: skip
def test_the_dialog_never_ticks_away_another_default(
    qtbot: QtBot,
    monkeypatch: pytest.MonkeyPatch,
    found: Association,
    words: str,
    ticked: bool,
    able: bool,
) -> None:
    monkeypatch.setattr(association, "state", lambda environ: found)
    dialog = DoubleClickDialog()
    qtbot.addWidget(dialog)
    qtbot.waitUntil(lambda: words in dialog.says.text())
    assert dialog.default.isChecked() is ticked
    assert dialog.install.isEnabled() is able


@pytest.mark.parametrize(
    "name",
    ["a b", "ñandú 日本", "q\"uo'te", "back\\slash", "100%", "new\nline", "\u202e😀"],
)
def test_a_home_of_any_name_takes_and_gives_back_what_is_written(
    qapp: object, environ: dict[str, str], tmp_path: Path, name: str
) -> None:
    told = {**environ, "XDG_DATA_HOME": str(tmp_path / name)}
    found = put_in(told, default=False, platform="linux")
    assert found.problem is None and found.offered
    assert not take_out(told, platform="linux").offered


@pytest.mark.skipif(os.name == "nt", reason="names are bytes on POSIX alone")
def test_a_home_whose_name_is_no_text_takes_it_as_well(
    qapp: object, environ: dict[str, str], tmp_path: Path
) -> None:
    folder = tmp_path / os.fsdecode(b"\xff\xfe")
    try:
        folder.mkdir()
    except OSError:
        pytest.skip("this file system has only names that are text")
    told = {**environ, "XDG_DATA_HOME": str(folder)}
    found = put_in(told, default=False, platform="linux")
    assert found.problem is None and found.offered
    icon = folder / "icons/hicolor/32x32/apps/weighbridge.png"
    assert QImage.fromData(icon.read_bytes()).width() == 32


@pytest.mark.parametrize("odd", ["relative/folder", ".", ""])
def test_folders_that_are_not_absolute_are_ignored(
    qapp: object,
    environ: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    odd: str,
) -> None:
    """XDG Base Directory Specification: such a path is invalid."""
    monkeypatch.chdir(tmp_path)
    told = {**environ, "XDG_DATA_HOME": odd, "XDG_DATA_DIRS": f"{odd}:/usr/share"}
    told["HOME"] = str(tmp_path / "home")
    assert put_in(told, default=False, platform="linux").offered
    assert (tmp_path / "home/.local/share/applications/weighbridge.desktop").is_file()
    assert not (tmp_path / "relative").exists() and not (tmp_path / "applications").exists()


def test_a_user_without_a_home_offers_nothing_yet(
    environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    without_a_home(monkeypatch)
    told = {name: environ[name] for name in environ if name not in ("HOME", "XDG_DATA_HOME")}
    assert not state({**told, "XDG_DATA_DIRS": "/nowhere"}, "linux").offered


@pytest.mark.parametrize(
    ("word", "home"), [("/opt/\udcff/weighbridge", ""), ("/opt/weighbridge", "/nowhere\0")]
)
def test_what_no_desktop_can_take_is_answered_and_leaves_nothing(
    environ: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    word: str,
    home: str,
) -> None:
    monkeypatch.setattr(association, "command", lambda: [word])
    told = {**environ, "XDG_DATA_HOME": home or environ["XDG_DATA_HOME"]}
    found = put_in(told, default=True, platform="linux")
    assert not found.offered and found.problem is not None
    assert "codec" not in found.problem.message
    assert not state(told, "linux").offered and not take_out(told, platform="linux").offered
    assert not (tmp_path / "data").exists()
