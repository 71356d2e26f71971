"""Logs of llama.cpp: recorded ones, and constructed ones for computers with GPUs.

The recorded ones are of b11549 on a computer without a GPU (``record_engine_logs.py``). The
others are put together from lines as llama.cpp prints them, with figures from published reports.
"""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path

ARCHIVE = Path(__file__).parent.parent / "data" / "engine_logs.json.gz"


@cache
def recorded() -> dict[str, str]:
    """Whole logs by name, each of a fit pass and the load after it."""
    logs: dict[str, str] = json.loads(gzip.decompress(ARCHIVE.read_bytes()))
    return logs


# One GPU, everything offloaded, as b9000 and later print it; sizes of a Qwen3.5 in its cache and
# state lines: 16 of 64 layers with a q8_0 cache, 131,072 tokens in one pool for 4 slots.
CUDA = """\
load_tensors: offloading output layer to GPU
load_tensors: offloading 64 repeating layers to GPU
load_tensors: offloaded 65/65 layers to GPU
load_tensors:   CPU_Mapped model buffer size =   682.03 MiB
load_tensors:        CUDA0 model buffer size = 15843.20 MiB
llama_context: constructing llama_context
llama_context: n_seq_max             = 4
llama_context: n_ctx                 = 131072
llama_context: n_ctx_seq             = 131072
llama_context: n_batch               = 2048
llama_context: n_ubatch              = 512
llama_context: causal_attn           = 1
llama_context: flash_attn            = auto
llama_context: kv_unified            = true
llama_context: n_rs_seq              = 0
llama_context: n_outputs_max         = 4
llama_context:  CUDA_Host  output buffer size =     3.79 MiB
llama_kv_cache:      CUDA0 KV buffer size =  4352.00 MiB
llama_kv_cache: size = 4352.00 MiB (131072 cells,  16 layers,  4/1 seqs), K (q8_0): 2176.00 MiB, \
V (q8_0): 2176.00 MiB
llama_memory_recurrent:      CUDA0 RS buffer size =   598.50 MiB
llama_memory_recurrent: size =  598.50 MiB (     4 cells,  65 layers,  4 seqs  0 rs_seq), \
R (f32):   22.50 MiB, S (f32):  576.00 MiB, P (f32):    0.00 MiB
sched_reserve: reserving ...
resolve_fused_ops: Flash Attention enabled
sched_reserve:      CUDA0 compute buffer size =   495.00 MiB
sched_reserve:  CUDA_Host compute buffer size =   158.49 MiB
"""

# Late 2024: other names of functions, time stamps, no word on slots.
OLD = """\
build: 3975 (9b1a2c3d) with cc (Debian 12.2.0-14) 12.2.0 for x86_64-linux-gnu
0.00.202.501 I llm_load_tensors: offloading non-repeating layers to GPU
0.00.202.502 I llm_load_tensors: offloaded 33/33 layers to GPU
0.00.202.512 I llm_load_tensors:        CPU buffer size =   245.62 MiB
0.00.202.513 I llm_load_tensors:      CUDA0 buffer size =  5049.71 MiB
0.01.643.982 I llama_new_context_with_model: n_ctx      = 2048
0.01.643.987 I llama_new_context_with_model: n_batch    = 2048
0.01.643.987 I llama_new_context_with_model: n_ubatch   = 512
0.01.643.989 I llama_new_context_with_model: flash_attn = 0
0.01.645.296 I llama_kv_cache_init:      CUDA0 KV buffer size =   640.00 MiB
0.01.645.310 I llama_new_context_with_model: KV self size  =  640.00 MiB, K (f16):  320.00 MiB, \
V (f16):  320.00 MiB
0.01.646.692 I llama_new_context_with_model:  CUDA_Host  output buffer size =     0.19 MiB
0.01.655.644 I llama_new_context_with_model:      CUDA0 compute buffer size =   162.00 MiB
0.01.655.654 I llama_new_context_with_model:  CUDA_Host compute buffer size =     9.01 MiB
"""

# gemma3 4B at 131,072 tokens: a card that held 5.2 GiB while a reader of the log said 3.0.
TWICE = """\
load_tensors:   CPU_Mapped model buffer size =     0.00 MiB
load_tensors:        CUDA0 model buffer size =     0.00 MiB
llama_kv_cache:      CUDA0 KV buffer size =  2560.00 MiB
llama_kv_cache:      CUDA0 KV buffer size =   174.00 MiB
load_tensors:   CPU_Mapped model buffer size =   525.00 MiB
load_tensors:        CUDA0 model buffer size =  2367.00 MiB
llama_kv_cache:      CUDA0 KV buffer size =  2560.00 MiB
llama_kv_cache:      CUDA0 KV buffer size =   174.00 MiB
llama_context:      CUDA0 compute buffer size =   203.00 MiB
llama_context:  ROCm_Host compute buffer size =    12.00 MiB
"""

FIT = """\
common_fit_print: printing estimated memory in MiB to stdout (device, model, context, compute) ...
CUDA0 15843 4950 1495
Host 682 0 158
"""
