"""How long one pass takes that carries several tokens: of one request that drafts, or of many.

Weights are read once for all of them, experts only those that somebody wakes; every request reads
its own cache and its own state. On each device the slower of memory and arithmetic counts, and the
devices take turns. A bound, as the ceiling is: one token of one request takes exactly its time.
"""

from __future__ import annotations

from core.language import tr
from core.plan.plan import Plan
from core.plan.speed.anatomy import placed
from core.plan.speed.prefill import operations_per_row


class Passes:
    """The passes of one plan. Made once, asked for many sizes."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        shape = plan.model.shape
        self._share = shape.experts_used / shape.experts if shape.experts else 1.0
        self._placement, self._reads = placed(plan)
        self._speeds = [device.bandwidth.value for device in self._placement.devices]
        self._flops = [d.flops.value or d.flops32.value for d in self._placement.devices]
        self._per_row = operations_per_row(plan.model)
        self._weights = sum(self._reads.weights) or 1
        known = all(self._speeds[d] for d in self._reads.used)
        self.known = bool(self._reads.used) and known and plan.model.cache.known
        self.computes = all(self._flops[d] for d in self._reads.used)

    @property
    def note(self) -> str:
        """Why nothing can be told, or what is left out; empty where nothing is."""
        if not self.known:
            return tr(self.plan.speed.ceiling.note)
        if self.computes:
            return ""
        return tr("How fast it computes is not known: only bytes count.")

    def experts(self, tokens: int) -> float:
        """How many times the experts of one token are read for so many: their union."""
        return woken(self._share, tokens) / self._share

    def seconds(self, tokens: int, requests: int = 1, depth: int | None = None) -> float:
        """Of one pass, in all: ``tokens`` of so many ``requests``, each with ``depth`` tokens in
        its cache (the plan's own where None). Ask only where it is `known`."""
        at = self.plan.settings.depth if depth is None else depth
        return sum(self._device(d, tokens, requests, at)[0] for d in self._reads.used)

    def memory_binds(self, tokens: int, requests: int = 1, depth: int | None = None) -> bool:
        """Whether memory takes longer than arithmetic on the devices together."""
        at = self.plan.settings.depth if depth is None else depth
        both = [self._device(d, tokens, requests, at)[1:] for d in self._reads.used]
        return sum(memory for memory, _ in both) >= sum(work for _, work in both)

    def fastest(self) -> float:
        """Bytes per second of the fastest memory that is read."""
        return max(self._speeds[d] or 0.0 for d in self._reads.used)

    def _device(self, d: int, tokens: int, requests: int, depth: int) -> tuple[float, float, float]:
        """Seconds on one device, and what memory and arithmetic need of them."""
        r = self._reads
        experts = min(
            r.expert_reads[d] * self.experts(tokens), max(r.expert_bytes[d], r.expert_reads[d])
        )
        cache = sum(rows.layers[d] * rows.bytes_at([depth])[0] for rows in r.rows)
        size = r.weights[d] - r.expert_reads[d] + experts + requests * (cache + r.states[d])
        work = 2 * self.plan.weights.active_parameters * r.weights[d] / self._weights
        work += sum(
            each * rows.layers[d] * min(depth // rows.stride, rows.most)
            for rows, each in zip(r.rows, self._per_row, strict=True)
        )
        memory = size / (self._speeds[d] or 1.0)
        flops = self._flops[d]
        arithmetic = tokens * work / flops if flops else 0.0
        return max(memory, arithmetic), memory, arithmetic


def woken(share: float, tokens: int) -> float:
    """The part of all experts that so many tokens wake, where each wakes ``share`` of them at
    random: 1 - (1 - k/E)^n."""
    return float(1 - (1 - share) ** tokens)
