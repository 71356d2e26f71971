"""Data that ships with the program; read with ``importlib.resources.files("resources")``."""

from importlib.resources import files
from pathlib import Path


def specimens() -> tuple[Path, ...]:
    """The headers of well-known models in ``specimens``, by name. Lists a folder, opens nothing."""
    folder = Path(str(files("resources") / "specimens"))
    return tuple(sorted(folder.glob("*.gguf"), key=lambda path: path.name.casefold()))
