"""Sessions on models whose memory is stated outright, at rates that somebody measured."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from core.machine import custom
from core.machine.machine import Machine
from core.model.model import CacheFacts, CacheGroup, StateGroup
from core.plan import resolve
from core.plan.choice import Choice
from core.plan.plan import Plan
from core.plan.session import Session, SessionChoice, plan_session
from core.plan.session.rates import SteadyRates
from tests.support import plans

FULL = CacheFacts(True, (CacheGroup("full attention", tuple(range(10)), 512, 512),), layers=40)
WINDOWED = CacheFacts(
    True,
    (
        CacheGroup("full attention", tuple(range(0, 24, 2)), 512, 512),
        CacheGroup("sliding window", tuple(range(1, 24, 2)), 512, 512, window=128),
    ),
    layers=40,
)
HYBRID = CacheFacts(
    True,
    (CacheGroup("full attention", tuple(range(10)), 512, 512),),
    (StateGroup("recurrent", tuple(range(10, 40)), 24_576, 524_288),),
    layers=40,
)
HOST = custom(256 * 2**30, 100e9, gpu=False)


def plan_of(facts: CacheFacts = FULL, machine: Machine = HOST, **choice: Any) -> Plan:
    """A plan of a model with this cache; its weights are those of a test model.

    The context is 262,144 unless chosen.
    """
    made = plans.model(cache_layers=10)
    model = replace(made, cache=facts)
    return resolve(model, machine, Choice(**{"context": 262_144, "slots": 1, **choice}))


def session(
    plan: Plan, prefill: float = 1000.0, decode: float = 50.0, load: float = 0.0, **choice: Any
) -> Session:
    """A session at these rates, tokens per second."""
    return plan_session(plan, SessionChoice(**choice), SteadyRates(prefill, decode, load))
