"""`weighbridge compare`: one model on several machines, as a table or one JSON object."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import core.command_line.machines
import core.command_line.reports
from core import command_line
from core.machine import custom
from resources import specimens

GIB = 2**30
QWEN = str(next(path for path in specimens() if "Qwen3.6-35B" in path.stem))
CARDS = "nvidia-geforce-rtx-3090,nvidia-geforce-rtx-4090"
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """Runs `compare` on a computer with 32 GiB and no GPU."""
    here = custom(32 * GIB, 51.2e9, gpu=False, name="This computer")
    monkeypatch.setattr(core.command_line.machines, "detect", lambda **_: here)
    core.command_line.machines.this_computer.cache_clear()
    core.command_line.reports._opened.cache_clear()

    def answer(*arguments: str, stdin: bytes = b"") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        status = command_line.main(["compare", *arguments], lambda _: pytest.fail("a window"))
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    yield answer
    core.command_line.machines.this_computer.cache_clear()


def test_the_table_has_a_line_for_each_machine_in_the_order_asked(run: Run) -> None:
    status, out, err = run(QWEN, "--machines", f"{CARDS},this", "--context", "32768")
    assert (status, err) == (0, "")
    lines = [line.split("  ") for line in out.splitlines() if "GiB" in line and "GB/s" in line]
    assert [line[1] for line in lines] == ["GeForce RTX 3090", "GeForce RTX 4090", "This computer"]
    assert "context 32,768" in out


def test_json_says_of_each_machine_what_report_says(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, _ = run(QWEN, "--machines", CARDS, "--context", "32768", "--json")
    assert status == 0
    answer = json.loads(out)
    assert answer["schema"] == 1
    assert [m["id"] for m in answer["machines"]] == CARDS.split(",")
    for machine in answer["machines"]:
        arguments = ["report", QWEN, "--machine", machine["id"], "--context", "32768", "--json"]
        command_line.main(arguments, lambda _: 0)
        report = json.loads(capsys.readouterr().out)
        for name in ("settings", "memory", "speed"):
            assert machine[name] == report[name]
        assert machine["verdict"] == report["memory"]["verdict"]
        assert machine["ceilings_tok_s"]["depth"] == report["speed"]["ceiling_tok_s"]
        assert answer["model"] == report["model"]
        assert answer["file"] == report["file"]
    ceilings = answer["machines"][0]["ceilings_tok_s"]
    assert ceilings["empty"] > ceilings["depth"] > ceilings["full"]


def test_an_unknown_machine_is_a_wrong_option_with_suggestions(run: Run) -> None:
    status, out, err = run(QWEN, "--machines", "nvidia-geforce-rtx-309")
    assert (status, out) == (2, "")
    assert "did you mean" in err and "nvidia-geforce-rtx-3090" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("machines", "words"),
    [
        ((), "--machines is missing"),
        (("--machines", "this,,this"), "between two commas"),
        (("--machines", "gpu:much"), "no size"),
        (("--machines", "this", "--prompt", "many"), "prompt must be a whole number"),
        (("--machines", "this", "--ram", "64GiB"), "no size and rate"),
        (("--machines", "this", "--ram", "0GiB@51.2"), "ram: memory must be more than nothing"),
        (("--machines", "this", "--cache-k", "q9"), "cache_k must be one of"),
    ],
)
def test_wrong_options_are_status_2_and_one_sentence(
    run: Run, machines: tuple[str, ...], words: str
) -> None:
    status, out, err = run(QWEN, *machines)
    assert (status, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1


def test_a_machine_can_be_put_together_and_figures_typed(run: Run) -> None:
    machines = "2x nvidia-geforce-rtx-3090+ram:64GiB@51.2"
    status, out, _ = run(
        QWEN, "--machines", machines, "--memory", "24GiB", "--bandwidth", "936", "--backend",
        "cuda", "--json",
    )  # fmt: skip
    assert status == 0
    first, second = json.loads(out)["machines"]
    assert [d["kind"] for d in first["memory"]["devices"]] == ["gpu", "gpu", "host"]
    assert second["id"] == "gpu:24GiB@936:cuda"


def test_a_card_without_ram_is_what_the_card_with_that_ram_is(run: Run) -> None:
    card, whole = "nvidia-geforce-rtx-3060-12-gb", "nvidia-geforce-rtx-3060-12-gb+ram:64GiB@51.2"
    named = "nvidia-geforce-rtx-3060-12-gb+ram:32GiB@40"
    options = (QWEN, "--cpu-moe", "40", "--json", "--machines")
    _, bare, _ = run(*options, card)
    assert json.loads(bare)["ram"] is None
    assert json.loads(bare)["machines"][0]["speed"]["ceiling_tok_s"] is None
    _, out, _ = run(*options, f"{card},{named},this", "--ram", "64GiB@51.2")
    _, wanted, _ = run(*options, f"{whole},{named},this")
    answer, expected = json.loads(out), json.loads(wanted)
    assert answer["ram"] == {"bytes": 64 * GIB, "bytes_per_second": 51.2e9}
    assert [m["id"] for m in answer["machines"]] == [card, named, "this"]
    assert answer["machines"][0]["speed"]["ceiling_tok_s"] > 0
    for one, other in zip(answer["machines"], expected["machines"], strict=True):
        assert {**one, "id": ""} == {**other, "id": ""}


def test_ram_is_said_in_words_and_taken_from_a_line_of_requests(run: Run) -> None:
    card = "nvidia-geforce-rtx-3090"
    _, out, _ = run(QWEN, "--machines", card, "--ram", "64GiB@51.2")
    assert "each with 64.0 GiB RAM at 51.2 GB/s" in out and "+ 64.0 GiB RAM" in out
    line = {"file": QWEN, "machines": [card], "ram": "64GiB@51.2"}
    _, out, _ = run("--requests", "-", stdin=json.dumps(line).encode())
    assert json.loads(out)["machines"][0]["name"] == "GeForce RTX 3090 + 64.0 GiB RAM"


def test_a_machine_named_twice_is_told_once(run: Run) -> None:
    _, out, _ = run(QWEN, "--machines", "this, this", "--json")
    assert [m["id"] for m in json.loads(out)["machines"]] == ["this"]


def test_many_requests_are_answered_line_by_line(run: Run) -> None:
    lines = [
        {"file": QWEN, "machines": ["this", "nvidia-geforce-rtx-3090"], "context": 4096},
        {"file": QWEN, "machines": "nvidia-x"},
        {"file": QWEN, "machines": 3},
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    status, out, _ = run("--requests", "-", stdin=text.encode())
    assert status == 1
    first, *bad = (json.loads(line) for line in out.splitlines())
    assert [m["settings"]["context"] for m in first["machines"]] == [4096, 4096]
    assert [answer["problems"][0]["code"] for answer in bad] == ["bad-request"] * 2


def test_a_file_that_is_no_model_is_status_1_and_still_an_object(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "page.gguf"
    path.write_text("<!DOCTYPE html>")
    status, out, err = run(str(path), "--machines", "nvidia-geforce-rtx-3090", "--json")
    assert status == 1 and err
    (machine,) = json.loads(out)["machines"]
    assert (machine["verdict"], machine["room_bytes"]) == ("unknown", None)
    assert machine["ceilings_tok_s"] is None
    status, out, _ = run(str(path), "--machines", "nvidia-geforce-rtx-3090")
    assert status == 1
    assert "fits" not in out


def test_what_is_no_model_has_the_problems_of_its_file_and_no_others(
    run: Run, tmp_path: Path
) -> None:
    for path in (tmp_path, tmp_path / "nowhere.gguf"):
        status, out, _ = run(str(path), "--machines", "nvidia-geforce-rtx-3090", "--json")
        found = json.loads(out)
        assert status == 1
        assert found["problems"] == found["file"]["problems"]
        assert found["machines"][0]["problems"] == []
        _, out, _ = run(str(path), "--machines", "nvidia-geforce-rtx-3090")
        assert "warning" not in out and "unknown)" not in out
