"""The overview panel: facts with their sources, kinds in words, and what a what-if moves."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from core.gguf.header import Kind
from core.model.model import CacheFacts, CacheGroup, Model, Role, StateGroup, Weights
from core.plan.plan import PartKind
from core.problems import Problem, Severity
from core.provenance import Rank
from core.units import UnitSystem
from gui import theme
from gui.panels.overview import OverviewPanel, facts
from gui.panels.overview.kinds import EXPLAINED
from gui.widgets.fact_label import FactLabel
from gui.widgets.live_text import LiveText
from gui.widgets.text import Text
from tests.support.models import Spec, document_of, model_of, shape_of, weights_of

# A mixture of experts with 8 of 256 used. Bytes: 2048 × 512 × 256 / 256 × 144 = 150,994,944 for
# the experts, 2048 × 1024 / 256 × 210 = 1,720,320 for the head, 1,179,648 for the embedding.
SPECS = (
    Spec("token_embd.weight", (2048, 1024), "Q4_K", Role.EMBEDDING, read=1 / 1024),
    Spec("output.weight", (2048, 1024), "Q6_K", Role.HEAD),
    Spec("blk.0.ffn_up_exps.weight", (2048, 512, 256), "Q4_K", Role.EXPERTS, 0, read=8 / 256),
)
QWEN_LAYERS = tuple(range(3, 40, 4))
QWEN_CACHE = CacheFacts(
    known=True,
    groups=(
        CacheGroup("full attention", QWEN_LAYERS, 512, 512, rule="full_attention_interval is 4"),
    ),
    states=(
        # 65,863,680 B in 30 layers: 548,864 elements each (3 × 8192 and 32 × 128 × 128).
        StateGroup(
            "gated delta net", tuple(i for i in range(40) if i not in QWEN_LAYERS), 24_576, 524_288
        ),
    ),
    layers=41,
)
QWEN_SHAPE = shape_of(40, draft_layers=1, context_length=262_144, experts=256, experts_used=8)


def qwen(**changes: object) -> Model:
    values: dict[str, object] = {
        "architecture": "qwen35moe",
        "name": "Qwen3.6-35B-A3B",
        "label": "Q4_K_M",
        "mix": "99 % Q4_K by bytes",
        "shape": QWEN_SHAPE,
        "cache": QWEN_CACHE,
    }
    return model_of(SPECS, **(values | changes))  # type: ignore[arg-type]


def shown(qtbot: QtBot, model: Model | None, width: int = 420) -> OverviewPanel:
    tried = weights_of([spec._replace(type="Q8_0") for spec in SPECS], "Q8_0")
    panel = OverviewPanel(document_of(model, {"Q8_0": tried}))
    qtbot.addWidget(panel)
    panel.resize(width, 900)
    panel.show()
    return panel


def labels(panel: QWidget) -> list[FactLabel]:
    return [label for label in panel.findChildren(FactLabel) if label.isVisible()]


def figures(panel: QWidget) -> dict[str, str]:
    """Every figure on the panel by its name."""
    return {
        label.accessibleName().removesuffix(f": {label.shown}"): label.shown
        for label in labels(panel)
    }


def words(panel: QWidget) -> str:
    """Every sentence on the panel, as people read it."""
    texts = [text.text() for text in panel.findChildren(Text) if text.isVisible()]
    texts += [text.shown for text in panel.findChildren(LiveText) if text.isVisible()]
    return "\n".join(texts).replace("\u200b", "")


def test_the_headline_says_what_the_file_is(qtbot: QtBot) -> None:
    panel = shown(qtbot, qwen())
    panel._document.set_units(UnitSystem.GB)
    found = figures(panel)
    # 150,994,944 + 1,720,320 + 1,179,648 = 153,894,912 B, and 4,096 B of header.
    assert found["Size on disk"] == "154 MB"
    # 2048 × 1024 × 2 + 2048 × 512 × 256 = 272,629,760
    assert found["Parameters"] == "273 M"
    # 2048 + 2048 × 1024 + 2048 × 512 × 8 = 10,487,808
    assert found["Used for each token"] == "10.5 M, 3.8 %"
    assert found["Bits per weight"] == "4.52 bits"  # 8 × 153,894,912 / 272,629,760
    assert found["Layers"] == "40 + 1 for drafting"
    assert found["Trained context"] == "262,144 tokens"
    assert found["Experts for each token"] == "8 of 256"
    assert "qwen35moe · language model" in words(panel)


def test_a_header_without_its_data_says_how_large_the_whole_file_is(qtbot: QtBot) -> None:
    model = qwen()
    head = replace(model.file.header, file_bytes=4096)
    short = replace(model.file, header=head, headers=(head,))
    panel = shown(qtbot, replace(model, file=short))
    panel._document.set_units(UnitSystem.GB)
    (size,) = [x for x in labels(panel) if x.accessibleName().startswith("Size of the whole")]
    assert "(153,899,008 B)" in size.explanation()  # 4,096 B of header before the tensors
    assert figures(panel)["Size on disk"] == "4.10 kB"
    panel._document.set_model(qwen())
    assert "Size of the whole file" not in figures(panel)


def test_the_label_stands_beside_what_is_really_inside(qtbot: QtBot) -> None:
    panel = shown(qtbot, qwen())
    assert "Labelled Q4_K_M, really 99 % Q4_K by bytes" in words(panel)
    panel._document.set_model(qwen(label="", mix="all F16"))
    assert "No label; inside is all F16" in words(panel)


def test_every_figure_says_how_it_was_come_by(qtbot: QtBot) -> None:
    panel = shown(qtbot, qwen())
    found = labels(panel)
    assert len(found) > 25
    ranks = tuple(rank.capitalize() for rank in Rank)
    for label in found:
        lines = label.explanation().splitlines()
        assert any(line.startswith(ranks) for line in lines), label.accessibleName()
        assert label.accessibleDescription() == label.explanation()


def test_a_sum_has_its_formula_and_its_inputs(qtbot: QtBot) -> None:
    panel = shown(qtbot, qwen())
    (bits,) = [x for x in labels(panel) if x.accessibleName().startswith("Bits per weight")]
    assert "= 8 × bytes of all tensors / parameters" in bits.explanation()
    assert "parameters: 272,629,760" in bits.explanation()


def test_layers_are_grouped_by_what_they_keep(qtbot: QtBot) -> None:
    found = figures(shown(qtbot, qwen()))
    assert found["10 of 40 layers keep a full cache"] == "20.0 KiB/token"  # 20,480 B
    assert (
        found["30 of 40 layers keep a recurrent state (gated delta net)"] == "62.8 MiB"
    )  # 65,863,680 B


def test_the_cache_of_the_layers_follows_the_cache_types(qtbot: QtBot) -> None:
    # Qwen3.6-27B: 16 layers, 65,536 B a token in f16, 34,816 in q8_0, 18,432 in q4_0.
    layers = tuple(range(3, 64, 4))
    cache = CacheFacts(
        known=True, groups=(CacheGroup("full attention", layers, 1024, 1024),), layers=64
    )
    panel = shown(qtbot, qwen(shape=shape_of(64), cache=cache))
    name = "16 of 64 layers keep a full cache"
    assert figures(panel)[name] == "64.0 KiB/token"
    panel._document.choose(cache_k="q8_0", cache_v="q8_0")
    assert figures(panel)[name] == "34.0 KiB/token"
    panel._document.choose(cache_k="q4_0", cache_v="q4_0")
    assert figures(panel)[name] == "18.0 KiB/token"
    assert figures(panel)["48 of 64 layers keep nothing"] == "0 B"


def test_windows_latent_caches_and_shared_layers_are_named(qtbot: QtBot) -> None:
    cache = CacheFacts(
        known=True,
        groups=(
            CacheGroup("full attention", (5, 11), 2048, 2048),
            CacheGroup("sliding window", (0, 1, 2, 3, 4), 2048, 2048, window=1024),
        ),
        layers=12,
        shared_layers=5,
    )
    found = figures(shown(qtbot, qwen(shape=shape_of(12), cache=cache)))
    assert "2 of 12 layers keep a full cache" in found
    assert "5 of 12 layers keep a window of 1,024 tokens" in found
    assert "5 of 12 layers read the cache of another layer" in found
    assert not any("keep nothing" in name for name in found)


def test_a_latent_cache_keeps_no_v_row(qtbot: QtBot) -> None:
    # 24 layers × 576 values, one row and no V, f16: 27,648 B.
    cache = CacheFacts(
        known=True, groups=(CacheGroup("latent attention", tuple(range(24)), 576, 0),), layers=24
    )
    found = figures(shown(qtbot, qwen(shape=shape_of(24), cache=cache)))
    assert found["all 24 layers keep a full cache (latent attention)"] == "27.0 KiB/token"


def test_a_draft_block_that_is_kept_with_the_others_is_counted(qtbot: QtBot) -> None:
    window = CacheGroup("raw window", tuple(range(44)), 512, 0, window=128)
    fine = CacheGroup("compressed 4:1", (2, 4), 512, 0, stride=4)
    cache = CacheFacts(known=True, groups=(window, fine), layers=44)
    found = figures(shown(qtbot, qwen(shape=shape_of(43, draft_layers=1), cache=cache)))
    assert "all 44 layers keep a window of 128 tokens (raw window)" in found
    # 2 layers × 512 values × 2 bytes / 4 tokens
    assert found["2 of 44 layers keep one row for 4 tokens (compressed 4:1)"] == "512 B/token"


def test_what_a_draft_block_keeps_is_told_apart(qtbot: QtBot) -> None:
    draft = CacheGroup("full attention", (40,), 512, 512)
    cache = CacheFacts(known=True, groups=QWEN_CACHE.groups, draft_groups=(draft,), layers=41)
    found = figures(shown(qtbot, qwen(cache=cache)))
    assert found["the draft block keeps a full cache, when it is used"] == "2.00 KiB/token"


def test_an_unknown_cache_rule_is_said_and_bounded_and_never_guessed(qtbot: QtBot) -> None:
    problem = Problem(
        "cache-rule", "How foo9 keeps its cache is not known.", Severity.WARNING, "Measure it."
    )
    cache = CacheFacts(known=False, low=1024, high=4096, problem=problem)
    panel = shown(qtbot, qwen(cache=cache))
    found = figures(panel)
    assert found["At least"] == "1.00 KiB/token"
    assert found["At most"] == "4.00 KiB/token"
    assert "How foo9 keeps its cache is not known." in words(panel)
    assert found["KV cache, read"] == "unknown"


def test_formats_are_listed_the_heaviest_first(qtbot: QtBot) -> None:
    panel = shown(qtbot, qwen())
    panel._document.set_units(UnitSystem.GB)
    found = figures(panel)
    assert found["Q4_K, bytes"] == "152 MB"  # 150,994,944 + 1,179,648
    assert found["Q4_K, bits"] == "4.50"
    assert found["Q4_K, tensors"] == "2"
    assert found["Q6_K, bits"] == "6.56"
    assert [name for name in found if name.endswith(", bytes")][:2] == [
        "Q4_K, bytes",
        "Q6_K, bytes",
    ]


def test_what_one_token_reads_adds_up_to_its_total(qtbot: QtBot) -> None:
    panel = shown(qtbot, qwen())
    panel._document.set_units(UnitSystem.GB)
    found = figures(panel)
    assert found["experts, read"] == "4.72 MB"  # 150,994,944 × 8 / 256
    assert found["head, read"] == "1.72 MB"
    rows = [
        label._number.value
        for label in labels(panel)
        if ", read: " in label.accessibleName() and label._number is not None
    ]
    plan = panel._document.plan
    assert plan is not None
    assert sum(value for value in rows if value is not None) == plan.speed.bytes_per_token.value


def test_a_deeper_context_moves_the_cache_row_and_nothing_else(qtbot: QtBot) -> None:
    panel = shown(qtbot, qwen())
    before = figures(panel)
    panel._document.choose(context=131_072)
    after = figures(panel)
    changed = {name for name in after if after[name] != before.get(name)}
    assert changed == {"cache and state, read", "One token reads"}
    assert "With 131,072 tokens already written." in words(panel)


def test_weights_are_listed_once_while_a_slider_leaves_them_alone(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    panel = shown(qtbot, qwen())
    asked: list[Weights] = []
    listed = facts.by_format

    def counted(model: Model, weights: Weights) -> list[facts.FormatRow]:
        asked.append(weights)
        return listed(model, weights)

    monkeypatch.setattr(facts, "by_format", counted)
    document = panel._document
    for context in (4096, 8192, 16_384):
        document.choose(context=context)
    assert asked == []
    document.choose(requantize="Q8_0")
    assert len(asked) == 1
    document.set_units(UnitSystem.GB)
    assert len(asked) == 2
    document.set_model(qwen())
    assert len(asked) == 3


@pytest.mark.parametrize("count", [1, 30, 31, 4096])
def test_very_many_types_take_few_rows_that_add_up(count: int) -> None:
    specs = [Spec(f"t{n}", (64,), 100_000 + n, unknown_bytes=64 + n) for n in range(count)]
    model = model_of(specs)
    rows = facts.by_format(model, model.weights)
    assert len(rows) == min(count, 30)
    assert sum(row.bytes.value or 0 for row in rows) == sum(64 + n for n in range(count))
    assert sum(row.tensors.value or 0 for row in rows) == count
    assert sum(row.share for row in rows) == pytest.approx(1)
    assert (rows[-1].name == f"{count - 29:,} others") is (count > 30)
    if count <= 30:
        assert rows[0].name == f"unknown {100_000 + count - 1}"


def test_the_quantization_slider_moves_formats_roles_and_reads(qtbot: QtBot) -> None:
    panel = shown(qtbot, qwen())
    panel._document.set_units(UnitSystem.GB)
    panel._document.choose(requantize="Q8_0")
    found = figures(panel)
    assert "As if it were quantized to Q8_0." in words(panel)
    assert found["head, read"] == "2.23 MB"  # 2048 × 1024 / 32 × 34
    assert found["Q8_0, bits"] == "8.50"
    assert "Q4_K, bits" not in found
    assert found["Size on disk"] == "154 MB"  # the file stays what it is
    (total,) = [x for x in labels(panel) if x.accessibleName().startswith("By format")]
    assert "recipe Q8_0" in total.explanation()
    panel._document.choose(requantize=None)
    assert "Q4_K, bits" in figures(panel)
    assert "As if" not in words(panel)


def test_a_hidden_panel_catches_up_when_it_is_shown(qtbot: QtBot) -> None:
    panel = shown(qtbot, qwen())
    panel.hide()
    panel._document.choose(requantize="Q8_0")
    panel._document.set_units(UnitSystem.GB)
    panel.show()
    assert figures(panel)["head, read"] == "2.23 MB"


def test_no_gib_is_left_when_gb_is_chosen(qtbot: QtBot) -> None:
    panel = shown(qtbot, qwen())
    panel._document.set_units(UnitSystem.GB)
    for label in labels(panel):
        assert "iB" not in label.shown, label.accessibleName()
        assert "iB" not in label.explanation(), label.explanation()


def test_what_is_stored_and_never_read_while_writing_is_named(qtbot: QtBot) -> None:
    draft = Spec("blk.1.nextn.eh_proj.weight", (2048, 1024), "Q8_0", Role.DRAFT, 1, read=0)
    panel = shown(qtbot, model_of([*SPECS, draft], shape=QWEN_SHAPE, cache=QWEN_CACHE))
    assert "Not read while writing: draft block." in words(panel)


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind is not Kind.MODEL])
def test_a_file_that_is_no_plain_model_is_explained(qtbot: QtBot, kind: Kind) -> None:
    panel = shown(qtbot, qwen(kind=kind))
    title, explanation = EXPLAINED[kind]
    assert explanation in words(panel)
    assert title.lower() in words(panel)
    writes = kind in (Kind.SHARD, Kind.UNKNOWN)
    assert ("One token reads" in figures(panel)) is writes


def test_a_projector_says_what_it_adds_to_its_model(qtbot: QtBot) -> None:
    panel = shown(qtbot, qwen(kind=Kind.PROJECTOR))
    panel._document.set_units(UnitSystem.GB)
    assert figures(panel)["Adds to the model's memory"] == "≥ 154 MB"
    panel._document.set_model(qwen())
    assert "Adds to the model's memory" not in figures(panel)


def test_a_missing_part_is_named_and_every_total_is_a_lower_bound(qtbot: QtBot) -> None:
    missing = ("big-00002-of-00003.gguf",)
    panel = shown(qtbot, qwen(shards=2, missing=missing))
    assert (
        "A part of the model is missing: every total below is a lower bound. "
        "Missing: big-00002-of-00003.gguf" in words(panel)
    )
    found = figures(panel)
    for name in ("Size on disk", "Parameters", "Used for each token", "By format", "By role"):
        assert found[name].startswith("≥ "), name
    assert found["One token reads"].startswith("≥ ")


def test_a_header_that_ends_inside_its_tensor_table_gives_lower_bounds(qtbot: QtBot) -> None:
    whole = qwen()
    cut = replace(whole.file.header, data_offset=None)
    panel = shown(qtbot, replace(whole, file=replace(whole.file, header=cut, headers=(cut,))))
    assert "The header ends before its last tensor" in words(panel)
    assert figures(panel)["Parameters"].startswith("≥ ")


def test_the_kind_is_explained_once(qtbot: QtBot) -> None:
    said = Problem("projector", "mmproj.gguf is a projector.", Severity.NOTE)
    panel = shown(qtbot, qwen(kind=Kind.PROJECTOR, file_problems=(said,)))
    assert "mmproj.gguf is a projector." not in words(panel)
    assert EXPLAINED[Kind.PROJECTOR][1] in words(panel)


def test_problems_are_listed_the_most_severe_first(qtbot: QtBot) -> None:
    note = Problem("label", "The label lies.", Severity.NOTE)
    error = Problem(
        "truncated", "The file is cut off.", Severity.ERROR, "Download it again.", "m.gguf", 24, 512
    )
    panel = shown(qtbot, qwen(problems=(note,), file_problems=(error, error)))
    text = words(panel)
    assert text.index("Error: The file is cut off.") < text.index("Note: The label lies.")
    assert text.count("The file is cut off.") == 1
    assert "m.gguf, at byte 24, 512 bytes missing" in text
    assert "Download it again." in text


def test_of_very_many_problems_the_first_are_shown_and_the_rest_counted(qtbot: QtBot) -> None:
    many = tuple(Problem("x", f"Problem {i}.", Severity.WARNING) for i in range(1000))
    panel = shown(qtbot, qwen(file_problems=many))
    assert "and 980 more" in words(panel)
    panel._document.set_model(qwen())
    assert "and 980 more" not in words(panel)


def test_a_file_without_tensors_and_keys_is_a_sensible_page(qtbot: QtBot) -> None:
    panel = shown(qtbot, model_of(architecture="", name="", kind=Kind.UNKNOWN))
    assert "architecture not stated" in words(panel)
    assert "model.gguf" in words(panel)
    assert set(figures(panel)) == {"Size on disk", "GGUF version", "Alignment", "Header"}


def test_without_a_model_the_panel_says_what_to_do(qtbot: QtBot) -> None:
    panel = shown(qtbot, None)
    assert words(panel) == "Open a GGUF file to see what it holds."
    panel._document.set_model(qwen())
    assert "Open a GGUF file" not in words(panel)
    panel._document.set_model(None)
    assert words(panel) == "Open a GGUF file to see what it holds."
    assert figures(panel) == {}


def test_odd_names_cannot_reverse_the_panel(qtbot: QtBot) -> None:
    panel = shown(qtbot, qwen(name="evil\u202ename", path=Path("a\u202eb.gguf")))
    assert "\u202e" not in words(panel)
    assert "evil\\u202ename" in words(panel)


def test_a_name_of_a_million_letters_does_not_stop_the_panel(qtbot: QtBot) -> None:
    panel = shown(qtbot, qwen(name="x" * 1_000_000, architecture="y" * 1_000_000))
    assert len(words(panel)) < 4000


@pytest.mark.parametrize("width", [300, 420])
def test_nothing_is_cut_off_in_a_narrow_panel(qtbot: QtBot, width: int) -> None:
    deep = Path("/home/somebody") / "a-very-long-folder-name-without-any-space" / ("x" * 20)
    model = qwen(
        name="An-Exceptionally-Long-Model-Name-Without-Spaces-And-With-Many-Hyphens-Instruct",
        path=deep / "An-Exceptionally-Long-File-Name-Without-Spaces-Instruct-Q4_K_M.gguf",
        shards=2,
        missing=("An-Exceptionally-Long-File-Name-Without-Spaces-00002-of-00003.gguf",),
        file_problems=(
            Problem(
                "overlap",
                "blk.0.a_tensor_with_a_long_name.weight overlaps blk.0.another_long_name.weight.",
                where=str(deep / "An-Exceptionally-Long-File-Name-Without-Spaces.gguf"),
                offset=123_456_789_012,
            ),
        ),
    )
    panel = shown(qtbot, model, width)
    page = panel.widget()
    assert page is not None
    assert page.minimumSizeHint().width() <= panel.viewport().width()
    qtbot.waitUntil(lambda: page.width() == panel.viewport().width())


def colours(panel: OverviewPanel, x: int) -> list[str]:
    """What the strip paints at ``x``, from the top."""
    image = panel._strip.grab().toImage()
    return [image.pixelColor(x, y).name() for y in range(image.height())]


def test_the_strip_tells_full_caches_windows_and_states_by_their_shape(qtbot: QtBot) -> None:
    cache = CacheFacts(
        known=True,
        groups=(
            CacheGroup("full attention", (0,), 512, 512),
            CacheGroup("sliding window", (1,), 512, 512, window=128),
        ),
        states=(StateGroup("Mamba", (2,), 16, 16),),
        layers=4,
    )
    panel = shown(qtbot, qwen(shape=shape_of(4), cache=cache))
    orange, teal = (theme.LIGHT.parts[k].color for k in (PartKind.CACHE, PartKind.STATE))
    width, height = panel._strip.width(), panel._strip.height()
    full, window, state, nothing = (colours(panel, (2 * i + 1) * width // 8) for i in range(4))
    assert full.count(orange) == height
    assert window.count(orange) == height - height // 2
    assert window[-1] == orange
    assert [full[0], state[0], state[-1]] == [orange, teal, teal]
    assert state.count(teal) == 2  # hollow
    assert {orange, teal}.isdisjoint(nothing)
    assert nothing[-1] != nothing[0]


def test_layers_with_cache_and_state_show_both(qtbot: QtBot) -> None:
    cache = CacheFacts(
        known=True,
        groups=(CacheGroup("full attention", (0, 1), 512, 512),),
        states=(StateGroup("Mamba", (0, 1), 16, 16),),
        layers=2,
    )
    panel = shown(qtbot, qwen(shape=shape_of(2), cache=cache))
    seen = colours(panel, panel._strip.width() // 4)
    assert theme.LIGHT.parts[PartKind.CACHE].color in seen
    assert theme.LIGHT.parts[PartKind.STATE].color in seen


def test_the_strip_tells_each_layer_in_words(qtbot: QtBot) -> None:
    panel = shown(qtbot, qwen())
    description = panel._strip.accessibleDescription()
    assert description.startswith("layer 0: gated delta net; layer 1: ")
    assert "layer 3: full attention;" in description
    assert description.count("layer ") == 40
