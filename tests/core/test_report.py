"""A plan as text and as JSON: the same numbers as the plan, and unknown is never nought."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from core.gguf import open_file
from core.machine import Machine, catalogue, combine, custom
from core.model import model_from
from core.model.model import Model
from core.plan import largest_contexts, reason, resolve
from core.plan.choice import Choice, Engine, FlashAttention
from core.plan.plan import Plan, Settings, Verdict
from core.problems import Problem, Severity
from core.report import as_json, problem_line, refusal, text
from core.units import UnitSystem, format_rate
from resources import specimens
from tests.support import memory
from tests.support.gguf_files import TensorSpec, f32, u32, write
from tests.support.memory import file_of

GIB = 2**30
MACHINE = combine(custom(24 * GIB, 936e9, name="Card"), custom(64 * GIB, 51.2e9, gpu=False))

# The object of one report, field by field: what each may hold.
NUMBER, WHOLE, TEXT = (int, float), (int,), (str,)
SHAPE: dict[str, Any] = {
    "schema": WHOLE,
    "file": {
        "paths": [TEXT],
        "bytes": WHOLE,
        "gguf_version": WHOLE,
        "endianness": TEXT,
        "alignment": WHOLE,
        "kind": TEXT,
        "problems": [{"code": TEXT, "message": TEXT, "missing_bytes": WHOLE}],
    },
    "model": {
        "architecture": TEXT,
        "name": TEXT,
        "label": TEXT,
        "layers": WHOLE,
        "context_length": WHOLE,
        "parameters": WHOLE,
        "active_parameters": WHOLE,
        "bits_per_weight": (float,),
    },
    "formats": [
        {
            "type": TEXT,
            "tensors": WHOLE,
            "parameters": WHOLE,
            "bytes": WHOLE,
            "bits_per_weight": (float,),
        }
    ],
    "weights": {"bytes": WHOLE, "read_per_token": WHOLE},
    "settings": dict.fromkeys((f.name for f in fields(Settings)), (int, str, bool)),
    "memory": {
        "cache_bytes": WHOLE,
        "cache_k_bytes": WHOLE,
        "cache_v_bytes": WHOLE,
        "cache_bytes_per_token": WHOLE,
        "state_bytes": WHOLE,
        "compute_bytes": WHOLE,
        "output_bytes": WHOLE,
        "total_bytes": WHOLE,
        "devices": [
            {
                "name": TEXT,
                "kind": TEXT,
                "capacity": WHOLE,
                "parts": [{"part": TEXT, "bytes": WHOLE}],
            }
        ],
        "verdict": TEXT,
    },
    "speed": {
        "bytes_per_token": WHOLE,
        "ceiling_tok_s": (float,),
        "expected_tok_s": {"low": NUMBER, "mid": NUMBER, "high": NUMBER},
        "prefill_tok_s": (float,),
        "ttft_s": (float,),
    },
    "requantized": {
        "ftype": TEXT,
        "bytes": WHOLE,
        "tensor_bytes": WHOLE,
        "bits_per_weight": (float,),
        "formats": [],
    },
}


def check_shape(value: object, shape: Any, where: str = "") -> None:
    """Every field is there and holds its own kind of value, or null."""
    if value is None:
        return
    if isinstance(shape, dict):
        assert isinstance(value, dict), where
        for name, inner in shape.items():
            assert name in value, f"{where}.{name}"
            check_shape(value[name], inner, f"{where}.{name}")
    elif isinstance(shape, list):
        assert isinstance(value, list), where
        for each in value if shape else ():
            check_shape(each, shape[0], where)
    else:
        assert type(value) in shape, (where, value)


def specimen(word: str) -> Model:
    return model_from(open_file(next(path for path in specimens() if word in path.stem)))


@pytest.fixture(scope="module")
def llama() -> Model:
    return specimen("Llama-3.1-8B")


def plan_of(model: Model, machine: Machine = MACHINE, **options: Any) -> Plan:
    return resolve(model, machine, Choice(**options))


@pytest.mark.parametrize("path", specimens(), ids=lambda path: path.stem)
def test_every_field_of_the_object_is_there_with_its_own_kind_of_value(path: Path) -> None:
    model = model_from(open_file(path))
    several: tuple[dict[str, Any], ...] = (
        {},
        {"gpu_layers": 10, "cache_k": "q8_0", "cache_v": "q8_0", "context": 4096},
    )
    for options in several:
        values = json.loads(json.dumps(as_json(plan_of(model, **options)), allow_nan=False))
        assert values["schema"] == 1
        check_shape(values, SHAPE)


def test_the_object_holds_the_numbers_of_the_plan(llama: Model) -> None:
    plan = plan_of(llama, gpu_layers=20, context=8192, cache_k="q8_0")
    values = as_json(plan)
    assert values["weights"] == {"bytes": 4_912_898_304, "read_per_token": 4_617_398_784}
    assert values["model"]["parameters"] == 8_030_261_312
    assert values["memory"]["cache_bytes"] == 8192 * 32 * (1024 * 34 // 32 + 2048)
    assert values["memory"]["total_bytes"] == plan.memory.total.value
    assert values["memory"]["verdict"] == plan.verdict.value
    assert values["speed"]["ceiling_tok_s"] == plan.speed.ceiling.value
    assert values["settings"]["cache_k"] == "q8_0"
    for device, found in zip(plan.memory.devices, values["memory"]["devices"], strict=True):
        assert found["capacity"] == device.device.memory.value
        assert sum(part["bytes"] for part in found["parts"]) == device.total.value
        assert {part["part"] for part in found["parts"]} <= {
            *("weights", "cache", "state", "compute", "output"),
            *("projector", "draft", "overhead", "others"),
        }
    everything = [part["bytes"] for d in values["memory"]["devices"] for part in d["parts"]]
    assert sum(everything) == values["memory"]["total_bytes"]


def test_a_speed_without_data_is_null_and_what_is_known_is_the_plans(llama: Model) -> None:
    without = as_json(plan_of(llama, engine=Engine.VLLM))["speed"]
    assert without["expected_tok_s"] is without["prefill_tok_s"] is without["ttft_s"] is None
    plan = plan_of(llama)
    speed = as_json(plan)["speed"]
    band = plan.speed.expected
    assert speed["expected_tok_s"] == {
        "low": band.low.value,
        "mid": band.mid.value,
        "high": band.high.value,
    }
    assert speed["prefill_tok_s"] == plan.speed.prefill.value
    assert speed["ttft_s"] == plan.speed.ttft.value


def test_a_requantized_file_is_told_apart_from_the_file_as_it_is(llama: Model) -> None:
    assert as_json(plan_of(llama))["requantized"] is None
    values = as_json(plan_of(llama, requantize="Q8_0"))
    assert values["requantized"]["ftype"] == values["settings"]["requantize"] == "Q8_0"
    assert values["requantized"]["tensor_bytes"] == values["weights"]["bytes"] > 8 * 10**9
    assert values["requantized"]["bytes"] > values["requantized"]["tensor_bytes"]
    assert values["requantized"]["bits_per_weight"] == pytest.approx(8.5, abs=0.01)
    assert sum(f["bytes"] for f in values["requantized"]["formats"]) == values["weights"]["bytes"]
    assert values["file"]["bytes"] == as_json(plan_of(llama))["file"]["bytes"]


def nulls(value: object, path: str = "") -> set[str]:
    if isinstance(value, dict):
        return set().union(*(nulls(inner, f"{path}.{name}") for name, inner in value.items()))
    if isinstance(value, list):
        return set().union(*(nulls(inner, path) for inner in value))
    return {path.removeprefix(".")} if value is None else set()


def test_a_cache_of_unknown_kind_is_null_and_what_is_known_is_there() -> None:
    keys = {"general.architecture": "never-heard-of", "never-heard-of.block_count": 4}
    model = model_from(file_of(keys, [("token_embd.weight", (4096, 32_000), "F16")]))
    values = as_json(plan_of(model))
    assert values["memory"]["verdict"] == "unknown"
    assert values["weights"]["bytes"] == 4096 * 32_000 * 2
    assert nulls(values) >= {
        *("memory.cache_bytes", "memory.state_bytes", "memory.total_bytes"),
        *("speed.bytes_per_token", "speed.ceiling_tok_s", "model.name", "model.label"),
    }
    check_shape(values, SHAPE)


@pytest.mark.parametrize("content", [b"", b"GGUF", b"not a model at all, only text", b"GGUF" * 99])
def test_what_is_no_gguf_has_problems_and_no_figures(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "odd.gguf"
    path.write_bytes(content)
    plan = plan_of(model_from(open_file(path)))
    values = as_json(plan)
    check_shape(values, SHAPE)
    assert values["file"]["paths"] == [str(path)]
    assert values["file"]["bytes"] == len(content)
    assert values["file"]["problems"]
    assert values["memory"]["verdict"] == "unknown"
    zeroes = [p for p, v in flat(values) if v == 0 and type(v) is not bool]
    # Nought is only what was chosen (no layer on a GPU is asked for) or truly counted.
    assert {p.split(".")[0] for p in zeroes} <= {"settings", "file", "problems"}
    for problem in values["file"]["problems"]:
        assert problem["message"] in re.sub(r"\s+", " ", text(plan))


def flat(value: object, path: str = "") -> list[tuple[str, object]]:
    if isinstance(value, dict):
        return [pair for name, inner in value.items() for pair in flat(inner, f"{path}.{name}")]
    if isinstance(value, list):
        return [pair for inner in value for pair in flat(inner, path)]
    return [(path.removeprefix("."), value)]


def test_a_file_that_is_not_there_has_no_size(tmp_path: Path) -> None:
    plan = plan_of(model_from(open_file(tmp_path / "gone.gguf")))
    values = as_json(plan)
    assert values["file"]["bytes"] is None
    assert [p["code"] for p in values["file"]["problems"]] == ["not-found"]
    assert "0 B" not in text(plan)


def test_what_is_inside_is_told_of_the_quantization_that_is_planned(llama: Model) -> None:
    as_it_is, requantized = text(plan_of(llama)), text(plan_of(llama, requantize="Q8_0"))
    assert "74 % Q4_K, 26 % Q6_K" in as_it_is
    assert "100 % Q8_0" in requantized
    assert "Q4_K" not in requantized.partition("by format")[0].replace("Q4_K_M.gguf", "")


def test_a_request_that_cannot_be_carried_out_has_nothing_but_the_reason() -> None:
    answer = refusal("model.gguf", "context must be a whole number")
    check_shape(answer, SHAPE)
    assert set(SHAPE) <= set(answer)
    assert answer["file"]["paths"] == ["model.gguf"]
    for problems in (answer["problems"], answer["file"]["problems"]):
        assert [p["message"] for p in problems] == ["context must be a whole number"]
    assert refusal(None, "no file")["file"]["paths"] == []


def test_problems_name_what_is_missing_and_where() -> None:
    problem = Problem(
        "truncated", "The file ends early.", advice="Load it again.", where="a.gguf",
        offset=7, missing_bytes=120,
    )  # fmt: skip
    assert problem_line(problem) == "error: The file ends early. (a.gguf) Load it again."
    note = Problem("n", "Worth\nknowing.", Severity.NOTE)
    assert problem_line(note) == "note: Worth\\nknowing."


# Text


def numbers_in(line: str) -> list[float]:
    return [float(n.replace(",", "")) for n in re.findall(r"[\d,]*\.?\d+", line)]


@pytest.mark.parametrize(
    "word", ["Llama-3.1-8B", "Llama-3.2-1B", "LFM2", "DeepSeek", "Qwen3.6-35B"]
)
@pytest.mark.parametrize("system", UnitSystem)
def test_parts_in_the_text_add_up_to_the_total_in_the_text(word: str, system: UnitSystem) -> None:
    report = text(plan_of(specimen(word), gpu_layers=7), system)
    blocks = re.findall(r"^  \S.*\((?:gpu|host)\).*\n((?:    .*\n)+)", report, re.MULTILINE)
    assert len(blocks) == 2
    for block in blocks:
        lines = {line.split()[0]: numbers_in(line)[0] for line in block.splitlines()}
        free = lines.pop("free", None) or lines.pop("too", None)
        assert free is not None
        total = lines.pop("total")
        assert sum(lines.values()) == pytest.approx(total, abs=1e-6)


def test_one_text_never_mixes_the_two_families_of_units(llama: Model) -> None:
    binary = text(plan_of(llama))
    assert re.search(r"\d [KMG]iB", binary)
    assert not re.search(r"\d [kMG]B\b(?!/s)", binary)
    decimal = text(plan_of(llama), UnitSystem.GB)
    assert re.search(r"\d [kMG]B\b(?!/s)", decimal)
    others = ("note: ", "memory on ")  # the machine's own name may hold a size
    ours = [line for line in decimal.splitlines() if not line.startswith(others)]
    assert not re.search(r"\d [KMG]iB", "\n".join(ours))


def test_the_text_says_file_formats_devices_verdict_and_ceiling(llama: Model) -> None:
    plan = plan_of(llama, catalogue.machine("nvidia-geforce-rtx-3090"))
    report = text(plan)
    for words in (
        "8.03 B parameters",
        "4.89 bits per weight",
        "trained for 131,072 tokens",
        "Q6_K",
        "GeForce RTX 3090 (gpu)",
        "context 16,384, 4 slots (shared)",
        f"fits: {reason(plan)}",
        "6,764,882,432 B",
        "by depth: 0 ",
    ):
        assert words in report
    assert report.endswith("\n")
    assert all(line == line.rstrip() for line in report.splitlines())


def test_the_text_says_which_layers_keep_what_and_by_which_rule() -> None:
    gemma = text(plan_of(specimen("Gemma-3-27B"), context=16_384, slots=1))
    # Every sixth of 62 layers is full: 16 heads of 128, K and V, f16.
    assert "full attention, 10 layers (5, 11, 17 ... 59): 16,384 cells" in gemma
    assert "(K 2,048 + V 2,048 values), 1.25 GiB" in gemma
    assert "sliding window, 52 layers (0, 1, 2, 3, 4, 6, 7, 8 ... 61): 1,536 cells" in gemma
    assert "of every 6 layers the last is full" in gemma
    assert "attention.head_count_kv x attention.key_length" in gemma
    hybrid = text(plan_of(specimen("Qwen3.6-27B"), slots=2))
    assert "full attention, 16 layers (3, 7, 11 ... 63): 8,192 cells x 2 slots" in hybrid
    assert "48 layers" in hybrid
    assert "a state of 150 MiB in each of 2 slots, whatever the context" in hybrid
    assert "full_attention_interval 4" in hybrid
    latent = text(plan_of(specimen("DeepSeek")))
    assert "latent attention, 61 layers (0 to 60): 16,384 cells x (K 576 values)" in latent


def test_the_text_of_an_encoder_or_an_unknown_model_says_why_no_layer_keeps_anything() -> None:
    keys = {"general.architecture": "never-heard-of", "never-heard-of.block_count": 4}
    unknown = text(plan_of(model_from(file_of(keys, [("token_embd.weight", (64, 32), "F32")]))))
    assert re.search(r"what layers keep\n  unknown: \S", unknown)
    assert "largest context" not in unknown
    encoder = text(plan_of(model_from(memory.model("bge-large-en").file)))
    assert "what layers keep\n  no cache: bert reads a text at once" in encoder
    assert "more in RAM" not in encoder


def test_the_text_says_how_far_the_context_can_go_by_cache_type(llama: Model) -> None:
    machine = combine(custom(12 * GIB, 936e9), custom(64 * GIB, 51.2e9, gpu=False))
    (line,) = (n for n in text(plan_of(llama, machine)).splitlines() if "largest context" in n)
    found = largest_contexts(llama, machine, Choice())
    for each in found:
        assert each.comfortable and each.most
        assert f"{each.types} {each.comfortable:,}" in line
        assert f"{each.most:,}" in line
    assert "all it was trained for" in line  # q4_0
    (line,) = (
        n for n in text(plan_of(llama, machine, engine=Engine.VLLM)).splitlines() if "largest" in n
    )
    assert "; fp8 " in line and "q8_0" not in line
    off = FlashAttention.OFF
    (line,) = (
        n for n in text(plan_of(llama, machine, flash_attention=off)).splitlines() if "largest" in n
    )
    assert line.endswith("q8_0 refused; q4_0 refused")
    none = text(plan_of(llama, custom(4 * GIB, gpu=False)))
    assert "largest context that fits: f16 none; q8_0 none; q4_0 none" in none


def test_the_text_says_what_the_engine_does_differently(llama: Model) -> None:
    server = text(plan_of(llama))
    assert "4 slots share 16,384 tokens, and one request may use them all" in server
    assert "up to 8.00 GiB more in RAM: prompt cache" in server
    assert "one request at a time" in text(plan_of(llama, engine=Engine.LLAMA_CLI))
    ollama = text(plan_of(llama, engine=Engine.OLLAMA, slots=4, context=8192))
    assert "num_ctx is for one request: 8,192 tokens x 4 requests = 32,768" in ollama
    assert "divided: 2 slots get 8,192 tokens each" in text(plan_of(llama, slots=2))
    assert "takes 90% of each GPU" in text(plan_of(llama, engine=Engine.VLLM))


def test_what_grows_with_use_stands_beside_the_parts_and_not_among_them(llama: Model) -> None:
    *_, host = as_json(plan_of(llama))["memory"]["devices"]
    assert host["growth"] == [{"name": "prompt cache", "at_most_bytes": 8 * GIB}]
    assert host["total"] == sum(part["bytes"] for part in host["parts"])


def test_too_much_is_said_as_too_much_and_not_as_a_negative_size(llama: Model) -> None:
    report = text(plan_of(llama, custom(4 * GIB, 288e9)))
    assert re.search(r"too much +[\d,]+ MiB", report)
    assert "does not fit: " in report
    assert "-" not in "".join(line for line in report.splitlines() if "MiB" in line)


def test_names_from_a_file_cannot_move_the_cursor_or_reverse_the_line(tmp_path: Path) -> None:
    evil = "red\x1b[31m \u202egnp.exe\x07\udcff"
    keys: dict[str, Any] = {
        "general.architecture": "llama",
        "general.name": evil.encode("utf-8", "surrogateescape"),
        "llama.block_count": u32(1),
        "llama.embedding_length": u32(32),
        "llama.attention.head_count": u32(1),
        "llama.attention.layer_norm_rms_epsilon": f32(1e-5),
    }
    path = write(
        tmp_path / "evil.gguf",
        keys,
        [TensorSpec(evil.encode("utf-8", "surrogateescape"), "F32", (32, 2))],
    )
    plan = plan_of(model_from(open_file(path)))
    report = text(plan)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]", report)
    assert "red\\x1b[31m" in report
    json.dumps(as_json(plan)).encode("ascii")


def test_what_a_file_calls_nought_or_leaves_empty_is_null() -> None:
    keys = {
        "general.architecture": "llama",
        "llama.block_count": 1,
        "llama.context_length": 0,
        "llama.embedding_length": 64,
        "llama.attention.head_count": 4,
    }
    rows = [("token_embd.weight", (64, 100), "F16"), ("blk.0.ffn_up.weight", (64, 0), "Q8_0")]
    values = as_json(plan_of(model_from(file_of(keys, rows))))
    assert values["model"]["context_length"] is None
    assert {f["type"]: f["bits_per_weight"] for f in values["formats"]} == {
        "F16": 16.0,
        "Q8_0": None,
    }


def test_the_text_says_what_would_make_it_fit_with_the_figures_of_those_plans(
    llama: Model,
) -> None:
    machine = combine(custom(8 * GIB, 448e9), custom(64 * GIB, 51.2e9, gpu=False))
    lines = text(plan_of(llama, machine, context=65_536)).splitlines()
    start = lines.index("  it would fit with")
    advice = [line.strip() for line in lines[start + 1 : start + 5]]
    context = next(line for line in advice if line.startswith("context "))
    tokens = int(context.split(":")[0].removeprefix("context ").replace(",", ""))
    taken = resolve(llama, machine, Choice(context=tokens))
    assert taken.verdict is not Verdict.DOES_NOT_FIT
    expected = taken.speed.expected.mid
    assert f"expected {format_rate(expected.value or 0)}" in context
    assert "it would fit" not in text(plan_of(llama, machine, context=4096))
