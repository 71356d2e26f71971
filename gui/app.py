"""Starting the window: is there a screen, are Qt's libraries there, then one event loop.

Nothing of Qt is imported at module level: what is missing must be said in a sentence.
"""

from __future__ import annotations

import ctypes
import gc
import os
import re
import signal
import socket
import sys
import threading
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PySide6.QtCore import QSocketNotifier
    from PySide6.QtWidgets import QApplication

    from gui.main_window import MainWindow
    from gui.main_window.anew import View


# By it a Wayland desktop lets a window come to the front (XDG activation protocol).
_TOKEN = "XDG_ACTIVATION_TOKEN"


def run(files: list[str]) -> int:
    """Open the window with these files and stay until it is closed; returns the exit status.

    Where this user has a window on this screen already, it gets the files.
    """
    try:
        problem = screen_problem(os.environ) if sys.platform == "linux" else ""
        if not problem:
            return _show(files)
    except ImportError as error:
        problem = missing_library(str(error))
        if not problem:
            raise
    if sys.stderr is not None:
        sys.stderr.write(f"weighbridge: {problem}\n")
    return 1


def screen_problem(environ: Mapping[str, str]) -> str:
    """Why no window can be opened on this Linux system, in one sentence; "" where it can.

    Qt itself would abort the process. Raises ImportError where a Qt library is missing.
    """
    platforms = environ.get("QT_QPA_PLATFORM", "").split(";")
    names = {name.partition(":")[0] for name in platforms if name} or {"xcb", "wayland"}
    if not names <= {"xcb", "wayland", "wayland-egl"}:
        return ""  # offscreen and the like need no screen
    if names - {"xcb"} and _wayland_answers(environ):
        return ""
    display = environ.get("DISPLAY", "")
    if "xcb" in names and display:
        if not _x_answers():
            return f"the screen {display} (DISPLAY) does not answer; no window can be opened."
        _load_xcb_plugin()
        return ""
    return (
        "there is no screen here (neither WAYLAND_DISPLAY nor DISPLAY leads to one). "
        "Without a screen, `weighbridge report FILE` prints the same figures."
    )


def missing_library(message: str) -> str:
    """The sentence for a loader's message "libEGL.so.1: cannot open shared object file ..."

    Returns "" where the message is about something else.
    """
    match = re.search(r"\b(lib[\w+.-]+?)\.so\.([\d.]+): cannot open shared object", message)
    if not match:
        return ""
    stem, version = match.groups()
    # Debian's rule: the library's name and version, with a hyphen after a digit. GLib's packages
    # are older than the rule.
    name = "libglib2.0" if stem in ("libglib-2.0", "libgthread-2.0") else stem.lower()
    package = f"{name}-{version}" if name[-1].isdigit() else f"{name}{version}"
    return (
        f"no window can be opened, because the system library {stem}.so.{version} is missing. "
        f"On Debian and Ubuntu it comes with: apt install {package}"
    )


def _wayland_answers(environ: Mapping[str, str]) -> bool:
    name = environ.get("WAYLAND_DISPLAY", "")
    if not name:
        return False
    path = Path(environ.get("XDG_RUNTIME_DIR", "/")) / name
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(2)
        try:
            connection.connect(str(path))
        except OSError:
            return False
    return True


def _x_answers() -> bool:
    """Whether the X server that DISPLAY names takes a connection."""
    try:
        xcb = ctypes.CDLL("libxcb.so.1")
    except OSError as error:
        raise ImportError(str(error)) from error
    xcb.xcb_connect.restype = ctypes.c_void_p
    xcb.xcb_connection_has_error.argtypes = [ctypes.c_void_p]
    xcb.xcb_disconnect.argtypes = [ctypes.c_void_p]
    connection = xcb.xcb_connect(None, None)
    failed = bool(xcb.xcb_connection_has_error(connection))
    xcb.xcb_disconnect(connection)
    return not failed


def _load_xcb_plugin() -> None:
    """Load what Qt is about to load, because Qt aborts where a library of it is missing."""
    from PySide6.QtCore import QLibraryInfo

    plugins = QLibraryInfo.path(QLibraryInfo.LibraryPath.PluginsPath)
    try:
        ctypes.CDLL(str(Path(plugins) / "platforms" / "libqxcb.so"))
    except OSError as error:
        raise ImportError(str(error)) from error


