"""A choice as the command of an engine, and the command of an engine as a choice."""

from core.plan.commands.command import Command, Part
from core.plan.commands.reading import Reading, read_settings
from core.plan.commands.shells import Shell
from core.plan.commands.write import command

__all__ = ["Command", "Part", "Reading", "Shell", "command", "read_settings"]
