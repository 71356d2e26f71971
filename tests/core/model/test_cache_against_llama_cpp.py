"""Cache and state to the byte, against what llama.cpp itself reserves."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.gguf import open_file
from core.model import model_from
from core.model.model import CacheFacts
from tests.support import memory
from tests.support.heads import heads
from tests.support.memory import Row


def wrong_rows(facts: CacheFacts, rows: tuple[Row, ...]) -> list[str]:
    """Rows that differ in any byte, in words."""
    assert facts.known, facts.problem
    wrong = []
    for row in rows:
        size = row.size(facts)
        ours = (size.context, size.cache_bytes + size.state_bytes)
        parts = (size.k_bytes, size.v_bytes, size.state_bytes)
        if ours != (row.context, row.bytes) or (row.parts and row.parts != parts):
            wrong.append(f"{row}: {ours}, {parts}")
        assert sum(size.cache_by_layer) == size.cache_bytes
        assert sum(size.state_by_layer) == size.state_bytes
    return wrong


@pytest.mark.parametrize("label", memory.labels())
def test_every_row_of_a_model_of_real_shapes_is_exact(label: str) -> None:
    recorded = memory.model(label)
    model = model_from(recorded.file)
    assert not wrong_rows(model.cache, recorded.rows)
    assert model.weights.parameters == recorded.parameters
    assert model.weights.bytes == recorded.weights_bytes


@pytest.mark.parametrize("name", memory.heads())
def test_every_row_of_an_architecture_is_exact(name: str, tmp_path: Path) -> None:
    head = heads()[name]
    model = model_from(open_file(head.write(tmp_path / f"{name}.gguf")))
    assert not wrong_rows(model.cache, memory.head_rows(name))
    assert model.weights.parameters == head.parameters
    assert model.weights.bytes == head.weights_bytes


@pytest.mark.parametrize("architecture", memory.variants())
def test_other_layers_windows_heads_and_missing_keys_are_exact(architecture: str) -> None:
    wrong = {}
    for variant in memory.variants()[architecture]:
        rows = wrong_rows(model_from(variant.file).cache, variant.rows)
        if rows:
            wrong[variant.name] = rows[:2]
    assert not wrong


def test_no_row_was_lost_on_the_way() -> None:
    assert sum(len(memory.model(label).rows) for label in memory.labels()) == 2586
    assert sum(len(memory.head_rows(name)) for name in memory.heads()) == 872
    assert sum(len(v.rows) for group in memory.variants().values() for v in group) == 9067
