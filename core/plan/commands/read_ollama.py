"""Settings of Ollama as they are pasted: variables, a Modelfile, /set parameter."""

from __future__ import annotations

import re

from core.language import mark, tr
from core.machine.machine import Backend
from core.plan.choice import Engine
from core.plan.commands import ollama, read_llama
from core.plan.commands.found import THREADS, Found, bare

_MODELFILE = re.compile(
    r"\s*(FROM|PARAMETER|TEMPLATE|SYSTEM|ADAPTER|LICENSE|MESSAGE|REQUIRES|PARSER|RENDERER|DRAFT)"
    r"[ \t]+(.*)",
    re.IGNORECASE,
)
_SET = re.compile(r"\s*(?:>>>\s*)?/set\s+parameter\s+(\S+)\s+(.*)")
# Variables as a unit of systemd, or a compose file, has them.
_UNIT = re.compile(r"\s*(?:Environment=|-\s).*?\b(?:OLLAMA|LLAMA_ARG)_\w+=")
_NAMED = re.compile(r"\b((?:OLLAMA|LLAMA_ARG)_\w+)=([^\s\"']*)")
_YAML = re.compile(r"\s*((?:OLLAMA|LLAMA_ARG)_\w+):\s+(.*)")

_VARIABLES = {
    "OLLAMA_GPU_OVERHEAD": mark("memory that is kept free by order is not planned"),
    "OLLAMA_SCHED_SPREAD": mark("layers are shared by free memory"),
    "OLLAMA_MAX_LOADED_MODELS": mark("one model is planned"),
    "OLLAMA_LLM_LIBRARY": mark("the backend is the machine's own"),
    "OLLAMA_NEW_ENGINE": mark("Ollama's engines are planned alike"),
}
_PARAMETERS = {
    "num_thread": THREADS,
    "main_gpu": mark("every GPU is planned"),
    "use_mmap": mark("it decides how the file is loaded"),
    "use_mlock": mark("it decides how the file is loaded"),
    "low_vram": mark("a cache in RAM beside layers on the GPU is not planned"),
    "numa": THREADS,
}


class Lines:
    """Takes lines one by one. A text of several lines, such as a template, hides what is in it."""

    def __init__(self, found: Found) -> None:
        self._found = found
        self._until = ""

    def take(self, line: str) -> bool:
        """Whether the line was a setting of Ollama's."""
        found = self._found
        if self._until:
            self._until = "" if self._until in line else self._until
        elif (match := _SET.match(line)) is not None:
            found.engine = Engine.OLLAMA
            parameter(match[1], match[2].strip(), found)
        elif (match := _MODELFILE.match(line)) is not None:
            self._until = _instruction(match[1].upper(), match[2].strip(), found)
        elif (match := _YAML.match(line)) is not None:
            variable(match[1], bare(match[2]), found)
        elif _UNIT.match(line) is not None:
            for name, value in _NAMED.findall(line):
                variable(name, value, found)
        else:
            return False
        return True


def variable(name: str, value: str, found: Found) -> None:
    """A variable of the environment; one of no engine is passed over."""
    name = name.upper()
    text = f"{name}={value}"
    if read_llama.variable(name, value, found):
        return
    if name in ollama.HIDDEN.values():
        if value.strip() in ("-1", ""):
            found.backend(text, Backend.CPU)
        else:
            found.decline(text, tr("every GPU of the machine is planned"))
        return
    if not name.startswith("OLLAMA_"):
        found.pass_over(text)
        return
    found.engine = Engine.OLLAMA
    if name == ollama.PARALLEL:
        found.slots(text, "-1" if value.strip() == "0" else value)
    elif name == ollama.CONTEXT:
        if "context" in found.changes:
            found.decline(text, tr("the text has a context that comes before it"))
        else:
            found.context(text, value)
    elif name == ollama.FLASH:
        found.flash(text, value)
    elif name == ollama.CACHE_TYPE:
        found.cache_type("cache_k", text, value)
        found.cache_type("cache_v", text, value)
    elif name in _VARIABLES:
        found.decline(text, _VARIABLES[name])
    else:
        found.pass_over(text)


def _instruction(name: str, value: str, found: Found) -> str:
    """A line of a Modelfile; the quotes that end it where it goes on."""
    found.engine = Engine.OLLAMA
    if name == "FROM":
        found.whole = True
        found.model(f"{name} {value}", bare(value))
    elif name == "PARAMETER":
        key, _, rest = value.partition(" ")
        parameter(key, bare(rest), found)
    elif name == "ADAPTER":
        found.decline(f"{name} {value}", tr("an adapter's memory is not in the plan"))
    elif name == "DRAFT":
        found.companion("draft", f"{name} {value}", bare(value))
    else:
        found.pass_over(name)
    return '"""' if value.count('"""') == 1 else ""


def parameter(key: str, value: str, found: Found) -> None:
    """An option of a request, or of a Modelfile."""
    key, text = key.lower(), f"{key} {value}"
    match key:
        case "num_ctx":
            found.context(text, value)
        case "num_batch":
            found.batch("batch", text, value)
            found.batch("ubatch", text, value)
        case "num_gpu":
            found.layers(text, value)
        case "draft_num_predict":
            found.drafted(text, value)
        case _ if key in _PARAMETERS:
            found.decline(text, _PARAMETERS[key])
        case _:
            found.pass_over(text)
