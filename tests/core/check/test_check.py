"""A plan held against a log: what is equal, what differs, and what cannot be compared."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from core.check.compare import Check, compare, summary
from core.check.dry_run import CLI, COMPLETION, FIT, SERVER, arguments, preferred
from core.check.engine_log import MIB, read, up_to_enough
from core.check.values import (
    CACHE_AND_STATE,
    EVERYWHERE,
    REPACKED,
    SECOND,
    Agreement,
    Row,
)
from core.gguf import open_file
from core.machine import Backend, Machine, combine, custom
from core.model import model_from
from core.model.model import Model
from core.plan import resolve
from core.plan.choice import Choice, Engine, FlashAttention
from core.plan.plan import PartKind, Plan
from tests.support.engine_logs import CUDA, OLD, recorded
from tests.support.heads import heads

HOST = custom(64 * 2**30, 50e9, gpu=False)
CARD = combine(custom(24 * 2**30, 936e9, backend=Backend.CUDA), HOST)


@cache
def model(name: str, folder: Path) -> Model:
    return model_from(open_file(heads()[name].write(folder / f"{name}.gguf")))


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("heads")


def plan_of(
    folder: Path, name: str = "llama-dense", machine: Machine = HOST, **choice: Any
) -> Plan:
    return resolve(model(name, folder), machine, Choice(**choice))


def part(plan: Plan, kind: PartKind, device: int = 0) -> int:
    parts = plan.memory.devices[device].parts
    return sum(p.bytes.value or 0 for p in parts if p.kind is kind)


def log_of(plan: Plan, **changed: float) -> str:
    """A log that says of a plan on one device, or on a card and the RAM, what the plan says, in
    llama.cpp's words; ``changed`` are MiB to add to a part ("cache", "compute_host")."""
    s = plan.settings
    card = s.gpu_layers > 0
    lines = [
        f"llama_context: n_seq_max             = {s.slots}",
        f"llama_context: n_ctx                 = {s.context}",
        f"llama_context: n_batch               = {s.batch}",
        f"llama_context: n_ubatch              = {s.ubatch}",
        f"llama_context: kv_unified            = {'true' if s.unified_cache else 'false'}",
        f"llama_context: n_outputs_max         = {s.slots}",
    ]
    if card:
        lines.insert(0, f"load_tensors: offloaded {s.gpu_layers}/{s.gpu_layers} layers to GPU")
    places = [("CUDA0", 0, ""), ("CUDA_Host", 1, "_host")] if card else [("CPU", 0, "")]
    after = []
    for name, device, suffix in places:
        for kind, what in (
            (PartKind.WEIGHTS, "model"),
            (PartKind.CACHE, "KV"),
            (PartKind.STATE, "RS"),
            (PartKind.OUTPUT, "output"),
            (PartKind.COMPUTE, "compute"),
        ):
            size = part(plan, kind, device) / MIB + changed.get(kind.value + suffix, 0)
            if not size:
                continue
            line = f"some_function: {name:>10} {what} buffer size = {size:8.2f} MiB"
            if kind is PartKind.WEIGHTS:
                lines.insert(0, line)
            else:
                after.append(line)
    k, v = plan.memory.cache_k.value or 0, plan.memory.cache_v.value or 0
    after.append(
        f"llama_kv_cache: size = {(k + v) / MIB:7.2f} MiB ({s.context:6d} cells,   2 layers,  "
        f"{s.slots}/1 seqs), K ({s.cache_k}): {k / MIB:7.2f} MiB, V ({s.cache_v}): "
        f"{v / MIB:7.2f} MiB"
    )
    flash = "enabled" if s.flash_attention else "disabled"
    return "\n".join([*lines, *after, f"resolve_fused_ops: Flash Attention {flash}"]) + "\n"


def row(check: Check, name: str, device: str | None = None) -> Row:
    (found,) = [r for r in check.rows if r.part == name and device in (None, r.device)]
    return found


def compared(check: Check) -> list[Row]:
    return [r for r in check.rows if r.agreement is not Agreement.NOT_COMPARED]


