"""Keys of servers: for as long as the program runs, or in the system's own keyring.

Never in a file of ours, in a log, in an event or on a command line. The keyring is reached through
the package `keyring` where somebody has installed it; the program does not depend on it, because
most local servers have no key and it brings ten other packages along.
"""

from __future__ import annotations

import os
from typing import Any

SERVICE = "weighbridge"
VARIABLE = "WEIGHBRIDGE_API_KEY"


class Keys:
    """The key for an address. ``ring`` stands for the module `keyring` in tests."""

    def __init__(self, ring: Any = None) -> None:
        self._session: dict[str, str] = {}
        self._ring = _system_keyring() if ring is None else ring

    def __repr__(self) -> str:
        return f"Keys(for {len(self._session)} servers)"

    @property
    def can_keep(self) -> bool:
        """Whether a key can outlive the program."""
        return self._ring is not None

    def key_for(self, url: str) -> str:
        """This session's key, else the keyring's; empty for none."""
        if url in self._session:
            return self._session[url]
        if self._ring is not None:
            try:
                kept = self._ring.get_password(SERVICE, url)
            except Exception:  # a locked or broken keyring must not stop anything
                kept = None
            if kept:
                return str(kept)
        return ""

    def remember(self, url: str, key: str, keep: bool = False) -> bool:
        """Use this key from now on; whether the keyring took it, where ``keep`` asks for that."""
        self._session[url] = key
        if not keep or self._ring is None:
            return False
        try:
            self._ring.set_password(SERVICE, url, key)
        except Exception:
            return False
        return True

    def forget(self, url: str) -> None:
        """Neither this session nor the keyring has it any more."""
        self._session.pop(url, None)
        if self._ring is not None:
            try:
                self._ring.delete_password(SERVICE, url)
            except Exception:  # it never had one
                return


def from_environment() -> str:
    """The key for the one server that a command names. It is never offered to whatever else
    listens on this computer."""
    return os.environ.get(VARIABLE, "")


def _system_keyring() -> Any:
    """The keyring module where it is installed and has a real store behind it."""
    try:
        from importlib import import_module

        ring = import_module("keyring")
        # Its stand-in without a store has priority 0 and refuses everything.
        return ring if ring.get_keyring().priority > 0 else None
    except Exception:
        return None
