"""What platforms do at the edge of a memory: said beside the verdict, never instead of it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from core.gguf import open_file
from core.machine import Backend, Machine, catalogue, combine, custom, with_ram
from core.model import model_from
from core.model.model import Model
from core.plan import resolve
from core.plan.choice import Choice
from core.plan.plan import Plan, Verdict
from core.problems import Severity
from core.provenance import Rank, explain
from resources import specimens

MIB, GIB = 2**20, 2**30


def specimen(word: str) -> Model:
    return model_from(open_file(next(path for path in specimens() if word in path.stem)))


@pytest.fixture(scope="module")
def llama() -> Model:
    return specimen("Llama-3.1-8B")


def plan_of(model: Model, machine: Machine, **options: Any) -> Plan:
    return resolve(model, machine, Choice(**options))


def test_half_a_gigabyte_too_much_is_16_ms_a_token_where_a_driver_spills(llama: Model) -> None:
    total = plan_of(llama, custom(64 * GIB)).memory.devices[0].total.value or 0
    plan = plan_of(llama, custom(total - 500_000_000))
    assert plan.verdict is Verdict.DOES_NOT_FIT
    (problem,) = [p for p in plan.problems if p.code == "shared-memory"]
    assert problem.severity is Severity.NOTE
    assert "at least 16 ms a token" in problem.message
    assert "Windows" in problem.message


def test_a_spill_of_a_mixture_is_told_by_what_a_token_reads_of_it() -> None:
    plan = plan_of(specimen("DeepSeek-V3.1"), custom(24 * GIB))
    (problem,) = [p for p in plan.problems if p.code == "shared-memory"]
    # 2^30 / 31.5 GB/s = 34.1 ms.
    assert "each GiB that a token reads of it takes 34 ms" in problem.message


def test_nothing_spills_where_it_fits_or_from_ram(llama: Model) -> None:
    assert plan_of(llama, custom(24 * GIB)).problems == ()
    ram = plan_of(llama, custom(4 * GIB, gpu=False))
    assert ram.verdict is Verdict.DOES_NOT_FIT
    assert ram.problems == ()
    mac = plan_of(llama, custom(4 * GIB, backend=Backend.METAL, unified=True))
    assert mac.verdict is Verdict.DOES_NOT_FIT
    assert mac.problems == ()


def test_a_mac_s_gpu_has_its_share_of_the_ram_and_the_plan_says_so(llama: Model) -> None:
    # llama.cpp on 16 GB Macs prints a working set of 12,713 MB (Apple's figure, MB = 10^6).
    rows = [row for row in catalogue.all() if "apple" in row.id]
    mac = with_ram(catalogue.machine(rows[0].id), 16 * GIB)
    plan = plan_of(llama, mac, context=4096)
    (device,) = plan.memory.devices
    assert device.device.memory.value == pytest.approx(12_713e6, rel=0.01)
    free = explain(device.free)
    assert "iogpu.wired_limit_mb" in free
    assert device.free.source.rank is Rank.ESTIMATED
    assert (device.free.value or 0) < 16 * GIB - (device.total.value or 0)


def test_more_than_half_of_shared_memory_needs_a_setting_of_the_system() -> None:
    model = specimen("gpt-oss-120b")
    strix = catalogue.machine(catalogue.search("strix halo")[0].id)
    (device,) = strix.devices
    assert device.memory.value == 128 * GIB
    assert device.memory.source.rank is Rank.ASSUMED
    plan = plan_of(model, with_ram(strix, 96 * GIB), context=131_072)
    assert plan.verdict is Verdict.FITS
    (problem,) = [p for p in plan.problems if p.code == "lent-memory"]
    assert problem.severity is Severity.WARNING
    assert "ttm.pages_limit" in problem.advice
    assert plan_of(specimen("Llama-3.1-8B"), strix).problems == ()
    # A Mac and NVIDIA's one memory have limits of their own kind.
    for backend in (Backend.METAL, Backend.CUDA):
        one = custom(96 * GIB, 273e9, backend=backend, unified=True)
        assert "lent-memory" not in [p.code for p in plan_of(model, one, context=131_072).problems]


def test_limits_never_change_a_figure(llama: Model) -> None:
    small = combine(custom(24 * GIB), custom(8 * GIB, gpu=False))
    large = combine(custom(24 * GIB), custom(640 * GIB, gpu=False))
    warned, quiet = plan_of(llama, small), plan_of(llama, large)
    assert [p.code for p in warned.problems] == ["growth"]
    assert quiet.problems == ()
    assert warned.memory.total == quiet.memory.total
    assert warned.verdict is quiet.verdict
    (problem,) = warned.problems
    assert re.search(r"up to 8\.00 GiB where 7\.\d\d GiB is free", problem.message)
    assert "--cache-ram" in problem.advice
