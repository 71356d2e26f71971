"""How much of each tensor decoding one token reads, by the rules of the decode ceiling.

Look-ups read one row, experts used / total, a draft block nothing until it is used, pictures'
weights nothing while text is written, everything else is read whole.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from core.gguf.header import Tensor
from core.gguf.text import excerpt
from core.language import tr
from core.model.keys import Keys
from core.model.model import WHOLE, Read, Role
from core.model.outline import Outline, first_of
from core.model.roles import Survey
from core.problems import Problem, Severity

NOTHING = Read(0, 1, False)
_ALWAYS_WHOLE = frozenset(
    (
        *(Role.ATTENTION, Role.RECURRENT, Role.FEED_FORWARD, Role.SHARED_EXPERTS),
        *(Role.NORMS, Role.HEAD, Role.OTHER),
    )
)
EXPERTS = "expert_count"
EXPERTS_USED = "expert_used_count"


def final_roles(
    tensors: Sequence[Tensor], survey: Survey, outline: Outline, tied: bool
) -> tuple[Role, ...]:
    """Roles of a whole model: a tied embedding is the head, a draft block's tensors are draft."""
    if not outline.draft and not tied:
        return survey.roles
    roles = list(survey.roles)
    first_draft = outline.blocks if outline.draft else sys.maxsize
    for index, layer in enumerate(survey.layers):
        if layer is None:
            if tied and tensors[index].name == "token_embd.weight":
                roles[index] = Role.HEAD
        elif layer >= first_draft:
            roles[index] = Role.DRAFT
    return tuple(roles)


def reads_of(
    tensors: Sequence[Tensor],
    roles: Sequence[Role],
    survey: Survey,
    outline: Outline,
    keys: Keys,
) -> tuple[tuple[Read, ...], tuple[Problem, ...]]:
    """One entry per tensor, and what could not be told."""
    total = keys.count(EXPERTS)
    used = keys.per_layer(EXPERTS_USED, outline.blocks + outline.draft) or ()
    passes = outline.passes if any(count != 1 for count in outline.passes) else ()
    reads = []
    unsaid: Tensor | None = None
    for tensor, role, layer in zip(tensors, roles, survey.layers, strict=True):
        read = WHOLE
        if role not in _ALWAYS_WHOLE:
            share = _of_experts(tensor, layer, total, used) if role is Role.EXPERTS else None
            if role is Role.EXPERTS and share is None:
                unsaid = unsaid or tensor
            read = share or _fixed(tensor, role)
        if survey.decoder and tensor.name.startswith("enc."):
            read = NOTHING  # the encoder has run before the first token
        if passes and layer is not None and layer < len(passes):
            read = read._replace(numerator=read.numerator * passes[layer])
        reads.append(read)
    return tuple(reads), () if unsaid is None else (_unsaid(keys, unsaid),)


def _fixed(tensor: Tensor, role: Role) -> Read:
    if role is Role.DRAFT or role is Role.VISION:
        return NOTHING
    if role is Role.EMBEDDING or role is Role.LAYER_EMBEDDING:
        return _one_row(tensor)
    if role is Role.ROUTER and tensor.name.endswith(".ffn_gate_tid2eid.weight"):
        return _one_row(tensor)  # which experts a token goes to, by its number
    return WHOLE


def _one_row(tensor: Tensor) -> Read:
    rows = tensor.shape[1] if len(tensor.shape) > 1 else 0
    return Read(1, rows, False) if rows else WHOLE


def _of_experts(
    tensor: Tensor, layer: int | None, stated: int, used: tuple[int | None, ...]
) -> Read | None:
    """used / total; the last dimension of a stack of experts counts them, whatever it holds."""
    total = stated
    if len(tensor.shape) > 2 and tensor.shape[2] > 1:
        total = tensor.shape[2]
    chosen = used[layer] if layer is not None and layer < len(used) else first_of(used)
    if not total or not chosen:
        return None
    return Read(min(chosen, total), total)


def _unsaid(keys: Keys, tensor: Tensor) -> Problem:
    missing = EXPERTS_USED if not keys.count(EXPERTS_USED) else EXPERTS
    return Problem(
        "experts-used",
        tr(
            "{tensor} holds experts and the key {key} is missing; they are counted as if every "
            "token read all of them.",
            tensor=excerpt(tensor.name),
            key=excerpt(keys.full(missing)),
        ),
        Severity.WARNING,
        tr("Bytes read per token and active parameters are upper bounds."),
        where=keys.full(missing),
    )
