"""What the window remembers between starts: one small JSON file, typed and versioned.

A file that cannot be understood is kept beside the new one and the defaults are used; a value
of the wrong type costs only itself. Nothing here may stop the program from starting.
"""

from __future__ import annotations

import json
import logging
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar, get_args

from PySide6.QtCore import QStandardPaths

from core import language
from core.plan.keeping import Kept
from core.units import UnitSystem
from core.whole_file import open_file, set_aside, write_whole

VERSION = 1
RECENT_LIMIT = 10
_MARGINS_KEPT, _MOST_MARGIN = 100, 2**50
CHOICES_KEPT = 50  # models
# No settings file of ours comes near this; one that does was not written by us.
_SIZE_LIMIT = 1_000_000
_MOST_LISTED = 1000
_MOST_TOKENS = 2**31 - 1
_CURRENCY_LENGTH = 8
_RAM_LENGTH = 60
MOST_PRICE = 1e12  # in any currency

V = TypeVar("V")
ThemeName: TypeAlias = Literal["system", "light", "dark"]


@dataclass(frozen=True, slots=True)
class StoredComparison:
    """What the page "Compare" remembers.

    ``machines`` are written as ``core.machine.spec`` reads them, ``prices`` pairs of such a text
    and an amount of ``currency``, ``models`` paths of files, ``prompt`` is in tokens (0 for the
    page's own), ``ram`` that of the computer around a card as ``core.machine.around`` writes it, ""
    for the page's own, "off" for none.
    """

    machines: tuple[str, ...] | None = None  # None: nobody has chosen yet
    prices: tuple[tuple[str, float], ...] = ()
    currency: str = ""
    models: tuple[str, ...] = ()
    prompt: int = 0
    ram: str = ""


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything remembered. ``geometry`` and ``splitter`` are Qt's own bytes in base64.

    ``recent_files`` are absolute paths, the latest first. ``engine_folder`` is where the user keeps
    llama.cpp, empty for wherever the PATH leads. ``margins`` are the bytes that shall stay free, by
    machine. ``session`` is the last planned session as ``core.plan.session.storing`` writes it.
    ``links`` were opened, the latest first; ``model_folders`` are searched for models. ``tips``:
    whether first steps are shown. ``machine`` is the one of the last time as ``core.machine.spec``
    writes it, "" for this computer. ``choices`` are by the places of models, the latest last, as
    ``core.plan.keeping`` writes them. ``language`` is a code of ``core.language.NAMES``, ""
    for the system's; ``numbers`` a style of its ``STYLES``, "" for the language's. ``page`` is
    the name of the one that was open, "" for the first.
    """

    units: UnitSystem = UnitSystem.GIB
    theme: ThemeName = "system"
    language: str = ""
    numbers: str = ""
    recent_files: tuple[str, ...] = ()
    last_folder: str = ""
    geometry: str = ""
    splitter: str = ""
    engine_folder: str = ""
    margins: dict[str, int] = field(default_factory=dict)
    comparison: StoredComparison = StoredComparison()
    session: str = ""
    tips: bool = True
    machine: str = ""
    choices: dict[str, dict[str, Kept]] = field(default_factory=dict)
    page: str = ""
    links: tuple[str, ...] = ()
    model_folders: tuple[str, ...] = ()

    def with_recent(self, path: str) -> Settings:
        """The same settings with this file first among the recent ones."""
        others = [p for p in self.recent_files if p != path]
        return replace(
            self,
            recent_files=(path, *others)[:RECENT_LIMIT],
            last_folder=str(Path(path).parent),
        )

    def with_link(self, text: str) -> Settings:
        """The same settings with this link first among those that were opened."""
        others = [link for link in self.links if link != text]
        return replace(self, links=(text, *others)[:RECENT_LIMIT])


T = TypeVar("T", Settings, StoredComparison)


def default_path() -> Path:
    """Where this user's settings lie on this system."""
    folder = QStandardPaths.writableLocation(QStandardPaths.StandardLocation.AppConfigLocation)
    return Path(folder) / "settings.json"


def load(path: Path) -> Settings:
    """Read the settings; defaults where there are none. Never raises."""
    try:
        return _loaded(path)
    except FileNotFoundError:
        return Settings()
    except OSError as error:  # it may be readable once they are saved
        logging.warning("settings could not be read: %s", error)
        return Settings()


def _loaded(path: Path) -> Settings:
    """Those of a file; the defaults for one that is not understood. Raises OSError."""
    with open_file(path) as file:
        data = file.read(_SIZE_LIMIT + 1)
    try:
        if len(data) > _SIZE_LIMIT:
            raise ValueError("far too long")
        stored = json.loads(data)
        if not isinstance(stored, dict) or stored.get("version") != VERSION:
            raise ValueError("not a version that this program knows")
    except (ValueError, RecursionError) as error:
        logging.warning("settings were not understood (%s) and are kept as a copy", error)
        set_aside(path)
        return Settings()
    return _from_json(stored)


