"""The licences of all that a bundle holds: Python packages, Qt, Python, and system libraries."""

from __future__ import annotations

import platform
import shutil
import subprocess
import sysconfig
import tomllib
from collections.abc import Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TEXTS = ROOT / "packaging" / "licences"  # of the GNU project, as it publishes them
_NAMES = ("LICENSE", "LICENCE", "COPYING", "NOTICE")
_QT = "https://doc.qt.io/qt-6/licenses-used-in-qt.html"
_PYTHON = "https://docs.python.org/3/license.html"


def gather(made: Path) -> list[str]:
    """Fill the folder `licences` of a bundle; returns the parts whose text was not found."""
    folder = made / "licences"
    folder.mkdir(exist_ok=True)
    shutil.copy(ROOT / "LICENSE", folder / "Weighbridge.txt")
    for text in TEXTS.glob("*.txt"):
        shutil.copy(text, folder)
    lines = [
        "Weighbridge itself: Weighbridge.txt (MIT).",
        "Qt, PySide6 and shiboken6: LGPL-3.0.txt, which builds on GPL-3.0.txt. Their libraries are",
        "separate files in this folder and may be replaced by your own. What Qt itself is made of:",
        _QT,
    ]
    python = Path(sysconfig.get_path("stdlib")) / "LICENSE.txt"
    if python.is_file():
        shutil.copy(python, folder / "Python.txt")
    lines += [f"Python {platform.python_version()}: {_PYTHON}", "", "Python packages:"]
    missing = []
    for package in sorted(shipped(), key=lambda d: d.name.lower()):
        said = package.metadata.get("License-Expression") or package.metadata.get("License") or ""
        lines.append(f"  {package.name} {package.version}: {(said.splitlines() or [''])[0]}")
        texts = [
            Path(str(file.locate()))
            for file in package.files or ()
            if file.name.upper().startswith(_NAMES)
        ]
        for number, text in enumerate(texts):
            shutil.copy(text, folder / f"{package.name}-{number}.txt")
        if not texts and (told := in_its_code(package)):
            (folder / f"{package.name}.txt").write_text(told, "utf-8")
        elif not texts and "LGPL" not in said:
            missing.append(package.name)
    lines += ["", "Libraries of the system that it was built on (folder `system`):"]
    for library in sorted(system_libraries(made)):
        name = copyright_of(library, folder / "system")
        lines.append(f"  {library}: {name or 'not found'}")
        if not name:
            missing.append(library)
    (folder / "README.txt").write_text("\n".join(lines) + "\n", "utf-8")
    return missing


def in_its_code(package: Distribution) -> str:
    """The licence at the head of a package's one file of code; "" where none stands there."""
    for file in package.files or ():
        path = Path(str(file.locate()))
        if path.suffix == ".py" and path.is_file():
            head = []
            for line in path.read_text("utf-8").splitlines():
                if not line.startswith("#"):
                    break
                head.append(line.lstrip("# "))
            if any("Redistribution" in line for line in head):
                return "\n".join(head) + "\n"
    return ""


def shipped() -> Iterator[Distribution]:
    """The packages that the program needs at run time, their own needs included. Those of the
    program are read from its project file: what is installed of it may be older."""
    from packaging.requirements import Requirement

    known = {d.name.lower().replace("_", "-"): d for d in distributions()}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    waiting, seen = [Requirement(line) for line in project["dependencies"]], set()
    while waiting:
        needed = waiting.pop()
        name = needed.name.lower().replace("_", "-")
        applies = needed.marker is None or needed.marker.evaluate({"extra": ""})
        if name in seen or name not in known or not applies:
            continue
        seen.add(name)
        yield known[name]
        waiting += map(Requirement, known[name].requires or ())


def system_libraries(made: Path) -> set[str]:
    """Names of libraries that come with no Python package: copied from the system as they are."""
    wheels = {
        file.name for package in shipped() for file in package.files or () if ".so" in file.name
    }
    here = (made / "_internal").glob("lib*.so*")
    found = {path.name for path in here if not path.is_symlink()}
    return {n for n in found if n not in wheels and not n.startswith("libpython")}


def copyright_of(library: str, folder: Path) -> str:
    """Copy what Debian says of a library's licences; its package, "" where that is not known."""
    if not shutil.which("dpkg"):
        return ""
    done = subprocess.run(["dpkg", "-S", f"*/{library}"], capture_output=True, text=True)
    for line in done.stdout.splitlines():
        package = line.partition(":")[0]
        text = Path("/usr/share/doc") / package / "copyright"
        if text.is_file():
            folder.mkdir(exist_ok=True)
            shutil.copy(text, folder / f"{package}.txt")
            return package
    return ""
