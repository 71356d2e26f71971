"""What a bundle says of its parts: every package and every library has a licence beside it."""

from __future__ import annotations

import shutil
import tomllib
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def gathering() -> Any:
    loader = SourceFileLoader("gather_licences", str(ROOT / "packaging" / "gather_licences.py"))
    spec = spec_from_loader(loader.name, loader)
    assert spec is not None
    made = module_from_spec(spec)
    loader.exec_module(made)
    return made


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    (tmp_path / "_internal").mkdir()
    for name in ("libz.so.1", "libnobody.so.7", "libpython3.11.so.1.0"):
        (tmp_path / "_internal" / name).write_bytes(b"")
    (tmp_path / "_internal" / "libQt6Core.so.6").symlink_to("PySide6/Qt/lib/libQt6Core.so.6")
    return tmp_path


def test_every_package_that_is_needed_has_its_licence(gathering: Any, bundle: Path) -> None:
    missing = gathering.gather(bundle)
    folder = bundle / "licences"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    told = (folder / "README.txt").read_text("utf-8").lower().replace("_", "-")
    for line in project["dependencies"]:
        assert line.partition(">")[0].lower() in told
    assert "pyyaml" in told  # comes along with gguf
    for name in ("gguf", "numpy", "psutil", "pyqtgraph", "regex", "PyYAML"):
        assert list(folder.glob(f"{name}-*.txt")), name
    assert missing == [] or all(".so" in name for name in missing)
    assert "NVIDIA" in (folder / "nvidia-ml-py.txt").read_text("utf-8")


def test_the_texts_that_the_lgpl_asks_for_lie_beside_qt(gathering: Any, bundle: Path) -> None:
    gathering.gather(bundle)
    for name, title in (("LGPL", "LESSER GENERAL PUBLIC"), ("GPL", "GNU GENERAL PUBLIC")):
        text = (bundle / "licences" / f"{name}-3.0.txt").read_text("utf-8")
        assert title in text[:200] and len(text) > 7000


@pytest.mark.skipif(shutil.which("dpkg") is None, reason="Debian's list of packages")
def test_libraries_of_the_system_bring_theirs_and_strangers_are_named(
    gathering: Any, bundle: Path
) -> None:
    missing = gathering.gather(bundle)
    assert "libnobody.so.7" in missing and "libz.so.1" not in missing
    (text,) = (bundle / "licences" / "system").glob("*.txt")
    assert text.name == "zlib1g.txt"
