"""How fast others were: chosen, summed up and said as the rows themselves say."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.explain.addresses import address
from core.explain.efficiency import expected_line, expected_share, expected_words
from core.explain.entries import own_entries, published_entries
from core.explain.published import (
    BACKENDS,
    PROGRAMS,
    MemoryKind,
    Wanted,
    parts_of,
    peer_words,
    runs_with_a_share,
    shown_words,
    summary,
)
from core.language import speak
from core.machine import catalogue
from core.machine.machine import Backend, OwnRun
from core.plan.speed.published import read_runs
from core.provenance import Number, Rank, Source, Unit
from tests.support.specimen_plans import RAM, on_a_3090, specimen_plan

HEADING = (
    "hardware_id,hardware,backend,moe,layers,weights_gb_per_token,cache_gb_per_token,decode_tok_s,"
    "bandwidth_gb_s,flag"
)
SYCL = Wanted(backends=frozenset((Backend.SYCL,)))


def test_the_runs_on_sycl_are_summed_up_as_one_does_by_hand() -> None:
    """Nine rows, tok/s x GB / (GB/s): 30.1 x 2.6727 / 608 = 13 %, and so on: 12.0, 13.2, 21.5,
    31.0, 37.4, 39.3, 45.2, 63.4 and 67.5 %, on four machines."""
    found = summary(filter(SYCL.takes, runs_with_a_share()))
    assert (found.runs, found.machines, found.remarked) == (9, 4, 0)
    assert found.median == pytest.approx(13.51 * 3.78175 / 136.5)
    assert found.low == pytest.approx(100.72 * 0.972115 / 456)
    assert found.high == pytest.approx(54.4 * 5.046197 / 608)
    assert shown_words(found) == (
        "Shown: 9 runs on 4 machines, median 37 %, the middle half from 21 % to 45 %."
    )


def test_a_plan_is_told_the_median_of_runs_like_it() -> None:
    """Of those nine four are of llama.cpp and dense: 31.0, 37.4, 39.3 and 45.2 %; the median is
    (37.43 + 39.28) / 2."""
    plan = specimen_plan("Llama-3.1-8B", catalogue.machine("intel-arc-a770"), backend="sycl")
    assert peer_words(plan) == "SYCL, dense: median 38 % of the peak over 4 runs on 3 GPUs"
    mixture = specimen_plan("Qwen3-30B-A3B", catalogue.machine("intel-arc-a770"), backend="sycl")
    words = "SYCL, mixtures of experts: median 13 % of the peak over 2 runs on 1 GPU"
    assert peer_words(mixture) == words


def test_runs_with_a_remark_are_counted_apart() -> None:
    rows = (
        ",one card,cuda,0,32,4,0,100,800,",  # 50 %
        ",one card,cuda,0,32,8,0,60,800,",  # 60 %
        ",two cards,cuda,0,32,4,0,180,800,multi",  # 90 %
    )
    runs, problems = read_runs([HEADING, *rows])
    assert not problems
    found = summary(runs)
    assert (found.runs, found.machines, found.median, found.remarked) == (2, 1, 0.55, 1)
    assert "1 more with a remark are hollow" in shown_words(found)
    assert shown_words(summary(runs[2:])) == (
        "No run that can be compared is shown; 1 run with a remark."
    )
    assert shown_words(summary([])) == "No run that can be compared is shown."


def test_every_filter_takes_what_its_name_says() -> None:
    runs = runs_with_a_share()
    stacked = [run for run in runs if Wanted(memory=MemoryKind.STACKED).takes(run)]
    assert {"NVIDIA", "AMD"} >= {
        next(row.vendor for row in catalogue.all() if row.id == run.machine_id) for run in stacked
    }
    assert {run.machine_id for run in stacked} > {"nvidia-a100-sxm4-80-gb"}
    ram = [run for run in runs if Wanted(memory=MemoryKind.RAM).takes(run)]
    assert {run.backend for run in ram} == {Backend.CPU}
    assert len(ram) == 9
    mixtures = [run for run in runs if Wanted(experts=True).takes(run)]
    assert len(mixtures) == 168  # rows with "1" under "moe"
    assert sum(Wanted(program="llamafile").takes(run) for run in runs) == 195
    assert sum(Wanted(remarked=False).takes(run) for run in runs) == 777
    card = Wanted(parts=frozenset(("nvidia-gb10-dgx-spark",)))
    assert sum(card.takes(run) for run in runs) == 30


@given(
    st.none() | st.frozensets(st.sampled_from(BACKENDS)),
    st.none() | st.sampled_from(MemoryKind),
    st.none() | st.booleans(),
    st.none() | st.sampled_from(PROGRAMS),
    st.booleans(),
)
def test_a_filter_more_never_shows_more(
    backends: frozenset[Backend] | None,
    memory: MemoryKind | None,
    experts: bool | None,
    program: str | None,
    remarked: bool,
) -> None:
    all_of_it = Wanted(backends, memory, experts, program, None, remarked)
    chosen = set(filter(all_of_it.takes, runs_with_a_share()))
    for wider in (
        replace(all_of_it, backends=None),
        replace(all_of_it, memory=None),
        replace(all_of_it, experts=None),
        replace(all_of_it, program=None),
    ):
        assert chosen <= set(filter(wider.takes, runs_with_a_share()))
    found = summary(chosen)
    if found.median is not None:
        assert found.low is not None
        assert found.high is not None
        assert found.low <= found.median <= found.high


def test_every_kind_of_memory_occurs_and_none_is_left_over() -> None:
    runs = runs_with_a_share()
    counts = [sum(Wanted(memory=kind).takes(run) for run in runs) for kind in MemoryKind]
    assert sum(counts) == len(runs) == 813
    assert all(counts)


def test_the_parts_of_a_machine_are_those_that_runs_are_of() -> None:
    assert parts_of(on_a_3090()) == ("nvidia-geforce-rtx-3090",)
    assert parts_of(RAM) == ()


# What is expected.


def test_the_plan_lies_on_its_own_line() -> None:
    plan = specimen_plan("Qwen3.6-27B")
    here = expected_share(plan)
    assert here is not None
    speed = plan.speed
    assert (speed.expected.mid.value, speed.ceiling.value) != (None, None)
    assert here.mid == (speed.expected.mid.value or 0) / (speed.ceiling.value or 1)
    (on_line,) = expected_line(plan, [here.bytes])
    assert on_line == pytest.approx(here)


def test_another_size_of_the_same_model_lies_on_the_line() -> None:
    """The line is for as many layers: the same model in 8 bits has them."""
    plan = specimen_plan("Llama-3.1-8B", depth=0)
    other = expected_share(specimen_plan("Llama-3.1-8B", depth=0, requantize="Q8_0"))
    assert other is not None
    (on_line,) = expected_line(plan, [other.bytes])
    assert on_line == pytest.approx(other, rel=0.01)


@pytest.mark.parametrize("word", ["Llama-3.1-8B", "Qwen3.6-35B", "Gemma-3-27B"])
def test_who_reads_more_is_expected_to_reach_more_and_never_all(word: str) -> None:
    sizes = [10**8 * 2**n for n in range(12)]
    line = expected_line(specimen_plan(word), sizes)
    shares = [share.mid for share in line]
    assert shares == sorted(shares)
    assert all(0 < share.low <= share.mid <= share.high <= 1 for share in line)


def test_a_plan_of_which_nothing_is_known_says_why() -> None:
    none: Number[float] = Number(
        None, Unit.BYTES_PER_SECOND, Source(Rank.REPORTED, "nobody"), note="Nobody tells it."
    )
    slow = replace(RAM, devices=tuple(replace(d, bandwidth=none) for d in RAM.devices))
    plan = specimen_plan("Llama-3.1-8B", slow)
    assert expected_share(plan) is None
    assert expected_line(plan, [1e9]) == ()
    assert expected_words(plan) == "what this plan reaches cannot be told. Nobody tells it."


# The runs one by one.


def test_an_entry_tells_all_of_its_row() -> None:
    (entry,) = (e for e in published_entries() if "Arc A770, SYCL" in e.told)
    assert entry.told.split("\n") == [
        "Arc A770, SYCL, llama.cpp (aicss-genai fork)",
        "qwen3.5-9b Q4_K_M (dense), from depth 0",
        "31.5 tok/s x 5.03 GB = 31 % of 512 GB/s",
        "2026-04-21: ggml-org/llama.cpp pull request 22066",
    ]
    assert entry.address == "https://github.com/ggml-org/llama.cpp/pull/22066"


def test_own_runs_are_entries_where_their_ceiling_was_known() -> None:
    known = OwnRun(
        *("f", "c", "cuda", 4096, 100.0, 90.0, "Llama 3.1 8B", "Q4_K_M"),
        bytes=5 * 10**9,
        ceiling=160.0,
        date="2026-11-30",
    )
    unknown = replace(known, ceiling=None)
    machine = replace(on_a_3090(), runs=(unknown, known))
    (entry,) = own_entries(machine)
    assert (entry.share, entry.bytes, entry.run) == (0.625, 5 * 10**9, None)
    assert entry.told.split("\n") == [
        "Your own run, CUDA",
        "Llama 3.1 8B Q4_K_M, from depth 4,096",
        "100 tok/s x 5 GB = 62 % of the ceiling, 160 tok/s",
        "2026-11-30: measured with this program",
    ]
    assert own_entries(None) == own_entries(replace(machine, runs=())) == ()


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("ggml-org/llama.cpp discussion 15013 via other/one (2026)", "/discussions/15013"),
        ("ggml-org/llama.cpp issue 4716 (2023-12; two machines)", "/issues/4716"),
        ("ggml-org/llama.cpp/blob/4c7e9893/benches/dgx-spark.md (build 6918)",
         "/blob/4c7e9893/benches/dgx-spark.md"),
        ("llama.cpp benches/mac-m2-ultra (build 7948)", "/tree/HEAD/benches/mac-m2-ultra"),
    ],
)  # fmt: skip
def test_sources_in_llama_cpp_have_an_address(source: str, expected: str) -> None:
    assert address(source) == f"https://github.com/ggml-org/llama.cpp{expected}"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("LocalScore.ai via d893a/localscore-insights@a4f8174 (2025-07-14), median of 1",
         "d893a/localscore-insights/tree/a4f8174"),
        ("kyuz0/amd-strix-halo-toolboxes docs/results.json (vulkan_radv, build 9187)",
         "kyuz0/amd-strix-halo-toolboxes/blob/HEAD/docs/results.json"),
        ("hogeheer499-commits/strix-halo-guide data/benchmarks.csv@3aa373c (MIT); b8298",
         "hogeheer499-commits/strix-halo-guide/blob/3aa373c/data/benchmarks.csv"),
        ("intel/ipex-llm/issues/12991", "intel/ipex-llm/issues/12991"),
    ],
)  # fmt: skip
def test_sources_elsewhere_have_one_too(source: str, expected: str) -> None:
    assert address(source) == f"https://github.com/{expected}"


@pytest.mark.parametrize(
    "source",
    ["", "article; 1.84 GB/token as reported", "r/LocalLLaMA owner benchmark",
     "lhl notes (7940HS, DDR5-5600 89.6 GB/s)"],
)  # fmt: skip
def test_a_source_that_is_no_place_has_no_address(source: str) -> None:
    assert address(source) == ""


def test_what_is_said_of_a_run_follows_the_language() -> None:
    """The runs are read once, and the language may change while the program runs."""
    entry = next(entry for entry in published_entries() if "." in entry.told.splitlines()[2])
    english = entry.told
    speak("es")
    assert entry.told.splitlines()[2].partition(" tok/s")[0].count(",") == 1
    speak()
    assert entry.told == english