_RECORDED: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("gemma3, 4 shared slots", "gemma3-dense", {"context": 8192}),
    (
        "qwen35, 2 slots apart, q8_0",
        "qwen35-dense",
        {"context": 4096, "slots": 2, "cache_k": "q8_0", "cache_v": "q8_0"},
    ),
    ("llama, few words", "llama-dense", {"context": 4096, "slots": 1}),
)


# With few words (-lv 4) the look before loading prints no context.
@pytest.mark.parametrize(
    ("log", "head", "choice", "dry"),
    [(*row, False) for row in _RECORDED] + [(*row, True) for row in _RECORDED[:2]],
)
def test_a_plan_equals_what_llama_cpp_printed(
    folder: Path, log: str, head: str, choice: dict[str, Any], dry: bool
) -> None:
    text = recorded()[log]
    plan = plan_of(folder, head, **choice)
    check = compare(plan, read(up_to_enough(text) if dry else text))
    assert check.dry == dry
    assert check.mismatches == ()
    assert check.changes == {}
    wanted = {"weights", "cache", "compute", "output"} | ({"state"} if "qwen35" in log else set())
    assert {r.part for r in compared(check)} == wanted
    assert {r.agreement for r in compared(check)} == {Agreement.EQUAL}
    assert summary(check) == f"All {len(wanted)} sizes that can be compared agree."


def test_a_difference_is_told_in_bytes_and_as_a_share(folder: Path) -> None:
    plan = plan_of(folder, context=4096)
    check = compare(plan, read(log_of(plan, compute=-1.0)))
    compute = row(check, "compute")
    engine = part(plan, PartKind.COMPUTE) - MIB
    assert compute.agreement is Agreement.DIFFERS
    assert compute.difference == pytest.approx(MIB, abs=0.005 * MIB)
    assert compute.share == pytest.approx(MIB / engine, rel=0.01)
    assert row(check, "cache").difference == 0
    assert summary(check).startswith("3 of 4 sizes agree. Furthest off: compute on ")
    assert "more than the engine" in summary(check)


def test_what_the_rounding_hides_is_no_difference(folder: Path) -> None:
    plan = plan_of(folder, context=4096)
    for inside in (0.0049, -0.0049):
        assert row(compare(plan, read(log_of(plan, cache=inside))), "cache").difference == 0
    outside = row(compare(plan, read(log_of(plan, cache=0.02))), "cache")
    assert outside.agreement is Agreement.DIFFERS


def test_a_card_and_the_ram_are_compared_each_for_itself(folder: Path) -> None:
    plan = plan_of(folder, machine=CARD, context=4096)
    check = compare(plan, read(log_of(plan, compute_host=2.0)))
    assert check.mismatches == ()
    card, ram = (device.device.name for device in plan.memory.devices)
    assert row(check, "cache").device == card
    assert row(check, "output").device == ram
    assert row(check, "weights", card).agreement is Agreement.EQUAL
    assert row(check, "weights", ram).agreement is Agreement.EQUAL
    assert row(check, "compute", card).agreement is Agreement.EQUAL
    assert row(check, "compute", ram).difference == pytest.approx(-2 * MIB, abs=0.005 * MIB)


def test_what_is_no_buffer_is_shown_and_not_compared(folder: Path) -> None:
    plan = plan_of(folder, machine=CARD, context=4096)
    overhead = row(compare(plan, read(log_of(plan))), "overhead")
    assert overhead.agreement is Agreement.NOT_COMPARED
    assert overhead.estimate == part(plan, PartKind.OVERHEAD)
    assert "no buffer" in overhead.reason


