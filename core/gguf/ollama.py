"""Ollama keeps model files under the digest of their contents; a manifest has the name."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from core.gguf.header import Header
from core.gguf.text import display
from core.language import tr
from core.problems import Problem, Severity

_BLOB = re.compile(r"sha256[-:](?P<digest>[0-9a-f]{64})")
_MODEL_LAYER = "application/vnd.ollama.image.model"
_PROJECTOR_LAYER = "application/vnd.ollama.image.projector"
_MOST_MANIFESTS = 2_000
_MOST_BYTES = 1 << 20


def blob_note(header: Header) -> list[Problem]:
    """A note with the model's name where the file is a blob of Ollama's store; else nothing."""
    match = _BLOB.fullmatch(header.path.name)
    if match is None or header.version is None or not header.place.local:
        return []
    name = _model_name(header.path, match["digest"])
    return [
        Problem(
            "ollama-blob",
            tr("This is a file of Ollama's store, {name}.", name=display(name))
            if name
            else tr("This is a file of Ollama's store."),
            Severity.NOTE,
            advice="" if name else tr("No manifest beside it names the model."),
        )
    ]


def _model_name(path: Path, digest: str) -> str:
    """``gemma3:4b`` from ``manifests/registry.ollama.ai/library/gemma3/4b``; "" if none has it."""
    for manifest, name in _manifests(path.parent.parent):
        if digest in _digests(manifest, _MODEL_LAYER):
            return name
    return ""


def stored_models(root: Path) -> Iterator[tuple[str, Path, tuple[Path, ...]]]:
    """Name, file and projectors of every model in a store of Ollama's, by its manifests
    (https://docs.ollama.com/faq)."""
    for manifest, name in _manifests(root):
        models = _digests(manifest, _MODEL_LAYER)
        if models:
            projectors = (_blob(root, digest) for digest in _digests(manifest, _PROJECTOR_LAYER))
            yield name, _blob(root, models[0]), tuple(projectors)


def _blob(root: Path, digest: str) -> Path:
    return root / "blobs" / f"sha256-{digest}"


def _manifests(store: Path) -> Iterator[tuple[Path, str]]:
    """Every manifest of a store with the name of its model; none where they cannot be read."""
    root = store / "manifests"
    try:
        for manifest in islice(root.rglob("*"), _MOST_MANIFESTS):
            if manifest.is_file() and manifest.stat().st_size <= _MOST_BYTES:
                *_, space, model, tag = ("", "", *manifest.relative_to(root).parts)
                prefix = "" if space in ("library", "") else f"{space}/"
                yield manifest, f"{prefix}{model}:{tag}"
    except OSError:
        return


def _digests(manifest: Path, kind: str) -> list[str]:
    try:
        layers = json.loads(manifest.read_bytes())["layers"]
        named = [str(layer["digest"]) for layer in layers if layer["mediaType"] == kind]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return []
    found = (_BLOB.fullmatch(digest) for digest in named)
    return [match["digest"] for match in found if match]
