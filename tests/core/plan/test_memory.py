"""The memory budget: what lies where, what is free, and the verdict in words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from core.gguf import open_file
from core.machine import Backend, Device, Machine, catalogue, combine, custom
from core.machine.machine import unknown_bytes
from core.model import model_from
from core.model.model import Model
from core.plan import margin, reason, resolve
from core.plan.choice import CACHE_TYPES, Choice, Engine, FlashAttention
from core.plan.plan import DevicePlan, PartKind, Plan, Verdict
from core.provenance import Number, Rank, Source, Unit
from resources import specimens
from tests.support.memory import file_of

KIB, MIB, GIB = 2**10, 2**20, 2**30
DRIVER = Source(Rank.REPORTED, "driver")


def specimen(word: str) -> Model:
    return model_from(open_file(next(path for path in specimens() if word in path.stem)))


@pytest.fixture(scope="module")
def llama() -> Model:
    return specimen("Llama-3.1-8B")


def part(device: DevicePlan, kind: PartKind) -> int:
    """Bytes of one part; 0 where there is none."""
    return next((p.bytes.value or 0 for p in device.parts if p.kind is kind), 0)


def used(machine: Machine, size: int) -> Machine:
    """The machine while other programs hold so much of its first device."""
    first, *rest = machine.devices
    return replace(machine, devices=(replace(first, used=Number(size, Unit.BYTES, DRIVER)), *rest))


def with_host(gpu: Machine, ram: int) -> Machine:
    return combine(gpu, custom(ram, 51.2e9, gpu=False))


def plan_of(model: Model, machine: Machine, **options: Any) -> Plan:
    return resolve(model, machine, Choice(**options))


def test_the_cache_goes_with_its_layer_when_only_some_are_offloaded(llama: Model) -> None:
    """M23."""
    # 32 blocks and the output: 17 of 33 leave 16 blocks of the cache on the GPU.
    machine = with_host(custom(24 * GIB), 64 * GIB)
    gpu, host = plan_of(llama, machine, context=32_768, gpu_layers=17).memory.devices
    assert part(gpu, PartKind.CACHE) == 2 * GIB
    assert part(host, PartKind.CACHE) == 2 * GIB


def test_experts_in_ram_leave_the_whole_cache_on_the_gpu() -> None:
    """M23."""
    moe = specimen("Qwen3-30B-A3B")
    machine = with_host(custom(24 * GIB), 64 * GIB)
    whole = plan_of(moe, machine, context=32_768).memory
    split = plan_of(moe, machine, context=32_768, cpu_moe=48).memory
    assert part(split.devices[0], PartKind.CACHE) == whole.cache.value == split.cache.value
    experts = sum(
        size
        for tensor, size in zip(moe.file.tensors, moe.weights.tensor_bytes, strict=True)
        if "_exps." in tensor.name
    )
    moved = part(split.devices[1], PartKind.WEIGHTS) - part(whole.devices[1], PartKind.WEIGHTS)
    assert moved == experts


def test_the_token_embedding_stays_in_ram_and_a_tied_one_is_on_the_gpu_as_well() -> None:
    for word in ("Llama-3.1-8B", "Llama-3.2-1B"):
        model = specimen(word)
        sizes = dict(zip(model.file.tensors, model.weights.tensor_bytes, strict=True))
        embedding = next(s for t, s in sizes.items() if t.name == "token_embd.weight")
        gpu, host = plan_of(model, custom(24 * GIB, backend=Backend.VULKAN)).memory.devices
        assert part(host, PartKind.WEIGHTS) == embedding
        twice = embedding if model.tied else 0
        assert part(gpu, PartKind.WEIGHTS) == model.weights.bytes - embedding + twice


def test_a_draft_block_that_nobody_uses_is_not_loaded() -> None:
    """M19."""
    # llama.cpp loads 21,155,768,832 of 21,702,472,192 bytes of this file.
    model = specimen("Qwen3.6-35B")
    (device,) = plan_of(model, custom(64 * GIB, gpu=False)).memory.devices
    assert model.weights.bytes == 21_702_472_192
    assert part(device, PartKind.WEIGHTS) == 21_155_768_832


def test_one_memory_holds_everything_once_on_a_mac_and_the_embedding_twice_elsewhere() -> None:
    model = specimen("Llama-3.2-1B")
    sizes = dict(zip(model.file.tensors, model.weights.tensor_bytes, strict=True))
    embedding = next(s for t, s in sizes.items() if t.name == "token_embd.weight")
    for backend, copies in ((Backend.METAL, 0), (Backend.VULKAN, 1), (Backend.CUDA, 1)):
        machine = custom(32 * GIB, 100e9, backend=backend, unified=True)
        plan = plan_of(model, machine)
        (device,) = plan.memory.devices
        weights = part(device, PartKind.WEIGHTS)
        # CUDA pads every tensor to 128 bytes.
        assert abs(weights - model.weights.bytes - copies * embedding) < 128 * 147
        assert part(device, PartKind.OUTPUT)
        assert plan.memory.total.value == device.total.value


def test_logits_are_kept_in_ram_for_one_row_per_slot_and_not_for_a_whole_batch() -> None:
    """M21."""
    # Qwen3 0.6B: no 297 MiB of logits on the card, 0.58 MiB in RAM for every sequence.
    keys = {
        "general.architecture": "qwen3",
        "qwen3.block_count": 28,
        "qwen3.embedding_length": 1024,
        "qwen3.feed_forward_length": 3072,
        "qwen3.attention.head_count": 16,
        "qwen3.attention.head_count_kv": 8,
        "qwen3.attention.key_length": 128,
        "qwen3.attention.value_length": 128,
        "qwen3.attention.layer_norm_rms_epsilon": 1e-6,
    }
    tensors = [
        ("token_embd.weight", (1024, 151_936), "Q8_0"),
        ("output_norm.weight", (1024,), "F32"),
    ]
    for n in range(28):
        tensors += [
            (f"blk.{n}.{name}.weight", shape, "Q8_0")
            for name, shape in {
                "attn_q": (1024, 2048),
                "attn_k": (1024, 1024),
                "attn_v": (1024, 1024),
                "attn_output": (2048, 1024),
                "ffn_gate": (1024, 3072),
                "ffn_up": (1024, 3072),
                "ffn_down": (3072, 1024),
            }.items()
        ]
        tensors += [
            (f"blk.{n}.{name}.weight", (1024,), "F32") for name in ("attn_norm", "ffn_norm")
        ]
        tensors += [(f"blk.{n}.attn_{w}_norm.weight", (128,), "F32") for w in "qk"]
    model = model_from(file_of(keys, tensors))
    card = custom(2 * GIB, backend=Backend.ROCM)
    gpu, host = plan_of(model, card, context=13_312, slots=1).memory.devices
    assert part(host, PartKind.OUTPUT) == pytest.approx(0.58 * MIB, abs=0.005 * MIB)
    assert part(gpu, PartKind.COMPUTE) < 100 * MIB
    batch = 512 * 151_936 * 4
    whole = plan_of(model, card, context=13_312, engine=Engine.LLAMA_CLI).memory.devices[0]
    assert part(whole, PartKind.COMPUTE) >= batch == 297 * MIB - 256 * KIB


@pytest.mark.parametrize(("ubatch", "scores"), [(128, 2 * GIB), (512, 8 * GIB), (2048, 32 * GIB)])
def test_without_flash_attention_the_scores_of_a_batch_grow_with_the_context(
    llama: Model, ubatch: int, scores: int
) -> None:
    """M24."""

    def compute(flash: FlashAttention) -> int:
        options = {"context": 131_072, "ubatch": ubatch, "flash_attention": flash}
        machine = custom(256 * GIB, gpu=False)
        (device,) = plan_of(llama, machine, **options).memory.devices
        return part(device, PartKind.COMPUTE)

    rows = ubatch * 256 * KIB  # what else a batch needs
    mask = 131_072 * ubatch
    assert scores < compute(FlashAttention.OFF) < scores + 4 * mask + rows
    assert 2 * mask < compute(FlashAttention.ON) < 2 * mask + rows


def test_without_flash_attention_128_heads_score_163840_tokens_in_40_gib() -> None:
    """M24."""
    machine = custom(2048 * GIB, gpu=False)
    (device,) = plan_of(
        specimen("DeepSeek-V3.1"), machine, context=163_840, flash_attention=FlashAttention.OFF
    ).memory.devices
    assert 40 * GIB < part(device, PartKind.COMPUTE) < 42 * GIB


@pytest.mark.parametrize("context", [131_072, 1_048_576])
def test_two_cards_keep_four_copies_of_the_mask_and_one_card_one(
    llama: Model, context: int
) -> None:
    """M26."""
    mask = context * 512 * 2
    one = custom(96 * GIB)
    alone = plan_of(llama, one, context=context).memory.devices[0]
    assert mask < part(alone, PartKind.COMPUTE) < mask + 128 * MIB
    for count in (2, 4):
        *cards, _ = plan_of(llama, combine(*[one] * count), context=context).memory.devices
        for card in cards:
            assert 4 * mask < part(card, PartKind.COMPUTE) < 4 * mask + 256 * MIB


def test_experts_in_ram_or_a_layer_in_ram_end_the_work_on_several_batches() -> None:
    moe = specimen("Qwen3-30B-A3B")
    pair = with_host(combine(custom(24 * GIB), custom(24 * GIB)), 64 * GIB)
    mask = 131_072 * 512 * 2
    for options in ({"cpu_moe": 1}, {"gpu_layers": 48}):
        for card in plan_of(moe, pair, context=131_072, **options).memory.devices[:2]:
            assert part(card, PartKind.COMPUTE) < 3 * mask


@pytest.mark.parametrize(
    ("id", "mib"),
    [
        ("nvidia-geforce-rtx-4060-ti-16-gb", 107),
        ("nvidia-geforce-rtx-3090", 330),
        ("nvidia-rtx-pro-6000-blackwell", 555),
    ],
)
def test_a_cuda_context_costs_what_was_measured_on_this_size_of_card(
    llama: Model, id: str, mib: int
) -> None:
    """M31."""
    gpu, host = plan_of(llama, catalogue.machine(id)).memory.devices
    (cost,) = [p.bytes for p in gpu.parts if p.kind is PartKind.OVERHEAD]
    assert cost.value == pytest.approx(mib * MIB, rel=0.02)
    assert cost.source.rank is Rank.ESTIMATED
    assert part(host, PartKind.OVERHEAD) == 0


def test_every_card_pays_for_a_context_of_its_own_and_an_idle_one_for_none(llama: Model) -> None:
    """M31."""
    pair = combine(custom(24 * GIB), custom(24 * GIB))
    costs = [part(d, PartKind.OVERHEAD) for d in plan_of(llama, pair).memory.devices]
    assert costs[0] == costs[1] > 300 * MIB
    assert costs[2] == 0
    on_host = plan_of(llama, with_host(custom(24 * GIB), 64 * GIB), gpu_layers=0)
    assert part(on_host.memory.devices[0], PartKind.OVERHEAD) == 0
    metal = custom(32 * GIB, backend=Backend.METAL, unified=True)
    assert part(plan_of(llama, metal).memory.devices[0], PartKind.OVERHEAD) == 0


def test_what_other_programs_hold_is_the_first_part_of_the_budget(llama: Model) -> None:
    """M32."""
    card = custom(32_607 * MIB)
    idle = plan_of(llama, used(card, 1585 * MIB), context=32_768)
    others, *_ = idle.memory.devices[0].parts
    assert (others.kind, others.bytes.value) == (PartKind.OTHERS, 1585 * MIB)
    assert idle.verdict is Verdict.FITS
    busy = plan_of(llama, used(card, 1585 * MIB + 25_000 * 10**6), context=32_768)
    assert busy.verdict is Verdict.DOES_NOT_FIT
    assert busy.memory.total.value == (idle.memory.total.value or 0) + 25_000 * 10**6
    assert plan_of(llama, card).memory.devices[0].parts[0].kind is PartKind.WEIGHTS


def free_of(free: int, backend: Backend, unified: bool = False) -> Plan:
    """A plan that leaves so much free on its only GPU."""
    model = specimen("Llama-3.2-1B")

    def machine(memory: int) -> Machine:
        return custom(memory, backend=backend, unified=unified)

    total = plan_of(model, machine(64 * GIB)).memory.devices[0].total.value
    assert total is not None
    plan = plan_of(model, machine(total + free))
    assert plan.memory.devices[0].free.value == free
    return plan


@pytest.mark.parametrize(
    ("backend", "wanted"),
    [(Backend.CUDA, 1024 * MIB), (Backend.ROCM, 1024 * MIB), (Backend.VULKAN, 2048 * MIB)],
)
def test_less_free_than_the_margin_of_its_backend_is_tight(backend: Backend, wanted: int) -> None:
    """M45."""
    assert free_of(wanted, backend).verdict is Verdict.FITS
    tight = free_of(wanted - 1, backend)
    assert tight.verdict is Verdict.TIGHT
    assert reason(tight).startswith("only ")
    assert free_of(0, backend).verdict is Verdict.TIGHT
    over = free_of(-1, backend)
    assert over.verdict is Verdict.DOES_NOT_FIT
    assert reason(over) == "1 B too much on GPU"


def test_one_memory_for_all_is_tight_below_a_twentieth_or_half_a_gib(llama: Model) -> None:
    small = custom(8 * GIB, backend=Backend.METAL, unified=True).devices[0]
    large = custom(128 * GIB, backend=Backend.METAL, unified=True).devices[0]
    assert margin(small) == 512 * MIB
    assert margin(large) == 128 * GIB // 20


def test_what_is_too_much_is_said_in_words_with_the_device(llama: Model) -> None:
    card = catalogue.machine("nvidia-geforce-rtx-3090")
    plan = plan_of(llama, card, context=131_072, cache_k="f32", cache_v="f32")
    assert plan.verdict is Verdict.DOES_NOT_FIT
    too_much = -(plan.memory.devices[0].free.value or 0)
    assert reason(plan) == f"{too_much / GIB:.1f} GiB too much on GeForce RTX 3090"


def test_a_model_over_two_cards_is_judged_card_by_card() -> None:
    # 24 + 8 GiB: not 32 GiB of anything.
    model = specimen("Llama-3.1-8B")
    pair = combine(custom(24 * GIB, name="large"), custom(8 * GIB, name="small"))
    fits = plan_of(model, pair, context=32_768)
    assert fits.verdict is Verdict.FITS
    busy = replace(
        pair,
        devices=(
            pair.devices[0],
            replace(pair.devices[1], used=Number(7 * GIB, Unit.BYTES, DRIVER)),
            pair.devices[2],
        ),
    )
    # The layers are shared by what is free, and still the smaller card is the one that is over.
    plan = plan_of(model, busy, context=32_768)
    verdicts = {d.device.name: d.verdict for d in plan.memory.devices[:2]}
    assert plan.verdict is max(verdicts.values(), key=list(Verdict).index)
    assert "small" in reason(plan)


def test_a_card_that_holds_nothing_of_the_model_has_no_say(llama: Model) -> None:
    tiny = with_host(custom(10**9), 64 * GIB)
    assert plan_of(llama, tiny, backend="cpu").verdict is Verdict.FITS
    assert plan_of(llama, tiny, gpu_layers=0).verdict is Verdict.FITS
    full = used(tiny, 2 * 10**9)  # whatever others do there
    plan = plan_of(llama, full, backend="cpu")
    assert plan.verdict is plan.memory.devices[0].verdict is Verdict.FITS
    assert reason(plan).endswith("free on Host")


def unknown_model() -> Model:
    return model_from(
        file_of(
            {"general.architecture": "never-heard-of", "never-heard-of.block_count": 4},
            [
                ("token_embd.weight", (4096, 32_000), "F16"),
                ("blk.0.odd.weight", (4096, 4096), "F16"),
            ],
        )
    )


def test_a_cache_of_unknown_kind_is_unknown_and_never_does_not_fit() -> None:
    """M15."""
    plan = plan_of(unknown_model(), custom(24 * GIB, 936e9))
    assert plan.verdict is Verdict.UNKNOWN
    assert reason(plan)
    assert plan.memory.cache.value is None
    assert plan.memory.total.value is None
    assert plan.memory.devices[0].free.value is None
    assert plan.speed.ceiling.value is None
    assert all(point.tok_s is None for point in plan.speed.curve)


def test_weights_alone_that_are_too_large_do_not_fit_whatever_the_cache() -> None:
    plan = plan_of(unknown_model(), custom(16 * MIB, 936e9, gpu=False))
    assert plan.verdict is Verdict.DOES_NOT_FIT
    assert reason(plan).startswith("at least ")


def test_a_card_of_unknown_size_leaves_the_verdict_open(llama: Model) -> None:
    card = custom(24 * GIB)
    gpu: Device = replace(card.devices[0], memory=unknown_bytes("driver", "It does not say."))
    plan = plan_of(llama, replace(card, devices=(gpu, card.devices[1])))
    assert plan.verdict is Verdict.UNKNOWN
    assert "not known" in reason(plan)
    assert plan.memory.total.known


def test_ram_of_unknown_size_matters_only_where_layers_lie_in_it(llama: Model) -> None:
    card = custom(24 * GIB)
    assert not card.devices[1].memory.known
    assert plan_of(llama, card).verdict is Verdict.FITS
    assert plan_of(llama, card, gpu_layers=20).verdict is Verdict.UNKNOWN


@pytest.mark.parametrize("name", CACHE_TYPES)
def test_both_halves_of_the_cache_have_a_type_of_their_own(llama: Model, name: str) -> None:
    machine = custom(64 * GIB, gpu=False)
    memory = plan_of(llama, machine, context=8192, cache_k=name).memory
    blocks = {"f32": (1, 4), "f16": (1, 2), "bf16": (1, 2), "q8_0": (32, 34), "q5_1": (32, 24)}
    blocks |= {"q5_0": (32, 22), "q4_1": (32, 20), "q4_0": (32, 18), "iq4_nl": (32, 18)}
    block, size = blocks[name]
    assert memory.cache_v.value == GIB // 2
    assert memory.cache_k.value == 8192 * 32 * 1024 * size // block
    assert memory.cache.value == memory.cache_k.value + memory.cache_v.value


def test_every_figure_says_by_which_rule_and_from_what(llama: Model) -> None:
    plan = plan_of(llama, with_host(custom(24 * GIB, 936e9), 64 * GIB), gpu_layers=20)
    memory, speed = plan.memory, plan.speed
    numbers: list[Number[int] | Number[float]] = [
        *(memory.cache, memory.cache_k, memory.cache_v, memory.cache_per_token, memory.state),
        *(memory.compute, memory.output, memory.total, speed.bytes_per_token, speed.ceiling),
    ]
    for device in memory.devices:
        numbers += [p.bytes for p in device.parts if p.bytes.value]
        numbers += [device.total, device.free]
    for number in numbers:
        assert number.source.origin
        assert number.formula or number.note or number.source.rank is Rank.REPORTED, number
    ranks = {p.kind: p.bytes.source.rank for d in memory.devices for p in d.parts}
    assert ranks[PartKind.WEIGHTS] is ranks[PartKind.CACHE] is Rank.DERIVED
    assert ranks[PartKind.COMPUTE] is Rank.ESTIMATED
