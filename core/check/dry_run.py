"""The command line that makes llama.cpp say what a plan would allocate, without loading it.

llama-server and its siblings look at a model before they load it (``-fit on``): a first pass with
the options as given and without allocating anything. With ``-v`` they print its sizes; whoever
runs the command ends it there.
"""

from __future__ import annotations

from core.plan.choice import Engine
from core.plan.commands.llama import every_option
from core.plan.engines import RULES
from core.plan.plan import Plan

SERVER = "llama-server"
COMPLETION = "llama-completion"
CLI = "llama-cli"
FIT = "llama-fit-params"
# What is looked for, and in which order it is taken: as the plan's engine reserves logits.
PROGRAMS = (SERVER, COMPLETION, CLI, FIT)


def preferred(plan: Plan) -> tuple[str, ...]:
    """The programs that can check this plan, the best first."""
    if RULES[Engine(plan.settings.engine)].whole_batch_logits:
        return (COMPLETION, CLI, SERVER, FIT)
    return (SERVER, FIT, COMPLETION, CLI)


def arguments(plan: Plan, program: str, port: int) -> tuple[str, ...]:
    """The options for ``program`` (one of `PROGRAMS`), without the program itself.

    ``port`` is for llama-server, on the loopback interface only. llama-fit-params has no option
    for a unified cache.
    """
    words = every_option(plan, unified=program == SERVER)
    if program == SERVER:
        words += ["--host", "127.0.0.1", "--port", str(port)]
    if program == FIT:
        return (*words, "-fit", "off", "-fitp", "on")
    return (*words, "-fit", "on", "-v", *(("-n", "1") if program != SERVER else ()))