@pytest.mark.parametrize(
    ("planned", "logged", "option"),
    [
        ({"context": 4096}, {"context": 8192}, "context"),
        ({"context": 4096}, {"context": 4096, "slots": 2}, "slots"),
        ({"context": 4096, "slots": 2}, {"context": 4096}, "one cache for all slots"),
        ({"context": 4096}, {"context": 4096, "ubatch": 128}, "ubatch"),
        ({"context": 4096}, {"context": 4096, "cache_k": "q8_0"}, "K cache type"),
        ({"context": 4096}, {"context": 4096, "cache_v": "q8_0"}, "V cache type"),
        (
            {"context": 4096},
            {"context": 4096, "flash_attention": FlashAttention.OFF},
            "flash attention",
        ),
        (
            {"context": 4096, "engine": Engine.LLAMA_CLI},
            {"context": 4096, "slots": 1},
            "rows of logits",
        ),
        (
            {"context": 4096, "engine": Engine.OLLAMA, "slots": 2},
            {"context": 16384, "engine": Engine.OLLAMA, "slots": 4},
            "slots",
        ),
    ],
)
def test_other_options_are_named_and_one_step_makes_both_sides_alike(
    folder: Path, planned: dict[str, Any], logged: dict[str, Any], option: str
) -> None:
    plan = plan_of(folder, **planned)
    engine = plan_of(folder, **logged)
    log = read(log_of(engine))
    check = compare(plan, log)
    assert option in [m.option for m in check.mismatches]
    # Nothing is called different that was made with other options.
    assert Agreement.DIFFERS not in {r.agreement for r in check.rows}
    assert row(check, "weights").agreement is Agreement.EQUAL
    held = row(check, "compute")
    assert held.agreement is Agreement.NOT_COMPARED
    assert "in the log" in held.reason

    alike = resolve(plan.model, HOST, replace(plan.choice, **check.changes))
    again = compare(alike, log)
    assert again.mismatches == ()
    assert again.changes == {}
    assert {r.agreement for r in again.rows} == {Agreement.EQUAL}


def test_another_number_of_layers_on_the_card_is_set_by_one_step(folder: Path) -> None:
    plan = plan_of(folder, machine=CARD, context=4096)
    engine = plan_of(folder, machine=CARD, context=4096, gpu_layers=1)
    log = read(log_of(engine))
    check = compare(plan, log)
    assert [m.option for m in check.mismatches] == ["layers on the GPU"]
    assert check.changes["gpu_layers"] == 1
    alike = resolve(plan.model, CARD, replace(plan.choice, **check.changes))
    assert compare(alike, log).mismatches == ()


def test_a_log_of_a_computer_without_a_gpu_is_compared_in_ram(folder: Path) -> None:
    plan = plan_of(folder, machine=CARD, context=4096)
    log = read(log_of(plan_of(folder, context=4096)))
    check = compare(plan, log)
    assert [m.option for m in check.mismatches] == ["GPUs"]
    assert compared(check) == []
    assert check.changes["backend"] == "cpu"
    alike = resolve(plan.model, CARD, replace(plan.choice, **check.changes))
    again = compare(alike, log)
    assert again.mismatches == ()
    assert {r.agreement for r in compared(again)} == {Agreement.EQUAL}


def test_a_log_of_another_number_of_cards_is_not_taken_apart(folder: Path) -> None:
    plan = plan_of(folder, machine=CARD, context=4096)
    two = log_of(plan) + "some_function:      CUDA1 compute buffer size =    10.00 MiB\n"
    check = compare(plan, read(two))
    assert [m.sentence for m in check.mismatches] == [
        "GPUs: CUDA0, CUDA1 in the log, 1 in the plan"
    ]
    assert compared(check) == []


def test_another_backend_is_named(folder: Path) -> None:
    plan = plan_of(folder, machine=CARD, context=4096)
    text = log_of(plan).replace("CUDA", "Vulkan")
    check = compare(plan, read(text))
    assert [m.option for m in check.mismatches] == ["backend"]
    assert check.changes["backend"] == "vulkan"


def test_old_builds_that_reserve_logits_for_a_whole_batch_are_recognised(folder: Path) -> None:
    plan = plan_of(folder, context=4096, slots=1)
    text = "\n".join(line for line in log_of(plan).splitlines() if "n_outputs_max" not in line)
    check = compare(plan, read(text))
    assert [m.option for m in check.mismatches] == ["rows of logits"]
    assert row(check, "compute").agreement is Agreement.NOT_COMPARED
    assert row(check, "cache").agreement is Agreement.EQUAL
    assert check.changes["engine"] is Engine.LLAMA_CLI


def test_a_log_of_another_model_is_refused_with_the_reason(folder: Path) -> None:
    plan = plan_of(folder, "qwen35-dense", context=4096)
    check = compare(plan, read(recorded()["llama, few words"]))
    assert check.rows == ()
    assert check.refusal == "The log is of a llama model, the open one is qwen35."
    header = "x: loaded meta data with 20 key-value pairs and 999 tensors from a.gguf (version 3)\n"
    check = compare(plan, read(header + log_of(plan)))
    assert "999 tensors" in check.refusal
    assert summary(check) == check.refusal


