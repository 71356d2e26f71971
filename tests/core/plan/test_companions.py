"""What is loaded beside a model: projectors, draft models and the file's own draft blocks.

The right figures are those of the field reports named in each test, and of llama.cpp b11434.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.gguf import open_file
from core.gguf.header import Kind
from core.machine import Machine, combine, custom, with_margin
from core.machine.machine import Backend
from core.model import model_from
from core.model.model import Model
from core.plan import margin_of, reason, resolve
from core.plan.choice import Choice, Engine
from core.plan.plan import PartKind, Plan, Verdict
from core.problems import Severity
from core.provenance import Number, Rank
from resources import specimens
from tests.support import memory

MIB, GIB = 2**20, 2**30
CARD = combine(custom(24 * GIB, 936e9, backend=Backend.CUDA), custom(64 * GIB, 51.2e9, gpu=False))
RAM = custom(4096 * GIB, gpu=False)
PROJECTOR_BYTES = 884 * MIB
QWEN3_06B = {
    "general.architecture": "qwen3",
    "qwen3.block_count": 28,
    "qwen3.context_length": 40_960,
    "qwen3.embedding_length": 1024,
    "qwen3.feed_forward_length": 3072,
    "qwen3.attention.head_count": 16,
    "qwen3.attention.head_count_kv": 8,
    "qwen3.attention.key_length": 128,
    "qwen3.attention.value_length": 128,
}


def specimen(word: str) -> Model:
    return model_from(open_file(next(p for p in specimens() if word in p.name)))


QWEN = specimen("Qwen3.6-27B")


def projector(width: int | None = 5120, size: int = PROJECTOR_BYTES, **keys: Any) -> Model:
    """An mmproj file that weighs so many bytes and gives rows so wide."""
    said = {} if width is None else {"clip.vision.projection_dim": width}
    tensors = [("v.blk.0.ffn_up.weight", (1024, size // 2048), "F16")]
    metadata = {"general.architecture": "clip", **said, **keys}
    return model_from(memory.file_of(metadata, tensors, Kind.PROJECTOR))


def draft_model(vocabulary: int = 151_936, **keys: Any) -> Model:
    """Qwen3-0.6B at Q8_0, tensor by tensor: 28 layers of 8 heads x 128, tied."""
    shapes = {
        "attn_q": (1024, 2048),
        "attn_k": (1024, 1024),
        "attn_v": (1024, 1024),
        "attn_output": (2048, 1024),
        "ffn_gate": (1024, 3072),
        "ffn_up": (1024, 3072),
        "ffn_down": (3072, 1024),
    }
    tensors: list[tuple[str, tuple[int, ...], str]] = [
        ("token_embd.weight", (1024, vocabulary), "Q8_0"),
        ("output_norm.weight", (1024,), "F32"),
    ]
    for n in range(28):
        tensors += [(f"blk.{n}.{name}.weight", shape, "Q8_0") for name, shape in shapes.items()]
        tensors += [
            (f"blk.{n}.{name}_norm.weight", (size,), "F32")
            for name, size in (("attn", 1024), ("ffn", 1024), ("attn_q", 128), ("attn_k", 128))
        ]
    return model_from(memory.file_of({**QWEN3_06B, **keys}, tensors))


def plan_of(model: Model, machine: Machine = CARD, **options: Any) -> Plan:
    return resolve(model, machine, Choice(**options))


def part(plan: Plan, kind: PartKind, device: int) -> Number[int] | None:
    found = [p.bytes for p in plan.memory.devices[device].parts if p.kind is kind]
    return found[0] if found else None


def inputs(number: Number[int] | None) -> dict[str, Any]:
    return {each.name: each.value for each in number.inputs} if number else {}


# Projectors.


def test_a_projector_opened_alone_is_said_to_come_on_top_of_a_model() -> None:
    """P05: it is not a model whose graph nobody knows."""
    plan = resolve(projector(), CARD, Choice())
    card = plan.memory.devices[0]
    (unknown,) = (part.bytes for part in card.parts if not part.bytes.known)
    assert unknown.note == (
        "This file writes nothing by itself; its memory is added to that of a model."
    )
    assert plan.speed.ceiling.note == "No tensor of this file is read to write a token."


def test_a_projector_takes_more_than_its_file_on_the_card_before_the_first_picture() -> None:
    """M33: 884 MiB became 1158 MiB, which a fit without it did not leave."""
    plan = plan_of(QWEN, projector=projector())
    taken = part(plan, PartKind.PROJECTOR, 0)
    assert taken is not None and taken.value == 1158 * MIB
    assert inputs(taken)["weights"] == PROJECTOR_BYTES
    assert taken.source.rank is Rank.ESTIMATED
    without = plan_of(QWEN).memory.devices[0].total.value
    assert plan.memory.devices[0].total.value == (without or 0) + 1158 * MIB
    assert part(plan, PartKind.PROJECTOR, 1) is None


def test_a_projector_can_stay_in_ram() -> None:
    """M33: --no-mmproj-offload."""
    plan = plan_of(QWEN, projector=projector(), projector_on_gpu=False)
    assert part(plan, PartKind.PROJECTOR, 0) is None
    in_ram = part(plan, PartKind.PROJECTOR, 1)
    assert in_ram is not None and in_ram.value == 1158 * MIB
    assert plan.settings.projector_on_gpu is False


def test_a_projector_lies_on_the_card_though_no_layer_does() -> None:
    # llama-server gives a projector to the GPU whatever -ngl says.
    plan = plan_of(QWEN, projector=projector(), gpu_layers=0)
    assert part(plan, PartKind.PROJECTOR, 0) is not None
    assert part(plan, PartKind.OVERHEAD, 0) is not None


def test_a_projector_decides_whether_it_fits() -> None:
    """M33: the fit succeeds and the first image ends the server."""
    plan = plan_of(QWEN, projector=None, gpu_layers="all", context=4096)
    assert plan.verdict in (Verdict.FITS, Verdict.TIGHT)
    room = plan.memory.devices[0].free.value or 0
    small = custom(24 * GIB - room + 500 * MIB, 936e9, backend=Backend.CUDA)
    machine = combine(small, custom(64 * GIB, gpu=False))
    assert plan_of(QWEN, machine, context=4096).verdict is Verdict.TIGHT
    over = plan_of(QWEN, machine, context=4096, projector=projector())
    assert over.verdict is Verdict.DOES_NOT_FIT
    assert "too much" in reason(over)


def test_a_projector_of_another_model_gets_a_sentence() -> None:
    plan = plan_of(QWEN, projector=projector(4096))
    (problem,) = [p for p in plan.problems if p.code == "projector"]
    assert problem.severity is Severity.ERROR
    assert "4,096" in problem.message and "5,120" in problem.message


def test_a_projector_that_does_not_say_its_width_is_taken_at_its_word() -> None:
    assert not [
        p for p in plan_of(QWEN, projector=projector(None)).problems if p.code == "projector"
    ]


def test_a_model_is_no_projector() -> None:
    plan = plan_of(QWEN, projector=draft_model())
    (problem,) = [p for p in plan.problems if p.code == "projector"]
    assert "is no projector: it holds a model" in problem.message
    assert part(plan, PartKind.PROJECTOR, 0) is None  # what would not be loaded is not counted


# A draft model.


def test_a_draft_model_costs_its_weights_a_cache_as_long_as_the_model_s_and_a_buffer() -> None:
    """M34: Qwen3-0.6B at Q8_0 beside a larger one at 32,768 tokens: 0.6 GiB and 3.5 GiB."""
    plan = plan_of(QWEN, context=32_768, slots=1, draft=draft_model())
    drafted = inputs(part(plan, PartKind.DRAFT, 0))
    assert drafted["cache"] == 28 * 8 * 128 * 2 * 2 * 32_768 == 3.5 * GIB
    # All but the token embedding, which is tied and so lies on the card as the output matrix.
    assert drafted["weights"] == pytest.approx(0.6 * GIB, rel=0.02)
    assert drafted["work buffer"] > 0
    assert drafted["K type"] == drafted["V type"] == "f16"


def test_the_draft_s_cache_types_are_its_own() -> None:
    """M34: the KV type of the draft is a separate control."""
    first = plan_of(
        QWEN, context=32_768, slots=1, draft=draft_model(), cache_k="q8_0", cache_v="q8_0"
    )
    assert inputs(part(first, PartKind.DRAFT, 0))["cache"] == 3.5 * GIB
    second = plan_of(
        QWEN,
        context=32_768,
        slots=1,
        draft=draft_model(),
        draft_cache_k="q8_0",
        draft_cache_v="q8_0",
    )
    assert inputs(part(second, PartKind.DRAFT, 0))["cache"] == 3.5 * GIB * 34 // 64
    assert second.memory.cache == plan_of(QWEN, context=32_768, slots=1).memory.cache


@given(
    context=st.integers(1, 131_072),
    slots=st.none() | st.integers(1, 4),
    layers=st.integers(0, 29) | st.just("all"),
    kind=st.sampled_from(["f16", "q8_0", "q4_0"]),
)
@settings(max_examples=60, deadline=None)
def test_a_draft_weighs_what_it_weighs_alone(
    context: int, slots: int | None, layers: int | str, kind: str
) -> None:
    """A draft is planned as any model is: the parts of a plan of its own, added up."""
    plan = plan_of(
        QWEN,
        context=context,
        slots=slots,
        draft=DRAFT,
        draft_gpu_layers=layers,
        draft_cache_k=kind,
        draft_cache_v=kind,
    )
    alone = plan_of(
        DRAFT,
        context=context,
        slots=plan.settings.slots,
        unified_cache=plan.settings.unified_cache,
        ubatch=plan.settings.ubatch,
        batch=plan.settings.batch,
        gpu_layers=layers,
        cache_k=kind,
        cache_v=kind,
    )
    beside = (PartKind.OTHERS, PartKind.OVERHEAD)  # the process has them once
    for number, device in enumerate(alone.memory.devices):
        parts = [p.bytes.value or 0 for p in device.parts if p.kind not in beside]
        found = part(plan, PartKind.DRAFT, number)
        assert (found.value if found else 0) == sum(parts)


DRAFT = draft_model()


def test_the_parts_add_up_with_a_projector_and_a_draft() -> None:
    """M48: what is shown adds up to the total that is shown."""
    plan = plan_of(QWEN, projector=projector(), draft=DRAFT)
    for device in plan.memory.devices:
        assert device.total.value == sum(p.bytes.value or 0 for p in device.parts)
        assert len({p.kind for p in device.parts}) == len(device.parts)


@pytest.mark.parametrize(
    ("keys", "vocabulary", "words"),
    [
        ({}, 128_256, "it knows 128,256 tokens"),
        ({"tokenizer.ggml.model": "llama"}, 248_320, "its tokenizer is llama"),
        ({"tokenizer.ggml.eos_token_id": 7}, 248_320, "it ends a text with token 7"),
    ],
)
def test_a_draft_with_other_tokens_gets_a_sentence(
    keys: dict[str, Any], vocabulary: int, words: str
) -> None:
    # llama.cpp refuses a draft of another tokenizer, other ends, or more than 128 tokens apart.
    metadata: dict[str, Any] = {"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.eos_token_id": 2}
    target = replace(
        QWEN,
        file=replace(
            QWEN.file, header=replace(QWEN.file.header, metadata={**metadata, **NO_TOKENS})
        ),
    )
    draft = draft_model(vocabulary, **{**metadata, **keys})
    problems = plan_of(target, draft=draft).problems
    (problem,) = [p for p in problems if p.code == "draft-vocabulary"]
    assert words in problem.message and problem.severity is Severity.ERROR


NO_TOKENS = {
    key: value
    for key, value in QWEN.file.header.metadata.items()
    if not key.startswith("tokenizer.ggml.")
}


def test_a_draft_with_nearly_as_many_tokens_is_taken() -> None:
    vocabulary = (QWEN.shape.vocabulary or 0) - 128
    problems = plan_of(QWEN, draft=draft_model(vocabulary)).problems
    assert not [p for p in problems if p.code.startswith("draft")]


def test_a_projector_drafts_nothing() -> None:
    plan = plan_of(QWEN, draft=projector())
    assert "drafts nothing: it holds a projector" in plan.problems[-1].message + " ".join(
        p.message for p in plan.problems
    )
    assert part(plan, PartKind.DRAFT, 0) is None


def test_what_the_engine_refuses_about_the_draft_is_said_of_the_draft() -> None:
    plan = plan_of(QWEN, draft=DRAFT, draft_cache_k="q8_0", engine=Engine.VLLM)
    assert any(p.code == "draft" and p.message.startswith("Draft model: ") for p in plan.problems)


# The file's own draft blocks.

# llama.cpp b11434, a context of its own for the draft blocks: label, context, slots, cache type,
# bytes of cache, compute buffer and output buffer in RAM.
HEADS = [
    ("glm-4.5-air", 4096, 1, "f16", 16_777_216, 157_298_720, 606_208),
    ("glm-4.5-air", 32_768, 4, "f16", 134_217_728, 153_890_848, 2_424_832),
    ("glm-5", 4096, 1, "f16", 4_718_592, 230_694_944, 619_520),
    ("glm-5", 32_768, 1, "q8_0", 20_054_016, 247_472_160, 619_520),
    ("qwen3.5-35b-a3b", 4096, 1, "f16", 8_388_608, 68_175_904, 993_280),
    ("qwen3.5-35b-a3b", 32_768, 4, "f16", 67_108_864, 71_321_632, 3_973_120),
    ("qwen3.5-35b-a3b", 32_768, 1, "q8_0", 35_651_584, 75_794_464, 993_280),
]


@pytest.mark.parametrize(("label", "context", "slots", "kind", "cache", "compute", "output"), HEADS)
def test_draft_blocks_reserve_what_llama_cpp_reserves_for_them(
    label: str, context: int, slots: int, kind: str, cache: int, compute: int, output: int
) -> None:
    plan = plan_of(
        model_from(memory.model(label).file),
        RAM,
        context=context,
        slots=slots,
        draft_head=True,
        draft_cache_k=kind,
        draft_cache_v=kind,
    )
    found = inputs(part(plan, PartKind.DRAFT, 0))
    assert (found["cache"], found["work buffer"], found["output buffer"]) == (
        cache,
        compute,
        output,
    )


@pytest.mark.parametrize(
    ("label", "context", "slots", "compute"),
    [
        ("glm-4.5-air", 4096, 1, 182_470_688),
        ("glm-4.5-air", 32_768, 4, 186_665_024),
        ("glm-5", 32_768, 1, 700_532_768),
        ("qwen3.5-35b-a3b", 4096, 1, 83_910_720),
        ("qwen3.5-35b-a3b", 32_768, 4, 88_105_056),
    ],
)
def test_a_model_that_verifies_three_drafted_tokens_gives_four_rows_of_logits(
    label: str, context: int, slots: int, compute: int
) -> None:
    # llama.cpp b11434, the main context with n_outputs_max of four rows a slot.
    model = model_from(memory.model(label).file)
    plan = plan_of(model, RAM, context=context, slots=slots, draft_head=True)
    assert plan.settings.drafted == 3
    assert plan.memory.compute.value == compute


def with_head() -> Model:
    """Qwen3.6-27B with a draft block: its last layer of attention once more, and what joins."""
    file = memory.model("qwen3.6-27b").file
    rows = [(t.name, t.shape, t.type_name) for t in file.tensors]
    rows += [
        (name.replace("blk.63.", "blk.64."), shape, kind)
        for name, shape, kind in rows
        if name.startswith("blk.63.")
    ]
    rows.append(("blk.64.nextn.eh_proj.weight", (10_240, 5120), "Q8_0"))
    rows += [(f"blk.64.nextn.{name}.weight", (5120,), "F32") for name in ("enorm", "hnorm")]
    keys = {"qwen35.block_count": 65, "qwen35.nextn_predict_layers": 1}
    return model_from(memory.file_of({**file.header.metadata, **keys}, rows))


def test_draft_blocks_are_loaded_only_where_they_draft() -> None:
    """M19: 21,155,768,832 of 21,702,472,192 bytes are loaded without (b11434)."""
    model = model_from(memory.model("qwen3.5-35b-a3b").file)
    off, on = (plan_of(model, RAM, draft_head=head) for head in (False, True))
    weights = part(off, PartKind.WEIGHTS, 0)
    assert weights is not None and weights.value == 21_155_768_832
    assert part(off, PartKind.DRAFT, 0) is None
    assert inputs(part(on, PartKind.DRAFT, 0))["weights"] == 21_702_472_192 - 21_155_768_832
    assert part(on, PartKind.WEIGHTS, 0) == weights


@pytest.mark.parametrize("options", [{}, {"slots": 1}, {"slots": 4, "unified_cache": True}])
def test_a_draft_block_costs_one_more_layer_of_cache_whatever_the_slots(
    options: dict[str, Any],
) -> None:
    """M19, M20: 544 MiB at 262,144 tokens and q8_0, not four times as much; and a work buffer."""
    model = with_head()
    assert (model.shape.layers, model.shape.draft_layers) == (64, 1)
    kinds = dict.fromkeys(("cache_k", "cache_v", "draft_cache_k", "draft_cache_v"), "q8_0")
    plan = plan_of(model, RAM, context=262_144, draft_head=True, **kinds, **options)
    found = inputs(part(plan, PartKind.DRAFT, 0))
    assert found["cache"] == 544 * MIB
    assert 0.05 * GIB < found["work buffer"] < 0.6 * GIB
    assert plan.memory.cache.value == 8.5 * GIB


def test_older_builds_that_take_more_for_shared_slots_are_named() -> None:
    """M20."""
    model = with_head()
    notes = [p for p in plan_of(model, RAM, draft_head=True).problems if p.code == "draft-head"]
    assert "4 times" in notes[0].message
    one = plan_of(model, RAM, draft_head=True, slots=1).problems
    assert not [p for p in one if p.code == "draft-head"]


def test_states_are_kept_once_more_for_every_drafted_token() -> None:
    # llama.cpp b11434: n_rs_seq 3 makes the state of qwen3.6-27b four times as large.
    model = with_head()
    one = plan_of(model, RAM, slots=1).memory.state.value
    assert one == 156_893_184
    assert plan_of(model, RAM, slots=1, draft_head=True).memory.state.value == 4 * one
    assert plan_of(model, RAM, slots=1, draft_head=True, drafted=1).memory.state.value == 2 * one


def test_a_file_without_draft_blocks_has_none_to_use() -> None:
    plan = plan_of(QWEN if not QWEN.shape.draft_layers else DRAFT, draft_head=True)
    assert plan.settings.draft_head is False
    assert plan.settings.drafted == 0
    assert part(plan, PartKind.DRAFT, 0) is None


def test_a_draft_model_goes_before_the_file_s_own_blocks() -> None:
    model = with_head()
    both = plan_of(model, RAM, draft_head=True, draft=draft_model(model.shape.vocabulary or 0))
    assert (both.settings.draft_head, both.settings.draft is not None) == (False, True)


# What shall stay free.


@pytest.mark.parametrize(
    ("backend", "usual", "who"),
    [
        (Backend.CUDA, 1024 * MIB, "--fit-target"),
        (Backend.ROCM, 1024 * MIB, "--fit-target"),
        (Backend.VULKAN, 2048 * MIB, "#2133"),
    ],
)
def test_the_margin_is_by_backend_with_its_source_and_its_user_can_set_another(
    backend: Backend, usual: int, who: str
) -> None:
    """M45: 0, 512, 1024 and 2048 MiB on a 32 GB card with 1.8 GiB to spare."""
    card = custom(32 * GIB, 936e9, backend=backend)
    assert margin_of(card.devices[0]).value == usual
    assert who in margin_of(card.devices[0]).source.origin
    needed = plan_of(QWEN, card).memory.devices[0].total.value or 0
    snug = combine(custom(needed + 1800 * MIB, 936e9, backend=backend), RAM)
    verdicts = {
        size: plan_of(QWEN, with_margin(snug, size)).verdict
        for size in (0, 512 * MIB, 1024 * MIB, 2048 * MIB, None)
    }
    assert verdicts[0] is verdicts[512 * MIB] is verdicts[1024 * MIB] is Verdict.FITS
    assert verdicts[2048 * MIB] is Verdict.TIGHT
    assert verdicts[None] is (Verdict.TIGHT if usual > 1800 * MIB else Verdict.FITS)
    free = plan_of(QWEN, with_margin(snug, 0)).memory.devices[0].free
    assert "your own setting" in free.note


@pytest.mark.parametrize("engine", [Engine.IK_LLAMA, Engine.VLLM])
def test_what_other_loaders_take_is_not_claimed_to_be_known(engine: Engine) -> None:
    """M04: where an engine's own figures are not known, the plan says whose they are."""
    codes = [p.code for p in plan_of(QWEN, engine=engine, projector=projector()).problems]
    assert "beside" in codes
    assert "beside" not in [p.code for p in plan_of(QWEN, engine=engine).problems]


def test_a_specimen_has_no_tokenizer_to_be_another_one() -> None:
    assert QWEN.file.header.metadata["tokenizer.ggml.model"] == "none"
    draft = draft_model(QWEN.shape.vocabulary or 0, **{"tokenizer.ggml.model": "gpt2"})
    assert [p for p in plan_of(QWEN, draft=draft).problems if p.code == "draft-vocabulary"] == []
