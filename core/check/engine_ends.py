"""How llama.cpp ends when it does not run: a sentence for each, from its exit status and its words.

Statuses are those of a program started without a shell: negative signals on POSIX, NTSTATUS codes
on Windows. A shell's 128 + signal is understood as well.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from core.language import mark, tr
from core.problems import Problem

_ILLEGAL, _ABORT, _KILLED, _SEGMENT = 4, 6, 9, 11
# Of ntstatus.h, as an unsigned exit code.
_WINDOWS = {
    0xC000001D: _ILLEGAL,
    0xC0000005: _SEGMENT,
    0xC0000409: _ABORT,
}
_NO_LIBRARY = (0xC0000135, 0xC0000139)


class _Words(NamedTuple):
    """What llama.cpp prints, and what that means. ``{found}`` is what the first group found."""

    pattern: re.Pattern[str]
    code: str
    message: str
    advice: str


_NO_ROOM = mark(
    "Choose a smaller context, an f16 or q8_0 cache, fewer GPU layers, or a smaller file."
)
_WORDS = (
    _Words(
        re.compile(r"unknown model architecture: '([^'\n]{1,100})'"),
        "engine-architecture",
        mark("This llama.cpp does not know the architecture {found}."),
        mark("Take a newer build of llama.cpp."),
    ),
    _Words(
        re.compile(r"invalid magic characters|bad magic|invalid model file|failed to read magic"),
        "engine-no-gguf",
        mark("llama.cpp says that this file is no GGUF."),
        mark("Open a GGUF model; a shard or a download that was cut short does not load."),
    ),
    _Words(
        re.compile(r"data is not within the file bounds"),
        "engine-cut",
        mark("llama.cpp refuses the file: its tensors are not all there."),
        mark(
            "A header without its tensors (a specimen) can be planned but not loaded; a download "
            "that was cut short has to be fetched again."
        ),
    ),
    _Words(
        re.compile(r"quantized V cache (?:was requested|requires)|V cache quantization requires"),
        "engine-refuses",
        mark("llama.cpp refuses a quantized V cache without flash attention."),
        mark("Turn flash attention on, or keep V at f16."),
    ),
    _Words(
        re.compile(r"error while loading shared libraries: ([^:\s]{1,100})"),
        "engine-library",
        mark("A library that this llama.cpp needs is missing: {found}."),
        mark(
            "Keep the program in the folder that it was unpacked or built in, with its libraries."
        ),
    ),
    _Words(
        re.compile(r"Library not loaded: (\S{1,200})"),
        "engine-library",
        mark("A library that this llama.cpp needs is missing: {found}."),
        mark(
            "Keep the program in the folder that it was unpacked or built in, with its libraries."
        ),
    ),
    _Words(
        re.compile(
            r"cudaMalloc failed: out of memory|CUDA error: out of memory|ErrorOutOfDeviceMemory"
            r"|failed to allocate (?:CUDA|ROCm|Vulkan|Metal|SYCL)\S* buffer"
            r"|kIOGPUCommandBufferCallbackErrorOutOfMemory|Insufficient Memory"
        ),
        "engine-memory",
        mark("llama.cpp ran out of GPU memory."),
        _NO_ROOM,
    ),
    _Words(
        re.compile(
            r"failed to allocate|unable to allocate|std::bad_alloc|cannot allocate memory"
            r"|not enough memory|out of memory",
            re.IGNORECASE,
        ),
        "engine-memory",
        mark("llama.cpp ran out of memory."),
        _NO_ROOM,
    ),
    _Words(
        re.compile(r"error: invalid argument: (\S{1,60})"),
        "engine-old",
        mark("This llama.cpp does not know the option {found}: it is too old for a dry run."),
        mark("Take a newer build, or start it yourself with -v and drop its log here."),
    ),
    _Words(
        re.compile(r"couldn't bind|failed to bind"),
        "engine-port",
        mark("llama-server could not open its port on this computer."),
        mark("Try again; another program may have taken the port."),
    ),
    _Words(
        re.compile(r"error loading model: ([^\n]{1,300})"),
        "engine-load",
        mark("llama.cpp could not load the model: {found}."),
        mark("The lines above the error in its log say more."),
    ),
    _Words(
        re.compile(r"what\(\):\s+failed to load model"),
        "engine-load",
        mark("llama.cpp could not load the model, and ended before it said why."),
        mark("Check that the file is whole and can be read; a newer build may know it."),
    ),
)


def ending(program: str, code: int | None, text: str) -> Problem | None:
    """Why ``program`` ended by itself with this exit status and output, as a sentence.

    None where it ended well (status 0, or None for one that was stopped on purpose) and printed
    no error that is known.
    """
    for words in _WORDS:
        if match := words.pattern.search(text):
            found = match.group(1).rstrip(" .") if match.groups() else ""
            return Problem(
                words.code,
                tr(words.message, found=found),
                advice=tr(words.advice),
                where=program,
            )
    if not code:
        return None
    return _by_status(program, code)


def _by_status(program: str, code: int) -> Problem:
    unsigned = code & 0xFFFFFFFF
    if unsigned in _NO_LIBRARY:
        return Problem(
            "engine-library",
            tr("A library that this llama.cpp needs is missing."),
            advice=tr("Keep the program in the folder that it came in, with its DLLs."),
            where=program,
        )
    signal = _WINDOWS.get(unsigned, -code if -64 < code < 0 else code - 128 if code > 128 else 0)
    message, advice = {
        _ILLEGAL: (
            tr(
                "It was built for another processor: it ran into an instruction that this one "
                "lacks (SIGILL)."
            ),
            tr(
                "Take a build for this processor (a release, not one built on another computer), "
                "or build it here."
            ),
        ),
        _ABORT: (
            tr("It gave up with an error inside llama.cpp (abort)."),
            tr("Its last lines say where; a newer build may have it mended."),
        ),
        _KILLED: (
            tr("The system ended it, most often because memory ran out."),
            tr(_NO_ROOM),
        ),
        _SEGMENT: (
            tr("It crashed (an access to memory that is not its own)."),
            tr("A newer build may have it mended."),
        ),
    }.get(
        signal,
        (
            tr("It ended with status {code} and gave no reason that is known here.", code=code),
            tr("Its last lines may say more."),
        ),
    )
    return Problem("engine-ended", message, advice=advice, where=program)