def test_another_quantization_of_the_same_model_leaves_the_rest_comparable(folder: Path) -> None:
    plan = plan_of(folder, context=4096)
    text = (
        "print_info: file type   = Q4_K - Medium\nprint_info: file size   = 999.00 MiB (4.5 BPW)\n"
    )
    check = compare(plan, read(text + log_of(plan, weights=999.0)))
    (only,) = check.mismatches
    assert (only.option, only.log) == ("quantization", "Q4_K - Medium")
    assert row(check, "weights").agreement is Agreement.NOT_COMPARED
    assert row(check, "cache").agreement is Agreement.EQUAL


def test_a_plan_for_another_quantization_returns_to_the_file_s_own(folder: Path) -> None:
    plan = plan_of(folder, context=4096)
    tried = plan_of(folder, context=4096, requantize="Q8_0")
    assert tried.weights.bytes != plan.weights.bytes
    size = plan.model.weights.bytes / MIB
    text = f"print_info: file size   = {size:.2f} MiB (32 BPW)\n" + log_of(plan)
    check = compare(tried, read(text))
    assert [m.option for m in check.mismatches] == ["quantization"]
    assert check.changes == {"requantize": None} | check.changes
    again = compare(plan, read(text))
    assert again.mismatches == ()


def test_repacked_copies_are_shown_apart_and_not_counted_as_weights(folder: Path) -> None:
    plan = plan_of(folder, context=4096)
    text = log_of(plan).replace("   CPU model", "CPU_Mapped model")
    repack = "load_tensors:   CPU_REPACK model buffer size =    12.70 MiB\n"
    check = compare(plan, read(repack + text))
    assert row(check, "weights").agreement is Agreement.EQUAL
    copies = row(check, REPACKED)
    assert copies.engine is not None
    assert round(copies.engine.middle / MIB, 2) == 12.7
    assert copies.agreement is Agreement.NOT_COMPARED
    assert "-nr" in copies.reason


def test_a_mapped_file_is_an_upper_bound(folder: Path) -> None:
    plan = plan_of(folder, context=4096)
    text = log_of(plan, weights=5.0).replace("   CPU model", "CPU_Mapped model")
    weights = row(compare(plan, read(text)), "weights")
    assert weights.agreement is Agreement.WITHIN
    assert weights.difference is None
    less = log_of(plan, weights=-0.1).replace("   CPU model", "CPU_Mapped model")
    assert row(compare(plan, read(less)), "weights").agreement is Agreement.DIFFERS


def test_a_draft_context_is_shown_and_not_added(folder: Path) -> None:
    plan = plan_of(folder, context=4096)
    draft = (
        "llama_context: constructing llama_context\n"
        "llama_kv_cache:        CPU KV buffer size =     3.00 MiB\n"
        "sched_reserve:        CPU compute buffer size =     2.00 MiB\n"
    )
    check = compare(plan, read(log_of(plan) + draft))
    second = row(check, SECOND)
    assert second.engine is not None
    assert round(second.engine.middle / MIB, 2) == 5.0
    assert row(check, "cache").agreement is Agreement.EQUAL


def test_drafted_tokens_multiply_a_state_that_the_plan_does_not_hold(folder: Path) -> None:
    plan = plan_of(folder, "qwen35-dense", context=4096, slots=1)
    text = log_of(plan, state=3.0) + "llama_context: n_rs_seq              = 3\n"
    check = compare(plan, read(text))
    assert [m.option for m in check.mismatches] == ["drafted tokens"]
    assert row(check, "state").agreement is Agreement.NOT_COMPARED
    assert check.changes == {}


def test_fit_params_is_compared_in_whole_mib_without_its_logits(folder: Path) -> None:
    plan = plan_of(folder, context=65536, slots=1)
    weights, cache_bytes = part(plan, PartKind.WEIGHTS), part(plan, PartKind.CACHE)
    text = f"Host {weights // MIB} {cache_bytes // MIB} 551\n"
    check = compare(plan, read(text))
    assert row(check, "weights").agreement is Agreement.EQUAL
    assert row(check, CACHE_AND_STATE).agreement is Agreement.EQUAL
    compute = row(check, "compute")
    assert compute.agreement is Agreement.NOT_COMPARED
    assert "whole batch" in compute.reason
    wrong = compare(plan, read(f"Host {weights // MIB} {cache_bytes // MIB + 1} 551\n"))
    assert row(wrong, CACHE_AND_STATE).agreement is Agreement.DIFFERS


