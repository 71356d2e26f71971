"""What a driver says that a load took, against the log and the plan."""

from __future__ import annotations

import pytest

from core.check.driver import Taken, sentences, taken
from core.units import UnitSystem
from tests.support.specimen_plans import on_a_3090, specimen_plan

MIB = 2**20
CARD = on_a_3090().gpus[0].name
# Buffers of 15,900 MiB on the card, as the report has them.
LOG = """\
load_tensors: offloaded 33/33 layers to GPU
load_tensors:   CPU_Mapped model buffer size =   282.00 MiB
load_tensors:        CUDA0 model buffer size = 14000.00 MiB
llama_context: constructing llama_context
llama_context: n_seq_max             = 1
llama_context: n_ctx                 = 16384
llama_context: n_batch               = 2048
llama_context: n_ubatch              = 512
llama_kv_cache:      CUDA0 KV buffer size =  1500.00 MiB
llama_context:      CUDA0 compute buffer size =   400.00 MiB
"""
PLAN = specimen_plan("Llama-3.1-8B", context=16_384, slots=1)
BEFORE, AFTER = ((CARD, 1585 * MIB),), ((CARD, 17_905 * MIB),)


def test_b06_the_drivers_growth_is_the_buffers_and_what_it_takes_besides() -> None:
    """B06: 1,585 MiB before the load and 17,905 after it; the log's buffers are 15,900 MiB."""
    (card,) = taken(PLAN, LOG, BEFORE, AFTER, AFTER)
    assert card.grown == 16_320 * MIB
    assert card.buffers == 15_900 * MIB
    assert card.besides == 420 * MIB
    on_card = [p for p in PLAN.memory.devices[0].parts if p.kind != "others"]
    planned = sum(part.bytes.value or 0 for part in on_card)
    assert card.error == pytest.approx(planned / (16_320 * MIB) - 1)
    (said,) = sentences((card,), UnitSystem.GIB)
    assert "15.9 GiB more in use" in said.message
    assert "15.5 GiB of buffers in the log + 420 MiB besides" in said.message
    assert "The plan has" in said.message


def test_b06_a_program_that_changes_the_memory_meanwhile_is_told() -> None:
    (card,) = taken(PLAN, LOG, BEFORE, AFTER, ((CARD, 18_905 * MIB),))
    assert card.disturbed
    assert card.error is None
    (said,) = sentences((card,), UnitSystem.GIB)
    assert "1,000 MiB more without the server: another program" in said.message
    assert "The plan has" not in said.message


def test_a_card_that_did_not_grow_or_that_nobody_planned_for_says_only_what_is_known() -> None:
    other = ("NVIDIA T4", 300 * MIB)
    both = taken(PLAN, LOG, (*BEFORE, other), (*AFTER, other), ())
    assert [card.device for card in both] == [CARD]
    assert taken(PLAN, LOG, BEFORE, (other,), ()) == ()
    (stranger,) = taken(PLAN, LOG, (other,), (("NVIDIA T4", 900 * MIB),), ())
    assert stranger == Taken("NVIDIA T4", 300 * MIB, 900 * MIB, None, None)
    assert stranger.error is None


def test_without_a_log_of_sizes_the_growth_stands_alone() -> None:
    (card,) = taken(PLAN, "nothing", BEFORE, AFTER, AFTER)
    assert card.buffers is None
    assert card.besides is None
    assert card.error is not None
