"""One token taken apart: what it reads, what it computes, which of the two sides binds.

Asked for by whoever shows it; a plan carries none of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from core.language import mark, tr
from core.machine.machine import Device
from core.model.cache_size import state_moved
from core.model.model import Role
from core.plan.placement import Placement, is_cuda_like, place, weight_table
from core.plan.plan import Plan
from core.plan.speed.prefill import operations_per_row
from core.plan.speed.reads import NO_BANDWIDTH, NOTHING_READ, CacheRows, Reads, reads
from core.provenance import Input, Number, Rank, Source, Unit


class PartOfToken(StrEnum):
    """What bytes of a token are, in the order in which they are stacked."""

    EXPERTS = mark("experts")
    FEED_FORWARD = mark("feed forward")
    ATTENTION = mark("attention")
    HEAD = mark("output head")
    OTHER = mark("norms and other")
    STATE = mark("state, read and written")
    CACHE = mark("cache")


_PEAK = mark(
    "At the peak rate of 16-bit matrix arithmetic. One token alone reaches far less of it; beside "
    "the memory's side it shows which of the two one waits for."
)
_ONE_DEVICE = mark("It is told for one device.")
_BALANCE_FORMULA = mark("peak operations per second / bandwidth x bytes per weight / 2")
_BALANCE = mark(
    "Tokens of one step at which both sides take the same time; below it, memory binds."
)
_ROLES = {
    Role.EXPERTS: PartOfToken.EXPERTS,
    Role.SHARED_EXPERTS: PartOfToken.EXPERTS,
    Role.FEED_FORWARD: PartOfToken.FEED_FORWARD,
    Role.ATTENTION: PartOfToken.ATTENTION,
    Role.RECURRENT: PartOfToken.ATTENTION,
    Role.HEAD: PartOfToken.HEAD,
}


@dataclass(frozen=True, slots=True)
class TokenShare:
    """Bytes of one part of a token. ``name`` is the part, or for a cache the kind of layers, in the
    reader's language; ``holds`` has the roles that are told apart elsewhere and counted together
    here."""

    part: PartOfToken
    name: str
    bytes: int
    holds: tuple[Role, ...] = ()


class Anatomy:
    """One plan's token at any depth. Made once, asked for many depths."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        sizes = dict.fromkeys(PartOfToken, 0)
        roles: dict[PartOfToken, set[Role]] = {part: set() for part in PartOfToken}
        for role, (_, read) in plan.weights.by_role.items():
            part = _ROLES.get(role, PartOfToken.OTHER)
            sizes[part] += read
            if read:
                roles[part].add(role)
        sizes[PartOfToken.STATE] = state_moved(plan.model.cache)
        self._fixed = tuple(
            TokenShare(part, tr(part.value), size, _told_apart(roles[part]))
            for part, size in sizes.items()
            if size and part is not PartOfToken.CACHE
        )
        self._placement, self._reads = placed(plan)

    def shares(self, depth: int) -> tuple[TokenShare, ...]:
        """Every part that is more than nothing; they add up to the bytes of a token.

        Empty where it is not known what the architecture keeps.
        """
        if not self._plan.model.cache.known:
            return ()
        groups = zip(self._plan.model.cache.groups, self._reads.rows, strict=True)
        caches = (
            TokenShare(PartOfToken.CACHE, _cache_name(group.name), rows.count * size)
            for group, rows in groups
            for size in rows.bytes_at([depth])
        )
        return (*self._fixed, *(share for share in caches if share.bytes))

    def sides(self, depth: int) -> Sides:
        """How long the memory and the arithmetic of one token take at least."""
        per_row = operations_per_row(self._plan.model)
        total = sum(self._reads.weights) or 1
        devices = [(d, self._placement.devices[d]) for d in self._reads.used]
        source = _weakest([device for _, device in devices])
        memory, arithmetic, inputs = 0.0, 0.0, []
        for d, device in devices:
            flops, bandwidth = _flops(device).value, device.bandwidth.value
            work = 2 * self._plan.weights.active_parameters * self._reads.weights[d] / total
            work += _attention(self._reads.rows, per_row, d, depth)
            memory += self._reads.at(d, depth) / bandwidth if bandwidth else 0.0
            arithmetic += work / flops if flops else 0.0
            inputs.append(Input(tr("operations on {device}", device=tr(device.name)), work))
            inputs.append(Input(mark("its peak"), flops, Unit.FLOPS))
        balance = self._balance()
        if balance.known:
            name = mark("tokens of one step at which both sides are the same")
            inputs.append(Input(name, round(balance.value or 0.0), Unit.COUNT))
        note = self._missing_bandwidth()
        without = self._missing_flops()
        return Sides(
            Number(
                None if note else memory, Unit.SECONDS, source, mark("bytes / bandwidth"), note=note
            ),
            Number(
                None if without else arithmetic,
                Unit.SECONDS,
                source,
                mark("(2 x active parameters + attention) / peak operations per second"),
                tuple(inputs),
                without or _PEAK,
            ),
            balance,
        )

    def _missing_bandwidth(self) -> str:
        """Why the memory's side is not known; empty where it is."""
        if not self._plan.model.cache.known:
            return self._plan.speed.ceiling.note
        for d in self._reads.used:
            bandwidth = self._placement.devices[d].bandwidth
            if not bandwidth.value:
                return bandwidth.note or NO_BANDWIDTH
        return "" if self._reads.used else NOTHING_READ

    def _missing_flops(self) -> str:
        """Why the arithmetic's side is not known; empty where it is."""
        if not self._plan.model.cache.known:
            return self._plan.speed.ceiling.note
        for d in self._reads.used:
            device = self._placement.devices[d]
            if not _flops(device).value:
                return device.flops.note or tr(
                    "How fast {device} computes is not known.", device=tr(device.name)
                )
        return "" if self._reads.used else NOTHING_READ

    def _balance(self) -> Number[float]:
        """Requests that may share a pass until arithmetic takes as long as the memory."""
        used = self._reads.used
        device = self._placement.devices[used[0]] if used else None
        flops = None if device is None else _flops(device).value
        bandwidth = None if device is None else device.bandwidth.value
        active = self._plan.weights.active_parameters
        source = _weakest([device] if device is not None else [])
        if len(used) != 1 or not flops or not bandwidth or not active:
            missing = self._missing_bandwidth() or self._missing_flops()
            note = _ONE_DEVICE if len(used) > 1 else missing
            return Number(None, Unit.TOKENS, source, _BALANCE_FORMULA, note=note)
        per_weight = self._plan.weights.read_per_token / active
        return Number(
            flops / bandwidth * per_weight / 2,
            Unit.TOKENS,
            source,
            _BALANCE_FORMULA,
            (
                Input(mark("peak operations per second"), flops, Unit.FLOPS),
                Input(mark("bandwidth"), bandwidth, Unit.BYTES_PER_SECOND),
                Input(mark("bytes per weight"), per_weight),
            ),
            _BALANCE,
        )


