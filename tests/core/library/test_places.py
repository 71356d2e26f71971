"""Where programs keep models, as their own documentation has it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.library import Folder, known_folders, with_own

HOME = Path("/home/me")


def paths(environ: dict[str, str], system: str = "linux") -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for folder in known_folders({"HOME": str(HOME), **environ}, system):
        found.setdefault(folder.title, []).append(folder.path.as_posix())
    return found


def test_the_folders_of_a_linux_user() -> None:
    assert paths({}) == {
        "Hugging Face": ["/home/me/.cache/huggingface/hub"],
        "LM Studio": ["/home/me/.lmstudio/models", "/home/me/.cache/lm-studio/models"],
        "Ollama": ["/home/me/.ollama/models", "/usr/share/ollama/.ollama/models"],
        "llama.cpp": ["/home/me/.cache/llama.cpp"],
        "GPT4All": ["/home/me/.local/share/nomic.ai/GPT4All"],
        "Jan": ["/home/me/.config/Jan/data", "/home/me/jan"],
    }


def test_the_folders_of_a_mac_user() -> None:
    found = paths({}, "darwin")
    assert found["llama.cpp"] == ["/home/me/Library/Caches/llama.cpp"]
    assert found["GPT4All"] == ["/home/me/Library/Application Support/nomic.ai/GPT4All"]
    assert found["Ollama"] == ["/home/me/.ollama/models"]
    assert found["Jan"][0] == "/home/me/Library/Application Support/Jan/data"
    assert found["Hugging Face"] == ["/home/me/.cache/huggingface/hub"]


def test_the_folders_of_a_windows_user() -> None:
    found = paths({"LOCALAPPDATA": "/home/me/L", "APPDATA": "/home/me/R"}, "win32")
    assert found["llama.cpp"] == ["/home/me/L/llama.cpp"]
    assert found["GPT4All"] == ["/home/me/L/nomic.ai/GPT4All"]
    assert found["Jan"][0] == "/home/me/R/Jan/data"


@pytest.mark.parametrize(
    ("variable", "title", "path"),
    [
        ("HF_HUB_CACHE", "Hugging Face", "/x"),
        ("HUGGINGFACE_HUB_CACHE", "Hugging Face", "/x"),
        ("HF_HOME", "Hugging Face", "/x/hub"),
        ("XDG_CACHE_HOME", "Hugging Face", "/x/huggingface/hub"),
        ("XDG_CACHE_HOME", "llama.cpp", "/x/llama.cpp"),
        ("LLAMA_CACHE", "llama.cpp", "/x"),
        ("OLLAMA_MODELS", "Ollama", "/x"),
        ("XDG_DATA_HOME", "GPT4All", "/x/nomic.ai/GPT4All"),
        ("XDG_CONFIG_HOME", "Jan", "/x/Jan/data"),
    ],
)
def test_variables_of_the_environment_count(variable: str, title: str, path: str) -> None:
    assert paths({variable: "/x"})[title][0] == path
    # An empty or relative one is as if it were not there.
    for odd in ("", "x/y"):
        assert paths({variable: odd})[title] == paths({})[title]


def test_where_lm_studio_keeps_models_can_be_moved(tmp_path: Path) -> None:
    settings = tmp_path / ".lmstudio" / "settings.json"
    settings.parent.mkdir()
    for text, moved in (
        (json.dumps({"downloadsFolder": "/big/models"}), True),
        ("{", False),
        ("[]", False),
        (json.dumps({"downloadsFolder": 7}), False),
    ):
        settings.write_text(text)
        found = paths({"HOME": str(tmp_path)})["LM Studio"]
        assert ("/big/models" in found) is moved


def test_folders_of_the_user_come_first_and_each_counts_once() -> None:
    known = (Folder(Path("/a"), "Ollama"), Folder(Path("/b"), "Jan"))
    assert with_own(known, ["/b", "/c"]) == (
        Folder(Path("/b")),
        Folder(Path("/c")),
        Folder(Path("/a"), "Ollama"),
    )