def save(path: Path, settings: Settings) -> None:
    """Write the settings whole or not at all. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"version": VERSION, **asdict(settings)}, indent=1)
    write_whole(path, text.encode())


def save_changes(path: Path, base: Settings, mine: Settings) -> Settings:
    """Write what ``mine`` changed since ``base``, and keep whatever another window has stored in
    the meantime. Returns all that is stored now. Raises OSError."""
    try:
        stored = _loaded(path)
    except FileNotFoundError:
        stored = base
    except OSError as error:
        logging.warning("settings could not be read (%s) and are kept as a copy", error)
        set_aside(path)
        stored = base
    if stored == Settings():  # nothing is stored, or nothing that was understood
        stored = base
    changed: dict[str, Any] = _changes(base, mine, stored)
    for name in ("recent_files", "links"):
        if name in changed:
            opened = _opened_since(getattr(base, name), getattr(mine, name))
            found = dict.fromkeys((*opened, *getattr(stored, name)))
            changed[name] = tuple(found)[:RECENT_LIMIT]
    if "choices" in changed:
        changed["choices"] = dict(list(changed["choices"].items())[-CHOICES_KEPT:])
    if "comparison" in changed:
        parts = _changes(base.comparison, mine.comparison, stored.comparison)
        if "prices" in parts:
            three = (dict(each.comparison.prices) for each in (base, mine, stored))
            parts["prices"] = tuple(_merged(*three).items())
        changed["comparison"] = replace(stored.comparison, **parts)
    merged = replace(stored, **changed)
    save(path, merged)
    return merged


def _changes(base: T, mine: T, stored: T) -> dict[str, Any]:
    """What a window changed since ``base``, by the names of fields, with what another one has put
    into the same lists and tables in the meantime."""
    found: dict[str, Any] = {}
    for each in fields(base):
        before, now, there = (getattr(it, each.name) for it in (base, mine, stored))
        if now == before:
            continue
        if isinstance(now, dict):
            now = _merged(before, now, there)
        elif isinstance(now, tuple) and isinstance(before, tuple) and isinstance(there, tuple):
            now = _listed(before, now, there)
        found[each.name] = now
    return found


def _listed(base: tuple[V, ...], mine: tuple[V, ...], stored: tuple[V, ...]) -> tuple[V, ...]:
    """A list of this window without what another one took out, and with what it put in."""
    gone = [item for item in base if item not in stored]
    more = [item for item in stored if item not in base and item not in mine]
    return (*(item for item in mine if item not in gone), *more)


def _merged(base: dict[str, V], mine: dict[str, V], stored: dict[str, V]) -> dict[str, V]:
    """What another window has stored, with what this one changed since ``base`` at the end."""
    changed = {place: value for place, value in mine.items() if base.get(place) != value}
    gone = base.keys() - mine.keys()
    kept = {p: v for p, v in stored.items() if p not in changed and p not in gone}
    return {**kept, **changed}


def _opened_since(before: tuple[str, ...], now: tuple[str, ...]) -> tuple[str, ...]:
    """The files at the front of ``now`` without which it is ``before``, as far as there is room."""
    for count in range(len(now)):
        opened = now[:count]
        others = tuple(p for p in before if p not in opened)
        if others[: RECENT_LIMIT - count] == now[count:]:
            return opened
    return now


def _from_json(stored: dict[str, Any]) -> Settings:
    recent = stored.get("recent_files")
    return Settings(
        units=_one_of(stored.get("units"), tuple(UnitSystem), UnitSystem.GIB),
        theme=_one_of(stored.get("theme"), get_args(ThemeName), "system"),
        language=_one_of(stored.get("language"), tuple(language.NAMES), ""),
        numbers=_one_of(stored.get("numbers"), tuple(language.STYLES), ""),
        recent_files=tuple(p for p in recent if isinstance(p, str))[:RECENT_LIMIT]
        if isinstance(recent, list)
        else (),
        last_folder=_text(stored.get("last_folder")),
        geometry=_text(stored.get("geometry")),
        splitter=_text(stored.get("splitter")),
        engine_folder=_text(stored.get("engine_folder")),
        margins=_margins(stored.get("margins")),
        comparison=_comparison(stored.get("comparison")),
        session=_text(stored.get("session")),
        tips=stored.get("tips") is not False,
        machine=_text(stored.get("machine")),
        choices=_choices(stored.get("choices")),
        page=_text(stored.get("page")),
        links=_texts(stored.get("links"))[:RECENT_LIMIT],
        model_folders=_texts(stored.get("model_folders")),
    )


def _choices(stored: object) -> dict[str, dict[str, Kept]]:
    if not isinstance(stored, dict):
        return {}
    return {
        place: {name: value for name, value in values.items() if isinstance(value, str | int)}
        for place, values in list(stored.items())[-CHOICES_KEPT:]
        if isinstance(values, dict)
    }


def _margins(stored: object) -> dict[str, int]:
    if not isinstance(stored, dict):
        return {}
    return {
        id: value
        for id, value in list(stored.items())[:_MARGINS_KEPT]
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST_MARGIN
    }


def _comparison(stored: object) -> StoredComparison:
    if not isinstance(stored, dict):
        return StoredComparison()
    machines, prices, prompt = (stored.get(name) for name in ("machines", "prices", "prompt"))
    return StoredComparison(
        machines=_texts(machines) if isinstance(machines, list) else None,
        prices=tuple(
            (pair[0], float(pair[1]))
            for pair in (prices if isinstance(prices, list) else ())[:_MOST_LISTED]
            if isinstance(pair, list) and len(pair) == 2 and _is_price(*pair)
        ),
        currency=_text(stored.get("currency"))[:_CURRENCY_LENGTH],
        models=_texts(stored.get("models")),
        prompt=prompt if type(prompt) is int and 0 <= prompt <= _MOST_TOKENS else 0,
        ram=_text(stored.get("ram"))[:_RAM_LENGTH],
    )


def _texts(stored: object) -> tuple[str, ...]:
    listed = stored[:_MOST_LISTED] if isinstance(stored, list) else []
    return tuple(each for each in listed if isinstance(each, str))


def _is_price(key: object, price: object) -> bool:
    if not isinstance(price, int | float) or isinstance(price, bool):
        return False
    return isinstance(key, str) and 0 < price <= MOST_PRICE


def _one_of(value: object, allowed: tuple[Any, ...], default: Any) -> Any:
    return next((a for a in allowed if value == a), default)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
