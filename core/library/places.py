"""Where programs keep models on this computer, each with the source that says so."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from core.machine.places import home_of
from core.whole_file import open_file

_MOST_BYTES = 1 << 20  # of a settings file of another program


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder to be searched with everything below it. ``title`` says whose it is, "" for one
    that the user named."""

    path: Path
    title: str = ""


def known_folders(
    environ: Mapping[str, str] = os.environ, system: str = sys.platform
) -> tuple[Folder, ...]:
    """The folders of programs that keep GGUF files, whether they exist or not, each once."""
    home = home_of(environ)
    found = [
        *(Folder(path, "Hugging Face") for path in _hugging_face(environ, home)),
        *(Folder(path, "LM Studio") for path in _lm_studio(home)),
        *(Folder(path, "Ollama") for path in _ollama(environ, home, system)),
        Folder(_llama_cpp(environ, home, system), "llama.cpp"),
        Folder(_gpt4all(environ, home, system), "GPT4All"),
        *(Folder(path, "Jan") for path in _jan(environ, home, system)),
    ]
    return _each_once(found)


def with_own(known: Iterable[Folder], own: Iterable[str]) -> tuple[Folder, ...]:
    """The user's folders first, then the known ones; each once."""
    return _each_once([*(Folder(Path(name)) for name in own), *known])


def _each_once(folders: Iterable[Folder]) -> tuple[Folder, ...]:
    found: dict[Path, Folder] = {}
    for folder in folders:
        found.setdefault(folder.path, folder)
    return tuple(found.values())


def _absolute(environ: Mapping[str, str], name: str) -> Path | None:
    """The folder in a variable; the XDG specification has relative ones ignored."""
    value = environ.get(name, "").strip()
    try:
        path = Path(value).expanduser() if value else None
    except RuntimeError:  # the folder of a user who does not exist
        return None
    return path if path is not None and path.is_absolute() else None


def _cache(environ: Mapping[str, str], home: Path) -> Path:
    return _absolute(environ, "XDG_CACHE_HOME") or home / ".cache"


def _hugging_face(environ: Mapping[str, str], home: Path) -> list[Path]:
    """https://huggingface.co/docs/hub/local-cache; the variable's older name is still read."""
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        if path := _absolute(environ, name):
            return [path]
    base = _absolute(environ, "HF_HOME") or _cache(environ, home) / "huggingface"
    return [base / "hub"]


def _lm_studio(home: Path) -> list[Path]:
    """https://lmstudio.ai/docs/app/advanced/import-model; the second one is that of versions
    before 0.3.6. Where the user moved them to stands in settings.json."""
    found = [home / ".lmstudio" / "models", home / ".cache" / "lm-studio" / "models"]
    try:
        with open_file(home / ".lmstudio" / "settings.json") as file:
            settings = json.loads(file.read(_MOST_BYTES))
        moved = settings.get("downloadsFolder")
        if isinstance(moved, str) and Path(moved).is_absolute():
            found.insert(0, Path(moved))
    except (OSError, ValueError, AttributeError, RecursionError):
        pass
    return found


def _ollama(environ: Mapping[str, str], home: Path, system: str) -> list[Path]:
    """https://docs.ollama.com/faq, "Where are models stored?"; on Linux the service has a user of
    its own."""
    if path := _absolute(environ, "OLLAMA_MODELS"):
        return [path]
    own = home / ".ollama" / "models"
    service = Path("/usr/share/ollama/.ollama/models")
    return [own, service] if system.startswith("linux") else [own]


def _llama_cpp(environ: Mapping[str, str], home: Path, system: str) -> Path:
    """https://github.com/ggml-org/llama.cpp/pull/7826. Since pull request 20775 llama.cpp shares
    Hugging Face's cache; what it loaded before stays here."""
    if path := _absolute(environ, "LLAMA_CACHE"):
        return path
    if system == "darwin":
        return home / "Library" / "Caches" / "llama.cpp"
    if system == "win32":
        return _local_data(environ, home) / "llama.cpp"
    return _cache(environ, home) / "llama.cpp"


def _gpt4all(environ: Mapping[str, str], home: Path, system: str) -> Path:
    """https://docs.gpt4all.io/gpt4all_desktop/settings.html, "Download Path"."""
    if system == "darwin":
        return home / "Library" / "Application Support" / "nomic.ai" / "GPT4All"
    if system == "win32":
        return _local_data(environ, home) / "nomic.ai" / "GPT4All"
    data = _absolute(environ, "XDG_DATA_HOME") or home / ".local" / "share"
    return data / "nomic.ai" / "GPT4All"


def _jan(environ: Mapping[str, str], home: Path, system: str) -> list[Path]:
    """https://jan.ai/docs/desktop/data-folder, and ~/jan of versions before 0.5.8."""
    if system == "darwin":
        base = home / "Library" / "Application Support"
    elif system == "win32":
        base = _absolute(environ, "APPDATA") or home / "AppData" / "Roaming"
    else:
        base = _absolute(environ, "XDG_CONFIG_HOME") or home / ".config"
    return [base / "Jan" / "data", home / "jan"]


def _local_data(environ: Mapping[str, str], home: Path) -> Path:
    return _absolute(environ, "LOCALAPPDATA") or home / "AppData" / "Local"
