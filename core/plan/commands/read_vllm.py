"""vLLM as it is pasted: vllm serve, with its options."""

from __future__ import annotations

import re
from collections.abc import Sequence

from core.language import mark, tr
from core.plan.choice import MOST_TOKENS, Engine
from core.plan.commands import vllm
from core.plan.commands.found import Found, pairs
from core.plan.engines import RULES

_COUNT = re.compile(r"(\d+(?:\.\d+)?)([kKmMgG]?)")
_SUFFIX = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "K": 2**10, "M": 2**20, "G": 2**30}
_SHARE = "--gpu-memory-utilization"
_TAKEN = {
    "--max-model-len": "context",
    "--max-num-seqs": "slots",
    "--max-num-batched-tokens": "batch",
    "--kv-cache-dtype": "cache",
    "--model": "model",
}
_DECLINED = {
    _SHARE: mark("the plan has vLLM's own share of each GPU, 90 %"),
    "--tensor-parallel-size": mark("GPUs share whole layers in a plan"),
    "-tp": mark("GPUs share whole layers in a plan"),
    "--cpu-offload-gb": mark("a plan moves layers, not GiB"),
    "--swap-space": mark("what fills with use is not planned for vLLM"),
    "--quantization": mark("a GGUF file says how it is quantized"),
    "-q": mark("a GGUF file says how it is quantized"),
    "--speculative-config": mark("a draft counts where it is added beside the model"),
    "--block-size": mark("a page of the cache is planned as vLLM sets it"),
    "--enforce-eager": mark("graphs that CUDA captures are part of the overhead"),
}
_UNIMPORTANT = """
    --host --port --served-model-name --api-key --tokenizer --tokenizer-mode --dtype --seed
    --pipeline-parallel-size -pp --chat-template --trust-remote-code --revision --uvicorn-log-level
    --enable-auto-tool-choice --tool-call-parser --reasoning-parser --load-format
    --hf-config-path --disable-log-stats --enable-prefix-caching --no-enable-prefix-caching
    --generation-config --async-scheduling
"""
_NO_MATTER = frozenset(_UNIMPORTANT.split())
_SWITCHES = frozenset(("--enforce-eager", "--trust-remote-code", "--enable-prefix-caching"))


def knows(words: Sequence[str]) -> bool:
    """Whether any word is an option that decides a plan for vLLM."""
    return any(word.partition("=")[0] in _TAKEN and word != "--model" for word in words)


def command(words: Sequence[str], found: Found) -> None:
    """vllm serve, or the module of Python that it was before."""
    found.engine = Engine.VLLM
    found.whole = True
    for option, value, text in pairs(words, _SWITCHES):
        match _TAKEN.get(option):
            case "context":
                _length(text, value or "", found)
            case "slots":
                found.slots(text, value or "")
            case "batch":
                found.batch("batch", text, value or "")
                found.batch("ubatch", text, value or "")
            case "cache":
                _cache(text, value or "", found)
            case "model":
                found.model(text, value or "")
            case _ if option == _SHARE and value == str(RULES[Engine.VLLM].reserved_share):
                found.pass_over(text)  # what is planned anyway
            case _ if option in _DECLINED:
                found.decline(text, _DECLINED[option])
            case _ if option in _NO_MATTER or option in ("serve", "-m"):
                found.pass_over(text)
            case _ if option.startswith("-"):
                found.decline(text, tr("what it does to memory is not known here"))
            case _ if option.lower().endswith(".gguf"):
                found.model(text, option)
            case _:
                found.pass_over(text)


def _length(text: str, value: str, found: Found) -> None:
    """Tokens, with vLLM's suffixes: k is 1,000 and K is 1,024."""
    if value in ("auto", "-1"):
        found.put(text, context=found.plan.model.shape.context_length)
        return
    match = _COUNT.fullmatch(value.strip())
    tokens = float(match[1][:12]) * _SUFFIX[match[2]] if match else MOST_TOKENS + 1
    if match is None:
        found.decline(text, tr("no number of tokens"), "context")
    else:
        found.context(text, str(int(min(tokens, 10**10))))


def _cache(text: str, value: str, found: Found) -> None:
    word = {"float16": "auto", "fp8_e4m3": "fp8"}.get(value.lower(), value.lower())
    kind = next((kind for kind, name in vllm.TYPES.items() if name == word), None)
    if kind is None:
        known = ", ".join(vllm.TYPES.values())
        why = tr("of vLLM's cache types {known} are planned", known=known)
        found.decline(text, why, "cache_k", "cache_v")
    else:
        found.put(text, cache_k=kind, cache_v=kind)
