"""Lending: pairs, balances, what owners waited; given rows, expected rows."""

import pytest

from analytics.reports.charts import svg
from analytics.scope import ALL, Scope
from analytics.views import lending_charts as charts
from analytics.views import lending_tables as tables
from analytics.views.lending import Pair, lending
from quartermaster.clock import HOUR_MS
from quartermaster.errors import InputError
from quartermaster.parts import GPU_PARTS
from sql.ledger import Ledger
from tests.views.markup import Tags
from tests.views.scene import HOSTILE

GPU_HOUR = GPU_PARTS * HOUR_MS
WEEK = "2026-W48"


def test_who_lent_to_whom(scene: Ledger) -> None:
    found = lending(scene, ALL, WEEK, "UTC")
    assert found.pairs(None) == (
        Pair("speech", "vision", GPU_HOUR * 3 // 2),
        Pair("speech", "language", GPU_HOUR // 2),
    )
    assert found.pairs("training") == found.pairs(None)
    assert found.pairs("another") == ()
    assert found.pools == ("training",)
    assert tables.pairs(found, None).rows[0] == (
        "speech",
        "vision",
        GPU_HOUR * 3 // 2,
        (GPU_HOUR * 3 // 2, 2 * GPU_HOUR),
    )


def test_what_each_gave_took_and_waited_hour_by_hour(scene: Ledger) -> None:
    found = lending(scene, ALL, WEEK, "UTC")
    told = {each.team: each for each in found.last}
    assert told["speech"].lent_pms == told["speech"].given_pms == 2 * GPU_HOUR
    assert told["speech"].owed_pms == 3 * GPU_HOUR, (
        "it waits for 4 GPUs, of which 1.5 are its own, for two hours"
    )
    assert told["speech"].away_pms == 2 * GPU_HOUR, "and others hold 1 of them"
    assert told["vision"].given_pms == -2 * GPU_HOUR
    assert told["vision"].owed_pms == told["language"].owed_pms == 0, (
        "what one borrows is nobody's to wait for"
    )
    assert [card.value for card in tables.cards(found, None)] == ["2.0 GPU-h", "3.0 GPU-h", "2.0 GPU-h"]


def test_a_team_sees_its_own_pairs_and_balances(scene: Ledger) -> None:
    found = lending(scene, Scope(frozenset({"vision"})), WEEK, "UTC")
    assert found.pairs(None) == (Pair("speech", "vision", GPU_HOUR * 3 // 2),)
    assert {each.team for each in found.balances} == {"vision"}
    for teams in (frozenset[str](), frozenset({"no such team"})):
        nothing = lending(scene, Scope(teams), WEEK, "UTC")
        assert (nothing.by_pool, nothing.balances) == ((), ())


def test_weeks_end_with_the_one_that_is_asked_for(scene: Ledger) -> None:
    later = lending(scene, ALL, "2027-W02", "Europe/Berlin")
    assert later.weeks == ("2026-W48", *(f"2026-W{n}" for n in range(49, 54)), "2027-W01", "2027-W02")
    assert {each.week for each in later.balances} == {WEEK}
    assert later.pairs(None) == later.last == ()
    with pytest.raises(InputError, match="no ISO week"):
        lending(scene, ALL, "2026-W99", "UTC")


def test_bands_are_as_thick_as_what_was_lent(scene: Ledger) -> None:
    found = lending(scene, ALL, WEEK, "UTC")
    drawn = charts.flow(found.pairs(None), found.teams, "light", 600).to_dict()
    points = drawn["layer"][0]["data"]["values"]
    starts = [point["high"] - point["low"] for point in points if point["x"] == 0]
    ends = [point["high"] - point["low"] for point in points if point["x"] == 1]
    assert starts[0] == pytest.approx(3 * starts[1])
    assert ends[0] == pytest.approx(3 * ends[1])
    assert sum(starts) == pytest.approx(1)
    assert "speech" in svg(charts.flow(found.pairs(None), found.teams, "dark", 600))


def test_a_team_has_one_colour_in_both_charts(scene: Ledger) -> None:
    found = lending(scene, ALL, WEEK, "UTC")
    colour_of = charts.tokens(found.teams)
    assert found.teams[0] == "speech"
    assert {(row.name, row.token) for row in charts.legend(found)} == {
        (name, colour_of[name]) for name in ("speech", "vision")
    }
    assert [row.amount for row in charts.legend(found)] == ["+2.0 GPU-h", "−2.0 GPU-h"]
    assert charts.tokens("abcdefg")["g"] == "series_rest"
    bars = charts.balances(found, "light", 600).to_dict()["layer"][0]["data"]["values"]
    assert {(bar["team"], bar["gpu_hours"]) for bar in bars} == {("speech", 2.0), ("vision", -2.0)}


def test_a_matrix_of_many_teams_has_others() -> None:
    pairs = [Pair(f"lender-{n:02}", f"borrower-{n:02}", (40 - n) * GPU_HOUR) for n in range(20)]
    drawn = tables.matrix(pairs)
    assert drawn.count(">others<") == 2
    assert "lender-11" in drawn
    assert "lender-12" not in drawn


def test_hostile_names_are_only_text(hostile_scene: Ledger) -> None:
    pairs = lending(hostile_scene, ALL, WEEK, "UTC").pairs(None)
    assert pairs[0].lender.endswith(HOSTILE)
    table = {"table", "caption", "thead", "tbody", "tr", "th", "td"}
    assert Tags(tables.matrix(pairs)).found == {"style", "div", "span"} | table
