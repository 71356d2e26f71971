"""``calibration check``: how well the speed model predicts measured runs."""

from __future__ import annotations

import csv
import json
import re
from importlib import resources
from pathlib import Path

import pytest

from core.command_line.main import main
from core.plan.speed.published import published_runs

COLUMNS = (
    "hardware_id,hardware,backend,engine,gpus,model,quant,moe,layers,parameters_b,"
    "active_parameters_b,weights_gb_per_token,cache_gb_per_token,cache_type,depth_tokens,test,"
    "decode_tok_s,prefill_test,prefill_tok_s,bandwidth_gb_s,share_of_peak,flag,date,source"
)


def row(**cells: str) -> str:
    """Llama 2 7B in Q4_0 on an RTX 3090, with some cells changed."""
    base = {
        "hardware_id": "nvidia-geforce-rtx-3090",
        "hardware": "GeForce RTX 3090",
        "backend": "CUDA",
        "engine": "llama.cpp",
        "gpus": "1",
        "model": "llama2-7b",
        "quant": "Q4_0",
        "moe": "0",
        "layers": "32",
        "parameters_b": "6.74",
        "active_parameters_b": "6.609",
        "weights_gb_per_token": "3.7482",
        "cache_gb_per_token": "0.03355",
        "cache_type": "f16",
        "depth_tokens": "0",
        "test": "tg128",
        "decode_tok_s": "150",
        "bandwidth_gb_s": "936",
        "date": "2025",
        **cells,
    }
    return ",".join(base.get(name, "") for name in COLUMNS.split(","))


def table(folder: Path, *rows: str, heading: str = COLUMNS) -> str:
    path = folder / "rows.csv"
    path.write_text("\n".join([heading, *rows]) + "\n", "utf-8")
    return str(path)


def run(*argv: str) -> int:
    return main(["calibration", "check", *argv], lambda files: 99)


def test_one_line_with_four_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(table(tmp_path, row(), row(decode_tok_s="75"))) == 0
    out = capsys.readouterr().out
    assert re.fullmatch(r"n=2 median_error=[0-9.]+ p90_error=[0-9.]+ within_20=0\.5000\n", out), out


def test_rows_with_a_flag_are_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(table(tmp_path, row(), row(flag="multi", decode_tok_s="1"))) == 0
    assert capsys.readouterr().out.startswith("n=1 ")


def test_json_gives_the_same_per_backend(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = table(tmp_path, row(), row(backend="Vulkan"), row(backend="Vulkan"))
    assert run(path, "--json") == 0
    values = json.loads(capsys.readouterr().out)
    assert values["n"] == 3
    assert values["backends"]["cuda"]["n"] == 1
    assert set(values["backends"]["vulkan"]) == {"n", "median_error", "p90_error", "within_20"}


def test_a_machine_that_the_catalogue_lacks_is_predicted_from_its_own_columns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = table(tmp_path, row(hardware_id="", hardware="A card of tomorrow"))
    assert run(path) == 0
    assert capsys.readouterr().out.startswith("n=1 median_error=0.")


def test_a_row_that_cannot_be_read_is_named_and_the_others_count(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(table(tmp_path, row(decode_tok_s="fast"), row())) == 1
    out, err = capsys.readouterr()
    assert out.startswith("n=1 ")
    assert "line 2: decode_tok_s is no number: 'fast'" in err


def test_rows_that_there_is_nothing_to_compare_with_are_named_and_are_no_fault(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nowhere = {"hardware_id": "", "hardware": "A card of tomorrow", "bandwidth_gb_s": ""}
    odd = (row(backend="steam"), row(backend=""), row(decode_tok_s=""), row(**nowhere))
    assert run(table(tmp_path, row(), *odd)) == 0
    out, err = capsys.readouterr()
    assert out.startswith("n=1 ")
    assert "line 3: nothing is known of the backend 'steam'" in err
    assert "line 4: nothing is known of a backend without a name" in err
    assert "line 5: no decode speed was measured" in err
    assert "of 1 rows no bandwidth is known" in err
    assert run(table(tmp_path, *odd)) == 1


def test_columns_that_only_tell_more_may_be_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a bandwidth in the row it is that of the catalogue, 936.2 GB/s."""
    needed = "hardware_id,backend,layers,moe,weights_gb_per_token,cache_gb_per_token,decode_tok_s"
    full = dict(zip(COLUMNS.split(","), row().split(","), strict=True))
    short = ",".join(full[name] for name in needed.split(","))
    assert run(table(tmp_path, short, heading=needed)) == 0
    first = capsys.readouterr().out
    assert run(table(tmp_path, row(bandwidth_gb_s="936.2", date=""))) == 0
    assert capsys.readouterr().out == first


@pytest.mark.parametrize("cell", ["nan", "inf", "-3", "0", "1e-320", "1e300"])
def test_a_speed_that_cannot_be_is_no_row(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], cell: str
) -> None:
    assert run(table(tmp_path, row(decode_tok_s=cell))) == 1
    out, err = capsys.readouterr()
    assert out == "n=0 median_error=null p90_error=null within_20=null\n"
    assert "decode_tok_s" in err


@pytest.mark.parametrize(
    "column", ["layers", "weights_gb_per_token", "cache_gb_per_token", "bandwidth_gb_s"]
)
@pytest.mark.parametrize("cell", ["1e-320", "1e300", "9" * 300, "-0.5"])
def test_a_number_that_cannot_be_gives_no_figure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], column: str, cell: str
) -> None:
    assert run(table(tmp_path, row(**{column: cell}))) == 1
    out, err = capsys.readouterr()
    assert out == "n=0 median_error=null p90_error=null within_20=null\n"
    assert column in err


def test_missing_columns_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(table(tmp_path, "a,b", heading="hardware,backend")) == 1
    assert "these columns are missing: layers, moe" in capsys.readouterr().err


@pytest.mark.parametrize("data", [b"", b"\xff\xfe\x00", b'a,b\n"', b"\x00" * 100])
def test_a_file_that_is_no_table_is_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], data: bytes
) -> None:
    path = tmp_path / "odd.csv"
    path.write_bytes(data)
    assert run(str(path)) == 1
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and "odd.csv" in err


def test_a_file_that_is_not_there_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("nowhere.csv") == 1
    assert (
        capsys.readouterr().err
        == "weighbridge calibration: nowhere.csv: No such file or directory\n"
    )


def test_a_wrong_action_is_a_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["calibration", "fit", "rows.csv"], lambda files: 99) == 2
    assert "check" in capsys.readouterr().err


def test_every_published_run_has_a_source_and_can_be_predicted() -> None:
    runs = published_runs()
    text = resources.files("resources").joinpath("benchmarks.csv").read_text("utf-8")
    assert len(runs) == len(list(csv.DictReader(text.splitlines()))) == 813
    assert all(each.source and each.date for each in runs)
    assert all(each.share_of_peak is not None for each in runs)
    # Nothing is read faster than the memory allows.
    assert max(each.share_of_peak or 0 for each in runs) < 0.91
