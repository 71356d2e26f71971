"""Reading what llama.cpp printed: every format of it, and nothing that it did not say."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.check.engine_log import (
    MIB,
    Context,
    Load,
    Size,
    printed,
    read,
    says_enough,
    up_to_enough,
    whole_mib,
)
from core.plan.plan import PartKind
from tests.support.engine_logs import CUDA, FIT, OLD, TWICE, recorded


def main_load(text: str) -> Load:
    load = read(text).main()
    assert load is not None
    return load


def main_context(text: str) -> Context:
    return main_load(text).contexts[0]


def sizes(load: Load, kind: PartKind) -> dict[str, float]:
    """MiB by buffer name, added up, as printed."""
    found: dict[str, float] = {}
    buffers = load.buffers if kind is PartKind.WEIGHTS else load.contexts[0].buffers
    for buffer in buffers:
        if buffer.kind is kind:
            middle = buffer.size.middle / MIB
            found[buffer.name] = round(found.get(buffer.name, 0) + middle, 2)
    return found


@given(st.integers(0, 2**40))
def test_every_size_lies_between_the_bounds_of_what_is_printed_of_it(size: int) -> None:
    text = f"{size / MIB:.2f}"
    bounds = printed(text)
    assert bounds.low <= size <= bounds.high
    # At most what two decimals and a 32-bit float can hide.
    assert bounds.high - bounds.low <= MIB / 100 + size / 2**21 + 2
    whole = whole_mib(str(size // MIB))
    assert whole.low <= size <= whole.high


def test_two_decimals_of_a_mib_are_five_kib_either_way() -> None:
    assert printed("0.00") == Size(0, 5242)
    assert printed("1.00") == Size(MIB - 5242, MIB + 5242)


def test_two_caches_on_one_device_are_added_up_and_the_second_pass_counts() -> None:
    """M07."""
    load = main_load(TWICE)
    assert not load.dry
    assert sizes(load, PartKind.CACHE) == {"CUDA0": 2734.0}
    assert sizes(load, PartKind.WEIGHTS) == {"CPU_Mapped": 525.0, "CUDA0": 2367.0}
    assert sizes(load, PartKind.COMPUTE) == {"CUDA0": 203.0, "ROCm_Host": 12.0}


def test_a_log_of_a_card_is_read_with_its_options() -> None:
    load = main_load(CUDA)
    context = load.contexts[0]
    assert load.gpu_layers == 65
    assert sizes(load, PartKind.WEIGHTS) == {"CPU_Mapped": 682.03, "CUDA0": 15843.2}
    assert sizes(load, PartKind.CACHE) == {"CUDA0": 4352.0}
    assert sizes(load, PartKind.STATE) == {"CUDA0": 598.5}
    assert sizes(load, PartKind.OUTPUT) == {"CUDA_Host": 3.79}
    assert sizes(load, PartKind.COMPUTE) == {"CUDA0": 495.0, "CUDA_Host": 158.49}
    assert context.types() == ("q8_0", "q8_0")
    assert context.caches[0].cells == 131_072
    assert (context.slots, context.unified, context.flash_attention) == (4, True, True)
    assert (context.context, context.batch, context.ubatch) == (131_072, 2048, 512)
    assert (context.outputs, context.drafted) == (4, 0)


def test_the_names_of_2024_are_understood() -> None:
    log = read(OLD)
    assert log.build == "3975"
    load = main_load(OLD)
    context = load.contexts[0]
    assert load.gpu_layers == 33
    assert sizes(load, PartKind.WEIGHTS) == {"CPU": 245.62, "CUDA0": 5049.71}
    assert sizes(load, PartKind.CACHE) == {"CUDA0": 640.0}
    assert sizes(load, PartKind.COMPUTE) == {"CUDA0": 162.0, "CUDA_Host": 9.01}
    assert context.types() == ("f16", "f16")
    assert context.caches[0].cells is None
    assert (context.context, context.flash_attention) == (2048, False)
    # What it does not print is not known.
    assert (context.slots, context.unified, context.outputs) == (None, None, None)


def test_a_recorded_log_has_a_dry_pass_and_a_real_load() -> None:
    log = read(recorded()["gemma3, 4 shared slots"])
    assert [load.dry for load in log.loads] == [True, False]
    main = log.main()
    assert main is log.loads[1]
    assert main.architecture == "gemma3"
    assert main.path == "/models/gemma3-dense.gguf"
    caches = main.contexts[0].caches
    # 32 tokens of window in each of 4 slots and 512 of a batch, padded to 256.
    assert [(cache.name, cache.cells) for cache in caches] == [("non-SWA", 8192), ("SWA", 768)]
    assert (main.contexts[0].slots, main.contexts[0].unified) == (4, True)


def test_the_first_pass_alone_tells_the_cache_by_its_own_line() -> None:
    text = up_to_enough(recorded()["qwen35, 2 slots apart, q8_0"])
    load = main_load(text)
    assert load.dry
    assert sizes(load, PartKind.CACHE) == {"CPU": 0.0}
    assert load.contexts[0].caches[0].k.middle > 0
    assert [row.name for row in load.table] == ["Host"]
    # The state is really there, even in a dry pass.
    assert sizes(load, PartKind.STATE)["CPU"] > 0
    assert load.contexts[0].types() == ("q8_0", "q8_0")


def test_a_log_of_few_words_still_has_the_real_load() -> None:
    text = recorded()["llama, few words"]
    load = main_load(text)
    assert not load.dry
    assert set(sizes(load, PartKind.COMPUTE)) == {"CPU"}


def test_a_running_engine_has_said_enough_when_the_first_table_is_out() -> None:
    text = recorded()["gemma3, 4 shared slots"]
    lines = text.splitlines()
    enough = next(n for n, line in enumerate(lines) if says_enough(line))
    assert "projected to use" in lines[enough]
    assert up_to_enough(text).splitlines() == lines[: enough + 1]
    assert up_to_enough("no word of it") == "no word of it"


def test_colours_and_json_around_a_line_do_not_hide_it() -> None:
    colour = "".join(f"\x1b[32m{line}\x1b[0m\n" for line in CUDA.splitlines())
    wrapped = "".join(
        json.dumps({"level": "I", "msg": line + "\n"}) + "\n" for line in CUDA.splitlines()
    )
    dated = "".join(f"2026-05-14 22:14:31.035 | {line}\r\n" for line in CUDA.splitlines())
    for text in (colour, wrapped, dated):
        assert read(text) == read(CUDA)


def test_a_second_context_of_the_same_model_is_kept_apart() -> None:
    draft = """\