def test_fit_params_leaves_out_what_it_would_repack(folder: Path) -> None:
    # Seen with a real file: 235 MiB of weights of which 12.7 are repacked stand as 222.
    plan = plan_of(folder, context=65536, slots=1)
    less = part(plan, PartKind.WEIGHTS) // MIB - 2
    weights = row(compare(plan, read(f"Host {less} 128 551\n")), "weights")
    assert weights.agreement is Agreement.WITHIN
    assert "repack" in weights.reason
    more = row(compare(plan, read(f"Host {less + 9} 128 551\n")), "weights")
    assert more.agreement is Agreement.DIFFERS


def test_fit_params_on_one_memory_for_all_is_added_up(folder: Path) -> None:
    apple = custom(64 * 2**30, 400e9, backend=Backend.METAL, unified=True)
    plan = plan_of(folder, machine=apple, context=65536, slots=1)
    weights, cache_bytes = part(plan, PartKind.WEIGHTS), part(plan, PartKind.CACHE)
    text = f"MTL0 {weights // MIB - 1} {cache_bytes // MIB} 9\nHost 1 0 9\n"
    check = compare(plan, read(text))
    assert row(check, "weights").agreement is Agreement.EQUAL
    assert row(check, CACHE_AND_STATE).agreement is Agreement.EQUAL


def test_a_mac_s_one_memory_holds_what_both_of_its_devices_say(folder: Path) -> None:
    apple = custom(64 * 2**30, 400e9, backend=Backend.METAL, unified=True)
    plan = plan_of(folder, machine=apple, context=65536, slots=1)
    k, v = (plan.memory.cache_k.value or 0) / MIB, (plan.memory.cache_v.value or 0) / MIB
    compute = part(plan, PartKind.COMPUTE) / MIB
    weights = part(plan, PartKind.WEIGHTS) / MIB
    text = (
        f"load_tensors:   CPU_Mapped model buffer size = {weights / 4:8.2f} MiB\n"
        f"load_tensors:  MTL0_Mapped model buffer size = {weights:8.2f} MiB\n"
        f"llama_kv_cache:       MTL0 KV buffer size = {k + v:8.2f} MiB\n"
        f"sched_reserve:       MTL0 compute buffer size = {compute - 0.5:8.2f} MiB\n"
        f"sched_reserve:        CPU compute buffer size = {0.5:8.2f} MiB\n"
    )
    check = compare(plan, read(text))
    assert check.mismatches == ()
    assert row(check, "cache").agreement is Agreement.EQUAL
    # Two figures were rounded.
    assert row(check, "compute").agreement is Agreement.EQUAL
    assert row(check, "weights").agreement is Agreement.WITHIN


def test_fit_params_cannot_share_a_cache_with_windows_between_slots(folder: Path) -> None:
    shared = plan_of(folder, "gemma3-dense", context=8192)
    row_ = row(compare(shared, read("Host 1 5 9\n")), CACHE_AND_STATE)
    assert row_.agreement is Agreement.NOT_COMPARED
    assert "share" in row_.reason


