"""The Overview page in each of its states, run without a browser."""

import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
import streamlit as st

from analytics.scope import ALL, Scope
from dashboards import access, data
from quartermaster.clock import DAY_MS
from quartermaster.errors import InputError
from quartermaster.parts import GPU_PARTS
from sql.ledger import open_ledger
from tests.dashboards.apptest import run, told, words

Ledgers = Callable[..., Path]
HOSTILE = "<script>alert(1)</script>[bold]x[/bold]=cmd()![i](http://evil.example/i.png)"


@pytest.fixture(scope="module")
def a_week_s_ledger(a_ledger_of_a_week: Ledgers) -> Path:
    return a_ledger_of_a_week()


def hostile(name: str) -> str:
    """The name with an ending that is code somewhere."""
    return name + HOSTILE


def test_the_whole_page(a_week_s_ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = run(a_week_s_ledger, monkeypatch, week="2026-W48")
    text = words(page)
    assert "The fleet cost 53,568 EUR; 9,747 EUR of it (18.2 %) stood idle while held" in text
    assert "Next step:" in text
    assert "data until 29 November 2026, 00:00 UTC" in text
    assert len(page.get("vega_lite_chart")) == 3
    titles = [title.value for title in page.header]
    assert titles[:2] == ["Worth doing first", "Where the capacity went"]
    assert "Held by nobody" in text
    assert 'href="waste?week=2026-W48&amp;team=' in told(page)
    assert 'href="team?week=2026-W48&amp;team=vision"' in told(page)
    assert page.selectbox("week").options == ["2026-W48", "2026-W47"]
    assert len(page.selectbox("team").options) == 7


def test_it_begins_with_the_last_whole_week(a_week_s_ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = run(a_week_s_ledger, monkeypatch)
    assert page.selectbox("week").value == "2026-W47"
    assert "Complete week" in words(page)


def test_another_week_and_one_team(a_week_s_ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = words(run(a_week_s_ledger, monkeypatch, week="2026-W47", team="vision"))
    assert "Team vision cost" in text
    assert "Complete week" in text
    assert "16–22 November 2026" in text
    assert "robotics" not in text


def test_the_page_and_the_file_tell_the_same(a_week_s_ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = run(a_week_s_ledger, monkeypatch, week="2026-W48")
    where = access.place()
    figures = data.report(where, ALL, "2026-W48", None)
    forwarded = data.file(figures)
    for card in ("53,568", "9,747", "18.2 %"):
        assert card in words(page)
        assert card in forwarded.replace("\u00a0", " ")


def test_hostile_names_are_only_text(a_ledger_of_a_week: Ledgers, monkeypatch: pytest.MonkeyPatch) -> None:
    configuration = a_ledger_of_a_week(hostile)
    page = run(configuration, monkeypatch)
    html = told(page)
    assert "<script" not in html
    assert "vision" + HOSTILE in words(page)
    markdown = [
        block.value for kind in (page.markdown, page.caption, page.header, page.info) for block in kind
    ]
    assert not any("evil" in text for text in markdown)
    chosen = run(configuration, monkeypatch, team="vision" + HOSTILE)
    assert "Team vision" + HOSTILE in words(chosen)


def test_without_prices_the_page_shows_time(
    a_ledger_of_a_week: Ledgers, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = run(a_ledger_of_a_week(prices=False), monkeypatch, week="2026-W48")
    assert "The fleet had 17,280 GPU-hours" in words(page)
    assert "EUR" not in words(page)
    assert "No rate card was in force" in page.info[0].value


def test_a_ledger_without_a_finished_hour(
    a_ledger_of_a_week: Ledgers, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = run(a_ledger_of_a_week(usage=False), monkeypatch)
    assert "No finished hour yet" in words(page)
    assert "run quartermaster rollup" in words(page)
    assert not page.selectbox


def test_no_ledger_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configuration = tmp_path / "quartermaster.yaml"
    configuration.write_text("clusters: [{name: demo}]\n")
    assert "there is no ledger in" in words(run(configuration, monkeypatch))


def test_a_ledger_without_its_files_is_told_as_one(
    a_ledger_of_a_week: Ledgers, monkeypatch: pytest.MonkeyPatch
) -> None:
    configuration = a_ledger_of_a_week()
    shutil.rmtree(configuration.parent / "ledger" / "data")
    for page in ("overview", "team", "waste", "costs"):
        text = words(run(configuration, monkeypatch, page))
        assert "There is nothing to show" in text
        assert "reading" in text


def test_a_ledger_that_comes_later_is_seen(
    a_week_s_ledger: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configuration = tmp_path / "quartermaster.yaml"
    configuration.write_text("clusters: [{name: demo}]\n")
    assert "there is no ledger in" in words(run(configuration, monkeypatch))
    (tmp_path / "ledger").symlink_to(a_week_s_ledger.parent / "ledger")
    assert "62,496 EUR" in words(run(configuration, monkeypatch))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("clusters: [{name: demo}]\nledger: {catalog: memory}\n", "the ledger is in memory"),
        ("clusters: []\n", "clusters"),
    ],
)
def test_a_configuration_that_leads_nowhere(
    text: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configuration = tmp_path / "quartermaster.yaml"
    configuration.write_text(text)
    assert expected in words(run(configuration, monkeypatch))


def test_without_the_command_the_page_says_how_it_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "quartermaster dashboard" in words(run(None, monkeypatch))


def test_a_team_out_of_sight_is_refused_where_data_is_read(
    a_week_s_ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(access.CONFIGURATION, str(a_week_s_ledger))
    where = access.place()
    own = Scope(frozenset({"vision"}))
    assert data.report(where, own, "2026-W48", "vision").team == "vision"
    assert data.report(where, own, "2026-W48", None).team == "vision"
    said: list[str] = []
    for team in ("speech", "spooch"):
        with pytest.raises(InputError, match="no team") as refused:
            data.report(where, own, "2026-W48", team)
        said.append(f"{refused.value} {refused.value.hint}".replace(team, "X"))
    assert said[0] == said[1]


def test_of_some_teams_the_page_tells_those(a_week_s_ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(access.CONFIGURATION, str(a_week_s_ledger))
    report = data.report(access.place(), Scope(frozenset({"vision", "speech", "nobody"})), "2026-W47", None)
    assert {row.team for row in report.by_team} == {"vision", "speech"}
    assert {row.workload.team for row in report.idlest} <= {"vision", "speech"}
    assert report.some
    with pytest.raises(InputError, match="no team is yours"):
        data.report(access.place(), Scope(frozenset()), "2026-W47", None)


def test_what_is_written_while_the_page_is_open_is_seen(
    a_ledger_of_a_week: Ledgers, monkeypatch: pytest.MonkeyPatch
) -> None:
    configuration = a_ledger_of_a_week(usage=False)
    assert "No finished hour yet" in words(run(configuration, monkeypatch))
    free = 24 * GPU_PARTS * DAY_MS
    day = {"cluster": "demo", "business_day": "2026-11-23", "pool": "training", "model": "H100"}
    day |= {
        f"{name}_pms": 0 for name in ("held", "computing", "idle", "unknown", "unavailable", "unobserved")
    }
    with open_ledger(configuration.parent / "ledger") as ledger:
        ledger.append(
            "later", {"usage_daily": pl.DataFrame([day | {"capacity_pms": free, "unallocated_pms": free}])}
        )
    st.cache_data.clear()
    assert "The fleet had 576 GPU-hours" in words(run(configuration, monkeypatch))
