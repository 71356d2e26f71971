"""A whole session on a plan: what each turn takes, and where it goes wrong."""

from core.plan.session.choice import PRESETS, Change, Preset, SessionChoice
from core.plan.session.requests import Segment, SegmentKind, timeline
from core.plan.session.simulate import pool_exhausted_by, simulate
from core.plan.session.summary import plan_session
from core.plan.session.values import Event, Reading, Session, TimeLimit, Turn
from core.plan.session.words import headline, range_words, reuse_words

__all__ = [
    "PRESETS",
    "Change",
    "Event",
    "Preset",
    "Reading",
    "Segment",
    "SegmentKind",
    "Session",
    "SessionChoice",
    "TimeLimit",
    "Turn",
    "headline",
    "plan_session",
    "pool_exhausted_by",
    "range_words",
    "reuse_words",
    "simulate",
    "timeline",
]
