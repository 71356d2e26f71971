"""Build the program for people without Python, and prove that it runs.

usage: python packaging/make_bundle.py [FOLDER]

Writes into FOLDER (dist): the folder `weighbridge`, a tarball of it and, where dpkg-deb is there, a
Debian package; on Windows what packaging/windows/weighbridge.iss installs, on macOS an application.
Then starts it on a screen of its own (Xvfb, else offscreen), opens a specimen, keeps a picture,
and prints how long it takes to start against the same from source.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

import gather_licences
import start_ratio

from gui.workers import desktop_files

ROOT = Path(__file__).resolve().parent.parent
MOST_BYTES = 60 * 10**6  # of the tarball
SECONDS = 60  # that the window may take to show the model
# As AppStream names the file of a component: by its id.
METADATA = "org.weighbridge.weighbridge.metainfo.xml"


def main(folder: Path) -> int:
    """Build, pack, prove; the exit status."""
    folder.mkdir(parents=True, exist_ok=True)
    if sys.platform != "linux":
        icon = "weighbridge.ico" if os.name == "nt" else "weighbridge.icns"
        desktop_files.draw_icon(256, ROOT / "build" / icon)
    subprocess.run(
        [
            *(sys.executable, "-m", "PyInstaller", "--noconfirm", "--log-level", "WARN"),
            *("--distpath", str(folder), "--workpath", str(ROOT / "build")),
            str(ROOT / "packaging" / "weighbridge.spec"),
        ],
        check=True,
        cwd=ROOT,
    )
    made = folder / "weighbridge"
    for part in gather_licences.gather(made):
        print(f"no licence text was found for {part}")
    if sys.platform == "linux":
        strip_python(made)
        desktop_files.write(made / "share", ["weighbridge"])
        metadata = made / "share" / "metainfo" / METADATA
        metadata.parent.mkdir()
        shutil.copy(ROOT / "resources" / "desktop" / "weighbridge.metainfo.xml", metadata)
        packed = pack(made, folder)
        size = packed.stat().st_size
        print(f"{packed.name}: {size / 1e6:.1f} MB")
        if size > MOST_BYTES:
            print(f"more than {MOST_BYTES / 1e6:.0f} MB")
            return 1
        if shutil.which("dpkg-deb"):
            print(debian_package(made, folder).name)
    program = made / ("weighbridge.exe" if os.name == "nt" else "weighbridge")
    return 0 if proved(program, folder / "proof.png") else 1


def strip_python(made: Path) -> None:
    """Take the debugger's symbols out of Python's own library, two thirds of it. Those of numpy
    do not survive it."""
    if shutil.which("strip"):
        for library in (made / "_internal").glob("libpython*.so*"):
            subprocess.run(["strip", "--strip-unneeded", str(library)], check=True)


def pack(made: Path, folder: Path) -> Path:
    """The folder as one compressed file."""
    target = folder / f"weighbridge-{version('weighbridge')}-linux-{platform.machine()}.tar.xz"
    with tarfile.open(target, "w:xz", preset=6) as archive:
        archive.add(made, "weighbridge")
    return target


def debian_package(made: Path, folder: Path) -> Path:
    """A package that puts the folder under /opt and tells the desktop of it."""
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    number = version("weighbridge")
    target = folder / f"weighbridge_{number}_{machine}.deb"
    with tempfile.TemporaryDirectory() as temporary:
        tree = Path(temporary)
        tree.chmod(0o755)
        shutil.copytree(made, tree / "opt" / "weighbridge", symlinks=True)
        shutil.copytree(made / "share", tree / "usr" / "share")
        (tree / "usr" / "bin").mkdir()
        (tree / "usr" / "bin" / "weighbridge").symlink_to("/opt/weighbridge/weighbridge")
        (tree / "DEBIAN").mkdir()
        (tree / "DEBIAN" / "control").write_text(
            f"Package: weighbridge\nVersion: {number}\nArchitecture: {machine}\n"
            "Maintainer: Weighbridge developers <weighbridge@localhost>\n"
            "Section: utils\nPriority: optional\n"
            "Depends: libc6, libegl1, libgl1\n"
            "Description: Weigh a language model before you load it\n"
            " Memory to the byte, decode speed with its reasons, and a measurement of both.\n"
        )
        subprocess.run(
            ["dpkg-deb", "--root-owner-group", "-Zxz", "--build", str(tree), str(target)],
            check=True,
            stdout=subprocess.DEVNULL,
        )
    return target


def proved(program: Path, picture: Path) -> bool:
    """Whether the built program opens a specimen; ``picture`` shows it."""
    specimen = next((ROOT / "resources" / "specimens").glob("Qwen3.6-35B*.gguf"))
    with tempfile.TemporaryDirectory() as home, screen() as display:
        environment = {
            **{
                k: v
                for k, v in os.environ.items()
                if not k.startswith(("PYTHON", "QT_", "VIRTUAL"))
            },
            "XDG_CONFIG_HOME": home,
            "XDG_STATE_HOME": home,
            **display,
        }
        report = subprocess.run(
            [program, "report", str(specimen)], env=environment, capture_output=True, text=True
        )
        print(report.stdout.splitlines()[0] if report.stdout else report.stderr)
        if report.returncode:
            return False
        window = subprocess.Popen([program, str(specimen)], env=environment)
        try:
            seen = photographed(display, picture, window)
        finally:
            window.terminate()
            status = window.wait(20)
        if seen and "DISPLAY" in display:
            start_ratio.tell(program, specimen, environment, Path(home))
        log = "".join(path.read_text() for path in Path(home).rglob("weighbridge.log"))
    faults = [line for line in log.splitlines() if " ERROR " in line or " CRITICAL " in line]
    if seen:
        print(f"{picture.name}: the window with the specimen; it closed with status {status}")
    else:
        print("the window did not come")
    if faults:
        print(log)
    return seen and status == 0 and not faults


@contextmanager
def screen() -> Iterator[dict[str, str]]:
    """The environment of a screen that nobody else uses."""
    if not shutil.which("Xvfb"):
        print("no Xvfb here: started offscreen, so there is no picture of a real screen")
        yield {"QT_QPA_PLATFORM": "offscreen"}
        return
    reader, writer = os.pipe()
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(writer), "-screen", "0", "1280x800x24", "-nolisten", "tcp"],
        pass_fds=[writer],
        stderr=subprocess.DEVNULL,
    )
    os.close(writer)
    try:
        with os.fdopen(reader) as lines:
            yield {"DISPLAY": f":{lines.readline().strip()}", "QT_QPA_PLATFORM": "xcb"}
    finally:
        server.terminate()
        server.wait()


def photographed(display: dict[str, str], picture: Path, window: subprocess.Popen[bytes]) -> bool:
    """Whether the screen shows more than one colour of ground; the last look is kept."""
    if "DISPLAY" not in display:
        time.sleep(10)
        return window.poll() is None
    look = (
        "import sys\n"
        "from PySide6.QtGui import QGuiApplication\n"
        "app = QGuiApplication([])\n"
        "shot = app.primaryScreen().grabWindow(0)\n"
        "image = shot.toImage()\n"
        "shot.save(sys.argv[1])\n"
        "across, down = range(0, image.width(), 8), range(0, image.height(), 8)\n"
        "print(len({image.pixel(x, y) for x in across for y in down}))\n"
    )
    end = time.monotonic() + SECONDS
    before = 0
    while time.monotonic() < end and window.poll() is None:
        time.sleep(2)
        done = subprocess.run(
            [sys.executable, "-c", look, str(picture)],
            env={**os.environ, **display},
            stdout=subprocess.PIPE,
            text=True,
        )
        colours = int(done.stdout or 0)
        # A page with its bars and the plot has hundreds; the same twice, and nothing moves.
        if colours > 100 and colours == before:
            return True
        before = colours
    return False


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "dist").resolve()))
