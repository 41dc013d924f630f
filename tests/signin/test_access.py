"""Who looks, found out at each run: by the guard's word, and by the rules as they are now."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from analytics.scope import ALL, Scope
from dashboards import access
from dashboards.granted import Identity
from dashboards.guard.sessions import Sessions
from dashboards.guard.standing import STANDING
from quartermaster.errors import ConfigurationError, InputError, QuartermasterError

PROXY = """
teams: [{{name: vision}}, {{name: speech}}]
dashboards:
  sign_in: proxy
  address: https://gpu.example.org
  proxy: {{addresses: [10.0.0.7]}}
  access: [{{groups: [vision], teams: [{team}]}}]
"""
ALICE = Identity("alice", "", "Alice", frozenset({"vision"}))
NOW = 1_795_000_000_000


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "quartermaster.yaml"
    path.write_text("clusters: [{name: c}]\n" + PROXY.format(team="vision"))
    monkeypatch.setenv(access.CONFIGURATION, str(path))
    monkeypatch.setattr(STANDING, "sessions", Sessions())
    monkeypatch.setattr(STANDING, "sign_in", None)
    return path


def come(monkeypatch: pytest.MonkeyPatch, handle: str | None, now_ms: int = NOW) -> None:
    """A page runs for a stream on which the guard said this."""
    monkeypatch.setattr(access, "_identity", lambda: STANDING.who(handle, now_ms))


def test_whom_the_guard_let_in_sees_what_the_rules_give_now(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, _ = STANDING.sessions.begin(NOW, ALICE, NOW + 10)
    come(monkeypatch, session.handle)
    assert access.viewer().scope == Scope(frozenset({"vision"}))
    file.write_text(file.read_text().replace("teams: [vision]", "teams: [speech]"))
    assert access.viewer().scope == Scope(frozenset({"speech"}))
    file.write_text(file.read_text().replace("groups: [vision]", "groups: [others]"))
    assert not access.viewer().known


@pytest.mark.parametrize("why", ["no word", "a made up one", "signed out", "over", "never asked"])
def test_who_is_not_signed_in_is_nobody(file: Path, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    session, _ = STANDING.sessions.begin(NOW, None if why == "never asked" else ALICE, NOW + 10)
    if why == "signed out":
        STANDING.sessions.end(session)
    handle = {"no word": None, "a made up one": "x" * 43}.get(why, session.handle)
    come(monkeypatch, handle, NOW + 10 if why == "over" else NOW)
    with pytest.raises(InputError, match="not signed in, or not any more"):
        access.viewer()
    assert file.exists()


@pytest.mark.parametrize("stands", ["oidc", "local"])
def test_another_way_of_signing_in_than_the_guard_s_opens_nothing(
    file: Path, stands: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(STANDING, "sign_in", stands)
    with pytest.raises(ConfigurationError, match="sign_in was changed"):
        access.viewer()
    monkeypatch.setattr(STANDING, "sign_in", "proxy")
    file.write_text("clusters: [{name: c}]\n")  # local: everybody would see everything
    with pytest.raises(ConfigurationError, match="sign_in was changed"):
        access.viewer()


def test_at_the_machine_itself_all_is_seen_by_who_came_by_the_guard(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text("clusters: [{name: c}]\n")
    assert access.viewer().scope == ALL  # no browser: a test
    monkeypatch.setattr(access.st, "context", SimpleNamespace(headers={"Host": "gpu.example.org"}))
    with pytest.raises(InputError, match="served by Streamlit alone"):
        access.viewer()
    monkeypatch.setattr(STANDING, "sign_in", "local")
    assert access.viewer().scope == ALL


def test_a_configuration_that_is_broken_lets_nobody_in(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session, _ = STANDING.sessions.begin(NOW, ALICE, NOW + 10)
    come(monkeypatch, session.handle)
    file.write_text("clusters: []\n")
    with pytest.raises(QuartermasterError):
        access.viewer()
