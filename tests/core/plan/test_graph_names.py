"""What graphs know by an architecture's name: a name with a slip in it would never be met."""

from __future__ import annotations

from types import ModuleType

import pytest

from core.model.architectures import KNOWN
from core.plan.buffers import blocks, compose


@pytest.mark.parametrize("module", [blocks, compose], ids=["blocks", "compose"])
def test_graphs_name_only_architectures_that_the_engine_loads(module: ModuleType) -> None:
    own = [value for name, value in vars(module).items() if not name.startswith("__")]
    named = {name for group in own if isinstance(group, frozenset | dict) for name in group}
    assert len(named) > 10
    assert named <= KNOWN
