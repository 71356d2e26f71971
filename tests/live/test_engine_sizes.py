"""The sizes that a real llama.cpp prints while it loads a model equal the plan's.

Models are headers with holes for weights (``heads.py``), and one with real random weights. What is
equal is so within the two decimals of a MiB that the log has.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from core.check.compare import Check, compare, summary
from core.check.engine_log import read, up_to_enough
from core.check.values import Agreement
from core.gguf import open_file
from core.machine import custom
from core.model import model_from
from core.plan import resolve
from core.plan.choice import Choice, FlashAttention
from tests.support.heads import heads
from tests.support.llama_server import engine_log
from tests.support.tiny_gguf import write_tiny_llama

pytestmark = pytest.mark.live

HOST = custom(64 * 2**30, 50e9, gpu=False)
_FLASH = {
    FlashAttention.ON: "LLAMA_FLASH_ATTN_TYPE_ENABLED",
    FlashAttention.OFF: "LLAMA_FLASH_ATTN_TYPE_DISABLED",
}

# One dense model, one of windows, one hybrid with a recurrent state, one of experts with windows.
MODELS = ("llama-dense", "gemma3-dense", "qwen35-dense", "gpt-oss-moe")
OPTIONS: tuple[dict[str, Any], ...] = (
    {"context": 4097, "slots": 1},
    {"context": 100, "slots": 1},
    {"context": 10_000, "slots": 3},
    {"context": 8192, "slots": 4, "unified_cache": True},
    {"context": 8192, "slots": 2, "unified_cache": True, "swa_full": True},
    {"context": 4096, "slots": 1, "flash_attention": FlashAttention.OFF},
    {
        "context": 4096,
        "slots": 1,
        "cache_k": "q8_0",
        "cache_v": "q8_0",
        "flash_attention": FlashAttention.ON,
    },
    {"context": 4096, "slots": 2, "cache_k": "q4_0"},
    {"context": 4096, "slots": 1, "ubatch": 128},
    {"context": 4096, "slots": 1, "ubatch": 2048},
)


def names(options: dict[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in options.items())


def engine_options(options: dict[str, Any]) -> dict[str, object]:
    """A choice in the names of llama.cpp's own parameters."""
    choice = Choice(**options)
    given: dict[str, object] = {
        "n_ctx": choice.context,
        "n_parallel": choice.slots,
        "kv_unified": bool(choice.unified_cache),
        "swa_full": choice.swa_full,
        "cache_type_k": f"GGML_TYPE_{choice.cache_k.upper()}",
        "cache_type_v": f"GGML_TYPE_{choice.cache_v.upper()}",
    }
    if choice.ubatch is not None:
        given["n_ubatch"] = choice.ubatch
    if choice.flash_attention in _FLASH:
        given["flash_attn_type"] = _FLASH[choice.flash_attention]
    return given


def parts(check: Check, agreement: Agreement) -> set[str]:
    return {row.part for row in check.rows if row.agreement is agreement}


@pytest.mark.parametrize("options", OPTIONS, ids=names)
@pytest.mark.parametrize("name", MODELS)
def test_what_the_engine_allocates_is_what_the_plan_says(
    tmp_path: Path, name: str, options: dict[str, Any]
) -> None:
    path = heads()[name].write(tmp_path / f"{name}.gguf")
    plan = resolve(model_from(open_file(path)), HOST, Choice(**options))
    text = engine_log(path, **engine_options(options))
    wanted = {"weights", "cache", "compute", "output"} | ({"state"} if "qwen35" in name else set())
    real = compare(plan, read(text))
    assert (real.mismatches, real.dry) == ((), False)
    assert parts(real, Agreement.EQUAL) == wanted, summary(real)
    # Its look before loading, which is all that a dry run waits for, says the same.
    dry = compare(plan, read(up_to_enough(text)))
    assert (dry.mismatches, dry.dry) == ((), True)
    assert parts(dry, Agreement.EQUAL) == wanted, summary(dry)


# Work buffers of two heads whose dimensions are as small as no model's are off by a few rows, and
# one architecture's graph is not known.
NOT_TO_THE_BYTE = {"glm5-next-moe", "minimax-01-moe", "plamo2-dense"}


@pytest.mark.parametrize("name", sorted(heads()))
def test_every_part_of_every_architecture_is_the_engine_s(tmp_path: Path, name: str) -> None:
    path = heads()[name].write(tmp_path / f"{name}.gguf")
    plan = resolve(model_from(open_file(path)), HOST, Choice(context=2048, slots=2))
    options = {"n_ctx": 2048, "n_parallel": 2, "fit_params": False}
    check = compare(plan, read(engine_log(path, **options)))
    assert check.mismatches == ()
    exact = {row.part: row for row in check.rows}
    assert {"weights", "output", "compute"} <= set(exact)
    if name in NOT_TO_THE_BYTE:
        exact.pop("compute")
    off = [part for part, row in exact.items() if row.agreement is Agreement.DIFFERS]
    assert off == [], summary(check)


def test_real_weights_change_nothing(tmp_path: Path) -> None:
    path = write_tiny_llama(tmp_path / "tiny.gguf")
    plan = resolve(model_from(open_file(path)), HOST, Choice(context=4096))
    check = compare(plan, read(engine_log(path, n_ctx=4096, n_parallel=4, kv_unified=True)))
    assert check.mismatches == ()
    assert parts(check, Agreement.EQUAL) == {"weights", "cache", "compute", "output"}
