"""What a file says of its own quantization, and what is really inside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from core.gguf.header import Value
from core.gguf.text import excerpt
from core.language import tr
from core.model.model import FormatShare, Role, WeightBlock, Weights
from core.problems import Problem, Severity
from core.units import format_share

# general.file_type by number. llama.cpp's (include/llama.h, b11434), those it has removed, and
# from 135 on ik_llama.cpp's (its include/llama.h).
LABELS: dict[int, str] = {
    0: "F32",
    1: "F16",
    2: "Q4_0",
    3: "Q4_1",
    4: "Q4_1_SOME_F16",
    5: "Q4_2",
    6: "Q4_3",
    7: "Q8_0",
    8: "Q5_0",
    9: "Q5_1",
    10: "Q2_K",
    11: "Q3_K_S",
    12: "Q3_K_M",
    13: "Q3_K_L",
    14: "Q4_K_S",
    15: "Q4_K_M",
    16: "Q5_K_S",
    17: "Q5_K_M",
    18: "Q6_K",
    19: "IQ2_XXS",
    20: "IQ2_XS",
    21: "Q2_K_S",
    22: "IQ3_XS",
    23: "IQ3_XXS",
    24: "IQ1_S",
    25: "IQ4_NL",
    26: "IQ3_S",
    27: "IQ3_M",
    28: "IQ2_S",
    29: "IQ2_M",
    30: "IQ4_XS",
    31: "IQ1_M",
    32: "BF16",
    33: "Q4_0_4_4",
    34: "Q4_0_4_8",
    35: "Q4_0_8_8",
    36: "TQ1_0",
    37: "TQ2_0",
    38: "MXFP4_MOE",
    39: "NVFP4",
    40: "Q1_0",
    41: "Q2_0",
    135: "Q6_0",
    136: "IQ1_BN",
    137: "IQ2_BN",
    138: "IQ2_K",
    139: "IQ3_K",
    140: "IQ4_K",
    141: "IQ5_K",
    142: "IQ6_K",
    145: "IQ4_KS",
    146: "IQ3_KL",
    147: "IQ2_KS",
    148: "IQ4_KSS",
    149: "Q8_KV",
    150: "IQ5_KS",
    151: "IQ2_KT",
    152: "IQ3_KT",
    153: "IQ4_KT",
    154: "IQ3_KS",
    155: "IQ2_KL",
    156: "IQ1_KT",
    202: "Q4_0_R8",
    207: "Q8_0_R8",
    208: "Q5_0_R4",
    210: "Q2_K_R4",
    211: "Q3_K_R4",
    214: "Q4_K_R4",
    216: "Q5_K_R4",
    218: "Q6_K_R4",
    219: "IQ2_XXS_R4",
    220: "IQ2_XS_R4",
    223: "IQ3_XXS_R4",
    224: "IQ1_S_R4",
    225: "IQ4_NL_R4",
    226: "IQ3_S_R4",
    229: "IQ2_M_R4",
    230: "IQ4_XS_R8",
    231: "IQ1_M_R4",
    232: "BF16_R16",
    335: "Q6_0_R4",
    337: "IQ2_BN_R4",
    338: "IQ2_K_R4",
    339: "IQ3_K_R4",
    340: "IQ4_K_R4",
    341: "IQ5_K_R4",
    345: "IQ4_KS_R4",
    350: "IQ5_KS_R4",
    398: "Q8_KV_R8",
    399: "Q8_K_R8",
}
_GUESSED = 1024  # added by llama.cpp where no file said it

# Recipes whose name is not the type they are mostly made of (llama_ftype_get_default_type).
_MAIN_TYPE = {
    "IQ2_S": "IQ2_XS",
    "IQ2_M": "IQ2_S",
    "IQ3_XS": "IQ3_S",
    "IQ3_M": "IQ3_S",
    "IQ3_KL": "IQ3_K",
    "IQ2_M_R4": "IQ2_S_R4",
    "MXFP4_MOE": "MXFP4",
    "Q4_1_SOME_F16": "Q4_1",
}
_SIZES = ("_S", "_M", "_L")


def label_of(metadata: Mapping[str, Value]) -> str:
    """The recipe that general.file_type names: "Q4_K_M"; "" where the file does not say."""
    number = metadata.get("general.file_type")
    if isinstance(number, bool) or not isinstance(number, int):
        return ""
    if number & _GUESSED:
        number -= _GUESSED
    return LABELS.get(number, "")


def main_type(label: str) -> str:
    """The tensor type that a recipe is named after: Q4_K for Q4_K_M."""
    if label in _MAIN_TYPE:
        return _MAIN_TYPE[label]
    if label.startswith("Q") and label.endswith(_SIZES) and "_K_" in label:
        return label[:-2]
    return label


def mix_of(formats: Sequence[FormatShare], total: int, blocks: Sequence[WeightBlock]) -> str:
    """What is really inside, by bytes, and what one token reads most of where that stands out:
    "70 % Q6_K, 19 % Q4_K, 10 % Q5_0; the head is 72 % of the weights that a token reads"."""
    if not total:
        return ""
    largest = sorted(formats, key=lambda share: (-share.bytes, share.type_name))
    parts = [f"{format_share(f.bytes / total)} {excerpt(f.type_name)}" for f in largest[:3]]
    inside = ", ".join(parts)
    reads = sum(block.read_bytes for block in blocks)
    head = sum(block.read_bytes for block in blocks if block.role is Role.HEAD)
    if reads and head / reads >= _WORTH_SAYING:
        return tr(
            "{inside}; the head is {share} of the weights that a token reads",
            inside=inside,
            share=format_share(head / reads),
        )
    return inside


_WORTH_SAYING = 0.05  # of a token's reads


def label_problem(label: str, weights: Weights) -> Problem | None:
    """A label that no tensor bears out: a file called Q8_0 without one Q8_0 tensor."""
    kind = main_type(label)
    if not label or not weights.bytes or any(f.type_name == kind for f in weights.formats):
        return None
    largest = sorted(weights.formats, key=lambda share: -share.bytes)[:3]
    inside = ", ".join(
        f"{excerpt(f.type_name)} {format_share(f.bytes / weights.bytes)}" for f in largest
    )
    return Problem(
        "label-differs",
        tr(
            "The file calls itself {label}, but no tensor is {type}: {inside}; {bits:.1f} bits "
            "on average.",
            label=label,
            type=kind,
            inside=inside,
            bits=weights.bits_per_weight,
        ),
        Severity.NOTE,
        tr("Trust the bytes, not the name."),
        where="general.file_type",
    )
