"""A link in place of a file on the command line: the same figures, the same exit statuses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import resources
from core.command_line import main
from tests.support.link_server import LinkServer

SPECIMEN = next(path for path in resources.specimens() if "Qwen3.6-35B" in path.name)


@pytest.fixture
def server() -> Iterator[LinkServer]:
    with LinkServer() as made:
        made.files[f"/{SPECIMEN.name}"] = SPECIMEN.read_bytes()
        yield made


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(words, lambda files: 99)
    out, err = capsys.readouterr()
    return status, out, err


def test_a_link_gives_the_report_of_its_file(
    server: LinkServer, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--machine", "nvidia-geforce-rtx-3090", "--json")
    status, of_file, _ = printed(capsys, "report", str(SPECIMEN), *options)
    link = f"{server.url}/{SPECIMEN.name}"
    status_of_link, of_link, _ = printed(capsys, "report", link, *options)
    assert status == status_of_link == 0
    here, there = json.loads(of_file), json.loads(of_link)
    assert there["file"].pop("paths") == [link]
    assert here["file"].pop("paths") == [str(SPECIMEN)]
    for each in (here, there):
        each["file"].pop("problems")
        each.pop("problems")
    assert there == here


def test_a_link_that_leads_nowhere_has_status_1_and_its_object(
    server: LinkServer, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = printed(capsys, "report", f"{server.url}/other.gguf", "--json")
    assert status == 1
    assert [p["code"] for p in json.loads(out)["file"]["problems"]] == ["not-found"]
    assert "404" in err and len(err.splitlines()) == 1
    status, out, err = printed(capsys, "report", "https://me:secret@example.org/x.gguf")
    assert status == 1 and "secret" not in out + err


def test_a_folder_named_like_a_repository_is_still_a_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    status, _, err = printed(capsys, "report", "org/model.gguf")
    assert status == 1 and "There is no file" in err
