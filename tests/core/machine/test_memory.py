"""RAM and what a container's limit makes of it."""

from __future__ import annotations

from pathlib import Path

from core.machine.detect.memory import Level, control_groups, read_ram

GIB = 2**30


def group(folder: Path, **files: object) -> None:
    """A control group's folder; ``memory_max`` becomes memory.max."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in files.items():
        (folder / name.replace("_", ".", 1)).write_text(f"{value}\n")


def test_u16_file_cache_is_not_counted_as_used_where_there_is_no_limit(tmp_path: Path) -> None:
    # A server with memory.max "max" and 25.69 GiB of "current", nearly all of it file cache.
    group(
        tmp_path,
        memory_max="max",
        memory_current=round(25.69 * GIB),
        memory_stat=f"file {round(25.03 * GIB)}\ninactive_file {round(10.71 * GIB)}",
    )
    levels = control_groups(tmp_path, "0::/\n")
    assert levels == ()
    ram = read_ram(round(32 * GIB), round(30.4 * GIB), levels)
    assert ram.total.value is not None
    assert ram.used.value is not None
    assert ram.total.value - ram.used.value == round(30.4 * GIB)
    assert ram.problems == ()


def test_u16_a_container_sees_its_limit_and_gets_its_file_cache_back(tmp_path: Path) -> None:
    stat = f"anon {2 * GIB}\nactive_file {20 * GIB}\ninactive_file {8 * GIB}\nshmem {1 * GIB}"
    group(tmp_path, memory_max=42949672960, memory_current=31 * GIB, memory_stat=stat)
    levels = control_groups(tmp_path, "0::/\n")
    assert levels == (Level(40 * GIB, 31 * GIB, 28 * GIB),)
    ram = read_ram(512 * GIB, 480 * GIB, levels)
    assert ram.total.value == 40 * GIB
    assert ram.used.value == 3 * GIB  # 40 - (40 - (31 - 28))
    assert "512 GiB" in ram.total.note
    (problem,) = ram.problems
    assert problem.code == "memory_limited"


def test_the_host_can_have_less_left_than_the_limit_allows() -> None:
    ram = read_ram(64 * GIB, 5 * GIB, (Level(40 * GIB, 1 * GIB, 0),))
    assert ram.total.value == 40 * GIB
    assert ram.used.value == 35 * GIB


def test_the_tightest_of_nested_limits_decides(tmp_path: Path) -> None:
    group(tmp_path / "user.slice", memory_max=16 * GIB, memory_current=10 * GIB, memory_stat="")
    inner = tmp_path / "user.slice" / "app.service"
    group(inner, memory_max=24 * GIB, memory_current=1 * GIB, memory_stat="")
    levels = control_groups(tmp_path, "0::/user.slice/app.service\n")
    ram = read_ram(64 * GIB, 60 * GIB, levels)
    assert ram.total.value == 16 * GIB
    assert ram.used.value == 10 * GIB


def test_the_first_version_of_control_groups_is_read_as_well(tmp_path: Path) -> None:
    group(
        tmp_path / "memory" / "docker" / "abc",
        memory_limit_in_bytes=8 * GIB,
        memory_usage_in_bytes=6 * GIB,
        memory_stat=f"total_inactive_file {3 * GIB}\ntotal_active_file {1 * GIB}",
    )
    group(
        tmp_path / "memory",
        memory_limit_in_bytes=9223372036854771712,
        memory_usage_in_bytes=20 * GIB,
    )
    membership = "5:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc\n0::/docker/abc\n"
    assert control_groups(tmp_path, membership) == (Level(8 * GIB, 6 * GIB, 4 * GIB),)


def test_a_path_of_the_host_inside_a_container_means_the_mounted_group(tmp_path: Path) -> None:
    group(tmp_path, memory_max=4 * GIB, memory_current=1 * GIB, memory_stat="")
    for path in ("/system.slice/docker-abc.scope", "/../../elsewhere"):
        assert control_groups(tmp_path, f"0::{path}\n") == (Level(4 * GIB, 1 * GIB, 0),)


def test_unreadable_or_strange_files_mean_no_limit(tmp_path: Path) -> None:
    assert control_groups(tmp_path / "nothing", "0::/\n") == ()
    assert control_groups(tmp_path, "") == ()
    group(tmp_path, memory_max="plenty", memory_current="-1", memory_stat="x y z\n\n")
    assert control_groups(tmp_path, "0::/\nnonsense\n") == ()
