"""Before the window: no screen, no library, and the terminal's Ctrl+C."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from gui.app import missing_library, screen_problem

ROOT = Path(__file__).resolve().parents[2]
SCREEN = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM", "XDG_SESSION_TYPE")

linux = pytest.mark.skipif(sys.platform != "linux", reason="about X and Wayland")


def environment(**changed: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in SCREEN}
    return {**kept, **changed}


def start(env: Mapping[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gui", *arguments],
        cwd=ROOT,
        env=dict(env),
        capture_output=True,
        text=True,
        timeout=60,
    )


@linux
def test_without_a_screen_there_is_one_sentence_and_status_1() -> None:
    done = start(environment())
    assert done.returncode == 1
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("weighbridge: there is no screen here")
    assert "weighbridge report FILE" in line


@linux
def test_a_screen_that_does_not_answer_is_named() -> None:
    done = start(environment(DISPLAY=":987"))
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert ":987" in line and "does not answer" in line


@linux
def test_a_wayland_name_without_a_server_is_no_screen(tmp_path: Path) -> None:
    env = {"WAYLAND_DISPLAY": "wayland-9", "XDG_RUNTIME_DIR": str(tmp_path)}
    assert "no screen" in screen_problem(env)


@linux
def test_a_wayland_server_that_answers_is_a_screen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # the path of a socket has to be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("wayland-9")
        server.listen()
        env = {"WAYLAND_DISPLAY": "wayland-9", "XDG_RUNTIME_DIR": "."}
        assert screen_problem(env) == ""
        # Who asks for X alone does not get Wayland.
        assert "no screen" in screen_problem({**env, "QT_QPA_PLATFORM": "xcb"})


@linux
@pytest.mark.parametrize("platform", ["offscreen", "minimal", "vnc:port=5900", "offscreen;xcb"])
def test_a_platform_that_needs_no_screen_is_taken_as_it_is(platform: str) -> None:
    assert screen_problem({"QT_QPA_PLATFORM": platform}) == ""


@pytest.mark.parametrize(
    ("library", "package"),
    [
        # Library and package as Debian 12 pairs them (`dpkg -S`).
        ("libEGL.so.1", "libegl1"),
        ("libGL.so.1", "libgl1"),
        ("libxkbcommon.so.0", "libxkbcommon0"),
        ("libxkbcommon-x11.so.0", "libxkbcommon-x11-0"),
        ("libdbus-1.so.3", "libdbus-1-3"),
        ("libfontconfig.so.1", "libfontconfig1"),
        ("libglib-2.0.so.0", "libglib2.0-0"),
        ("libgthread-2.0.so.0", "libglib2.0-0"),
        ("libxcb-cursor.so.0", "libxcb-cursor0"),
        ("libxcb-icccm.so.4", "libxcb-icccm4"),
        ("libxcb.so.1", "libxcb1"),
        ("libX11.so.6", "libx11-6"),
    ],
)
def test_a_missing_library_is_named_with_its_package(library: str, package: str) -> None:
    message = f"{library}: cannot open shared object file: No such file or directory"
    sentence = missing_library(message)
    assert f"library {library} is missing" in sentence
    assert sentence.endswith(f"apt install {package}")


def test_another_import_error_is_no_missing_library() -> None:
    assert missing_library("No module named 'PySide6'") == ""


@linux
def test_a_missing_library_of_qt_is_said_without_a_traceback(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "class Blocked:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'PySide6.QtWidgets':\n"
        "            raise ImportError('libEGL.so.1: cannot open shared object file: x')\n"
        "sys.meta_path.insert(0, Blocked())\n"
        "from gui import app\n"
        "sys.exit(app.run([]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env=environment(QT_QPA_PLATFORM="offscreen"),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert "libEGL.so.1" in line and "libegl1" in line


@pytest.mark.skipif(os.name != "posix", reason="POSIX signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_closes_the_window_in_order(number: signal.Signals, tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from PySide6.QtCore import QTimer\n"
        "from PySide6.QtWidgets import QApplication\n"
        "from gui import app\n"
        "loop = QApplication.exec\n"
        "def watched():\n"
        "    QTimer.singleShot(100, lambda: print('ready', flush=True))\n"
        "    return loop()\n"
        "QApplication.exec = staticmethod(watched)\n"
        "sys.exit(app.run([]))\n"
    )
    env = environment(
        QT_QPA_PLATFORM="offscreen",
        XDG_CONFIG_HOME=str(tmp_path / "config"),
        XDG_STATE_HOME=str(tmp_path / "state"),
    )
    with subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "Traceback" not in errors
    assert (tmp_path / "config" / "weighbridge" / "settings.json").is_file()
    assert (tmp_path / "state" / "weighbridge" / "weighbridge.log").is_file()


def test_a_read_that_hangs_does_not_keep_the_program_from_ending(tmp_path: Path) -> None:
    program = (
        "import sys, time\n"
        "from PySide6.QtCore import QTimer\n"
        "from PySide6.QtWidgets import QApplication\n"
        "from gui import app\n"
        "from gui.workers import opening\n"
        "opening.opening = lambda path: lambda handle: time.sleep(3600)\n"
        "loop = QApplication.exec\n"
        "def watched():\n"
        "    QTimer.singleShot(100, QApplication.closeAllWindows)\n"
        "    return loop()\n"
        "QApplication.exec = staticmethod(watched)\n"
        "sys.exit(app.run(['/a/dead/network/disk.gguf']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env=environment(
            QT_QPA_PLATFORM="offscreen",
            XDG_CONFIG_HOME=str(tmp_path),
            XDG_STATE_HOME=str(tmp_path),
        ),
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.returncode == 0
    assert "Traceback" not in done.stderr


@linux
def test_the_window_opens_on_a_real_x_server(tmp_path: Path) -> None:
    server = shutil.which("Xvfb")
    if server is None:
        pytest.skip("needs Xvfb")
    program = (
        "import sys\n"
        "from PySide6.QtCore import QTimer\n"
        "from PySide6.QtWidgets import QApplication\n"
        "from gui import app\n"
        "loop = QApplication.exec\n"
        "def watched():\n"
        "    window, = [w for w in QApplication.topLevelWidgets() if w.objectName() == 'window']\n"
        "    def close():\n"
        "        print(QApplication.platformName(), window.isVisible(), flush=True)\n"
        "        window.close()\n"
        "    QTimer.singleShot(300, close)\n"
        "    return loop()\n"
        "QApplication.exec = staticmethod(watched)\n"
        "sys.exit(app.run([]))\n"
    )
    reader, writer = os.pipe()
    with subprocess.Popen(
        [server, "-displayfd", str(writer), "-screen", "0", "1280x800x24", "-nolisten", "tcp"],
        pass_fds=[writer],
        stderr=subprocess.DEVNULL,
    ) as x:
        os.close(writer)
        try:
            with os.fdopen(reader) as said:
                display = said.readline().strip()
            done = subprocess.run(
                [sys.executable, "-c", program],
                cwd=ROOT,
                env=environment(
                    DISPLAY=f":{display}",
                    XDG_CONFIG_HOME=str(tmp_path),
                    XDG_STATE_HOME=str(tmp_path),
                ),
                capture_output=True,
                text=True,
                timeout=60,
            )
        finally:
            x.terminate()
    assert done.stdout == "xcb True\n", done.stderr
    assert done.returncode == 0


def test_a_second_start_hands_its_file_to_the_first_window(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from PySide6.QtCore import QTimer\n"
        "from PySide6.QtWidgets import QApplication\n"
        "from gui import app\n"
        "from gui.main_window.opening import Opening\n"
        "def told(opening, names):\n"
        "    print(*names, flush=True)\n"
        "    opening.parent().close()\n"
        "Opening.open_first = told\n"
        "loop = QApplication.exec\n"
        "def watched():\n"
        "    QTimer.singleShot(0, lambda: print('ready', flush=True))\n"
        "    return loop()\n"
        "QApplication.exec = staticmethod(watched)\n"
        "sys.exit(app.run([]))\n"
    )
    env = environment(
        QT_QPA_PLATFORM="offscreen",
        XDG_CONFIG_HOME=str(tmp_path / "config"),
        XDG_STATE_HOME=str(tmp_path / "state"),
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        done = start(env, "a model.gguf")
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        assert process.stdout.readline() == f"{ROOT / 'a model.gguf'}\n"
    assert process.returncode == 0


def test_a_file_that_macos_sends_as_an_event_is_opened(tmp_path: Path) -> None:
    """A double-click in the Finder gives an application no argument but an event."""
    program = (
        "import sys\n"
        "from PySide6.QtCore import QTimer\n"
        "from PySide6.QtGui import QFileOpenEvent\n"
        "from PySide6.QtWidgets import QApplication\n"
        "from gui import app\n"
        "from gui.main_window.opening import Opening\n"
        "def told(opening, name):\n"
        "    print(name, flush=True)\n"
        "    opening.parent().close()\n"
        "Opening.open = told\n"
        "loop = QApplication.exec\n"
        "def sent():\n"
        "    event = QFileOpenEvent('/models/a model.gguf')\n"
        "    QApplication.sendEvent(QApplication.instance(), event)\n"
        "def watched():\n"
        "    QTimer.singleShot(0, sent)\n"
        "    return loop()\n"
        "QApplication.exec = staticmethod(watched)\n"
        "sys.exit(app.run([]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env=environment(
            QT_QPA_PLATFORM="offscreen", XDG_CONFIG_HOME=str(tmp_path), XDG_STATE_HOME=str(tmp_path)
        ),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (0, "/models/a model.gguf\n"), done.stderr


def test_what_no_first_window_shows_is_not_imported_before_it() -> None:
    code = (
        "import sys\n"
        "import gui.app, gui.main_window\n"
        "late = ('numpy', 'pyqtgraph', 'gguf', 'pynvml', 'psutil', 'regex', 'sqlite3', 'ssl')\n"
        "ours = ('core.report', 'core.compare', 'core.measure', 'core.tokens', 'core.plan.session',"
        "        'core.plan.commands', 'core.explain')\n"
        "print([name for name in (*late, *ours) if name in sys.modules])\n"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, check=True, timeout=60, capture_output=True
    )
    assert done.stdout.split() == [b"[]"]
