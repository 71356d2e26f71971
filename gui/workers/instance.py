"""One window for one user and screen: a second start hands its files to the first.

The first start holds a lock, and listens at an address that it writes beside the lock with a key
that only this user can read. Both ends prove that they know the key, so that nobody else's program
is listened to or told which files are opened.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from multiprocessing import AuthenticationError
from multiprocessing.connection import (
    Client,
    Connection,
    Listener,
    answer_challenge,
    deliver_challenge,
)
from pathlib import Path
from threading import Thread

from PySide6.QtCore import QLockFile, QObject, QStandardPaths, Qt, Signal

from core.remote import full_name

_PATIENCE = 3.0  # seconds that the first window may take to answer
_BREATH = 0.05
_MOST_BYTES = 1 << 20
_TAKEN = b"taken"
_PLACE = "weighbridge-"
_MOST_OF_A_FOLDER = 103 - len(f"/{_PLACE}12345678/s")
# Nobody there, another program, a key that is not ours, or a note that is damaged.
_NOT_HEARD = (
    OSError,
    EOFError,
    LookupError,
    TypeError,
    ValueError,
    RecursionError,
    AuthenticationError,
)
_MOST_AT_ONCE = 64  # starts that are listened to
# Whoever asks with another X or Wayland screen wants a window there.
_SCREEN = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")


def default_folder() -> Path:
    """Where this user's lock lies on this system."""
    return Path(QStandardPaths.writableLocation(QStandardPaths.StandardLocation.StateLocation))


class Instance(QObject):
    """Either the first window's ear, or the way to it.

    ``files_came`` carries the files of a later start, none where it only wants the window, and the
    token by which a Wayland desktop lets the window come to the front.
    """

    files_came = Signal(object, str)

    _heard = Signal(object, str)  # not list: Qt would make of every name what it can show

    def __init__(
        self, folder: Path, environ: Mapping[str, str], parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        screen = "\n".join(environ.get(name, "") for name in _SCREEN)
        stem = folder / f"window-{sha256(screen.encode()).hexdigest()[:12]}"
        self._told = stem.with_suffix(".json")
        self._lock: QLockFile | None = QLockFile(str(stem.with_suffix(".lock")))
        # A lock is stale when its process is gone, however old it is.
        self._lock.setStaleLockTime(0)
        self._key = secrets.token_bytes(32)
        self._listener: Listener | None = None
        self._thread: Thread | None = None
        self._place: Path | None = None
        self._heard.connect(self.files_came, Qt.ConnectionType.QueuedConnection)
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
        self.first = self._lock.tryLock(0)

    def hand_over(self, files: Sequence[str], token: str = "") -> bool:
        """Give the files to the first window; False where it does not take them in time.

        Relative names are meant from the folder that this process was started in.
        """
        message = {"files": [full_name(name) for name in files], "token": token}
        answers: list[bytes] = []
        end = time.monotonic() + _PATIENCE
        held = self._lock is not None and self._lock.error() is QLockFile.LockError.LockFailedError

        def ask() -> None:
            # Two files opened at once are two starts: the first may not listen yet.
            while (connection := self._connection()) is None:
                if not held or time.monotonic() > end:
                    return
                time.sleep(_BREATH)
            with suppress(OSError, EOFError), connection:
                connection.send_bytes(json.dumps(message).encode("utf-8", "surrogateescape"))
                if connection.poll(_PATIENCE):
                    answers.append(connection.recv_bytes(len(_TAKEN)))

        # A first window that was stopped takes the connection and never says a word.
        asking = Thread(target=ask, name="first window", daemon=True)
        asking.start()
        asking.join(_PATIENCE)
        if answers == [_TAKEN]:
            return True
        # It may have been closed in the meantime.
        self.first = self._lock is not None and self._lock.tryLock(0)
        return False

    def _connection(self) -> Connection | None:
        """The way to the first window; None where it does not listen, or not yet."""
        try:
            told = json.loads(self._told.read_text("utf-8"))
            address, key = str(told["address"]), bytes.fromhex(told["key"])
            return Client(address, authkey=key)
        except _NOT_HEARD:
            return None

    def listen(self) -> None:
        """Hear later starts from now on. Where that is not possible, they open their own window."""
        with suppress(OSError):
            self._listener = Listener(self._address())
            told = json.dumps({"address": self._listener.address, "key": self._key.hex()})
            self._told.unlink(missing_ok=True)
            descriptor = os.open(self._told, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w") as file:
                file.write(told)
            self._thread = Thread(target=self._hear, name="later starts", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Hear nothing any more and let the next start be the first."""
        if self._thread is not None and self._listener is not None:
            listener, self._listener = self._listener, None
            self._told.unlink(missing_ok=True)
            _wake(listener)
            self._thread.join(_PATIENCE)
            with suppress(OSError):
                listener.close()
        if self._place is not None:
            shutil.rmtree(self._place, ignore_errors=True)
        if self._lock is not None:
            self._lock.unlock()
            self._lock = None

    def _address(self) -> str:
        if sys.platform == "win32":
            return rf"\\.\pipe\weighbridge-{secrets.token_hex(16)}"
        # The path of a socket has at most 103 bytes: where the folder for passing things has a long
        # name, that of the system serves. Nobody else may look inside.
        long = len(os.fsencode(tempfile.gettempdir())) > _MOST_OF_A_FOLDER
        self._place = Path(tempfile.mkdtemp(prefix=_PLACE, dir="/tmp" if long else None))
        return str(self._place / "s")

    def _hear(self) -> None:
        talks: list[Thread] = []
        while (listener := self._listener) is not None:
            try:
                connection = listener.accept()
                if self._listener is None:  # it was woken to end
                    connection.close()
                    return
                talks = [talk for talk in talks if talk.is_alive()]
                if len(talks) >= _MOST_AT_ONCE:
                    connection.close()
                    continue
                # Whoever comes and says nothing keeps nobody else waiting.
                talks.append(Thread(target=self._talk, args=(connection,), daemon=True))
                talks[-1].start()
            except _NOT_HEARD:
                # Nothing can be accepted just now, because no file handle is left.
                time.sleep(_BREATH)

    def _talk(self, connection: Connection) -> None:
        # Whoever does not know the key is no start of this program.
        with suppress(*_NOT_HEARD), connection:
            deliver_challenge(connection, self._key)
            answer_challenge(connection, self._key)
            self._take(connection)

    def _take(self, connection: Connection) -> None:
        if not connection.poll(_PATIENCE):
            return
        message = json.loads(connection.recv_bytes(_MOST_BYTES))
        if not isinstance(message, dict):
            return
        files, token = message.get("files"), message.get("token")
        if isinstance(files, list) and all(isinstance(name, str) for name in files):
            with suppress(RuntimeError):  # the window may be gone by now
                self._heard.emit(files, token if isinstance(token, str) else "")
            connection.send_bytes(_TAKEN)


def _wake(listener: Listener) -> None:
    """Let a thread that waits in ``accept`` go on."""
    address = listener.address
    with suppress(OSError, EOFError, AuthenticationError):
        Client(str(address)).close()
