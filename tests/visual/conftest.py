"""Pictures of the window."""

from tests.support.window_fixtures import (  # noqa: F401 - fixtures
    _nothing_left_alive,
    _one_theme,
    _own_settings,
    theme,
)
