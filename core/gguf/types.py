"""The tensor types of GGUF: how many bytes a row of each takes.

Block sizes are those of the structs in ggml-common.h (llama.cpp build 11434) and, from id 97 and
133 on, of ik_llama.cpp, asked through its own library (``ggml_blck_size``, ``ggml_type_size`` and
``ggml_row_size`` of ik-llama-cpp-python 0.1.5).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from core.language import mark

IK_ONLY = mark("ik_llama.cpp only: llama.cpp, Ollama and LM Studio refuse this file")
REMOVED = mark("removed from llama.cpp in 2024: convert the model again, or use an older build")
INTERNAL = mark("used inside the engine, not meant for files")


@dataclass(frozen=True, slots=True)
class TensorType:
    """One type. ``block_size`` elements take ``block_bytes`` bytes, and every row (the first
    dimension) takes ``row_extra_bytes`` more. ``note`` says who reads it, where not everybody does.
    """

    id: int
    name: str
    block_size: int
    block_bytes: int
    row_extra_bytes: int = 0
    note: str = ""

    @property
    def bits_per_weight(self) -> float:
        """Without the bytes per row, which depend on the row's length."""
        return 8 * self.block_bytes / self.block_size

    def row_bytes(self, elements: int) -> int:
        """Bytes of a row; a row that ends inside a block is counted to the end of the block."""
        return -(-elements // self.block_size) * self.block_bytes + self.row_extra_bytes

    def tensor_bytes(self, shape: Sequence[int]) -> int:
        """Bytes of a tensor in GGUF order, the row length first; () is one single value."""
        if not shape:
            return self.row_bytes(1)
        return self.row_bytes(shape[0]) * prod(shape[1:]) if shape[0] else 0


def _table(note: str, *rows: tuple[int, str, int, int] | tuple[int, str, int, int, int]) -> None:
    for type_id, name, block_size, block_bytes, *extra in rows:
        row_extra = extra[0] if extra else 0
        BY_ID[type_id] = TensorType(type_id, name, block_size, block_bytes, row_extra, note)


BY_ID: dict[int, TensorType] = {}
_table(
    "",
    (0, "F32", 1, 4),
    (1, "F16", 1, 2),
    (2, "Q4_0", 32, 18),
    (3, "Q4_1", 32, 20),
    (6, "Q5_0", 32, 22),
    (7, "Q5_1", 32, 24),
    (8, "Q8_0", 32, 34),
    (10, "Q2_K", 256, 84),
    (11, "Q3_K", 256, 110),
    (12, "Q4_K", 256, 144),
    (13, "Q5_K", 256, 176),
    (14, "Q6_K", 256, 210),
    (16, "IQ2_XXS", 256, 66),
    (17, "IQ2_XS", 256, 74),
    (18, "IQ3_XXS", 256, 98),
    (19, "IQ1_S", 256, 50),
    (20, "IQ4_NL", 32, 18),
    (21, "IQ3_S", 256, 110),
    (22, "IQ2_S", 256, 82),
    (23, "IQ4_XS", 256, 136),
    (24, "I8", 1, 1),
    (25, "I16", 1, 2),
    (26, "I32", 1, 4),
    (27, "I64", 1, 8),
    (28, "F64", 1, 8),
    (29, "IQ1_M", 256, 56),
    (30, "BF16", 1, 2),
    (34, "TQ1_0", 256, 54),
    (35, "TQ2_0", 256, 66),
    (39, "MXFP4", 32, 17),
    (40, "NVFP4", 64, 36),
    (41, "Q1_0", 128, 18),
    (42, "Q2_0", 64, 18),
)
# The gguf package says 40 for Q8_1; the struct has two halves and 32 bytes.
_table(INTERNAL, (9, "Q8_1", 32, 36), (15, "Q8_K", 256, 292))
_table(
    REMOVED,
    (31, "Q4_0_4_4", 32, 18),
    (32, "Q4_0_4_8", 32, 18),
    (33, "Q4_0_8_8", 32, 18),
    (37, "IQ4_NL_4_8", 32, 18),
    (38, "IQ4_NL_8_8", 32, 18),
)
_table(
    IK_ONLY,
    (97, "Q8_0_X4", 32, 34),
    (98, "Q8_1_X4", 32, 36),
    (99, "Q8_2_X4", 32, 36),
    (133, "Q6_0", 32, 26),
    (134, "IQ1_BN", 64, 13, 2),
    (135, "IQ2_BN", 64, 16, 4),
    (136, "Q8_K64", 64, 68),
    (137, "IQ2_K", 256, 76),
    (138, "IQ3_K", 256, 110),
    (139, "IQ4_K", 256, 144),
    (140, "IQ5_K", 256, 176),
    (141, "IQ6_K", 256, 212),
    (144, "IQ4_KS", 256, 136, 4),
    (145, "IQ2_KS", 256, 70, 2),
    (146, "IQ4_KSS", 256, 128, 4),
    (147, "Q8_K16", 64, 64, 20),
    (148, "Q8_K32", 256, 296),
    (149, "Q8_KR8", 256, 296),
    (150, "Q8_K128", 128, 140),
    (151, "Q8_KV", 32, 32, 8),
    (152, "IQ5_KS", 256, 168, 4),
    (153, "IQ2_KT", 256, 68, 4),
    (154, "IQ3_KT", 256, 100, 4),
    (155, "IQ4_KT", 256, 128, 4),
    (156, "IQ3_KS", 256, 102, 2),
    (157, "IQ2_KL", 256, 86, 2),
    (158, "IQ1_KT", 256, 56, 4),
    (202, "Q4_0_R8", 32, 18),
    (206, "Q5_0_R4", 32, 22),
    (208, "Q8_0_R8", 32, 34),
    (210, "Q2_K_R4", 256, 84),
    (211, "Q3_K_R4", 256, 110),
    (212, "Q4_K_R4", 256, 144),
    (213, "Q5_K_R4", 256, 176),
    (214, "Q6_K_R4", 256, 210),
    (216, "IQ2_XXS_R4", 256, 66),
    (217, "IQ2_XS_R4", 256, 74),
    (218, "IQ3_XXS_R4", 256, 98),
    (219, "IQ1_S_R4", 32, 6, 2),
    (220, "IQ4_NL_R4", 32, 18),
    (221, "IQ3_S_R4", 256, 110),
    (222, "IQ2_S_R4", 256, 82),
    (223, "IQ4_XS_R8", 256, 136),
    (229, "IQ1_M_R4", 32, 7, 2),
    (230, "BF16_R16", 1, 2),
    (233, "Q6_0_R4", 32, 26),
    (335, "IQ2_BN_R4", 64, 16, 4),
    (337, "IQ2_K_R4", 256, 76),
    (338, "IQ3_K_R4", 256, 110),
    (339, "IQ4_K_R4", 256, 144),
    (340, "IQ5_K_R4", 256, 176),
    (344, "IQ4_KS_R4", 256, 136, 4),
    (352, "IQ5_KS_R4", 256, 168, 4),
    (397, "Q8_K_R16", 256, 258),
    (398, "Q8_KV_R8", 32, 32, 4),
    (399, "Q8_K_R8", 256, 258),
)
_table(mark("PrismML's fork of llama.cpp only"), (142, "PQ2_0", 128, 34))

BY_NAME: dict[str, TensorType] = {kind.name: kind for kind in BY_ID.values()}

# Ids that mean more than one thing in published files. The spacing of the tensors decides.
# 40: PrismML's first release (32 weights, 6 bytes). 42: the same fork's ternary files, 128 weights.
OTHER_LAYOUTS: dict[int, tuple[TensorType, ...]] = {
    40: (
        TensorType(40, "Q1_0_G32", 32, 6, 0, mark("an early PrismML release; now the id of NVFP4")),
    ),
    42: (
        TensorType(42, "Q2_0_G128", 128, 34, 0, mark("legacy PrismML: 128 weights share a scale")),
    ),
}

# Ids without a layout: the size comes from the offsets.
NAMED_ONLY: dict[int, tuple[str, str]] = {
    4: ("Q4_2", mark("removed from ggml before GGUF")),
    5: ("Q4_3", mark("removed from ggml before GGUF")),
    36: (
        "I2_S",
        mark(
            "Microsoft BitNet's 2-bit type, which bitnet.cpp and ik_llama.cpp read, or a removed "
            "repacking of IQ4_NL; llama.cpp refuses both"
        ),
    ),
    143: ("IQ1_TN", mark("removed from ik_llama.cpp")),
}

# From here on ids were handed out by several forks at once, so a size is believed only where the
# offsets agree with it.
FIRST_CONTESTED = 36


def name_of(type_id: int) -> str:
    """The name of a type, or "unknown 217"."""
    if type_id in BY_ID:
        return BY_ID[type_id].name
    return NAMED_ONLY[type_id][0] if type_id in NAMED_ONLY else f"unknown {type_id}"


def note_of(type_id: int) -> str:
    """Who reads this type, where not everybody does; else "". Marked for translation."""
    if type_id in BY_ID:
        return BY_ID[type_id].note
    return NAMED_ONLY[type_id][1] if type_id in NAMED_ONLY else ""


def layout_of(type_id: int, name: str) -> TensorType | None:
    """The layout that a tensor was found to have, from its id and the name it was given; None
    where only the offsets told its size."""
    usual = BY_ID.get(type_id)
    if usual is not None and usual.name == name:
        return usual
    return next((kind for kind in OTHER_LAYOUTS.get(type_id, ()) if kind.name == name), None)
