"""Streams that are full, closed or gone: a sentence and a status, never a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.heads import heads

ROOT = Path(__file__).parents[3]


def start(shell: str, path: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """``shell`` with $W for the program and $F for a small model."""
    return subprocess.run(
        ["bash", "-c", shell],
        capture_output=True,
        timeout=60,
        check=False,
        cwd=ROOT,
        env={
            **os.environ,
            "W": f"{sys.executable} -m gui",
            "F": str(path),
            "PYTHONPATH": str(ROOT),
            **environment,
        },
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return heads()["llama-dense"].write(tmp_path / "ü 漢.gguf")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize(
    "command", ['report "$F"', 'report "$F" --json', "catalogue", "machine --json"]
)
def test_a_full_disk_is_said_in_one_line(path: Path, command: str) -> None:
    done = start(f"$W {command} >/dev/full", path)
    assert done.returncode == 1
    assert done.stderr.decode().splitlines() == [
        "weighbridge: the output could not be written: No space left on device"
    ]


@pytest.mark.skipif(os.name == "nt", reason="needs a POSIX shell")
@pytest.mark.parametrize(
    ("shell", "status"),
    [
        ('$W report "$F" | head -1 >/dev/null', 0),
        ('yes "{\\"file\\": \\"$F\\"}" | $W report --requests - | head -2 >/dev/null', 0),
        ('$W report "$F" >&-', 0),
        ('$W report "$F" <&-', 0),
        ('$W report "$F.nope" 2>&- >/dev/null', 1),
        ("$W report --requests - <&-", 2),
        ("$W report --requests - </dev/null", 0),
    ],
)
def test_closed_streams_end_the_program_quietly(path: Path, shell: str, status: int) -> None:
    done = start(shell, path)
    assert done.returncode == status
    assert b"Traceback" not in done.stderr
    assert b"ignored" not in done.stderr
    assert len(done.stderr.splitlines()) <= 1


@pytest.mark.skipif(os.name == "nt", reason="locales of POSIX")
@pytest.mark.parametrize(
    "environment",
    [
        {"LC_ALL": "C"},
        {"LC_ALL": "C", "PYTHONIOENCODING": "ascii"},
        {"LC_ALL": "C", "PYTHONIOENCODING": "ascii:strict"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    ],
)
@pytest.mark.parametrize("end", ["", ".nope"])
def test_names_beyond_ascii_pass_through_any_locale(
    path: Path, environment: dict[str, str], end: str
) -> None:
    for command in (f'$W report "$F{end}"', f'$W report "$F{end}" --json'):
        done = start(command, path, **environment)
        assert done.returncode == (1 if end else 0)
        assert b"Traceback" not in done.stderr
        assert b".gguf" in done.stdout