@dataclass(frozen=True, slots=True)
class Sides:
    """Seconds of one token by its bytes and by its operations, and the ``balance`` point, tokens
    of one step at which both are the same."""

    memory: Number[float]
    arithmetic: Number[float]
    balance: Number[float]

    @property
    def memory_binds(self) -> bool | None:
        """Which side is the slower one; None where one of them is not known."""
        if self.memory.value is None or self.arithmetic.value is None:
            return None
        return self.memory.value >= self.arithmetic.value


def _cache_name(layers: str) -> str:
    return tr("cache: {layers}", layers=tr(layers))


def _told_apart(roles: set[Role]) -> tuple[Role, ...]:
    return tuple(role for role in Role if role in roles) if len(roles) > 1 else ()


def placed(plan: Plan) -> tuple[Placement, Reads]:
    """Where a plan's layers lie, and what each device reads."""
    placement = place(plan.model, plan.machine, plan.settings)
    table = weight_table(plan.model, plan.weights, is_cuda_like(plan.settings.backend))
    return placement, reads(plan.model, table, placement, plan.settings)


def _flops(device: Device) -> Number[float]:
    return device.flops if device.flops.value else device.flops32


def _attention(rows: list[CacheRows], per_row: tuple[float, ...], device: int, depth: int) -> float:
    """Operations of attention on one device."""
    return sum(
        each * r.layers[device] * min(depth // r.stride, r.most)
        for r, each in zip(rows, per_row, strict=True)
    )


def _weakest(devices: list[Device]) -> Source:
    order = list(Rank)
    sources = [s for d in devices for s in (d.bandwidth.source, _flops(d).source)]
    found = max(sources, key=lambda s: order.index(s.rank), default=None)
    return found or Source(Rank.DERIVED, mark("the file"))
