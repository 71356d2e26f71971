"""What Windows' registry holds of this program; the registry is one of plain dictionaries."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gui.workers import association, windows_files
from gui.workers.association import Association, put_in, state, take_out

SETUP = Path(__file__).resolve().parents[2] / "packaging" / "windows" / "weighbridge.iss"
_CHOSEN = r"Software\Microsoft\Windows\CurrentVersion\Explorer\FileExts\.gguf\UserChoice"


class Registry:
    """As much of `winreg` as is used: keys with values, deleted only where nothing is inside."""

    HKEY_CURRENT_USER, HKEY_LOCAL_MACHINE = "user", "machine"
    REG_SZ, REG_NONE, KEY_SET_VALUE = 1, 0, 2

    def __init__(self) -> None:
        self.keys: dict[tuple[str, str], dict[str, object]] = {}

    @contextmanager
    def CreateKey(self, root: str, path: str) -> Iterator[dict[str, object]]:
        parts = path.split("\\")
        for count in range(1, len(parts) + 1):
            self.keys.setdefault((root, "\\".join(parts[:count])), {})
        yield self.keys[root, path]

    @contextmanager
    def OpenKey(
        self, root: str, path: str, reserved: int = 0, access: int = 0
    ) -> Iterator[dict[str, object]]:
        if (root, path) not in self.keys:
            raise FileNotFoundError(path)
        yield self.keys[root, path]

    def SetValueEx(
        self, key: dict[str, object], name: str, reserved: int, kind: int, value: object
    ) -> None:
        key[name] = value

    def QueryValueEx(self, key: dict[str, object], name: str) -> tuple[object, int]:
        if name not in key:
            raise FileNotFoundError(name)
        return key[name], self.REG_SZ

    def DeleteValue(self, key: dict[str, object], name: str) -> None:
        if key.pop(name, None) is None:
            raise FileNotFoundError(name)

    def DeleteKey(self, root: str, path: str) -> None:
        if (root, path) not in self.keys:
            raise FileNotFoundError(path)
        if any(r == root and p.startswith(path + "\\") for r, p in self.keys):
            raise PermissionError(path)
        del self.keys[root, path]


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Registry:
    made = Registry()
    monkeypatch.setattr(windows_files, "registry", lambda: made)
    monkeypatch.setattr(association, "command", lambda: [r"C:\My Programs\weighbridge.exe"])
    return made


def test_it_is_offered_for_this_user_alone_and_taken_away_without_a_trace(
    registry: Registry,
) -> None:
    with registry.CreateKey("user", r"Software\Classes\.gguf\OpenWithProgids") as key:
        key["Other.gguf"] = b""
    before = {path: dict(values) for path, values in registry.keys.items()}
    found = put_in({}, default=False, platform="win32")
    assert (found.offered, found.ours_to_take, found.ours) == (True, True, False)
    assert all(root == "user" for root, _ in registry.keys)
    opens = registry.keys["user", r"Software\Classes\Weighbridge.gguf\shell\open\command"]
    assert opens[""] == r'"C:\My Programs\weighbridge.exe" "%1"'
    assert not take_out({}, platform="win32").offered
    shared = ("user", r"Software\RegisteredApplications")
    assert registry.keys.pop(shared) == {}
    assert registry.keys == before
    take_out({}, platform="win32")  # once more is no error


@pytest.mark.parametrize("asked", [False, True])
def test_the_default_is_never_written(registry: Registry, asked: bool) -> None:
    """Windows guards the user's choice with a hash; what lies there before is what counts."""
    with registry.CreateKey("user", r"Software\Classes\.gguf") as key:
        key[""] = "Other.gguf"
    with registry.CreateKey("user", _CHOSEN) as key:
        key["ProgId"] = "Another.gguf"
    found = put_in({}, default=asked, platform="win32")
    assert found.default == "Another.gguf"
    assert registry.keys["user", r"Software\Classes\.gguf"] == {"": "Other.gguf"}
    assert found.settings.startswith("ms-settings:defaultapps")
    registry.keys["user", _CHOSEN]["ProgId"] = "Weighbridge.gguf"
    assert state({}, "win32").ours
    del registry.keys["user", _CHOSEN]
    assert state({}, "win32").default == "Other.gguf"


def test_where_nothing_was_written_nothing_is_offered(registry: Registry) -> None:
    assert state({}, "win32") == Association(settings=windows_files.SETTINGS)


def test_the_installer_writes_what_the_program_writes() -> None:
    written = set()
    for line in SETUP.read_text("utf-8").splitlines():
        if line.startswith("Root: HKCU;"):
            told = dict(re.findall(r'(\w+): "((?:[^"]|"")*)"', line))
            if "ValueType: " in line:
                value = told.get("ValueData", "").replace('""', '"')
                empty = "ValueType: none" in line
                written.add((told["Subkey"], told.get("ValueName", ""), None if empty else value))
    program = r"{app}\weighbridge.exe"
    wanted = {
        # The folder may have blanks, so the installer quotes what the program quotes when needed.
        (path, name, value.replace(program, f'"{program}"') if value and "%1" in value else value)
        for path, name, value in windows_files.entries([program], program)
    }
    assert written == wanted
