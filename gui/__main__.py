"""The one entry point: ``weighbridge`` and ``python -m gui``."""

from __future__ import annotations

import sys

from core import command_line
from core.measure import inner


def open_window(files: list[str]) -> int:
    """Open the window with these files; Qt is imported only now."""
    from gui import app

    return app.run(files)


def main() -> int:
    """Run the command line, or a program beside the window; returns the exit status."""
    if inner.is_inner(sys.argv[1:]):
        return inner.run(sys.argv[1:])
    return command_line.main(sys.argv[1:], open_window)


if __name__ == "__main__":
    sys.exit(main())
