"""What would make a plan fit, leave room, or be faster: each change tried, none estimated."""

from core.plan.advice.advice import Advice, Aim, gain, lead, starts
from core.plan.advice.rank import ranked
from core.plan.advice.search import find_advice, largest

__all__ = ["Advice", "Aim", "find_advice", "gain", "largest", "lead", "ranked", "starts"]
