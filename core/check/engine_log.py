"""What llama.cpp says that it allocated, read from its log.

The formats are those of llama.cpp from 2023 (``llm_load_tensors: ... buffer size``) to b11434
(``load_tensors: ... model buffer size``), with or without time stamps, colours or JSON around
them, and the table of ``llama-fit-params -fitp on``. Nothing here opens a file or starts a program.

One log can hold several loads (a dry pass that fits the options, the real one, a draft model) and
several contexts of one load (the main one, then drafts). Buffers of one kind on one device are
added up: a model with sliding windows has two caches.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import NamedTuple

from core.plan.plan import PartKind

MIB = 2**20
# Sizes above 16 MiB pass through a 32-bit float in some lines (llama-kv-cache.cpp).
_FLOAT_STEPS = 2**23
_LINE_LIMIT = 4_000  # characters; what is longer is a chat template or a prompt
_TEXT_LIMIT = 1_000  # of what it says: four times the longest line of interest


class Size(NamedTuple):
    """Bytes as far as a rounded figure tells: from ``low`` to ``high``, both included."""

    low: int
    high: int

    @property
    def middle(self) -> int:
        """The figure as printed."""
        return (self.low + self.high) // 2

    def __add__(self, other: object) -> Size:
        """The sum, each side for itself."""
        if not isinstance(other, Size):
            return NotImplemented
        return Size(self.low + other.low, self.high + other.high)


ZERO = Size(0, 0)


def printed(text: str, unit: int = MIB) -> Size:
    """A figure as ``%.2f`` prints it: half a last digit either way."""
    whole, _, digits = text.partition(".")
    scale = 10 ** len(digits)
    count = int(whole + digits)
    slack = count * unit // scale // _FLOAT_STEPS
    low = ((2 * count - 1) * unit + 2 * scale - 1) // (2 * scale) - slack
    return Size(max(0, low), (2 * count + 1) * unit // (2 * scale) + slack)


def whole_mib(text: str) -> Size:
    """MiB without decimals, as the tables print them: what is begun is cut off."""
    return Size(int(text) * MIB, (int(text) + 1) * MIB - 1)


class Buffer(NamedTuple):
    """One buffer: "CUDA0", "CPU_Mapped", "CUDA_Host"..."""

    kind: PartKind
    name: str
    size: Size


class CacheLine(NamedTuple):
    """One cache of a context. ``name`` is "SWA", "non-SWA", "indexer" or empty; ``cells`` are per
    stream and None where an old build does not say."""

    name: str
    cells: int | None
    type_k: str
    k: Size
    type_v: str
    v: Size


class TableRow(NamedTuple):
    """One device in a table of whole MiB; ``context`` is cache and state together."""

    name: str
    weights: Size
    context: Size
    compute: Size


@dataclass(slots=True)
class Context:
    """One ``llama_context``. Options are None where the build does not print them.

    ``flash_attention`` is what was resolved, not what was asked for.
    """

    context: int | None = None
    batch: int | None = None
    ubatch: int | None = None
    slots: int | None = None
    unified: bool | None = None
    flash_attention: bool | None = None
    drafted: int = 0
    outputs: int | None = None
    swa_full: bool = False
    caches: list[CacheLine] = field(default_factory=list)
    buffers: list[Buffer] = field(default_factory=list)

    def types(self) -> tuple[str, str] | None:
        """The cache types of K and V; None where no line says."""
        return (self.caches[0].type_k, self.caches[0].type_v) if self.caches else None


@dataclass(slots=True)
class Load:
    """One time that a model was loaded, or only looked at (``dry``)."""

    path: str = ""
    tensors: int | None = None
    architecture: str = ""
    file_type: str = ""
    file_size: Size | None = None
    no_alloc: bool | None = None
    gpu_layers: int | None = None
    experts_on_host: set[int] = field(default_factory=set)
    buffers: list[Buffer] = field(default_factory=list)
    contexts: list[Context] = field(default_factory=list)
    table: list[TableRow] = field(default_factory=list)

    @property
    def dry(self) -> bool:
        """Whether nothing was allocated: its weights and caches are printed as 0.00 MiB."""
        if self.no_alloc is not None:
            return self.no_alloc
        return bool(self.buffers) and all(buffer.size.low == 0 for buffer in self.buffers)


@dataclass(frozen=True, slots=True)
class EngineLog:
    """All that a log tells. ``build`` is the number ("11434"), empty where it is not known;
    ``fit`` is the table of llama-fit-params."""

    build: str
    loads: tuple[Load, ...]
    fit: tuple[TableRow, ...] = ()

    def main(self) -> Load | None:
        """The load that counts: of the first model the last real one, else its first dry pass.

        Later dry passes try other options than those that were asked for.
        """
        told = [load for load in self.loads if load.contexts]
        if not told:
            return self.loads[-1] if self.loads else None
        own = [load for load in told if load.path == told[0].path]
        real = [load for load in own if not load.dry]
        return real[-1] if real else own[0]


_FUNCTION = r"(?P<func>[~\w]+):\s+"
_BUFFER = re.compile(
    _FUNCTION + r"(?P<name>[^\s:\[]+(?:\[\S*\])?)\s+(?:(?P<what>[A-Za-z0-9 ]+?)\s+)?buffer size"
    r"\s*=\s*(?P<size>\d+(?:\.\d+)?) Mi?B"
)
_KEY = re.compile(
    r"(?:llama_\w+|init):\s+(?P<key>n_seq_max|n_ctx|n_batch|n_ubatch|flash_attn|kv_unified"
    r"|n_rs_seq|n_outputs_max)\s+=\s+(?P<value>\S+)"
)
_CACHE = re.compile(
    r"size\s*=\s*[\d.]+ MiB(?: \(\s*(?P<cells>\d+) cells,[^)]*\))?, "
    r"K \((?P<type_k>\w+)\):\s*(?P<k>\d+(?:\.\d+)?) MiB, "
    r"V \((?P<type_v>\w+)\):\s*(?P<v>\d+(?:\.\d+)?) MiB"
)
_CREATING = re.compile(r"creating\s+(?P<name>[\w -]+?) KV cache")
_FLASH = re.compile(
    r"(?:Flash Attention was auto, set to|Flash Attention(?: is)?) (?P<what>enabled|disabled)"
)
_LOADED = re.compile(r"and (?P<tensors>\d+) tensors from (?P<path>.+) \(version ")
_INFO = re.compile(
    r"print_\w+:\s+(?P<key>arch|no_alloc|file type|file size|model ftype|model size)\s*=\s*"
    r"(?P<value>.+)"
)
_OFFLOADED = re.compile(r"offloaded (?P<layers>\d+)/\d+ layers to GPU")
_EXPERTS = re.compile(
    r"tensor blk\.(?P<layer>\d+)\.ffn_\w*exps\.\S+ .*buffer type overrid\w+ to CPU"
)
_BUILD = re.compile(r"\bbuild(?:_info)?(?::| =|) +b?(?P<build>\d+)(?:-| \()")
_TABLE = re.compile(
    r"\|\s+- (?P<name>[^|\s]+)[^|]*\|.*?(?<!\S)\(?\d+\s*=\s*(?P<model>\d+)\s*\+\s*(?P<context>\d+)"
    r"\s*\+\s*(?P<compute>\d+)"
)
_FIT = re.compile(r"(?P<name>\S+) (?P<model>\d+) (?P<context>\d+) (?P<compute>\d+)\s*")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
# Wider than any column. The patterns above take the fourth power of its width to pass it.
_PADDING = re.compile(r"\s{32,}")
_GIB = re.compile(r"(?P<size>\d+(?:\.\d+)?) (?P<unit>[MG])i?B")
# What a vision projector prints about itself is no part of a context (tools/mtmd/clip.cpp).
_NOT_A_CONTEXT = ("reserve_compute_meta", "alloc_compute_meta", "clip")
_WHAT = {
    "": PartKind.WEIGHTS,
    "model": PartKind.WEIGHTS,
    "KV": PartKind.CACHE,
    "RS": PartKind.STATE,
    "output": PartKind.OUTPUT,
    "compute": PartKind.COMPUTE,
}

# Everything that a dry run can tell has been said: the table of its first pass is out, or the
# real context stands.
_ENOUGH = re.compile(
    r"projected (?:to use|memory use)|fitting params to free memory took"
    r"|model loaded|server is listening|listening on http"
)


def says_enough(line: str) -> bool:
    """Whether with this line a running engine has said all that `read` would find."""
    return _ENOUGH.search(line) is not None


def up_to_enough(text: str) -> str:
    """The output up to the line that says enough: what comes after may be cut anywhere."""
    found = _ENOUGH.search(text)
    if found is None:
        return text
    end = text.find("\n", found.end())
    return text if end < 0 else text[: end + 1]


def read(text: str) -> EngineLog:
    """Read a log, whatever surrounds it. A text without a known line gives no loads."""
    reader = _Reader()
    for line in text.splitlines():
        reader.feed(_plain(line))
    fit = tuple(reader.fit) if any(row.name == "Host" for row in reader.fit) else ()
    return EngineLog(reader.build, tuple(reader.loads), fit)


def _plain(line: str) -> str:
    """What a line says, without colours, padding and what only prompts are long enough for."""
    return _PADDING.sub(" ", _message(_COLOUR.sub("", line[:_LINE_LIMIT])))[:_TEXT_LIMIT]


def _message(line: str) -> str:
    if not line.startswith("{"):
        return line
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return line
    message = entry.get("msg")
    return message if isinstance(message, str) else ""


class _Reader:
    """Goes through a log once, line by line."""

    def __init__(self) -> None:
        self.build = ""
        self.loads: list[Load] = []
        self.fit: list[TableRow] = []
        self._cache_name = ""
        self._reserved = False  # the compute buffers of this context are out

    def feed(self, line: str) -> None:
        """Take one line in."""
        if match := _BUFFER.search(line):
            self._buffer(match)
        elif match := _KEY.search(line):
            self._option(match["key"], match["value"])
        elif match := _CACHE.search(line):
            self._cache(match)
        elif match := _LOADED.search(line):
            self.loads.append(Load(path=match["path"], tensors=int(match["tensors"])))
        elif match := _INFO.search(line):
            self._info(match["key"], match["value"].strip())
        elif match := _TABLE.search(line):
            self._load.table.append(_row(match))
        elif match := _OFFLOADED.search(line):
            self._load.gpu_layers = int(match["layers"])
        elif match := _EXPERTS.search(line):
            self._load.experts_on_host.add(int(match["layer"]))
        elif match := _CREATING.search(line):
            self._cache_name = match["name"].strip()
        elif match := _FLASH.search(line):
            self._context.flash_attention = match["what"] == "enabled"
        elif match := _FIT.fullmatch(line):
            self.fit.append(_row(match))
        elif "using full-size SWA cache" in line:
            self._context.swa_full = True
        elif "constructing llama_context" in line:
            self._begin()
        elif "sched_reserve: reserving" in line:
            self._reserved = True
        elif not self.build and (match := _BUILD.search(line)) and match["build"] != "0":
            self.build = match["build"]

    @property
    def _load(self) -> Load:
        if not self.loads:
            self.loads.append(Load())
        return self.loads[-1]

    @property
    def _context(self) -> Context:
        if not self._load.contexts:
            self._begin()
        return self._load.contexts[-1]

    def _begin(self) -> None:
        self._load.contexts.append(Context())
        self._cache_name = ""
        self._reserved = False

    def _buffer(self, match: re.Match[str]) -> None:
        what = match["what"] or ""
        kind = PartKind.STATE if what.endswith(" state") else _WHAT.get(what)
        if kind is None or match["func"].startswith(_NOT_A_CONTEXT):
            return
        buffer = Buffer(kind, match["name"], printed(match["size"]))
        if kind is PartKind.WEIGHTS:
            if self._load.contexts:  # another load, whose header lines are not in this log
                self.loads.append(Load())
            self._load.buffers.append(buffer)
            return
        buffers = self._context.buffers
        if kind is PartKind.COMPUTE:
            # Reserving again replaces what was there.
            if self._reserved:
                buffers[:] = [b for b in buffers if b.kind is not PartKind.COMPUTE]
                self._reserved = False
            buffers[:] = [b for b in buffers if (b.kind, b.name) != (kind, buffer.name)]
        buffers.append(buffer)

    def _option(self, key: str, value: str) -> None:
        context = self._context
        known = {
            "n_seq_max": context.slots,
            "n_ctx": context.context,
        }
        if known.get(key) is not None:  # printed once per context
            self._begin()
            context = self._context
        match key:
            case "flash_attn":
                resolved = {"1": True, "enabled": True, "0": False, "disabled": False}
                context.flash_attention = resolved.get(value)
            case "kv_unified":
                context.unified = value in ("true", "1")
            case _ if not value.isdecimal():
                return
            case "n_seq_max":
                context.slots = int(value)
            case "n_ctx":
                context.context = int(value)
            case "n_batch":
                context.batch = int(value)
            case "n_ubatch":
                context.ubatch = int(value)
            case "n_rs_seq":
                context.drafted = int(value)
            case "n_outputs_max":
                context.outputs = int(value)

    def _cache(self, match: re.Match[str]) -> None:
        cells = match["cells"]
        line = CacheLine(
            self._cache_name,
            int(cells) if cells else None,
            match["type_k"],
            printed(match["k"]),
            match["type_v"],
            printed(match["v"]),
        )
        self._context.caches.append(line)

    def _info(self, key: str, value: str) -> None:
        load = self._load
        match key:
            case "arch":
                load.architecture = value
            case "no_alloc":
                load.no_alloc = value == "1"
            case "file type" | "model ftype":
                load.file_type = value
            case _ if size := _GIB.match(value):
                load.file_size = printed(size["size"], MIB if size["unit"] == "M" else 2**30)


def _row(match: re.Match[str]) -> TableRow:
    return TableRow(
        match["name"],
        whole_mib(match["model"]),
        whole_mib(match["context"]),
        whole_mib(match["compute"]),
    )
