"""A card of which nobody said what it sits in is put into a computer with RAM."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.gguf import open_file
from core.machine import (
    ASSUMED_RAM,
    Machine,
    catalogue,
    custom,
    in_computer,
    machine_from,
    ram_from,
    ram_of,
)
from core.model import model_from
from core.plan import resolve
from core.plan.choice import Choice
from core.provenance import Rank
from resources import specimens

GIB = 2**30
CARD = "nvidia-geforce-rtx-3090"


@pytest.mark.parametrize("card", [CARD, "amd-radeon-rx-7900-xtx", "nvidia-geforce-rtx-3060-12-gb"])
def test_experts_in_ram_have_a_speed_and_it_is_that_of_the_card_with_that_ram(card: str) -> None:
    path = next(path for path in specimens() if "Qwen3.6-35B" in path.stem)
    model, choice = model_from(open_file(path)), Choice(cpu_moe=40)
    machine = catalogue.machine(card)
    assert resolve(model, machine, choice).speed.ceiling.value is None
    found = resolve(model, in_computer(machine, ram_from("64GiB@51.2")), choice)
    assert found.speed.ceiling.value
    assert found == resolve(model, machine_from(f"{card} + ram:64GiB@51.2"), choice)


@pytest.mark.parametrize(
    "machine",
    [
        machine_from(f"{CARD} + ram:32GiB@40"),
        machine_from(f"{CARD} + ram:32GiB"),
        catalogue.machine("apple-m4-max-40-core-gpu"),
        custom(32 * GIB, 51.2e9, gpu=False),
        replace(catalogue.machine(CARD), id="this"),
    ],
    ids=["RAM and rate", "RAM alone", "unified", "no card", "this computer"],
)
def test_a_machine_that_is_more_than_a_card_stays_as_it_is(machine: Machine) -> None:
    assert in_computer(machine, ASSUMED_RAM) is machine


def test_what_is_known_of_a_card_is_kept() -> None:
    kept = replace(catalogue.machine(CARD), id="own-attic", name="Attic")
    found = in_computer(kept, ASSUMED_RAM)
    assert (found.name, found.gpus) == ("Attic + 64.0 GiB RAM", kept.gpus)
    assert in_computer(kept, None) is kept


def test_it_is_this_computers_ram_where_both_are_known_else_an_assumption() -> None:
    here = custom(31 * GIB, 38e9, gpu=False)
    assert (ram_of(here).size, ram_of(here).rate) == (31 * GIB, 38e9)
    assert ram_of(here).host.bandwidth == here.devices[0].bandwidth
    for machine in (None, custom(31 * GIB, gpu=False), custom(24 * GIB, 273e9, unified=True)):
        assert ram_of(machine) == ASSUMED_RAM
    assert ASSUMED_RAM.words() == "64.0 GiB RAM at 51.2 GB/s"
    assert ASSUMED_RAM.host.bandwidth.source.rank is Rank.ASSUMED


@pytest.mark.parametrize("text", ["64GiB@51.2", "33285996545B@38.4"])
def test_it_is_written_as_it_is_read(text: str) -> None:
    assert ram_from(text).text == text


@pytest.mark.parametrize("text", ["", "64GiB", "@51.2", "64GiB@", "0@51.2", "64GiB@0", "x@y"])
def test_what_is_no_ram_is_one_sentence(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        ram_from(text)
