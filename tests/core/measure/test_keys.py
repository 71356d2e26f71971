"""Keys: for the session, in the system's keyring, and nowhere else."""

from __future__ import annotations

import pytest

from core.measure.codec import to_json
from core.measure.job import Job
from core.measure.keys import SERVICE, VARIABLE, Keys, from_environment
from core.measure.run import Run, RunPlan, ServerKind, Target

URL = "http://127.0.0.1:8080"


class Ring:
    """What is used of the package keyring."""

    def __init__(self, broken: bool = False) -> None:
        self.kept: dict[tuple[str, str], str] = {}
        self.broken = broken

    def _check(self) -> None:
        if self.broken:
            raise RuntimeError("locked")

    def get_password(self, service: str, name: str) -> str | None:
        self._check()
        return self.kept.get((service, name))

    def set_password(self, service: str, name: str, key: str) -> None:
        self._check()
        self.kept[service, name] = key

    def delete_password(self, service: str, name: str) -> None:
        self._check()
        del self.kept[service, name]


@pytest.fixture(autouse=True)
def no_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)


def test_a_key_is_for_the_session_unless_it_is_to_be_kept() -> None:
    ring = Ring()
    keys = Keys(ring)
    assert keys.remember(URL, "a") is False
    assert (keys.key_for(URL), ring.kept) == ("a", {})
    assert keys.remember(URL, "b", keep=True) is True
    assert ring.kept == {(SERVICE, URL): "b"}
    assert Keys(ring).key_for(URL) == "b"
    keys.forget(URL)
    assert (keys.key_for(URL), ring.kept) == ("", {})


def test_a_locked_keyring_stops_nothing() -> None:
    keys = Keys(Ring(broken=True))
    assert keys.can_keep
    assert keys.remember(URL, "a", keep=True) is False
    assert keys.key_for(URL) == "a"
    keys.forget(URL)
    assert keys.key_for(URL) == ""


def test_the_key_of_the_environment_is_for_the_server_that_is_named_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(VARIABLE, "from outside")
    assert Keys(Ring()).key_for(URL) == ""
    assert from_environment() == "from outside"


def test_no_key_is_in_what_is_shown_or_kept_of_a_run() -> None:
    run = Run("1", "", Target(ServerKind.LLAMA_SERVER, URL), RunPlan((0,)))
    job = Job(run, key="geheim")
    keys = Keys(Ring())
    keys.remember(URL, "geheim")
    assert "geheim" not in repr(job) + repr(keys) + str(to_json(run))
