"""Machines from files on the command line: reports of other computers, and the user's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from core import command_line
from core.machine import catalogue, combine, custom, own
from resources import specimens

GIB = 2**30
LLAMA = str(next(path for path in specimens() if "Llama-3.1-8B" in path.stem))
PC = combine(catalogue.machine("nvidia-geforce-rtx-3090"), custom(64 * GIB, 51.2e9, gpu=False))


def report(capsys: pytest.CaptureFixture[str], machine: str) -> tuple[int, Any, str]:
    """Status, the JSON object and standard error of a report on this machine."""
    arguments = ["report", LLAMA, "--json", "--machine", machine]
    status = command_line.main(arguments, lambda files: pytest.fail("a window"))
    captured = capsys.readouterr()
    return status, json.loads(captured.out) if captured.out else None, captured.err


def test_a_machine_report_of_another_computer_is_a_machine(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "Friend's RTX 3090 + 64 GB.json"
    path.write_text(own.report(PC), "utf-8")
    status, values, _ = report(capsys, str(path))
    assert status == 0
    gpu, host = values["memory"]["devices"]
    assert gpu["capacity"] == 24 * GIB
    assert host["capacity"] == 64 * GIB
    read = values["speed"]["bytes_per_token"]
    assert values["speed"]["ceiling_tok_s"] == pytest.approx(936.2e9 / read, rel=0.001)


def test_the_output_of_machine_json_is_such_a_report(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert command_line.main(["machine", "--json"], lambda files: 1) == 0
    path = tmp_path / "this.json"
    path.write_text(capsys.readouterr().out, "utf-8")
    status, values, _ = report(capsys, str(path))
    assert status == 0
    here = report(capsys, "this")[1]
    assert values["memory"]["cache_bytes"] == here["memory"]["cache_bytes"]
    devices = [d["capacity"] for d in values["memory"]["devices"]]
    assert devices == [d["capacity"] for d in here["memory"]["devices"]]


def test_the_users_own_machines_are_known_by_their_ids(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "machines.json"
    monkeypatch.setattr(own, "default_path", lambda: path)
    own.save(own.added((), PC, "Attic"))
    status, values, _ = report(capsys, "own-attic")
    assert status == 0
    assert values["memory"]["devices"][0]["capacity"] == 24 * GIB
    status, _, words = report(capsys, "own-cellar")
    assert status == 2
    assert "own-attic" in words


@pytest.mark.parametrize("content", [None, "", "[]", '{"devices": []}'])
def test_a_file_that_is_no_report_is_one_sentence_and_status_2(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, content: str | None
) -> None:
    path = tmp_path / "odd.json"
    if content is not None:
        path.write_text(content)
    status, values, words = report(capsys, str(path))
    assert (status, values) == (2, None)
    assert words.count("\n") == 1
    assert "odd.json" in words


def test_a_list_of_several_machines_is_not_one(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "list.json"
    own.export(path, own.added(own.added((), PC), PC))
    status, _, words = report(capsys, str(path))
    assert status == 2
    assert "2 machines" in words
