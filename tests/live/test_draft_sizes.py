"""What a real llama-server reserves for a draft model is what the plan says of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from core.gguf import open_file
from core.machine import custom
from core.model import model_from
from core.plan import resolve
from core.plan.choice import Choice
from core.plan.plan import PartKind
from tests.support.llama_server import engine_log
from tests.support.tiny_gguf import write_tiny_llama

pytestmark = pytest.mark.live

MIB = 2**20
_SIZES = {
    "weights": re.compile(r"model buffer size = +([0-9.]+) MiB"),
    "cache": re.compile(r"KV buffer size = +([0-9.]+) MiB"),
    "work buffer": re.compile(r"compute buffer size = +([0-9.]+) MiB"),
}


@pytest.mark.parametrize("slots", [1, 2, 4])
@pytest.mark.parametrize("kind", ["f16", "q8_0"])
def test_a_draft_model_s_parts_are_those_of_the_server_s_second_load(
    tmp_path: Path, slots: int, kind: str
) -> None:
    """M34."""
    model = write_tiny_llama(tmp_path / "model.gguf")
    draft = write_tiny_llama(tmp_path / "draft.gguf", layers=3, embedding=256)
    log = engine_log(
        model,
        n_ctx=4096,
        n_parallel=slots,
        fit_params=False,
        **{
            "speculative.draft.mparams.path": draft,
            "speculative.draft.cache_type_k": f"GGML_TYPE_{kind.upper()}",
            "speculative.draft.cache_type_v": f"GGML_TYPE_{kind.upper()}",
        },
    )
    _, _, second = log.partition("loading draft model")
    plan = resolve(
        model_from(open_file(model)),
        custom(64 * 2**30, gpu=False),
        Choice(
            context=4096,
            slots=slots,
            draft=model_from(open_file(draft)),
            draft_cache_k=kind,
            draft_cache_v=kind,
        ),
    )
    (part,) = (p.bytes for p in plan.memory.devices[0].parts if p.kind is PartKind.DRAFT)
    ours = {each.name: each.value for each in part.inputs}
    for name, pattern in _SIZES.items():
        found = pattern.search(second)
        assert found is not None, name
        size = ours[name]
        assert isinstance(size, int)
        assert size / MIB == pytest.approx(float(found.group(1)), abs=0.006), name