llama_context: constructing llama_context
llama_context: n_seq_max             = 4
llama_context: n_ctx                 = 131072
llama_kv_cache:      CUDA0 KV buffer size =   272.00 MiB
sched_reserve:      CUDA0 compute buffer size =   130.00 MiB
"""
    load = main_load(CUDA + draft)
    assert len(load.contexts) == 2
    assert sizes(load, PartKind.CACHE) == {"CUDA0": 4352.0}
    assert sizes(load, PartKind.COMPUTE)["CUDA0"] == 495.0


def test_a_draft_model_is_another_load_and_the_first_model_counts() -> None:
    header = "llama_model_loader: loaded meta data with 40 key-value pairs and {} tensors from {} "
    first = header.format(771, "/models/big.gguf") + "(version GGUF V3 (latest))\n" + CUDA
    second = header.format(311, "/models/small one.gguf") + "(version GGUF V3 (latest))\n" + OLD
    log = read(first + second)
    main = log.main()
    assert main is not None
    assert (main.path, main.tensors) == ("/models/big.gguf", 771)
    assert log.loads[1].path == "/models/small one.gguf"


def test_reserving_again_replaces_the_compute_buffers() -> None:
    again = """\
sched_reserve: reserving ...
sched_reserve:      CUDA0 compute buffer size =   521.00 MiB
sched_reserve:  CUDA_Host compute buffer size =   160.00 MiB
"""
    assert sizes(main_load(CUDA + again), PartKind.COMPUTE) == {"CUDA0": 521.0, "CUDA_Host": 160.0}


def test_a_projector_s_buffers_are_not_the_model_s() -> None:
    projector = """\
