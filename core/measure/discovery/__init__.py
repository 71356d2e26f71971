"""Servers on this computer: by the ports that they usually have and by the programs that run.

The network is never searched. Import from here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from core.measure.discovery.loading import (
    NotLoadedError,
    can_load,
    load_into_ollama,
    wait_until_loaded,
)
from core.measure.discovery.matching import Match, match_file
from core.measure.discovery.probe import probe
from core.measure.discovery.processes import Listener, listeners, with_process
from core.measure.discovery.values import Found, State
from core.measure.run import ServerKind, Target
from core.measure.wire.connect import is_this_computer
from core.measure.wire.http import Address, address_of

__all__ = [
    "KNOWN_PORTS",
    "Found",
    "Match",
    "NotLoadedError",
    "State",
    "can_load",
    "discover",
    "find",
    "load_into_ollama",
    "match_file",
    "wait_until_loaded",
]

# llama-server, llamafile, LocalAI and mlx_lm; Ollama; LM Studio; vLLM; SGLang; KoboldCpp; TabbyAPI;
# Jan; GPT4All; Docker Model Runner.
KNOWN_PORTS = (8080, 11434, 1234, 8000, 30000, 5001, 5000, 1337, 4891, 12434)
_QUIET = (State.REFUSED, State.SILENT, State.OTHER)
_AT_ONCE = 16

Probe = Callable[[Address, str], Found]


def discover(
    keys: Callable[[str], str] = lambda url: "",
    ports: Sequence[int] = KNOWN_PORTS,
    processes: Callable[[], tuple[Listener, ...]] = listeners,
    look: Probe = probe,
) -> tuple[Found, ...]:
    """Every model server of this computer, those that can be measured first.

    ``keys`` gives the key for an address. Takes two seconds at most, since all are asked at once.
    Never raises.
    """
    running = processes()
    addresses = [Address("127.0.0.1", port) for port in _unique(ports, running)]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        found = list(pool.map(lambda a: look(a, keys(a.url)), addresses))
    servers = [each for each in found if each.state not in _QUIET]
    return tuple(sorted(_with_processes(servers, running), key=_order))


def find(text: str, key: str = "", look: Probe = probe) -> Found:
    """The server at an address that somebody typed; loopback by its number. Raises ValueError."""
    address = address_of(text)
    if address.host.lower() == "localhost":
        address = replace(address, host="127.0.0.1")
        found = look(address, key)
        if found.state is State.REFUSED:
            other = look(replace(address, host="::1"), key)
            found = other if other.state is not State.REFUSED else found
    else:
        found = look(address, key)
    if not is_this_computer(address.host):
        return found
    (known,) = _with_processes([found], listeners())
    return known


def _unique(ports: Iterable[int], running: Iterable[Listener]) -> list[int]:
    return list(dict.fromkeys([*ports, *(each.port for each in running)]))


def _with_processes(found: Sequence[Found], running: Sequence[Listener]) -> list[Found]:
    """What is known of the programs behind the answers; Ollama's own servers tell about its
    models, and are told apart."""
    by_port = {each.port: each for each in running}
    ollamas = {
        process.pid: each.url
        for each in found
        if each.kind is ServerKind.OLLAMA and (process := _process_of(each, by_port)) is not None
    }
    runners = [each for each in running if each.parent in ollamas or _is_runner(each)]
    result = []
    for each in found:
        process = _process_of(each, by_port)
        if process is None:
            result.append(each)
        elif each.kind is ServerKind.OLLAMA:
            result.append(replace(each, targets=tuple(_through(t, runners) for t in each.targets)))
        else:
            driver = ollamas.get(process.parent, "Ollama" if _is_runner(process) else "")
            targets = tuple(with_process(target, process) for target in each.targets)
            result.append(replace(each, targets=targets, driver=driver))
    return result


def _process_of(found: Found, by_port: dict[int, Listener]) -> Listener | None:
    return by_port.get(address_of(found.url).port)


def _is_runner(process: Listener) -> bool:
    """A server that Ollama starts for itself, by where its program or its model lies."""
    words = " ".join(process.arguments).replace("\\", "/").lower()
    return "/ollama/" in words.partition(" ")[0] or "/blobs/sha256" in words


def _through(target: Target, runners: Sequence[Listener]) -> Target:
    """An Ollama model with what the server that Ollama runs for it was started with."""
    own = [r for r in runners if r.options.get("model", "?") == target.model_path]
    if not own and len(runners) == 1:
        own = list(runners)
    if len(own) != 1:
        return target
    return with_process(target, own[0])


def _order(found: Found) -> tuple[bool, bool, str]:
    return bool(found.driver), found.state is not State.READY, found.url
