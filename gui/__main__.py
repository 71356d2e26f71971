"""The one entry point: ``weighbridge`` and ``python -m gui``."""

from __future__ import annotations

import sys

_INTERRUPTED = 130  # as a shell says it of Ctrl+C


def open_window(files: list[str]) -> int:
    """Open the window with these files; Qt is imported only now."""
    from gui import app

    return app.run(files)


def main() -> int:
    """Run the command line, or a program beside the window; returns the exit status."""
    try:
        # Imported here, where Ctrl+C ends in a status like everywhere else.
        from core import command_line
        from core.measure import inner

        if inner.is_inner(sys.argv[1:]):
            return inner.run(sys.argv[1:])
        return command_line.main(sys.argv[1:], open_window)
    except KeyboardInterrupt:
        return _INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
