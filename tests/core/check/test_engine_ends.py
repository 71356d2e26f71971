"""How an engine ends is said in a sentence."""

from __future__ import annotations

import pytest

from core.check.engine_ends import ending

# As printed by llama.cpp (b11434 and b11549), loaders and drivers.
WORDS = [
    (
        "llama_model_load: error loading model: unknown model architecture: 'qwen9'\n",
        "engine-architecture",
        "qwen9",
    ),
    (
        "gguf_init_from_file_ptr: invalid magic characters: 'hell', expected 'GGUF'\n"
        "llama_model_load: error loading model: llama_model_loader: failed to load model from x\n",
        "engine-no-gguf",
        "no GGUF",
    ),
    (
        "llama_model_load: error loading model: tensor 'token_embd.weight' data is not within the "
        "file bounds, model is corrupted or incomplete\n",
        "engine-cut",
        "not all there",
    ),
    (
        "llama-server: error while loading shared libraries: libggml-cuda.so.0: cannot open "
        "shared object file: No such file or directory\n",
        "engine-library",
        "libggml-cuda.so.0",
    ),
    (
        "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 20480.00 MiB on device 0: "
        "cudaMalloc failed: out of memory\n",
        "engine-memory",
        "GPU memory",
    ),
    (
        "ggml_vulkan: vk::Device::allocateMemory: ErrorOutOfDeviceMemory\n",
        "engine-memory",
        "GPU memory",
    ),
    (
        "llama_init_from_model: failed to initialize the context: failed to allocate buffer for "
        "kv cache\n",
        "engine-memory",
        "out of memory",
    ),
    (
        "llama_init_from_model: failed to initialize the context: quantized V cache was "
        "requested, but this requires Flash Attention\n",
        "engine-refuses",
        "flash attention",
    ),
    (
        "llama_init_from_model: quantized V cache requires flash_attn to be enabled\n",
        "engine-refuses",
        "flash attention",
    ),
    (
        "terminate called after throwing an instance of 'std::runtime_error'\n"
        "  what():  failed to load model\n",
        "engine-load",
        "could not load",
    ),
    ("error: invalid argument: -fit\n", "engine-old", "-fit"),
    (
        "couldn't bind HTTP server socket, hostname: 127.0.0.1, port: 80\n",
        "engine-port",
        "port",
    ),
    (
        "llama_model_load: error loading model: error loading model hyperparameters: key not found "
        "in model: llama.block_count\n",
        "engine-load",
        "llama.block_count",
    ),
]


@pytest.mark.parametrize(("text", "code", "said"), WORDS)
def test_a_known_error_is_put_in_plain_words(text: str, code: str, said: str) -> None:
    problem = ending("/opt/llama-server", 1, f"some lines before\n{text}and after\n")
    assert problem is not None
    assert problem.code == code
    assert said in problem.message
    assert problem.advice
    assert problem.where == "/opt/llama-server"
    assert "\n" not in problem.message


@pytest.mark.parametrize("code", [-4, 132, 0xC000001D, 0xC000001D - 2**32])
def test_a_build_for_another_processor_is_named_on_every_system(code: int) -> None:
    problem = ending("llama-server", code, "system_info: n_threads = 8\n")
    assert problem is not None
    assert "processor" in problem.message
    assert "SIGILL" in problem.message


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (-6, "abort"),
        (134, "abort"),
        (-9, "memory ran out"),
        (137, "memory ran out"),
        (-11, "crashed"),
        (0xC0000005, "crashed"),
        (0xC0000135, "library"),
        (3, "status 3"),
        (-70, "status -70"),
    ],
)
def test_a_status_without_words_is_still_a_sentence(code: int, said: str) -> None:
    problem = ending("llama-server", code, "")
    assert problem is not None
    assert said in problem.message
    assert problem.advice


@pytest.mark.parametrize("code", [0, None])
def test_an_engine_that_ended_well_has_no_problem(code: int | None) -> None:
    assert ending("llama-server", code, "all slots are idle\n") is None
