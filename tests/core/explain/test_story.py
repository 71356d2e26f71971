"""How a cache grows: the figures of a moment, by the worked examples of the arithmetic."""

from __future__ import annotations

import pytest

import resources
from core.explain.story import Story, story
from core.gguf import open_file
from core.machine import custom
from core.model import model_from
from core.plan import resolve
from core.plan.choice import Choice


def story_of(name: str, context: int) -> Story:
    (path,) = (p for p in resources.specimens() if p.name.startswith(name))
    machine = custom(64 * 2**30, 100e9, gpu=False)
    made = story(resolve(model_from(open_file(path)), machine, Choice(context=context)))
    assert made is not None
    return made


def test_a_full_lane_keeps_every_token() -> None:
    made = story_of("Qwen3-4B", 4096)
    assert made.moment(4096).cache == pytest.approx(0.604e9, abs=0.0005e9)
    (lane,) = made.lanes
    assert (lane.kept_from(4096), lane.kept(1)) == (0, 147_456)


def test_a_window_lets_go_of_what_it_has_passed() -> None:
    window, full = story_of("Gemma-3-27B", 16384).lanes
    assert (window.layers, window.window, full.layers) == (52, 1024, 10)
    assert window.kept_from(9000) == 9000 - 1024
    assert window.kept(9000) == window.kept(16384) == 1024 * window.row
    assert full.kept_from(9000) == 0


def test_a_state_has_its_size_from_the_first_token_on() -> None:
    made = story_of("Qwen3.6-35B", 16384)
    (state,) = (lane for lane in made.lanes if lane.state)
    assert state.kept(0) == state.kept(16384)
    assert made.moment(0).state == 2 * state.state
    assert made.moment(16384).cache == 16384 * 20_480


def test_without_a_cache_every_token_before_is_worked_out_again() -> None:
    moment = story_of("Llama-3.1-8B", 8192).moment(8191)
    assert moment.operations_without == 8192 * moment.operations
