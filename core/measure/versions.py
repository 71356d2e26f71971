"""What a run was made with, apart from the server."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version


def versions() -> dict[str, str]:
    """Of this program, of Python and of the system."""
    try:
        own = version("weighbridge")
    except PackageNotFoundError:
        own = ""
    return {
        "weighbridge": own,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()}",
    }
