"""What one copies: parts of text, each with what it is for."""

from __future__ import annotations

from dataclasses import dataclass

from core.language import tr
from core.plan.choice import Engine
from core.plan.commands.shells import Shell
from core.plan.plan import Plan


@dataclass(frozen=True, slots=True)
class Part:
    """``title`` says what to do with it ("Modelfile"), empty where there is one command only."""

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Command:
    """How an engine is told a choice. ``notes`` are sentences about what it cannot be told."""

    engine: Engine
    shell: Shell
    parts: tuple[Part, ...]
    notes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """All parts, each under its title as a comment."""
        remark = "rem" if self.shell is Shell.CMD else "#"
        written = [
            f"{remark} {part.title}\n{part.text}" if part.title else part.text
            for part in self.parts
        ]
        return "\n\n".join(written)


def one_batch_size(program: str, plan: Plan) -> str:
    """The note of a program that has no ubatch of its own."""
    return tr(
        "{program} has one batch size: not {batch} in steps of {ubatch}.",
        program=program,
        batch=plan.settings.batch,
        ubatch=plan.settings.ubatch,
    )
