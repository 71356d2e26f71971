"""Options and request lines that nobody should write: a sentence each, and the rest goes on."""

from __future__ import annotations

import io
import json
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
