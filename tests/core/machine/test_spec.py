"""A machine in one line of text, and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.machine import (
    Backend,
    Machine,
    catalogue,
    combine,
    custom,
    machine_from,
    spec_of,
    with_ram,
)
from core.machine.machine import with_margin

GIB = 2**30


def test_every_machine_of_the_catalogue_is_told_by_its_id() -> None:
    for row in catalogue.all():
        machine = catalogue.machine(row.id)
        assert spec_of(machine) == row.id
        assert machine_from(row.id) == machine


def test_every_machine_with_one_memory_keeps_the_ram_that_was_typed() -> None:
    for row in catalogue.all():
        machine = with_ram(catalogue.machine(row.id), 48 * GIB)
        if machine.devices != catalogue.machine(row.id).devices and machine.host is None:
            assert machine_from(spec_of(machine)).devices == machine.devices


@given(
    kind=st.sampled_from(["gpu", "unified", "ram"]),
    memory=st.integers(1, 10**13),
    rate=st.none()
    | st.integers(1, 10**4).map(lambda n: n * 1e8)
    | st.sampled_from([1.0, 99.0, 7e4]),
    backend=st.sampled_from([b for b in Backend if b is not Backend.CPU]),
)
def test_typed_figures_come_back_to_the_byte(
    kind: str, memory: int, rate: float | None, backend: Backend
) -> None:
    machine = custom(memory, rate, gpu=kind != "ram", backend=backend, unified=kind == "unified")
    again = machine_from(spec_of(machine))
    assert [(d.memory.value, d.bandwidth.value, d.backend, d.unified) for d in again.devices] == [
        (d.memory.value, d.bandwidth.value, d.backend, d.unified) for d in machine.devices
    ]


def test_two_cards_and_ram_are_one_computer() -> None:
    text = "2x nvidia-geforce-rtx-3090 + ram:64GiB@51.2"
    machine = machine_from(text)
    assert len(machine.gpus) == 2
    assert machine.host is not None and machine.host.memory.value == 64 * GIB
    assert spec_of(machine) == text
    same = combine(
        *[catalogue.machine("nvidia-geforce-rtx-3090")] * 2, custom(64 * GIB, 51.2e9, gpu=False)
    )
    assert machine.devices == same.devices


def test_what_shall_stay_free_is_no_part_of_the_text() -> None:
    machine = with_margin(catalogue.machine("nvidia-geforce-rtx-3090"), GIB)
    assert spec_of(machine) == "nvidia-geforce-rtx-3090"


def test_a_name_is_looked_up_by_whoever_asks() -> None:
    this = custom(8 * GIB, name="here")
    asked: list[str] = []

    def named(name: str) -> Machine:
        asked.append(name)
        return this

    assert machine_from("This + gpu:24GiB@936", named).gpus[0] == this.gpus[0]
    assert asked == ["This"]


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("nvidia-geforce-rtx-309", LookupError, "nvidia-geforce-rtx-3090"),
        ("gpu:lots@936", ValueError, "no size"),
        ("gpu:24GB@fast", ValueError, "no bandwidth"),
        ("gpu:0GB@936", ValueError, "more than nothing"),
        ("gpu:24GB@936:opengl", ValueError, "backend"),
        ("17x nvidia-geforce-rtx-3090", ValueError, "at most 16"),
        ("apple-m4-max-40-core-gpu + nvidia-geforce-rtx-3090", ValueError, "cannot be combined"),
        ("", LookupError, "no machine"),
    ],
)
def test_what_is_no_machine_gets_a_sentence(text: str, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        machine_from(text)
