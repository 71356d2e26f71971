"""Typed access to metadata: what a key says, or None, whatever a file holds under its name.

A converter writes one number where all layers agree and an array where they do not, and files of
other tools use another prefix or none. Whatever cannot be used becomes a note, never an exception.
"""

from __future__ import annotations

from collections.abc import Mapping

from core.gguf.header import Array, Value
from core.gguf.text import excerpt
from core.language import mark, tr
from core.problems import Problem, Severity

# Larger than any count, width or context in use, and small enough for exact arithmetic.
LARGEST = 2**40
# llama.cpp b11434 refuses more than 512 layers (LLAMA_MAX_LAYERS); a claim beyond this one is
# damage.
MOST_LAYERS = 10_000


class Keys:
    """The metadata of one model, by the names that follow the architecture's prefix.

    ``architecture`` is general.architecture, or the prefix of the keys where that is missing, or
    "". ``problems`` collects what had to be said while reading, ``unusable`` the names that hold
    what cannot be used; both grow with use.
    """

    def __init__(self, metadata: Mapping[str, Value]) -> None:
        self._metadata = metadata
        self._reported: set[str] = set()
        self.problems: list[Problem] = []
        self.unusable: list[str] = []
        stated = metadata.get("general.architecture")
        self.architecture = stated if isinstance(stated, str) else ""
        self._prefixes = [f"{self.architecture}."] if self.architecture else []
        self._find_other_prefix()

    def value(self, name: str) -> Value | None:
        """The value as it stands, under the first prefix that has it."""
        for prefix in self._prefixes:
            found = self._metadata.get(prefix + name)
            if found is not None:
                return found
        return None

    def full(self, name: str) -> str:
        """The name as a reader finds it in the file."""
        for prefix in self._prefixes:
            if prefix + name in self._metadata:
                return prefix + name
        return (self._prefixes[0] if self._prefixes else "") + name

    def names(self) -> list[str]:
        """What stands under the architecture's prefix, without it."""
        prefix = self._prefixes[0] if self._prefixes else ""
        return [key[len(prefix) :] for key in self._metadata if key.startswith(prefix)]

    def has(self, name: str) -> bool:
        """Whether the key stands in the file, useful or not."""
        return self.value(name) is not None

    def integer(self, name: str) -> int | None:
        """A whole number of at least 0, from a scalar or from an array of equal ones."""
        value = self.value(name)
        if isinstance(value, Array):
            if value.count > MOST_LAYERS:
                self._report(
                    name,
                    mark("The key {key} has {count:,} elements where one number is expected."),
                    count=value.count,
                )
            items = self.per_layer(name, value.count) if 0 < value.count <= MOST_LAYERS else None
            if items and len(set(items)) > 1:
                self._report(
                    name, mark("The key {key} has different values where one number is expected.")
                )
            return items[0] if items and len(set(items)) == 1 else None
        return self._scalar(name, value)

    def count(self, name: str) -> int:
        """A whole number, 0 where the file does not say."""
        return self.integer(name) or 0

    def flag(self, name: str) -> bool | None:
        """True or False; 0 and 1 are taken as well."""
        value = self.value(name)
        if isinstance(value, bool):
            return value
        return bool(value) if isinstance(value, int) and value in (0, 1) else None

    def per_layer(self, name: str, layers: int) -> tuple[int | None, ...] | None:
        """One value for each layer: an array's own, or a scalar's repeated.

        None where the key is absent, empty or of no use. An array that is too short leaves None
        for the layers it does not reach; one that is too long is cut.
        """
        value = self.value(name)
        if not isinstance(value, Array):
            number = self._scalar(name, value)
            return None if number is None else (number,) * layers
        if value.count == 0:
            return None
        if value.items is None:
            self._report(
                name,
                mark("The key {key} has {count:,} elements, too many for values of layers."),
                count=value.count,
            )
            return None
        items = tuple(self._whole(name, item) for item in value.items[:layers])
        if value.count != layers:
            self._report(
                name,
                mark("The key {key} has {count:,} elements for {layers:,} layers."),
                Severity.NOTE,
                count=value.count,
                layers=layers,
            )
        return items + (None,) * (layers - len(items))

    def indices(self, name: str) -> tuple[int, ...]:
        """An array that lists layers; empty where the key is absent or of no use."""
        value = self.value(name)
        if not isinstance(value, Array) or value.items is None:
            return ()
        items = (self._whole(name, item) for item in value.items)
        return tuple(item for item in items if item is not None)

    def is_array(self, name: str) -> bool:
        """Whether the file gives this key per layer (an empty array says nothing)."""
        value = self.value(name)
        return isinstance(value, Array) and value.count > 0

    def _scalar(self, name: str, value: Value | None) -> int | None:
        if isinstance(value, bool):  # in an array it marks layers, alone it is no number
            self._report(name, mark("The key {key} should be a whole number and is true or false."))
            return None
        return self._whole(name, value)

    def _whole(self, name: str, value: Value | None) -> int | None:
        if value is None:
            return None
        if isinstance(value, bool):
            return int(value)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if not isinstance(value, int):
            kind = tr("text") if isinstance(value, str) else type(value).__name__.lower()
            self._report(
                name, mark("The key {key} should be a whole number and is {kind}."), kind=kind
            )
            return None
        if not 0 <= value <= LARGEST:
            # Unsigned 32-bit -1 is how llama.cpp writes "not specified".
            if value not in (-1, 2**32 - 1):
                self._report(
                    name, mark("The key {key} is {value:,}, which no model has."), value=value
                )
            return None
        return value

    def _report(
        self, name: str, what: str, severity: Severity = Severity.WARNING, **facts: object
    ) -> None:
        if name in self._reported:
            return
        self._reported.add(name)
        if severity is not Severity.NOTE:
            self.unusable.append(name)
        self.problems.append(
            Problem(
                "odd-key",
                tr(what, key=excerpt(self.full(name)), **facts),
                severity,
                "" if severity is Severity.NOTE else tr("Figures that need it are missing."),
                where=self.full(name),
            )
        )

    def _find_other_prefix(self) -> None:
        """Another prefix is looked for only where the architecture's own has no block_count."""
        if self.architecture and f"{self.architecture}.block_count" in self._metadata:
            return
        for key in self._metadata:
            prefix, _, name = key.rpartition(".")
            if name != "block_count" or (prefix and "." in prefix):
                continue
            self._prefixes.append(f"{prefix}." if prefix else "")
            whose = excerpt(f"{prefix}.*") if prefix else tr("keys without a prefix")
            if not self.architecture:
                self.architecture = prefix
                what = tr("The file does not name its architecture")
            else:
                wanted = f"{excerpt(self.architecture)}.block_count"
                what = tr("The file has no {key}", key=wanted)
            self.problems.append(
                Problem(
                    "other-prefix",
                    tr("{what}; dimensions are taken from {whose}.", what=what, whose=whose),
                    Severity.NOTE,
                    tr("An engine may refuse the file."),
                    where=key,
                )
            )
            return
        if not self.architecture:
            self._prefixes.append("")
