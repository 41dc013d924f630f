"""Data quality: coverage, sources, gaps, who is of no team; given rows, expected rows."""

import pytest

from analytics.reports.tables import shown
from analytics.scope import ALL, Scope
from analytics.views import quality_tables as tables
from analytics.views.quality import Quality, quality
from quartermaster.clock import HOUR_MS
from quartermaster.errors import InputError
from quartermaster.parts import GPU_PARTS
from sql.ledger import Ledger
from tests.views.scene import NOON

GPU_HOUR = GPU_PARTS * HOUR_MS


def read(ledger: Ledger, scope: Scope = ALL, last_day: str = "2026-11-25", count: int = 7) -> Quality:
    return quality(ledger, scope, last_day, count, time_zone="UTC", now_ms=NOON)


def test_coverage_is_what_the_ledger_has(scene: Ledger) -> None:
    found = read(scene)
    told = scene.query("select sum(held_pms) as held, sum(unknown_pms) as unknown from usage_daily").row(0)
    assert (found.total("held_pms"), found.total("unknown_pms")) == tuple(map(int, told))
    assert [(each.cluster, each.day) for each in found.days] == [("main", "2026-11-25")]
    assert found.first_day == "2026-11-19"
    assert found.total("unknown_pms") == 2 * GPU_HOUR * 3 // 7
    covered = tables.cards(found)[0]
    assert (covered.value, covered.alarming) == ("80.0\u00a0%", True)


def test_a_team_sees_the_coverage_of_what_it_held(scene: Ledger) -> None:
    found = read(scene, Scope(frozenset({"speech"})))
    assert found.total("unknown_pms") == 0
    assert found.total("capacity_pms") == found.total("held_pms")
    assert (found.sources, found.gaps, found.unassigned) == ((), (), ())
    assert [card.label for card in tables.cards(found)] == ["Coverage", "Estimated"]
    assert "Unobserved" not in [column.label for column in tables.days(found).columns]
    assert read(scene, Scope(frozenset())).days == read(scene, Scope(frozenset({"none"}))).days == ()


def test_gaps_by_source_and_reason(scene: Ledger) -> None:
    assert tables.gaps(read(scene)).rows == (
        ("dcgm · main", "telemetry", "timeout", 1, 1, 1, "10 min"),
        ("dcgm · main", "telemetry", "refused", 1, 1, 0, "3 min"),
    )
    assert tables.gaps(read(scene, last_day="2026-11-24")).rows == ()


def test_sources_and_until_when_they_are_complete(scene: Ledger) -> None:
    found = [row[:5] for row in tables.sources(read(scene), "UTC").rows]
    assert ("kubernetes · main", "holders", "25 Nov 2026, 12:00", "25 Nov 2026, 12:00", "–") in found


def test_bars_and_tables_of_nothing(scene: Ledger) -> None:
    bars = [(bar.day, bar.token, round(bar.amount, 3)) for bar in tables.bars(read(scene))]
    assert bars == [("2026-11-25", "unknown", 0.857), ("2026-11-25", "unobserved", 0.0)]
    empty = read(scene, last_day="2026-10-01")
    assert tables.bars(empty) == []
    assert tables.unassigned(empty).empty == "Every workload is some team's."
    assert shown(tables.days(empty))[0] == []
    with pytest.raises(InputError, match="no day"):
        read(scene, last_day="today")
