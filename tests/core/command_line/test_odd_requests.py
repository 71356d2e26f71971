"""Options and request lines that nobody should write: a sentence each, and the rest goes on."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.command_line.reports import answers
from core.command_line.requests import BadRequestError, request_from
from tests.support.heads import heads

NUMBERS = ("context", "depth", "ubatch", "batch", "slots", "gpu_layers", "cpu_moe")
NO_NUMBER: tuple[object, ...] = (
    *("+-5", "--5", "-", "+", "", " ", "5 5", "4,09", "40,96", ",5", "1e3", "0x10", "1.5"),
    *("nan", "inf", "９" * 5, "²", "9" * 400, "9" * 5000, "\x1b[31m", "\x00"),
    *(float("nan"), float("inf"), 1.5, 1e300, 2**31, 10**400, -1, True, [], {}, [1]),
)
SIZES = ("memory", "bandwidth")
NO_SIZE: tuple[object, ...] = (
    *("", "GB", "24,5 GB", "24,5", "-1", "0", "1e9", "nan", "inf", "9" * 400, "9" * 5000),
    *(0, -1, 1e-30, 1e299, 1e305, float("nan"), float("inf"), 10**400, True, [], {}),
)


@pytest.mark.parametrize("name", NUMBERS)
def test_what_is_no_number_of_that_kind_is_refused_with_the_options_name(name: str) -> None:
    for value in NO_NUMBER:
        with pytest.raises(BadRequestError, match=f"^{name} must be a whole number") as refused:
            request_from({"file": "model.gguf", name: value})
        assert len(str(refused.value)) < 250
        assert str(refused.value).isprintable()


@pytest.mark.parametrize("name", SIZES)
def test_what_is_no_size_is_refused_with_the_options_name(name: str) -> None:
    for value in NO_SIZE:
        with pytest.raises(BadRequestError, match=f"^{name} must be a ") as refused:
            request_from({"file": "model.gguf", name: value})
        assert len(str(refused.value)) < 250


def test_numbers_are_taken_as_people_write_them() -> None:
    for text in ("4096", " 4096 ", "4,096", "4_096", "+4096"):
        assert request_from({"file": "model.gguf", "context": text}).choice.context == 4096
    for text in ("24", "24 GB", "24gb", "24,000 MB"):
        assert request_from({"file": "model.gguf", "memory": text}).memory == 24 * 10**9


def test_every_line_has_its_answer_in_order_whatever_stands_before_it(tmp_path: Path) -> None:
    path = str(heads()["llama-dense"].write(tmp_path / "model.gguf"))
    good = {"file": path, "memory": 24, "bandwidth": 936}
    lines = [
        json.dumps({**good, name: value}).encode()
        for names, values in ((NUMBERS, NO_NUMBER), (SIZES, NO_SIZE))
        for name in names
        for value in values
    ]
    lines += [b"{", b"[]", b"\xff\xfe", b"[" * 5000, b'{"a":' * 5000, b"null", b"9" * 5000]
    mixed = [line for bad in lines for line in (bad, json.dumps(good).encode())]
    given: Iterator[bytes] = iter(io.BytesIO(b"\n".join(mixed)).readline, b"")
    found = list(answers(given, {}))
    assert len(found) == len(mixed)
    for number, (values, went_well) in enumerate(found):
        text = json.dumps(values, allow_nan=False)
        assert went_well == (number % 2 == 1), text
        assert (values["memory"] is None) == (number % 2 == 0)
    assert found[1] == found[-1]


@pytest.mark.skipif(os.name == "nt", reason="pipes and names of POSIX")
@pytest.mark.parametrize("option", ["machine", "machines", "projector", "draft", "file"])
def test_a_file_that_cannot_be_read_costs_its_own_line_alone(tmp_path: Path, option: str) -> None:
    """Names longer than any, pipes that nobody writes to, folders, circles of links."""
    good = {"file": str(heads()["llama-dense"].write(tmp_path / "model.gguf")), "memory": 24}
    for name in ("pipe.json", "folder.json", "circle.json"):
        path = tmp_path / name
        if name == "pipe.json":
            os.mkfifo(path)
        elif name == "folder.json":
            path.mkdir()
        else:
            path.symlink_to(name)
    odd = [
        *(str(tmp_path / name) for name in ("pipe.json", "folder.json", "circle.json")),
        *("x" * 300 + ".json", "a\0b.json", "\ud800.json", "/proc/self/mem", "/dev/zero"),
    ]
    command = "compare" if option == "machines" else "report"
    base = {**good, "machines": "nvidia-geforce-rtx-3090"} if command == "compare" else good
    lines = [line for name in odd for line in ({**base, option: name}, base)]
    done = subprocess.run(
        [sys.executable, "-m", "gui", command, "--requests", "-"],
        input="\n".join(map(json.dumps, lines)).encode(),
        capture_output=True,
        timeout=60,
        check=False,
        cwd=Path(__file__).parents[3],
    )
    assert b"Traceback" not in done.stderr
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(lines)
    whole = answers[1]
    assert whole["problems"] == []
    for number, found in enumerate(answers):
        if number % 2:
            assert found == whole
        else:
            assert found != whole and found["problems"]


def test_a_line_without_an_end_is_refused_and_the_next_one_answered(tmp_path: Path) -> None:
    good = json.dumps({"file": str(heads()["llama-dense"].write(tmp_path / "model.gguf"))})
    long = '{"file": "' + "x" * (3 << 20) + '"}'
    path = tmp_path / "requests"
    path.write_text(f"{good}\n{long}\n{good}\n{long}")
    done = subprocess.run(
        [sys.executable, "-m", "gui", "report", "--requests", str(path)],
        capture_output=True,
        timeout=60,
        check=False,
        cwd=Path(__file__).parents[3],
    )
    first, refused, again, last = (json.loads(line) for line in done.stdout.splitlines())
    assert first == again and first["memory"] is not None
    assert refused == last
    assert refused["problems"][0]["message"] == "the line has more than 1,048,576 bytes"


def test_a_file_that_changes_between_two_lines_is_read_again(tmp_path: Path) -> None:
    """Who keeps the program running asks of a file that was not there yet, or was downloaded
    anew."""
    path = tmp_path / "model.gguf"
    line = json.dumps({"file": str(path)}).encode()
    seen = []

    def asked() -> Iterator[bytes]:
        for name in (None, "llama-dense", "llama-dense", "gemma-dense"):
            if name is not None:
                heads()[name].write(path)
            yield line

    for values, went_well in answers(asked(), {}):
        seen.append((went_well, values["model"]["architecture"]))
    assert seen == [(False, None), (True, "llama"), (True, "llama"), (True, "gemma")]


@pytest.mark.skipif(os.name == "nt", reason="paths of POSIX")
def test_the_address_of_a_file_is_as_good_as_its_name(tmp_path: Path) -> None:
    path = heads()["llama-dense"].write(tmp_path / "a b%.gguf")
    names = (str(path), path.as_uri())
    first, second = (next(answers(iter([json.dumps({"file": n}).encode()]), {})) for n in names)
    assert first == second and first[1]
