"""No page shows who looks at it another team's rows, whatever stands in the address, the widgets or the session."""

from collections.abc import Generator
from pathlib import Path
from pkgutil import iter_modules

import pytest
import streamlit as st

import dashboards.pages
from tests.dashboards.conftest import _FLEET, _TEAMS, _fill
from tests.ledgers import new_ledger
from tests.signin.walk import GROUPS, MARK, guarded, look, sent

pytestmark = pytest.mark.patient  # each page runs with all that it stands on
PAGES = sorted(each.name for each in iter_modules(dashboards.pages.__path__))
DEPARTMENTS = {f"{team}{MARK}": f"{of[0]}{MARK}" for team, of in _TEAMS.items() if of[0]}
SEEN = {
    "viewer": {"vision"},
    "owner": {"vision"},
    "manager": {"vision", "language"},
}
FOREIGN = f"speech{MARK}"
ADDRESS = {"team": FOREIGN, "owner": FOREIGN, "workload": f"Job/speech-train{MARK}/conformer-xl-1124{MARK}"}


@pytest.fixture(scope="module")
def configuration(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("roles")
    file = folder / "quartermaster.yaml"
    file.write_text("business: {time_zone: UTC}\nclusters: [{name: demo}]\n")
    with new_ledger(folder / "ledger") as ledger:
        _fill(ledger, lambda name: f"{name}{MARK}", prices=True)
    return guarded(file, DEPARTMENTS)


@pytest.fixture(autouse=True, scope="module")
def a_fresh_cache() -> Generator[None]:
    """Fresh for the module, and shared by all roles in it: what one has read is there when another comes."""
    yield
    st.cache_data.clear()
    st.cache_resource.clear()


def names_of_others(role: str) -> set[str]:
    """What of the ledger's names a role must not see: teams, namespaces and workloads, with their mark."""
    seen = SEEN.get(role, set[str]())
    rows = [row for row in _FLEET if row[0] not in seen]
    found = {name for team, _, space, name, *_ in rows for name in (team, space, name)}
    shared = {name for team, _, space, name, *_ in _FLEET if team in seen for name in (space, name)}
    return {f"{name}{MARK}" for name in (found | (set(_TEAMS) - seen)) - shared}


def betrayed(role: str, text: str) -> set[str]:
    """The names of others in what was sent; what they asked for themselves may be told back to them."""
    for told in ("there is no team '{0}'", "there is no team &#39;{0}&#39;", "no team {0}"):
        text = text.replace(told.format(FOREIGN), "")
    return {name for name in names_of_others(role) if name in text}


@pytest.mark.parametrize("page", PAGES)
def test_a_viewer_sees_their_own_team_alone(
    page: str, configuration: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    everything = sent(look(monkeypatch, configuration, "admins", page))  # it is in the caches from now on
    text = sent(look(monkeypatch, configuration, "viewers", page, address=ADDRESS, kept={"team": FOREIGN}))
    assert betrayed("viewer", text) == set()
    assert page not in {"overview", "waste", "costs"} or betrayed(
        "viewer", everything
    )  # there was something to see


@pytest.mark.parametrize("page", PAGES)
def test_whom_no_rule_matches_sees_nothing(
    page: str, configuration: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for group in ("strangers", None):
        text = sent(look(monkeypatch, configuration, group, page, address=ADDRESS))
        assert betrayed("nobody", text) == set()
        assert f"vision{MARK}" not in text


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("role", ["owner", "manager"])  # the others may see all
def test_each_role_sees_what_its_rules_give(
    page: str, role: str, configuration: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = look(monkeypatch, configuration, GROUPS[role], page, address=ADDRESS, kept={"team": FOREIGN})
    assert betrayed(role, sent(shown)) == set()
