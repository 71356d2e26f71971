"""What a bundle tells its system, as far as it can be read without building one."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_every_installer_has_the_programs_version() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    setup = (ROOT / "packaging" / "windows" / "weighbridge.iss").read_text("utf-8")
    assert re.search(r'#define Version "(.*)"', setup)[1] == version  # type: ignore[index]
    assert "version=version" in (ROOT / "packaging" / "weighbridge.spec").read_text("utf-8")


def test_macos_offers_the_program_without_taking_the_place_of_another() -> None:
    """LSHandlerRank by Apple's "Core Foundation Keys": an alternate is never the default where
    another program owns the type."""
    spec = (ROOT / "packaging" / "weighbridge.spec").read_text("utf-8")
    assert '"LSHandlerRank": "Alternate"' in spec
    assert spec.count("org.ggml.gguf") == 2  # the type that is declared is the one that is taken
    assert "console=False" in spec
