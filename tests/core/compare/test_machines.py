"""One model on several machines: the worked figures, and what two cards do and do not add."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.compare import MachineRow, compare_machines, with_price
from core.compare.tables import bandwidth_words, machine_columns, memory_words
from core.gguf import open_file
from core.machine import catalogue, custom, machine_from
from core.model import model_from
from core.model.model import Model
from core.plan.choice import Choice, FlashAttention
from core.plan.plan import PartKind, Verdict
from core.units import UnitSystem
from resources import specimens
from tests.support.dense import dense

GIB = 2**30
MIB = 2**20


def specimen(word: str) -> Model:
    return model_from(open_file(next(path for path in specimens() if word in path.stem)))


QWEN = specimen("Qwen3.6-35B")


def rows(model: Model, *specs: str, **options: object) -> tuple[MachineRow, ...]:
    machines = [(spec, machine_from(spec)) for spec in specs]
    return compare_machines(model, machines, Choice(**options))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rate", "weights", "cache", "depth", "expected"),
    [
        (936, 16.1e9, 0.3e9, 16_384, "57"),
        (936, 16.1e9, 3.6e9, 196_608, "47.5"),
        (51.2, 2.5e9, 0.6e9, 4096, "16.5"),
        (3350, 14e9, 1.3e9, 8192, "219"),
    ],
)
def test_the_ceiling_at_depth_is_bandwidth_over_bytes(
    rate: float, weights: float, cache: float, depth: int, expected: str
) -> None:
    (row,) = rows(dense(weights, cache, depth), f"ram:1000GB@{rate}", context=depth, slots=1)
    digits = len(expected.partition(".")[2])
    ceiling = row.figures.plan.speed.ceiling.value
    assert ceiling is not None
    assert abs(ceiling - float(expected)) <= 0.5000001 * 10**-digits
    # The whole context is the chosen one here; with an empty cache only the weights are read.
    assert row.figures.at_full.value == ceiling
    assert row.figures.at_empty.value == pytest.approx(rate * 1e9 / weights, rel=1e-3)


def test_empty_and_full_are_the_ends_of_the_curve_whatever_is_chosen() -> None:
    (row,) = rows(QWEN, "nvidia-geforce-rtx-3090", context=32_768, depth=1000)
    curve = row.figures.whole.curve
    assert (curve[0].depth, curve[-1].depth) == (0, 262_144)
    assert (curve[0].tok_s, curve[-1].tok_s) == (
        row.figures.at_empty.value,
        row.figures.at_full.value,
    )
    assert row.figures.plan.settings.depth == 1000


@given(low=st.floats(10, 5000), more=st.floats(1, 5000))
def test_more_bandwidth_is_never_slower(low: float, more: float) -> None:
    slow, fast = rows(QWEN, f"ram:1000GB@{low:.6f}", f"ram:1000GB@{low + more:.6f}")
    for first, second in (
        (slow.figures.at_empty, fast.figures.at_empty),
        (slow.figures.plan.speed.ceiling, fast.figures.plan.speed.ceiling),
        (slow.figures.at_full, fast.figures.at_full),
    ):
        assert first.value is not None and second.value is not None
        assert first.value <= second.value


@given(size=st.integers(1, 80))
def test_the_largest_context_never_shrinks_with_more_memory(size: int) -> None:
    small, large = rows(QWEN, f"gpu:{size}GiB@936", f"gpu:{size + 1}GiB@936")
    assert small.figures.most is not None and large.figures.most is not None
    assert small.figures.most <= large.figures.most
    (column,) = (c for c in machine_columns() if c.name == "largest_context")
    # More memory never sorts below less, whether or not it leaves room.
    assert sorted([large, small], key=column.key, reverse=True)[0] is large


def test_what_lacks_and_what_is_free_add_up_to_the_capacity() -> None:
    small, large = rows(QWEN, "gpu:16GiB@936", "gpu:40GiB@936")
    assert (small.figures.plan.verdict, large.figures.plan.verdict) == (
        Verdict.DOES_NOT_FIT,
        Verdict.FITS,
    )
    assert small.figures.room.value is not None and large.figures.room.value is not None
    # The same bytes on both: 24 GiB more are 24 GiB less lacking.
    assert large.figures.room.value - small.figures.room.value == 24 * GIB
    assert small.figures.room.value < 0 < large.figures.room.value
    assert small.figures.largest.value == 0


def test_two_cards_of_a_layer_split_are_no_faster_than_one() -> None:
    """S13."""
    # 18.4 GiB over 1792 GB/s: 90.7 tok/s, and not 181.
    model = dense(18.4 * GIB, 0, 4096)
    card = "gpu:40GiB@1792"
    one, two = rows(model, card, f"2x {card}", context=4096, depth=0)
    for row in (one, two):
        assert row.figures.at_empty.value == pytest.approx(90.7, abs=0.05)
    assert bandwidth_words(two.machine) == "2 × 1,792 GB/s"


def test_memory_of_several_cards_is_never_told_as_a_sum() -> None:
    """U06."""
    pair, mixed = rows(
        QWEN,
        "2x nvidia-geforce-rtx-3090",
        "nvidia-geforce-rtx-3090 + nvidia-geforce-rtx-3060-12-gb",
    )
    assert memory_words(pair.machine, UnitSystem.GIB) == "2 × 24.0 GiB"
    assert memory_words(mixed.machine, UnitSystem.GIB) == "24.0 GiB + 12.0 GiB"
    # Each card has its own bar, and the fullest of them decides.
    for row in (pair, mixed):
        cards = [d for d in row.figures.plan.memory.devices if d.device.kind.value == "gpu"]
        assert len(cards) == 2
        assert row.figures.room.value == min(card.free.value or 0 for card in cards)


@pytest.mark.parametrize(("cards", "copies"), [(1, 1), (2, 4), (4, 4)])
def test_a_layer_split_keeps_four_copies_of_the_mask_on_every_card(cards: int, copies: int) -> None:
    """M26."""

    # ctx 1,048,576 and ubatch 512: 1 GiB on a single card, 4 GiB on each of several.
    def compute(context: int) -> int:
        (row,) = rows(
            specimen("Llama-3.1-8B"),
            f"{cards}x gpu:1000GiB@936",
            context=context,
            slots=1,
            flash_attention=FlashAttention.ON,
        )
        first = row.figures.plan.memory.devices[0]
        return next(p.bytes.value or 0 for p in first.parts if p.kind is PartKind.COMPUTE)

    grown = compute(1_048_576) - compute(131_072)
    assert grown == pytest.approx(copies * (1024 - 128) * MIB, rel=0.02)


def test_a_laptop_card_does_not_inherit_the_desktop_cards_bandwidth() -> None:
    """U01."""
    laptop = catalogue.match("NVIDIA GeForce RTX 5070 Laptop GPU", 8 * GIB)
    desktop = catalogue.match("NVIDIA GeForce RTX 5070", 12 * GIB)
    assert len(laptop) == len(desktop) == 1
    model = specimen("Qwen3-4B")
    slow, fast = rows(model, laptop[0].id, desktop[0].id)
    assert slow.machine.devices[0].bandwidth.value in (384e9, 448e9)
    assert fast.machine.devices[0].bandwidth.value == pytest.approx(672e9, rel=0.001)
    assert (slow.figures.at_empty.value or 0) < (fast.figures.at_empty.value or 0)


def test_watts_of_two_cards_are_those_of_both_and_unknown_where_nobody_tells() -> None:
    one, two, typed = rows(
        QWEN, "nvidia-geforce-rtx-3090", "2x nvidia-geforce-rtx-3090", "gpu:24GiB@936"
    )
    assert (one.watts.value, two.watts.value) == (350, 700)  # NVIDIA: 350 W
    assert typed.watts.value is None
    assert typed.watts.note


def test_a_price_stays_with_its_row_and_speed_for_it_needs_an_expected_speed() -> None:
    (row,) = rows(QWEN, "nvidia-geforce-rtx-3090")
    assert row.price.value is None
    assert row.per_price.value is None
    priced = with_price(row, 700.0)
    assert priced.price.value == 700.0
    assert priced.figures is row.figures
    expected = priced.figures.plan.speed.expected.mid.value
    assert expected is not None
    assert priced.per_price.value == pytest.approx(expected / 0.7)  # for 1,000 of what 700 is of
    text = {c.name: c.text(priced) for c in machine_columns("EUR")}["tok_s_per_1000"]
    assert float(text) == pytest.approx(expected / 0.7, rel=0.01)


def test_what_does_not_fit_buys_nothing() -> None:
    (row,) = rows(QWEN, "nvidia-geforce-rtx-3060-12-gb")
    priced = with_price(row, 250.0)
    assert priced.per_price.value is None
    assert "does not fit" in priced.per_price.note


def test_the_first_token_of_a_longer_prompt_comes_later() -> None:
    machine = ("card", machine_from("nvidia-geforce-rtx-3090"))
    short, long = (
        compare_machines(QWEN, [machine], Choice(), prompt=prompt)[0] for prompt in (512, 8192)
    )
    assert short.figures.prompt.value is not None and long.figures.prompt.value is not None
    assert 0 < short.figures.prompt.value < long.figures.prompt.value
    (beyond,) = compare_machines(QWEN, [machine], Choice(), prompt=20_000)
    assert beyond.figures.prompt.value is None
    assert "longer than the context" in beyond.figures.prompt.note


def test_a_card_without_a_price_has_empty_cells_and_not_zeros() -> None:
    (row,) = rows(QWEN, "nvidia-geforce-rtx-3090")
    cells = {c.name: (c.text(row), c.exact(row)) for c in machine_columns("EUR")}
    assert cells["price"] == ("", None)
    assert cells["tok_s_per_1000"] == ("", None)


def test_machines_of_unknown_figures_are_unknown_and_not_refused() -> None:
    (row,) = compare_machines(QWEN, [("typed", custom(24 * GIB))], Choice())
    assert row.figures.plan.verdict is Verdict.FITS
    assert row.figures.at_empty.value is None
    cells = {c.name: c.text(row) for c in machine_columns()}
    assert (cells["ceiling_tok_s"], cells["bandwidth_bytes_per_second"]) == ("unknown", "unknown")
