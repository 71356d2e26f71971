"""What reading a prompt costs with a plan: a few figures from which any prompt follows."""

from __future__ import annotations

from dataclasses import dataclass

# llama.cpp computes on the CPU what lies in RAM up to so many tokens, and copies it to the GPU for
# more (ggml-cuda.cu and ggml-vulkan.cpp: offload_op, 32).
COPIED_FROM = 32


@dataclass(frozen=True, slots=True)
class AttentionCost:
    """Layers of one kind: ``seconds`` for a token that attends to one row, one row for ``stride``
    tokens and at most ``limit`` rows."""

    seconds: float
    stride: int
    limit: int | None

    def rows(self, history: int, new: int) -> float:
        """Rows that ``new`` tokens attend to together, the first with ``history`` before it."""
        start, end = float(history), float(history + new)
        if self.limit is None:
            return (end * end - start * start) / 2 / self.stride
        full = float(self.limit * self.stride)
        growing = (min(end, full) ** 2 - min(start, full) ** 2) / 2 / self.stride
        return growing + max(end - max(start, full), 0.0) * self.limit


@dataclass(frozen=True, slots=True)
class PromptCost:
    """Seconds. ``token`` is the arithmetic of one token without attention. A chunk of ``ubatch``
    tokens reads all weights once (``chunk``) and those of the experts that it wakes (at most
    ``experts``; each token wakes the share ``woken``). What lies in RAM is copied to the GPU for
    every chunk (``copy``); for a short prompt the CPU reads it instead, ``host`` for each token.
    ``low`` and ``high`` bound measured over expected speed."""

    token: float
    attention: tuple[AttentionCost, ...]
    chunk: float
    experts: float
    woken: float
    copy: float
    host: float
    ubatch: int
    low: float
    high: float

    def seconds(self, history: int, new: int) -> float:
        """Of reading ``new`` tokens after ``history``."""
        if new <= 0:
            return 0.0
        whole, rest = divmod(new, self.ubatch)
        chunks = [(whole, self.ubatch), (1 if rest else 0, rest)]
        time = new * self.token
        time += sum(each.seconds * each.rows(history, new) for each in self.attention)
        for count, tokens in chunks:
            if count:
                woken = 1.0 - (1.0 - self.woken) ** tokens
                time += count * (self.chunk + woken * self.experts)
                time += count * (self.copy if tokens >= COPIED_FROM else tokens * self.host)
        return time

    @property
    def break_even(self) -> float | None:
        """Tokens of a prompt from which copying what lies in RAM to the GPU takes less than the
        CPU's reading of it for every token; None where nothing lies there."""
        return self.copy / self.host if self.copy and self.host else None
