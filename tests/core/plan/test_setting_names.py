"""What the settings of a plan are called: every one of them, in one place."""

from __future__ import annotations

from dataclasses import fields

from core.plan.choice import Choice
from core.plan.plan import Settings
from core.plan.setting_names import NAMES, setting_name


def test_every_field_of_a_choice_and_of_its_settings_has_a_name() -> None:
    assert NAMES.keys() == {field.name for kind in (Choice, Settings) for field in fields(kind)}


def test_a_setting_of_another_version_is_called_as_it_calls_itself() -> None:
    assert setting_name("rope_scale") == "rope scale"