def test_a_dry_pass_on_two_cards_gives_the_cache_as_a_whole(folder: Path) -> None:
    two = combine(
        custom(24 * 2**30, 936e9, backend=Backend.CUDA),
        custom(24 * 2**30, 936e9, backend=Backend.CUDA),
        HOST,
    )
    plan = plan_of(folder, "llama4-moe", machine=two, context=65536, slots=1)
    held = [part(plan, PartKind.CACHE, device) for device in (0, 1)]
    assert all(held)
    k, v = (plan.memory.cache_k.value or 0) / MIB, (plan.memory.cache_v.value or 0) / MIB
    lines = [
        "load_tensors:      CUDA0 model buffer size =     0.00 MiB",
        "load_tensors:      CUDA1 model buffer size =     0.00 MiB",
        f"llama_context: n_ctx                 = {plan.settings.context}",
        "llama_kv_cache:      CUDA0 KV buffer size =     0.00 MiB",
        f"llama_kv_cache: size = {k + v:7.2f} MiB ( 65536 cells,   2 layers,  1/1 seqs), "
        f"K (f16): {k:7.2f} MiB, V (f16): {v:7.2f} MiB",
    ]
    lines += [
        f"x: |   - CUDA{n} (RTX 3090) | 24268 = 1 + (9 = 0 + {held[n] // MIB} + 1) + 1 |"
        for n in (0, 1)
    ]
    check = compare(plan, read("\n".join(lines)))
    whole = row(check, "cache")
    assert (whole.device, whole.agreement) == (EVERYWHERE, Agreement.EQUAL)
    each = [r for r in check.rows if r.part == CACHE_AND_STATE]
    assert [r.agreement for r in each] == [Agreement.EQUAL] * 2


def test_a_text_without_sizes_says_how_to_get_them(folder: Path) -> None:
    for text in ("", "main: server is listening on http://127.0.0.1:8080\n"):
        check = compare(plan_of(folder, context=4096), read(text))
        assert "-v" in check.refusal
        assert check.rows == ()


def test_logs_of_any_age_compare_without_an_error(folder: Path) -> None:
    for text in (CUDA, OLD):
        for machine in (HOST, CARD):
            check = compare(plan_of(folder, machine=machine, context=4096), read(text))
            assert check.refusal or check.rows
            assert summary(check)


# The command.


def test_a_server_plan_is_asked_of_llama_server_with_every_option_said(folder: Path) -> None:
    plan = plan_of(
        folder,
        machine=CARD,
        context=10_000,
        slots=3,
        cache_k="q8_0",
        cache_v="q4_0",
        flash_attention=FlashAttention.ON,
        ubatch=256,
        swa_full=True,
        gpu_layers=2,
        cpu_moe=1,
    )
    assert preferred(plan)[0] == SERVER
    words = list(arguments(plan, SERVER, 40123))
    path = str(plan.model.file.header.path)
    for option, value in (
        ("-m", path),
        ("-c", "10000"),
        ("-np", "3"),
        ("-b", "2048"),
        ("-ub", "256"),
        ("-ctk", "q8_0"),
        ("-ctv", "q4_0"),
        ("-fa", "on"),
        ("-ngl", "2"),
        ("-ncmoe", "1"),
        ("--host", "127.0.0.1"),
        ("--port", "40123"),
        ("-fit", "on"),
    ):
        assert words[words.index(option) + 1] == value
    assert {"-no-kvu", "--swa-full", "-v"} <= set(words)
    assert "-kvu" not in words


def test_a_context_per_request_is_asked_for_as_the_total(folder: Path) -> None:
    plan = plan_of(folder, context=4096, slots=4, engine=Engine.OLLAMA)
    words = list(arguments(plan, SERVER, 1))
    assert words[words.index("-c") + 1] == "16384"


def test_fit_params_gets_none_of_a_server_s_options(folder: Path) -> None:
    words = arguments(plan_of(folder, context=4096), FIT, 1)
    assert words[-4:] == ("-fit", "off", "-fitp", "on")
    assert not {"-kvu", "--port", "-v"} & set(words)


def test_an_engine_that_keeps_a_batch_of_logits_is_asked_of_its_own_program(folder: Path) -> None:
    plan = plan_of(folder, context=4096, engine=Engine.LLAMA_CLI)
    assert preferred(plan)[:2] == (COMPLETION, CLI)
    assert "--port" not in arguments(plan, CLI, 1)


def test_what_is_loaded_beside_the_model_is_left_out_of_the_check(folder: Path) -> None:
    # A dry run is of the model alone, and a draft changes states and work buffers of the model.
    plan = plan_of(folder, context=4096)
    drafting = plan_of(folder, context=4096, draft=model("llama-dense", folder))
    assert part(drafting, PartKind.DRAFT) > 0
    log = read(log_of(plan))
    assert compare(drafting, log) == compare(plan, log)
    assert all(row.agreement is not Agreement.DIFFERS for row in compare(drafting, log).rows)
