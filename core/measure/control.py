"""Pause, resume and cancel, from another thread, at once."""

from __future__ import annotations

import socket
from contextlib import suppress
from threading import Condition


class StoppedError(Exception):
    """The measurement was cancelled."""


class Control:
    """What whoever listens tells whoever measures. ``wake`` becomes readable at a cancel, so that
    a loop that waits for sockets ends at once."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._cancelled = self._paused = False
        self._bell, self.wake = socket.socketpair()
        self.wake.setblocking(False)

    @property
    def cancelled(self) -> bool:
        return self._cancelled

    @property
    def paused(self) -> bool:
        return self._paused and not self._cancelled

    def cancel(self) -> None:
        with self._changed:
            if not self._cancelled:
                self._cancelled = True
                with suppress(OSError):  # nobody measures any more
                    self._bell.send(b"!")
            self._changed.notify_all()

    def pause(self) -> None:
        with self._changed:
            self._paused = True

    def resume(self) -> None:
        with self._changed:
            self._paused = False
            self._changed.notify_all()

    def wait(self, seconds: float) -> None:
        """Sleep, but not past a cancel. Raises StoppedError."""
        with self._changed:
            self._changed.wait_for(lambda: self._cancelled, seconds)
        self.check()

    def wait_while_paused(self) -> None:
        """Return at once, or when resumed. Raises StoppedError."""
        with self._changed:
            self._changed.wait_for(lambda: self._cancelled or not self._paused)
        self.check()

    def check(self) -> None:
        """Raises StoppedError after a cancel."""
        if self._cancelled:
            raise StoppedError

    def close(self) -> None:
        self._bell.close()
        self.wake.close()
