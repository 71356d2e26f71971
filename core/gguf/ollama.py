"""Ollama keeps model files under the digest of their contents; a manifest has the name."""

from __future__ import annotations

import json
import re
from itertools import islice
from pathlib import Path

from core.gguf.header import Header
from core.gguf.text import display
from core.problems import Problem, Severity

_BLOB = re.compile(r"sha256[-:](?P<digest>[0-9a-f]{64})")
_MODEL_LAYER = "application/vnd.ollama.image.model"
_MOST_MANIFESTS = 2_000
_MOST_BYTES = 1 << 20


def blob_note(header: Header) -> list[Problem]:
    """A note with the model's name where the file is a blob of Ollama's store; else nothing."""
    match = _BLOB.fullmatch(header.path.name)
    if match is None or header.version is None or not header.place.local:
        return []
    name = _model_name(header.path, match["digest"])
    what = f", {display(name)}" if name else ""
    return [
        Problem(
            "ollama-blob",
            f"This is a file of Ollama's store{what}.",
            Severity.NOTE,
            advice="" if name else "No manifest beside it names the model.",
        )
    ]


def _model_name(path: Path, digest: str) -> str:
    """``gemma3:4b`` from ``manifests/registry.ollama.ai/library/gemma3/4b``; "" if none has it."""
    root = path.parent.parent / "manifests"
    try:
        for manifest in islice(root.rglob("*"), _MOST_MANIFESTS):
            if not manifest.is_file() or manifest.stat().st_size > _MOST_BYTES:
                continue
            if digest in _model_digests(manifest):
                *_, space, model, tag = ("", "", *manifest.relative_to(root).parts)
                prefix = "" if space in ("library", "") else f"{space}/"
                return f"{prefix}{model}:{tag}"
    except OSError:
        return ""
    return ""


def _model_digests(manifest: Path) -> list[str]:
    try:
        layers = json.loads(manifest.read_bytes())["layers"]
        return [
            str(layer["digest"]).removeprefix("sha256:")
            for layer in layers
            if layer["mediaType"] == _MODEL_LAYER
        ]
    except (ValueError, KeyError, TypeError, RecursionError):
        return []
