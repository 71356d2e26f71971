"""Reading a model file, as a function for a runner."""

from __future__ import annotations

from pathlib import Path

from core.gguf import open_file
from core.model import model_from
from core.model.model import Model
from gui.workers.runner import Function, Handle


def opening(path: Path) -> Function:
    """Read the file, or the family of shards it belongs to. Answers a `Model`."""

    def read(handle: Handle) -> Model:
        return model_from(open_file(path, handle.cancelled, handle.progress))

    return read
