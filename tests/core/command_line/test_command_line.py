"""The command line: sub-commands, exit statuses, and what goes to which stream."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import core.command_line.machines
import core.command_line.reports
from core import command_line
from core.gguf.header import ModelFile
from core.machine import BandwidthMeasurement, combine, custom
from core.model import model_from
from core.model.model import Model
from core.provenance import Number, Rank, Source, Unit
from resources import specimens
from tests.support.gguf_files import U32, TensorSpec, Typed, write
from tests.support.heads import heads

ROOT = Path(__file__).resolve().parents[3]
GIB = 2**30
LLAMA = str(next(path for path in specimens() if "Llama-3.1-8B" in path.stem))
THIS = custom(32 * GIB, 51.2e9, gpu=False, name="This computer")


class Answer(NamedTuple):
    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


Run = Callable[..., Answer]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """Runs arguments on a computer with 32 GiB and no GPU."""
    monkeypatch.setattr(core.command_line.machines, "detect", lambda **_: THIS)
    core.command_line.machines.this_computer.cache_clear()
    core.command_line.reports._opened.cache_clear()

    def answer(*arguments: str, stdin: bytes = b"") -> Answer:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        status = command_line.main(arguments, lambda files: pytest.fail(f"a window for {files}"))
        captured = capsys.readouterr()
        return Answer(status, captured.out, captured.err)

    yield answer
    core.command_line.machines.this_computer.cache_clear()


@pytest.mark.parametrize("files", [[], ["a.gguf"], ["a.gguf", "b c.gguf"], ["--", "-odd.gguf"]])
def test_files_or_nothing_open_the_window(files: list[str]) -> None:
    opened: list[list[str]] = []

    def open_window(given: list[str]) -> int:
        opened.append(given)
        return 7

    assert command_line.main(files, open_window) == 7
    assert opened == [[file for file in files if file != "--"]]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--colour"],
        ["a.gguf", "--context", "5"],
        ["compare", "a.gguf", "--machines", "x,y"],
        ["measure", "--colour"],
        ["measure", "--depths", "few"],
        ["measure", "--runs", "0"],
        ["measure", "ftp://127.0.0.1"],
        ["report"],
        ["report", "a.gguf", "--requests", "-"],
        ["report", "a.gguf", "b.gguf"],
        ["report", "a.gguf", "--cache-k", "q3_k"],
        ["report", "a.gguf", "--context", "many"],
        ["report", "a.gguf", "--slots", "0"],
        ["report", "a.gguf", "--engine", "lama-server"],
        ["report", "a.gguf", "--memory", "-3"],
        ["report", "a.gguf", "--bandwidth", "quick"],
        ["report", "a.gguf", "--requantize", "Q4_K_XXL"],
        ["report", LLAMA, "--machine", "no-such-machine"],
        ["report", "a.gguf", "--backend", "opencl"],
        ["report", "a.gguf", "--gpu-layers", "-1"],
        ["report", "--requests", "no-such-file.jsonl"],
        ["machine", "--colour"],
        ["catalogue", "--colour"],
    ],
    ids=" ".join,
)
def test_wrong_use_is_one_sentence_on_standard_error_and_status_2(
    run: Run, arguments: list[str]
) -> None:
    answer = run(*arguments)
    assert answer.status == 2
    assert answer.out == ""
    assert answer.err.startswith("weighbridge")
    assert answer.err.count("\n") == 1
    assert "Traceback" not in answer.err


def test_a_slip_in_a_name_is_answered_with_the_name_that_was_meant(run: Run) -> None:
    assert "did you mean llama-server?" in run("report", "a", "--engine", "lama-server").err
    assert "did you mean q8_0?" in run("report", "a", "--cache-k", "q80").err
    missed = run("report", LLAMA, "--machine", "rtx-3090").err
    assert "nvidia-geforce-rtx-3090" in missed


@pytest.mark.parametrize("arguments", [["--help"], ["report", "--help"], ["machine", "-h"]])
def test_help_is_for_standard_output_and_no_mistake(run: Run, arguments: list[str]) -> None:
    answer = run(*arguments)
    assert answer.status == 0
    assert answer.out.startswith("usage: weighbridge")
    assert answer.err == ""


def test_a_report_is_text_and_with_json_one_object(run: Run) -> None:
    words = run("report", LLAMA)
    assert (words.status, words.err) == (0, "")
    assert words.out.startswith("Llama 3.1 8B Instruct\n")
    values = run("report", LLAMA, "--json")
    assert (values.status, values.err) == (0, "")
    assert values.out.count("\n") == 1
    assert values.json["schema"] == 1
    assert values.json["model"]["parameters"] == 8_030_261_312


def test_every_option_is_resolved_and_told(run: Run) -> None:
    options = (
        *("--context", "10000", "--depth", "5000", "--cache-k", "Q8_0", "--cache-v", "q8_0"),
        *("--flash-attention", "on", "--ubatch", "256", "--batch", "1024", "--slots", "2"),
        *("--unified-cache", "--swa-full", "--engine", "Llama-Server", "--requantize", "q4_k_m"),
        *("--machine", "nvidia-geforce-rtx-3090", "--gpu-layers", "20", "--cpu-moe", "0"),
        *("--backend", "vulkan", "--json"),
    )
    assert run("report", LLAMA, *options).json["settings"] == {
        "machine": "nvidia-geforce-rtx-3090",
        "requested_context": 10_000,
        "context": 10_240,
        "depth": 5000,
        "cache_k": "q8_0",
        "cache_v": "q8_0",
        "flash_attention": True,
        "ubatch": 256,
        "batch": 1024,
        "slots": 2,
        "unified_cache": True,
        "swa_full": True,
        "engine": "llama-server",
        "requantize": "Q4_K_M",
        "gpu_layers": 20,
        "cpu_moe": 0,
        "backend": "vulkan",
        "projector": None,
        "projector_on_gpu": False,
        "draft": None,
        "draft_head": False,
        "draft_gpu_layers": 0,
        "draft_cache_k": None,
        "draft_cache_v": None,
        "drafted": 0,
    }
    apart = run("report", LLAMA, "--slots", "2", "--no-unified-cache", "--json").json
    assert apart["settings"]["unified_cache"] is False


def test_the_default_machine_is_this_computer(run: Run) -> None:
    for arguments in ([], ["--machine", "this"], ["--machine", "THIS"]):
        values = run("report", LLAMA, "--json", *arguments).json
        assert [d["name"] for d in values["memory"]["devices"]] == ["This computer"]
        assert values["memory"]["devices"][0]["capacity"] == 32 * GIB


@pytest.mark.parametrize(
    ("options", "kind", "capacity", "ceiling"),
    [
        (["--bandwidth", "51.2", "--memory", "32"], "host", 32 * 10**9, True),
        (["--bandwidth", "51.2 GB/s", "--memory", "32GiB"], "host", 32 * GIB, True),
        (["--memory", "24", "--backend", "cuda"], "gpu", 24 * 10**9, False),
        (["--bandwidth", "936", "--backend", "cuda"], "gpu", None, True),
        (["--bandwidth", "936", "--memory", "24", "--gpu-layers", "33"], "gpu", 24 * 10**9, True),
        (["--memory", "48", "--bandwidth", "936", "--gpu-layers", "0"], "host", 48 * 10**9, True),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_plain_figures_make_a_machine(
    run: Run, options: list[str], kind: str, capacity: int | None, ceiling: bool
) -> None:
    values = run("report", LLAMA, "--json", *options).json
    first = values["memory"]["devices"][0]
    assert (first["kind"], first["capacity"]) == (kind, capacity)
    assert (values["speed"]["ceiling_tok_s"] is not None) is ceiling
    if capacity is None:
        assert values["memory"]["verdict"] == "unknown"


def test_a_figure_beside_a_machine_replaces_that_of_its_gpu(run: Run) -> None:
    card = ("--machine", "nvidia-geforce-rtx-3090")
    values = run("report", LLAMA, "--json", *card, "--memory", "12GiB", "--bandwidth", "100").json
    gpu, host = values["memory"]["devices"]
    assert gpu["capacity"] == 12 * GIB
    assert host["capacity"] is None
    read = values["speed"]["bytes_per_token"]
    assert values["speed"]["ceiling_tok_s"] == pytest.approx(100e9 / read)
    in_ram = run("report", LLAMA, "--json", *card, "--backend", "cpu", "--memory", "64GiB").json
    assert [d["capacity"] for d in in_ram["memory"]["devices"]][1] == 64 * GIB


def test_a_backend_that_this_computer_lacks_is_planned_on_a_card_of_unknown_size(
    run: Run,
) -> None:
    values = run("report", LLAMA, "--json", "--backend", "cuda").json
    gpu, host = values["memory"]["devices"]
    assert values["settings"]["backend"] == "cuda"
    assert (gpu["kind"], gpu["capacity"]) == ("gpu", None)
    assert {p["part"]: p["bytes"] for p in gpu["parts"]}["cache"] == 2 * GIB
    assert host["capacity"] == 32 * GIB
    assert values["memory"]["verdict"] == "unknown"


DAMAGED: dict[str, Callable[[bytes], bytes]] = {
    "cut in the header": lambda data: data[:500],
    "cut in the data": lambda data: data + bytes(10),
    "no model": lambda _: b"<!DOCTYPE html><html>" + bytes(200),
    "empty": lambda _: b"",
}


@pytest.mark.parametrize("how", DAMAGED)
@pytest.mark.parametrize("form", ["--json", "text"])
def test_a_damaged_file_is_reported_as_far_as_it_can_be_read_with_status_1(
    run: Run, tmp_path: Path, how: str, form: str
) -> None:
    path = tmp_path / "damaged.gguf"
    path.write_bytes(DAMAGED[how](heads()["llama-dense"].data))
    answer = run("report", str(path), *(["--json"] if form == "--json" else []))
    assert answer.status == 1
    assert answer.err.count("\n") == 1
    assert answer.err.startswith("weighbridge: ")
    if form == "--json":
        values = answer.json
        assert values["file"]["paths"] == [str(path)]
        problems = values["file"]["problems"]
        assert any(p["message"] in answer.err for p in problems)
        if how == "cut in the data":
            assert values["model"]["architecture"] == "llama"
            missing = heads()["llama-dense"].file_bytes - path.stat().st_size
            assert max(p["missing_bytes"] or 0 for p in problems) == pytest.approx(missing, abs=32)
    else:
        assert "damaged.gguf" in answer.out


@pytest.mark.parametrize("name", ["no-such-file.gguf", ".", ""])
def test_a_file_that_cannot_be_opened_is_status_1_or_2_and_never_a_traceback(
    run: Run, name: str
) -> None:
    answer = run("report", name, "--json")
    assert answer.status == (1 if name else 2)
    assert answer.err.count("\n") == 1


# Requests


def test_every_line_is_answered_in_order_and_a_bad_one_with_its_problems(
    run: Run, tmp_path: Path
) -> None:
    head = heads()["gemma3-dense"].write(tmp_path / "gemma.gguf")
    lines = [
        {"file": LLAMA, "context": 4096, "cache_k": "q8_0", "cache_v": "q8_0"},
        "not JSON",
        {"file": LLAMA, "contxt": 4096},
        {"file": str(head), "slots": 2, "unified_cache": False, "json": True},
        {"context": 4096},
        [1, 2],
        {"file": str(tmp_path / "gone.gguf")},
        {"file": LLAMA, "machine": "nvidia-geforce-rtx-4090", "gpu_layers": "all", "depth": None},
    ]
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    answer = run("report", "--requests", "-", stdin=f"\ufeff{text}\n\n".encode())
    assert answer.status == 1
    assert answer.err == "weighbridge: 5 of 8 requests have problems\n"
    assert [bool(each["memory"] and each["weights"]["bytes"]) for each in answer.lines] == [
        *(True, False, False, True, False, False, False, True)
    ]
    assert [each["problems"][0]["message"] for each in answer.lines[1:3]] == [
        "the line is no JSON",
        'there is no option "contxt"; did you mean context?',
    ]
    first = answer.lines[0]
    assert first["memory"]["cache_bytes"] == 4096 * 32 * 2 * 1024 * 34 // 32
    assert first == run("report", LLAMA, "--context", "4096", "--cache-k", "q8_0", "--cache-v",
                        "q8_0", "--json").json  # fmt: skip
    assert answer.lines[6]["file"]["problems"][0]["code"] == "not-found"
    assert answer.lines[7]["memory"]["devices"][0]["name"] == "GeForce RTX 4090"


def test_good_lines_are_status_0_and_options_of_the_command_line_are_their_defaults(
    run: Run, tmp_path: Path
) -> None:
    requests = tmp_path / "requests.jsonl"
    requests.write_text(
        json.dumps({"file": LLAMA}) + "\r\n" + json.dumps({"file": LLAMA, "context": 512}) + "\n"
    )
    answer = run("report", "--requests", str(requests), "--context", "2048")
    assert (answer.status, answer.err) == (0, "")
    assert [each["settings"]["context"] for each in answer.lines] == [2048, 512]


def test_a_file_is_read_once_for_all_its_requests(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Any] = []

    def counted(file: ModelFile) -> Model:
        read.append(file)
        return model_from(file)

    monkeypatch.setattr("core.command_line.reports.model_from", counted)
    lines = "".join(json.dumps({"file": LLAMA, "context": n}) + "\n" for n in (256, 512, 768))
    assert len(run("report", "--requests", "-", stdin=lines.encode()).lines) == 3
    assert len(read) == 1


@pytest.mark.parametrize(
    "line",
    [b"\xff\xfe\x00", b"[" * 100_000, b'{"file": "a", "context": ' + b"9" * 6000 + b"}", b'"text"'],
    ids=["no UTF-8", "deep", "long number", "text"],
)
def test_a_line_that_no_parser_likes_is_one_answer(run: Run, line: bytes) -> None:
    good = json.dumps({"file": LLAMA}).encode()
    answer = run("report", "--requests", "-", stdin=line + b"\n" + good)
    assert [bool(each["memory"]) for each in answer.lines] == [False, True]


# Machines


def test_machine_shows_every_device_and_measures_only_when_told(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    rate = Number(43.7e9, Unit.BYTES_PER_SECOND, Source(Rank.MEASURED, "read", "2026-01-01"))
    measured = BandwidthMeasurement(rate, (43.7e9, 43.1e9), 2, 2**26, reasons=("others ran",))
    calls: list[int] = []

    def measure() -> BandwidthMeasurement:
        calls.append(1)
        return measured

    monkeypatch.setattr(core.command_line.machines, "measure_bandwidth", measure)
    words = run("machine")
    assert (words.status, words.err, calls) == (0, "", [])
    assert "32.0 GiB" in words.out
    assert "51.2 GB/s" in words.out
    values = run("machine", "--json").json
    assert values["devices"][0]["memory"]["value"] == 32 * GIB
    assert "measurement" not in values
    timed = run("machine", "--measure")
    assert calls == [1]
    assert "43.7 GB/s" in timed.out
    assert "others ran" in timed.out
    values = run("machine", "--json", "--measure").json
    assert values["measurement"]["runs"] == [43.7e9, 43.1e9]
    assert values["devices"][0]["bandwidth"]["value"] == 43.7e9


def test_catalogue_finds_ids_and_says_when_it_finds_none(run: Run) -> None:
    found = run("catalogue", "rtx", "3090")
    assert found.status == 0
    assert found.out.splitlines()[0].split()[0] == "nvidia-geforce-rtx-3090"
    assert "936 GB/s" in found.out
    values = run("catalogue", "rtx", "3090", "--json").json
    row = next(m for m in values["machines"] if m["id"] == "nvidia-geforce-rtx-3090")
    assert row["memory_bytes"] == 24 * GIB
    assert row["source"]
    nothing = run("catalogue", "abacus")
    assert (nothing.status, nothing.out) == (1, "")
    assert nothing.err.count("\n") == 1
    assert run("catalogue", "abacus", "--json").json["machines"] == []
    assert len(run("catalogue").out.splitlines()) > 300


def test_every_id_that_the_catalogue_shows_is_a_machine_of_a_report(run: Run) -> None:
    ids = [machine["id"] for machine in run("catalogue", "--json").json["machines"]]
    lines = "".join(json.dumps({"file": LLAMA, "machine": id}) + "\n" for id in ids)
    answer = run("report", "--requests", "-", stdin=lines.encode())
    assert answer.status == 0
    for each in answer.lines:
        assert each["speed"]["ceiling_tok_s"] > 0
        assert each["memory"]["verdict"] in ("fits", "tight", "does_not_fit")


def test_a_card_that_is_too_small_does_not_fit_and_ram_would(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A 1 GB card beside 32 GB of RAM: said, and the other way is there to compare.
    both = combine(custom(10**9, 100e9), custom(32 * 10**9, 51.2e9, gpu=False))
    monkeypatch.setattr(core.command_line.machines, "detect", lambda **_: both)
    card = run("report", LLAMA, "--json").json
    assert card["memory"]["verdict"] == "does_not_fit"
    assert "too much on GPU" in card["memory"]["reason"]
    ram = run("report", LLAMA, "--json", "--backend", "cpu").json
    assert ram["memory"]["verdict"] == "fits"
    assert ram["speed"]["ceiling_tok_s"] == pytest.approx(51.2e9 / 6_764_882_432)


# As a program of its own


def program(*arguments: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "gui", *arguments],
        cwd=ROOT,
        capture_output=True,
        timeout=60,
        check=False,
        **options,
    )


def test_a_reader_who_leaves_early_is_no_error() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "gui", "catalogue"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=60) == 1


@pytest.mark.parametrize("encoding", ["ascii", "utf-8", "latin-1"])
def test_no_name_crashes_an_output_of_few_letters(tmp_path: Path, encoding: str) -> None:
    path = heads()["llama-dense"].write(tmp_path / "модель-模型\udcff.gguf")
    for form in ([], ["--json"]):
        done = program(
            "report", str(path), *form, env={"PYTHONIOENCODING": encoding, "PATH": "/usr/bin:/bin"}
        )
        assert done.returncode == 0, done.stderr
        assert done.stderr == b""
        if form:
            assert json.loads(done.stdout.decode("ascii"))["file"]["paths"] == [str(path)]


def test_a_projector_and_a_draft_are_parts_of_their_own(run: Run, tmp_path: Path) -> None:
    """M33, M34: files loaded beside the model, in the JSON's own parts."""
    mmproj = write(
        tmp_path / "mmproj.gguf",
        {"general.architecture": "clip", "clip.vision.projection_dim": Typed(U32, 4096)},
        [TensorSpec("v.blk.0.ffn_up.weight", "F16", (1024, 1024))],
    )
    answer = run("report", LLAMA, "--json", "--projector", str(mmproj), "--draft", LLAMA).json
    parts = {
        part["part"]: part["bytes"]
        for device in answer["memory"]["devices"]
        for part in device["parts"]
    }
    assert parts["projector"] > 2 * 2**20
    assert parts["draft"] > parts["weights"] / 2
    assert answer["settings"]["projector"] == str(mmproj)
    assert answer["settings"]["drafted"] == 3
    assert [p["code"] for p in answer["problems"]] == ["specimen"]
    words = run("report", LLAMA, "--projector", str(mmproj), "--draft", LLAMA).out
    assert "  with the projector mmproj.gguf in RAM\n" in words
    assert "  drafting 3 tokens at once with Llama-3.1-8B" in words


