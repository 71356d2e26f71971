"""Recorded traffic of llama.cpp's server, and any stream played into a recorder at any times."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from core.measure.dialects import llama_server, openai
from core.measure.recorder import Recorder
from core.measure.run import Sample, SampleKind

_DATA = Path(__file__).parents[1] / "data" / "wire.json.gz"
HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


class Recording(NamedTuple):
    """One answer: its status, and what came at how many microseconds after the request."""

    status: int
    llama_cpp: bool
    chunks: tuple[tuple[int, bytes], ...]

    @property
    def body(self) -> bytes:
        return b"".join(data for _, data in self.chunks)

    def json(self) -> Any:
        return json.loads(self.body)


@cache
def recordings() -> dict[str, Recording]:
    """By build and name: "b10434/chat_stream_usage"."""
    packed = json.loads(gzip.decompress(_DATA.read_bytes()))
    return {
        name: Recording(
            each["status"],
            each["llama.cpp"],
            tuple((at, text.encode()) for at, text in each["chunks"]),
        )
        for name, each in packed.items()
    }


def recorder_for(name: str) -> Recorder:
    """The reader of a recording, by what was asked."""
    if "completion_" in name or "gen_" in name or "err_" in name:
        return Recorder(llama_server.read)
    return Recorder(openai.read, ends_at_done=True)


def play(
    recorder: Recorder,
    pieces: Iterable[tuple[int, bytes]],
    head: bytes = HEAD,
    kind: SampleKind = SampleKind.RUN,
) -> Sample:
    """The sample of a stream whose pieces come at these microseconds, each a chunk of HTTP."""
    at = 0
    recorder.feed(head, 0)
    for at, data in pieces:
        recorder.feed(b"%x\r\n%b\r\n" % (len(data), data), at * 1000)
    if not recorder.done:
        recorder.feed(b"0\r\n\r\n", at * 1000)
    if not recorder.done:
        recorder.close(at * 1000)
    return recorder.sample(kind, 0)


def play_recording(name: str) -> Sample:
    """The sample of a recorded stream."""
    return play(recorder_for(name), recordings()[name].chunks)
