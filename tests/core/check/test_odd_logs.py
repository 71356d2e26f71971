"""Logs that no llama.cpp wrote: read at once, and nothing raised."""

from __future__ import annotations

import time

import pytest

from core.check.engine_log import read, up_to_enough

LINES = (
    "llama_kv_cache: size =  1024.00 MiB ( 16384 cells,  32 layers,  4/1 seqs), "
    "K (f16):  512.00 MiB, V (f16):  512.00 MiB",
    "load_tensors:   CPU_Mapped model buffer size =  4437.80 MiB",
    "llama_context: n_ctx         = 16384",
    "print_info: file size   = 4.58 GiB (4.89 BPW) ",
    "load_tensors: offloaded 33/33 layers to GPU",
    "|   - CUDA0 (RTX 3090)   | 24135 = 22965 + (937 = 205 + 432 + 300) +  232 |",
    "CUDA0 205 432 300",
    '{"msg": "llama_context: n_ctx         = 16384"}',
)
STUFF = (
    *(" " * 3000, "\t" * 3000, "x" * 5000, "1" * 5000, "| " * 2000, "- " * 2000, "1 " * 2000),
    *("K (" * 1500, ": " * 2000, "\x1b[" * 2000, "\x00", "[" * 4000, "1.2.3", "²", "٣", "nan"),
    *("1e999", "-1", ".", "=", '"' * 3000, "{" * 3000),
)


@pytest.mark.parametrize("stuff", STUFF, ids=lambda stuff: f"{stuff[:3]!r} x {len(stuff)}")
def test_a_line_with_anything_in_it_is_read_at_once(stuff: str) -> None:
    began = time.process_time()
    for line in LINES:
        for at in range(0, len(line), 3):
            text = line[:at] + stuff + line[at:]
            read(text)
            up_to_enough(text)
    assert time.process_time() - began < 10


def test_padding_does_not_hide_what_a_line_says() -> None:
    (load,) = read("llama_context: n_ctx" + " " * 200 + "= 16384" + " " * 2000).loads
    assert load.contexts[0].context == 16_384
