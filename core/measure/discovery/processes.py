"""Programs on this computer that look like model servers: where they listen, and with what options
they were started. Their options are read from the system, never asked for; secrets are left out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from core.measure.run import Target

# Programs that are worth a question, by a word of their command line. Other people's programs
# that listen on this computer are left alone.
_SERVERS = re.compile(
    r"llama|lm[ -]?studio|\blms\b|vllm|sglang|kobold|mlx_lm|mlx-lm|localai|local-ai|tabbyapi|"
    r"aphrodite|text-generation|\bjan\b|gpt4all|lemonade|ramalama",
    re.I,
)
_SECRETS = ("--api-key", "--api-key-file", "--hf-token", "-hft", "--token", "--ssl-key-file")
_SECRET_WORD = re.compile(r"(?i)(key|token|secret|password)=|^(sk-|hf_|Bearer )")
_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "model": ("-m", "--model"),
    "context": ("-c", "--ctx-size"),
    "gpu_layers": ("-ngl", "--gpu-layers", "--n-gpu-layers"),
    "cache_k": ("-ctk", "--cache-type-k"),
    "cache_v": ("-ctv", "--cache-type-v"),
    "draft": ("-md", "--model-draft", "--spec-type"),
}
_VARIABLES: Mapping[str, str] = {
    "LLAMA_ARG_MODEL": "model",
    "LLAMA_ARG_CTX_SIZE": "context",
    "LLAMA_ARG_N_GPU_LAYERS": "gpu_layers",
    "LLAMA_ARG_CACHE_TYPE_K": "cache_k",
    "LLAMA_ARG_CACHE_TYPE_V": "cache_v",
}


@dataclass(frozen=True, slots=True)
class Listener:
    """A program that listens on a port of this computer. ``parent`` is the process that started
    it; ``options`` are those of `_OPTIONS`, by name; ``arguments`` its command line, without
    secrets."""

    port: int
    pid: int
    parent: int = 0
    name: str = ""
    arguments: tuple[str, ...] = ()
    options: dict[str, str] = field(default_factory=dict)

    @property
    def ollama(self) -> bool:
        return self.name.lower().removesuffix(".exe") in ("ollama", "ollama app")


def listeners(psutil: Any = None) -> tuple[Listener, ...]:
    """Programs of this user that look like model servers and listen on the loopback address.

    What the system does not let anybody see is left out. Never raises.
    """
    if psutil is None:
        import psutil
    found: dict[int, Listener] = {}
    for process in _processes(psutil):
        with suppress(psutil.Error, OSError):
            listener = _listener(process)
            if listener is None:
                continue
            for port in _ports(psutil, process):
                found.setdefault(port, replace(listener, port=port))
    return tuple(found[port] for port in sorted(found))


def _processes(psutil: Any) -> Iterable[Any]:
    try:
        return list(psutil.process_iter())
    except (psutil.Error, OSError):
        return []


def _listener(process: Any) -> Listener | None:
    name, words = str(process.name()), [str(word) for word in process.cmdline()]
    if not any(_SERVERS.search(word.replace("\\", "/").rsplit("/", 1)[-1]) for word in words[:6]):
        return None
    environment: Mapping[str, str] = {}
    with suppress(Exception):  # another user's, or the system forbids it
        environment = process.environ()
    return Listener(
        0,
        process.pid,
        process.ppid(),
        name,
        without_secrets(words),
        options_of(words, environment),
    )


def _ports(psutil: Any, process: Any) -> list[int]:
    connections = getattr(process, "net_connections", None) or process.connections
    return [
        connection.laddr.port
        for connection in connections(kind="tcp")
        if connection.status == psutil.CONN_LISTEN
    ]


def without_secrets(words: Sequence[str]) -> tuple[str, ...]:
    """A command line that may be shown and kept: keys and what follows a key's option are gone."""
    kept: list[str] = []
    hidden = False
    for word in words:
        option = word.partition("=")[0]
        if option in _SECRETS and option != word:
            kept.append(f"{option}=***")
        elif hidden or _SECRET_WORD.search(word):
            kept.append("***")
        else:
            kept.append(word)
        hidden = word in _SECRETS
    return tuple(kept)


def options_of(words: Sequence[str], environment: Mapping[str, str]) -> dict[str, str]:
    """The options that decide about memory and speed, by their names here; a word on the command
    line goes before a variable."""
    found = {
        name: environment[variable]
        for variable, name in _VARIABLES.items()
        if environment.get(variable)
    }
    for name, options in _OPTIONS.items():
        for number, word in enumerate(words):
            option, mark, value = word.partition("=")
            if option not in options:
                continue
            if mark:
                found[name] = value
            elif number + 1 < len(words):
                found[name] = words[number + 1]
    return found


def count_of(text: str) -> int | None:
    """A count among options; None for anything else, such as "auto"."""
    return int(text) if text.isdecimal() and len(text) < 16 else None


def with_process(target: Target, process: Listener) -> Target:
    """The target with what only its process tells; what the server itself says stays."""
    options = process.options
    layers = count_of(options.get("gpu_layers", ""))
    return replace(
        target,
        pid=process.pid,
        arguments=process.arguments,
        model_path=target.model_path or options.get("model", ""),
        cache_k=target.cache_k or options.get("cache_k", ""),
        cache_v=target.cache_v or options.get("cache_v", ""),
        gpu_layers=target.gpu_layers if layers is None else layers,
        speculative=True if "draft" in options else target.speculative,
    )
