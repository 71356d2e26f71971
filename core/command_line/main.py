"""Which sub-command, with which options; exit statuses 0, 1 (a damaged file) and 2 (wrong use)."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NoReturn

from core.command_line.output import OutputError, complain, discard, prepare, say

PROGRAM = "weighbridge"

OpenWindow = Callable[[list[str]], int]


def main(argv: Sequence[str], open_window: OpenWindow) -> int:
    """Run these arguments (without the program's name) and return the exit status.

    ``open_window`` gets the files where no sub-command is named.
    """
    prepare()
    try:
        return _run(list(argv), open_window)
    except BrokenPipeError:  # whoever read the output has gone
        discard()
        return 1
    except OutputError as error:
        discard()
        complain(f"{PROGRAM}: the output could not be written: {error}")
        return 1
    except KeyboardInterrupt:
        return 130


def _run(argv: list[str], open_window: OpenWindow) -> int:
    command = argv[0] if argv else ""
    try:
        if command in _COMMANDS:
            return _COMMANDS[command](argv[1:])
        return open_window(_files(argv))
    except SystemExit as ended:
        return int(ended.code or 0)


class _Parser(argparse.ArgumentParser):
    """One clear sentence on standard error instead of a usage block."""

    def __init__(self, command: str = "", **options: Any) -> None:
        super().__init__(prog=f"{PROGRAM} {command}".strip(), allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        complain(f"{self.prog}: {message}; see {self.prog} --help")
        raise SystemExit(2)


def _files(argv: list[str]) -> list[str]:
    parser = _Parser(
        usage=(
            f"{PROGRAM} [FILE ...]\n"
            f"       {PROGRAM} report FILE [options]\n"
            f"       {PROGRAM} compare FILE --machines A,B,C [options]\n"
            f"       {PROGRAM} machine [--json] [--measure]\n"
            f"       {PROGRAM} measure [URL] [options]\n"
            f"       {PROGRAM} catalogue [WORDS]\n"
            f"       {PROGRAM} calibration check ROWS.csv"
        ),
        description="Opens the window, with these files. The sub-commands need no screen.",
    )
    parser.add_argument("files", nargs="*", metavar="FILE", help="a GGUF file")
    parser.add_argument("--version", action="version", version=_version())
    files: list[str] = parser.parse_args(argv).files
    return files


def _version() -> str:
    try:
        return f"{PROGRAM} {version(PROGRAM)}"
    except PackageNotFoundError:
        return f"{PROGRAM}, not installed"


def _report(argv: list[str]) -> int:
    from core.command_line.reports import report, report_many

    parser = _Parser(
        "report",
        usage=f"{PROGRAM} report FILE [options]",
        description="What a model costs in memory, and how fast it could write at most. A link may "
        "stand for the file (https://..., or hf:org/model:Q4_K_M): its header alone is read.",
    )
    _add_plan_options(parser)
    parser.add_argument("--html", metavar="OUT", help="write it as a web page too, for sharing")
    return _answer(parser, argv, report, report_many)


def _compare(argv: list[str]) -> int:
    from core.command_line.comparisons import compare, compare_many

    parser = _Parser(
        "compare",
        usage=f"{PROGRAM} compare FILE --machines A,B,C [options]",
        description="One model on several machines: what fits, how much context, how fast. "
        "A machine can be put together: 2x nvidia-geforce-rtx-3090+ram:64GiB@51.2",
    )
    parser.add_argument(
        "--machines",
        metavar="A,B,C",
        help="catalogue ids, own machines, this, or parts joined by +; what --machine, --memory or "
        "--bandwidth name comes on top",
    )
    parser.add_argument(
        "--prompt", metavar="N", help="tokens of a prompt, for the time to the first token (2048)"
    )
    parser.add_argument(
        "--ram",
        metavar="SIZE@GB/s",
        help="what the computer around every card has that names no RAM, like 64GiB@51.2",
    )
    _add_plan_options(parser)
    return _answer(parser, argv, compare, compare_many)


def _answer(
    parser: _Parser,
    argv: list[str],
    one: Callable[[dict[str, object], bool], int],
    many: Callable[[str, dict[str, object]], int],
) -> int:
    """Answer the options themselves, or every line of a file of requests with them."""
    from core.command_line.requests import BadRequestError

    values = vars(parser.parse_args(argv))
    requests, as_values = values.pop("requests"), values.pop("json")
    given = {name: value for name, value in values.items() if value is not None}
    if (requests is None) == ("file" not in given):
        parser.error("name one file, or a file of --requests")
    if requests is not None and "html" in given:
        parser.error("--html is for one file")
    try:
        return one(given, as_values) if requests is None else many(requests, given)
    except BadRequestError as error:
        complain(f"{parser.prog}: {error}")
        return 2


def _add_plan_options(parser: _Parser) -> None:
    """What decides a plan, and how it is printed."""
    from core.machine import Backend
    from core.plan.choice import CACHE_TYPES, Engine

    add = parser.add_argument
    add("file", nargs="?", metavar="FILE", help="a GGUF file; any shard stands for all; or a link")
    add("--context", metavar="N", help="tokens reserved (16384, or the trained context if smaller)")
    add("--depth", metavar="N", help="tokens in the cache for the speed figures (the context)")
    add("--cache-k", metavar="TYPE", help=f"{' '.join(CACHE_TYPES)} (f16); vllm: fp8")
    add("--cache-v", metavar="TYPE", help="the same (f16)")
    add("--flash-attention", metavar="on|off|auto", help="(auto)")
    add("--ubatch", metavar="N", help="tokens in one pass of the prompt (512)")
    add("--batch", metavar="N", help="tokens handed over at once (2048)")
    add("--slots", metavar="N", help="requests at the same time (the engine's own)")
    add("--unified-cache", action=argparse.BooleanOptionalAction, help="slots share one cache")
    add("--swa-full", action="store_true", default=None, help="whole cache for window layers")
    add("--engine", metavar="NAME", help=f"{', '.join(Engine)} (llama-server)")
    add("--requantize", metavar="FTYPE", help="as if quantized to it (Q4_K_M, IQ4_XS, ...)")
    add(
        "--machine",
        metavar="ID|this|FILE",
        help="a catalogue id, this computer (this), or a machine report (a .json file)",
    )
    add("--bandwidth", metavar="GB/s", help="of the memory that decides")
    add("--memory", metavar="GB", help="its size; 24 GiB is understood as well")
    add("--gpu-layers", metavar="N|all", help="layers on the GPU, the output counted (all)")
    add("--cpu-moe", metavar="N", help="experts of so many first layers stay in RAM (0)")
    add("--backend", metavar="NAME", help=", ".join(Backend))
    add("--projector", metavar="FILE", help="an mmproj file, loaded beside the model")
    add(
        "--projector-on-gpu",
        action=argparse.BooleanOptionalAction,
        help="or in RAM, as --no-mmproj-offload does",
    )
    add("--draft", metavar="FILE", help="a small model that drafts, loaded beside the model")
    add("--draft-head", action="store_true", default=None, help="use the file's own draft blocks")
    add("--draft-gpu-layers", metavar="N|all", help="the same for the draft model (all)")
    add("--draft-cache-k", metavar="TYPE", help="of the draft's own cache (f16)")
    add("--draft-cache-v", metavar="TYPE", help="the same (f16)")
    add("--drafted", metavar="N", help="tokens drafted at once (3)")
    add("--json", action="store_true", help="print one JSON object")
    add(
        "--requests", metavar="FILE|-", help="answer one JSON object a line, '-' for standard input"
    )


def _machine(argv: list[str]) -> int:
    from core.command_line.machines import show_machine

    parser = _Parser("machine", description="What this computer has.")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--measure", action="store_true", help="time how fast it reads its memory")
    options = parser.parse_args(argv)
    words, values = show_machine(options.measure)
    say(json.dumps(values) if options.json else words)
    return 0


def _measure(argv: list[str]) -> int:
    from core.command_line.measure_options import options_from
    from core.command_line.measuring import measure, show_servers
    from core.command_line.requests import BadRequestError

    parser = _Parser(
        "measure",
        usage=f"{PROGRAM} measure [URL] [options]",
        description="A measurement run against a local server. A key is taken from the variable "
        "WEIGHBRIDGE_API_KEY.",
    )
    add = parser.add_argument
    add("url", nargs="?", metavar="URL", help="its address (the one that runs here)")
    add("--depths", metavar="A,B,C", help="tokens in the cache, 0 for the least (by the context)")
    add("--runs", metavar="N", help="measured requests at each depth (6)")
    add("--tokens", metavar="N", help="tokens written by each (64)")
    add("--warm-ups", metavar="N", help="discarded requests at each depth (1)")
    add("--cold", metavar="N", help="whole prefills at each depth; 0 reads each token once (1)")
    add("--concurrency", metavar="A,B,C", help="requests at the same time (1)")
    add("--name", metavar="NAME", help="the model, where the server has several")
    add("--model", metavar="FILE", help="the GGUF that it runs, where it cannot tell")
    add("--bandwidth", metavar="GB/s", help="of this computer's memory, for the ceiling")
    add("--resume", metavar="ID|last", help="go on with a run that was stopped or failed")
    add("--no-history", action="store_true", default=None, help="do not keep it in the history")
    add("--list", action="store_true", help="only show the servers that run here")
    add("--json", action="store_true", help="print one JSON object at the end")
    values = vars(parser.parse_args(argv))
    try:
        if values.pop("list"):
            return show_servers(values["json"])
        return measure(options_from(values))
    except BadRequestError as error:
        complain(f"{parser.prog}: {error}")
        return 2


def _catalogue(argv: list[str]) -> int:
    from core.command_line.machines import show_catalogue

    parser = _Parser("catalogue", description="Machines that can be bought, and their ids.")
    parser.add_argument("words", nargs="*", metavar="WORDS", help="all of them must be found")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(argv)
    words, values = show_catalogue(" ".join(options.words))
    if options.json:
        say(json.dumps(values))
    elif words:
        say(words)
    if not values["machines"]:
        complain(f"{PROGRAM}: the catalogue has nothing like it; try fewer words")
        return 1
    return 0


def _calibration(argv: list[str]) -> int:
    from core.command_line.calibration import RowsError, line_of, rows_of, values_of
    from core.plan.speed.check import fit_of

    parser = _Parser(
        "calibration",
        usage=f"{PROGRAM} calibration check ROWS.csv [--json]",
        description=(
            "How well the speed model predicts measured runs. The columns are those of the runs "
            "that ship; rows with a flag are left out."
        ),
    )
    parser.add_argument("action", choices=("check",), metavar="check", help="compare with the rows")
    parser.add_argument("rows", metavar="ROWS.csv", help="a table of runs")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(argv)
    try:
        runs, left_out = rows_of(options.rows)
    except RowsError as error:
        complain(f"{parser.prog}: {error}")
        return 1
    for each in left_out:
        complain(f"{parser.prog}: {options.rows}, {each.sentence}; the row is left out")
    blind = sum(run.hardware is None and not run.flag for run in runs)
    if blind:
        complain(f"{parser.prog}: {options.rows}: of {blind} rows no bandwidth is known")
    fit = fit_of(runs)
    say(json.dumps(values_of(runs)) if options.json else line_of(fit))
    if not left_out and fit.n == 0:
        complain(f"{parser.prog}: {options.rows}: no row can be compared")
    return 1 if fit.n == 0 or any(each.damaged for each in left_out) else 0


_COMMANDS: dict[str, Callable[[list[str]], int]] = {
    "report": _report,
    "compare": _compare,
    "machine": _machine,
    "measure": _measure,
    "catalogue": _catalogue,
    "calibration": _calibration,
}