load_hparams: projector:          qwen3vl_merger
reserve_compute_meta:      CUDA0 compute buffer size =   248.10 MiB
reserve_compute_meta:        CPU compute buffer size =    24.93 MiB
"""
    assert read(CUDA + projector) == read(CUDA)


def test_states_of_compressors_are_state() -> None:
    line = (
        "llama_dsv4_comp_state:      CUDA0 DSV4 csa state buffer size =    12.50 MiB\n"
        "llama_dsv4_comp_state:      CUDA0 DSV4 hca state buffer size =     2.25 MiB\n"
    )
    assert sizes(main_load(CUDA + line), PartKind.STATE) == {"CUDA0": 613.25}


def test_experts_that_were_kept_in_ram_are_counted_by_layer() -> None:
    lines = "".join(
        f"tensor blk.{layer}.ffn_{what}_exps.weight (189 MiB q4_K) buffer type overridden to CPU\n"
        for layer in range(3)
        for what in ("up", "down", "gate")
    )
    assert main_load(lines + CUDA).experts_on_host == {0, 1, 2}


def test_the_table_of_fit_params_is_whole_mib_by_device() -> None:
    log = read(FIT)
    assert not log.loads
    assert [row.name for row in log.fit] == ["CUDA0", "Host"]
    assert log.fit[0].weights == Size(15843 * MIB, 15844 * MIB - 1)
    assert log.fit[1].context == Size(0, MIB - 1)


def test_lines_of_numbers_without_a_host_are_no_table() -> None:
    assert read("CUDA0 1 2 3\nsomething else\n").fit == ()


def test_the_table_at_the_end_names_every_device() -> None:
    text = (
        "common_memory_breakdown_print: | memory breakdown [MiB] | total   free    self   model"
        "   context   compute    unaccounted |\n"
        "common_memory_breakdown_print: |   - CUDA0 (RTX 3090)   | 24268 = 1234 + (22000 = 16000 +"
        "    5000 +    1000) +        1034 |\n"
        "common_memory_breakdown_print: |   - Host               |                    862 =   700 +"
        "       4 +     158                |\n"
    )
    table = read(text).loads[0].table
    assert [row.name for row in table] == ["CUDA0", "Host"]
    assert table[0].weights == whole_mib("16000")
    assert table[0].context == whole_mib("5000")
    assert table[1].compute == whole_mib("158")


@pytest.mark.parametrize(
    ("line", "build"),
    [
        ("build: 4970 (abc1234) with cc for x86_64-linux-gnu", "4970"),
        ("main: build = 1699 (b9f4795)", "1699"),
        ("0.00.003.506 I srv init: build_info: b11434-9b1a2c3", "11434"),
        ("common_params_print_info: build 11434 (9b1a2c3) with GNU 13 for Linux x86_64", "11434"),
        ("common_params_print_info: build 0 (unknown) with GNU 10.2.1 for Linux x86_64", ""),
        ("serve nocache for build.json", ""),
    ],
)
def test_the_build_is_its_number_or_unknown(line: str, build: str) -> None:
    assert read(line).build == build


@pytest.mark.parametrize("text", ["", "\n" * 1000, "a" * 100_000, "{" * 5000, "GGUF\x00\x03"])
def test_a_text_without_a_log_gives_nothing(text: str) -> None:
    log = read(text)
    assert log.loads == ()
    assert log.main() is None


@given(st.text(max_size=300), st.integers(0, 40))
def test_no_damage_to_a_log_is_an_error(junk: str, line: int) -> None:
    lines = CUDA.splitlines()
    lines.insert(line, junk)
    read("\n".join(lines))
    read("\n".join(lines)[: 60 * line])
