"""The one entry point: ``weighbridge`` and ``python -m gui``."""

from __future__ import annotations

import sys

from core import command_line


def open_window(files: list[str]) -> int:
    """Open the window with these files; Qt is imported only now."""
    from gui import app

    return app.run(files)


def main() -> int:
    """Run the command line; returns the exit status."""
    return command_line.main(sys.argv[1:], open_window)


if __name__ == "__main__":
    sys.exit(main())
