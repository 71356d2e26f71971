"""Streams that are full, closed or gone: a sentence and a status, never a traceback."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.heads import heads

ROOT = Path(__file__).parents[3]


def start(shell: str, path: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """``shell`` with $W for the program and $F for a small model."""
    return subprocess.run(
        ["bash", "-c", shell.replace("$W", f"{shlex.quote(sys.executable)} -m gui")],
        capture_output=True,
        timeout=60,
        check=False,
        cwd=ROOT,
        env={
            **os.environ,
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
    python = start(f"{shlex.quote(sys.executable)} -c pass", path, **environment)
    if python.returncode:  # it reads by the locale where the checkout lies (its site.py)
        pytest.skip("Python itself does not start here in this locale")
    for command in (f'$W report "$F{end}"', f'$W report "$F{end}" --json'):
        done = start(command, path, **environment)
        assert done.returncode == (1 if end else 0)
        assert b"Traceback" not in done.stderr
        assert b".gguf" in done.stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("errors", [">/dev/full", ">&-", "> >(true)"])
@pytest.mark.parametrize(
    ("command", "status", "answers"),
    [
        ('report "$F.nope" --json', 1, 1),
        ('report "$F" --bogus', 2, 0),
        ('report "$F" --context none', 2, 0),
        ("report --requests <(echo {; echo [; echo {})", 1, 3),
        ("measure http://127.0.0.1:1 --json", 1, 1),
        ("catalogue there-is-no-such-machine", 1, 0),
    ],
)
def test_standard_error_that_takes_nothing_changes_no_answer_and_no_status(
    path: Path, command: str, status: int, answers: int, errors: str
) -> None:
    done = start(f"$W {command} 2{errors}", path)
    assert (done.returncode, len(done.stdout.splitlines())) == (status, answers)
    assert done.stderr == b""


@pytest.mark.parametrize("module", ["core.command_line", "core.command_line.reports", "core.model"])
def test_ctrl_c_while_the_program_starts_is_a_status_without_a_traceback(
    path: Path, module: str
) -> None:
    program = (
        "import sys\n"
        "class Interrupted:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {module!r}:\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupted())\n"
        "from gui.__main__ import main\n"
        "sys.exit(main())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "report", str(path)],
        cwd=ROOT,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")