def _show(files: list[str]) -> int:
    from PySide6.QtCore import QCoreApplication, QEvent, QTimer, Signal
    from PySide6.QtGui import QFileOpenEvent
    from PySide6.QtWidgets import QApplication

    from gui import crash
    from gui.document import Document
    from gui.language import Speech
    from gui.main_window import MainWindow
    from gui.main_window.anew import show_again, take_down
    from gui.main_window.kept_settings import KeptSettings
    from gui.settings import default_path
    from gui.theme import Theme, icon
    from gui.workers import instance

    # Folders of the system carry the program's name, before there is an application.
    QCoreApplication.setApplicationName("weighbridge")
    here = instance.Instance(instance.default_folder(), os.environ)
    if not here.first and here.hand_over(files, os.environ.get(_TOKEN, "")):
        return 0

    class Application(QApplication):
        """Hands on the files that macOS sends as events."""

        file_opened = Signal(str)

        def event(self, event: QEvent) -> bool:
            if isinstance(event, QFileOpenEvent):
                self.file_opened.emit(event.file())
                return True
            return super().event(event)

    application = Application(sys.argv[:1])
    application.setApplicationDisplayName("Weighbridge")
    application.setDesktopFileName("weighbridge")
    application.setWindowIcon(icon("weighbridge", ""))
    crash_log = crash.CrashLog(crash.default_path())
    crash_log.install()
    status: int | None = None
    kept, speech, theme = KeptSettings(default_path()), Speech(application), Theme(application)
    view: View | None = None
    caller = _Caller()
    application.file_opened.connect(lambda name: caller.ask(lambda w: w.opening.open(name)))
    here.files_came.connect(lambda *asked: caller.ask(lambda w: _come_forward(w, *asked)))
    quitting = _quit_on_signals(application, caller)
    try:
        while True:
            speech.speak(kept.now.language, kept.now.numbers)
            window = MainWindow(Document(), theme, kept)
            crash_log.reported.connect(window.problems.show_failure_inside)
            window.show()
            if view is not None:
                show_again(window, view)
            else:
                if crash_log.crashed_before:
                    window.problems.show_earlier_crash()
                if files:
                    window.opening.open_first(files)
                if here.first:
                    here.listen()
            window.offer_first_steps()
            QTimer.singleShot(0, window, partial(caller.speak_to, window))
            # What is loaded by now stays: Python need not look through it again, 50 ms each time,
            # in the middle of a slider's movement.
            gc.freeze()
            status = application.exec()
            caller.leave()
            view = window.anew
            if view is None or caller.ended:
                quitting.setEnabled(False)
                return status
            gc.unfreeze()
            take_down(window)
    finally:
        here.close()
        crash_log.remove()
        if status is not None and threading.active_count() > 1:
            # A thread that hangs in a dead disk or driver may wake while Python is taken apart,
            # and bring the process down. All that is kept has been written by now.
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:
                    stream.flush()
            os._exit(status)


class _Caller:
    """What comes from outside, for the window that is there now. While one takes the place of
    another it waits; a window that was closed takes nothing any more."""

    def __init__(self) -> None:
        self.ended = False  # the program shall end, whatever window comes
        self._window: MainWindow | None = None
        self._waiting: list[Callable[[MainWindow], object]] = []

    def speak_to(self, window: MainWindow) -> None:
        """This window is there from now on."""
        self._window = window
        waiting, self._waiting = self._waiting, []
        for act in waiting:
            self.ask(act)

    def leave(self) -> None:
        """The window has gone."""
        self._window = None

    def ask(self, act: Callable[[MainWindow], object]) -> None:
        """Do this to the window."""
        window = self._window
        if window is None or window.anew is not None:
            self._waiting.append(act)
        else:
            act(window)

    def end(self) -> None:
        """Close the window, and open no other."""
        self.ended = True
        self.ask(lambda window: window.close())


def _come_forward(window: MainWindow, files: list[str], token: str) -> None:
    """What a later start asked for: its files, and that one sees the window."""
    from PySide6.QtCore import Qt

    if token:
        os.environ[_TOKEN] = token  # where Qt looks for it
    if window.isMinimized():
        window.setWindowState(window.windowState() & ~Qt.WindowState.WindowMinimized)
    window.raise_()
    window.activateWindow()
    os.environ.pop(_TOKEN, None)
    if files:
        window.opening.open_first(files)


def _quit_on_signals(application: QApplication, caller: _Caller) -> QSocketNotifier:
    """Close the window on Ctrl+C in the terminal and on SIGTERM, as if the user had.

    Python runs a signal handler only between its own instructions, and an idle event loop has
    none: the system's wake-up byte arrives in a socket that Qt watches.
    """
    from PySide6.QtCore import QSocketNotifier

    reader, writer = socket.socketpair()
    for end in (reader, writer):
        end.setblocking(False)
    signal.set_wakeup_fd(writer.fileno())
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    notifier = QSocketNotifier(reader.fileno(), QSocketNotifier.Type.Read, application)

    def quit() -> None:
        reader.recv(64)
        caller.end()

    notifier.activated.connect(quit)
    notifier.destroyed.connect(lambda: writer.close())
    return notifier