def test_a_projector_that_is_none_answers_with_its_problem(run: Run, tmp_path: Path) -> None:
    page = tmp_path / "mmproj.gguf"
    page.write_bytes(b"<!DOCTYPE html><title>Sign in</title>")
    line = json.dumps({"file": LLAMA, "projector": str(page), "draft": str(page)})
    requests = tmp_path / "requests.jsonl"
    requests.write_text(f"{line}\n{json.dumps({'file': LLAMA})}\n", "utf-8")
    first, second = run("report", "--requests", str(requests)).out.splitlines()
    problems = json.loads(first)["problems"]
    assert [p["code"] for p in problems] == ["specimen", "projector", "draft"]
    assert all("web page" in p["message"] for p in problems[1:])
    assert [p["code"] for p in json.loads(second)["problems"]] == ["specimen"]
    words = run("report", LLAMA, "--projector", str(page)).out
    assert "refused: mmproj.gguf" in words
    assert "  fits" not in words and "does not fit" not in words


def test_a_report_is_written_as_a_web_page_beside_what_is_printed(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "plan.html"
    answer = run("report", LLAMA, "--json", "--html", str(out))
    assert (answer.status, answer.err) == (0, "")
    page = out.read_text("utf-8")
    assert f'value="{answer.json["memory"]["total_bytes"]}"' in page
    assert run("report", LLAMA, "--html", str(tmp_path / "no" / "where.html")).status == 2
    refused = run("report", "--requests", "-", "--html", str(out))
    assert refused.status == 2
    assert "one file" in refused.err
