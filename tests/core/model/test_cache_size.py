"""Cells, streams and layers: the arithmetic between groups and bytes."""

from __future__ import annotations

from time import perf_counter

import pytest

from core.model import model_from
from core.model.cache_size import (
    BLOCKS,
    CacheSettings,
    bytes_per_token,
    cache_read,
    cache_size,
    padded_context,
    row_bytes,
)
from core.model.model import CacheFacts, CacheGroup, StateGroup
from tests.support import memory

FULL = CacheGroup("full attention", (0, 2), 256, 128, v_width_padded=128)
WINDOW = CacheGroup("sliding window", (1,), 64, 64, v_width_padded=128, window=512)
STATE = StateGroup("Mamba", (3,), 100, 50, rollback=True)
FACTS = CacheFacts(True, (FULL, WINDOW), (STATE,), layers=4)


@pytest.mark.parametrize(
    ("context", "slots", "unified", "padded"),
    [
        (100, 1, False, (256, 256)),
        (10_000, 3, False, (10_752, 3584)),
        (4097, 4, False, (5120, 1280)),
        (10_000, 3, True, (10_240, 10_240)),
        (16, 4, False, (1024, 256)),
    ],
)
def test_a_context_is_padded_to_256_in_every_stream(
    context: int, slots: int, unified: bool, padded: tuple[int, int]
) -> None:
    """M41."""
    assert padded_context(context, slots, unified) == padded


@pytest.mark.parametrize(
    ("kind", "bytes_of_256"),
    [
        *(("f32", 1024), ("f16", 512), ("bf16", 512), ("q8_0", 272), ("q5_1", 192)),
        *(("q5_0", 176), ("q4_1", 160), ("q4_0", 144), ("iq4_nl", 144)),
    ],
)
def test_rows_take_the_bytes_of_their_block_format(kind: str, bytes_of_256: int) -> None:
    assert row_bytes(kind, 256) == bytes_of_256


def test_every_cache_type_of_the_command_line_has_a_block_format() -> None:
    assert set(BLOCKS) - {"fp8"} == set("f32 f16 bf16 q8_0 q5_1 q5_0 q4_1 q4_0 iq4_nl".split())  # noqa: SIM905


def test_windows_hold_the_window_and_one_batch_and_never_more_than_the_context() -> None:
    def cells(**options: object) -> int:
        return cache_size(FACTS, CacheSettings(**options)).groups[1].cells  # type: ignore[arg-type]

    assert cells(context=32_768) == 1024
    assert cells(context=32_768, ubatch=2048) == 2560
    assert cells(context=32_768, ubatch=2048, batch=1000) == 1536  # a batch holds an ubatch
    assert cells(context=512) == 512
    assert cells(context=32_768, slots=4, unified=True) == 4 * 512 + 512
    assert cells(context=32_768, slots=4) == 1024
    assert cells(context=32_768, swa_full=True) == 32_768


def test_every_layer_has_its_own_bytes() -> None:
    size = cache_size(FACTS, CacheSettings(4096))
    full, windowed = 4096 * (256 + 128) * 2, 1024 * (64 + 64) * 2
    assert size.cache_by_layer == (full, windowed, full, 0)
    assert size.state_by_layer == (0, 0, 0, 4 * 150)
    assert size.cache_bytes == size.k_bytes + size.v_bytes == 2 * full + windowed


def test_without_flash_attention_v_is_padded_to_the_widest_layer() -> None:
    on = cache_size(FACTS, CacheSettings(4096))
    off = cache_size(FACTS, CacheSettings(4096, flash_attention=False))
    assert off.k_bytes == on.k_bytes
    assert off.v_bytes - on.v_bytes == 1024 * (128 - 64) * 2


def test_a_state_is_kept_for_every_slot_and_every_drafted_token() -> None:
    assert cache_size(FACTS, CacheSettings(4096, slots=3)).state_bytes == 3 * 600
    assert cache_size(FACTS, CacheSettings(4096, slots=3, drafted=2)).state_bytes == 9 * 600


def test_reading_stops_at_the_window() -> None:
    full, windowed = 2 * (256 + 128) * 2, (64 + 64) * 2
    assert cache_read(FACTS, 0) == 0
    assert cache_read(FACTS, 100) == 100 * (full + windowed)
    assert cache_read(FACTS, 10_000) == 10_000 * full + 512 * windowed
    assert bytes_per_token(FACTS) == full + windowed


def test_one_step_of_a_slider_costs_well_under_a_tenth_of_a_millisecond() -> None:
    facts = model_from(memory.model("qwen3.5-35b-a3b").file).cache
    settings = CacheSettings(32_768, 4, True)
    times = []
    for _ in range(200):
        start = perf_counter()
        cache_size(facts, settings)
        cache_read(facts, 5000)
        times.append(perf_counter() - start)
    assert min(times) < 100e-6


def test_the_facts_of_753_tensors_take_a_few_milliseconds() -> None:
    file = memory.model("qwen3.5-35b-a3b").file
    times = []
    for _ in range(10):
        start = perf_counter()
        model_from(file)
        times.append(perf_counter() - start)
    assert min(times) < 0.010
