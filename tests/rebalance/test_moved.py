"""Guarantees moved in the ledger: by the weeks' need, within the bounds, the total as it was; a person's word wins."""

from collections.abc import Iterator, Mapping
from uuid import uuid4

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analytics.measure import FOREVER_MS
from enforcer.book import rows
from enforcer.booking import Booking
from enforcer.bookings import standing, wish, write
from enforcer.moved import FEWEST_HOURS, WEEK_MS, apply, known, undo
from enforcer.promised import Promised
from enforcer.rebalance import Proposal
from quartermaster.clock import DAY_MS, HOUR_MS
from quartermaster.config.policy import RebalancePart
from quartermaster.errors import InputError
from quartermaster.parts import GPU_PARTS
from quartermaster.person import pseudonym
from quartermaster.team import UNASSIGNED
from sql.declare import declare
from sql.ledger import Cursor, Ledger, memory_ledger
from tests.declare.test_declare import configured
from tests.usage.small import MINUTE, Small
from tests.usage.toy import insert, toy

C, POOL, WHO = "c", "p", pseudonym(7)
NOW = 600_000 * HOUR_MS
YAML = """
clusters: [{name: c}]
pools: [{name: p}, {name: other}]
teams: [{name: a}, {name: b}, {name: d}]
guarantees: [{team: a, pool: p, gpus: 16}, {team: b, pool: p, gpus: 8}, {team: d, pool: p, gpus: 4}]
"""
_INSERT = (
    "insert into lake.quota_hourly (cluster, pool, team, row_start_at, row_end_at, held_pms, waiting_pms) "
    "select cluster, pool, team, make_timestamptz(row_start_at * 1000), make_timestamptz(row_end_at * 1000), "
    "held_pms, waiting_pms from told"
)
BOUNDS = RebalancePart.model_validate({"pool": POOL, "ceiling": 32, "step_a_week": 3})


def hours(team: str, *needs: tuple[int, int]) -> pl.DataFrame:
    """Rows of the hours before now, the latest first: so many hours of so many GPUs, a half of them waited for."""
    parts = [gpus * GPU_PARTS for count, gpus in needs for _ in range(count)]
    starts = [NOW - (place + 1) * HOUR_MS for place in range(len(parts))]
    return pl.DataFrame(
        {
            "cluster": [C] * len(parts),
            "pool": [POOL] * len(parts),
            "team": [team] * len(parts),
            "row_start_at": starts,
            "row_end_at": [start + HOUR_MS for start in starts],
            "held_pms": [each * HOUR_MS // 2 for each in parts],
            "waiting_pms": [each * HOUR_MS // 2 for each in parts],
        }
    )


@pytest.fixture(scope="module")
def opened() -> Iterator[Ledger]:
    with memory_ledger() as ledger:
        yield ledger


@pytest.fixture
def ledger(opened: Ledger) -> Ledger:
    """16 GPUs are promised to a, who needed 4; 8 to b, who needed 14; 4 to d, who needed as many."""
    told = pl.concat(hours(team, (FEWEST_HOURS, gpus)) for team, gpus in (("a", 4), ("b", 14), ("d", 4)))

    def anew(cursor: Cursor) -> None:
        for table in ("quotas_versions", "requests", "quota_hourly"):
            cursor.execute(f"delete from lake.{table}")
        cursor.register("told", told)
        cursor.execute(_INSERT)

    opened.write(f"anew/{uuid4().hex}", anew)
    declare(opened, configured(YAML), NOW - DAY_MS)
    return opened


def proposal(ledger: Ledger, at_ms: int = NOW, bounds: RebalancePart = BOUNDS) -> Proposal | None:
    with ledger.reading() as cursor:
        return known(cursor, C, bounds, at_ms).proposal(bounds)


def move(ledger: Ledger, at_ms: int = NOW) -> Proposal:
    found = proposal(ledger, at_ms)
    assert found is not None
    apply(ledger, C, BOUNDS, found, asked_by=WHO, at_ms=at_ms)
    return found


def promised(ledger: Ledger, at_ms: int) -> Mapping[str, int]:
    """What the planner takes the teams to be promised."""
    given = {"cluster": C, "from_ms": at_ms, "until_ms": at_ms, "forever": FOREVER_MS}
    with ledger.reading() as cursor:
        told = Promised(*(rows(cursor, name, given) for name in ("promises", "departments")))
    return {each.team: each.guaranteed_parts // GPU_PARTS for each in told.at(at_ms) if each.pool == POOL}


@pytest.mark.patient
def test_proposed_by_what_was_needed_and_moved_only_when_it_is_applied(ledger: Ledger) -> None:
    found = proposal(ledger)
    assert found is not None
    assert {each.team: (each.before_parts // GPU_PARTS, each.after_parts // GPU_PARTS) for each in found.moves} == {
        "a": (16, 13), "b": (8, 11),
    }  # fmt: skip
    assert promised(ledger, NOW) == {"a": 16, "b": 8, "d": 4}
    move(ledger)
    assert promised(ledger, NOW - 1) == {"a": 16, "b": 8, "d": 4}
    assert promised(ledger, NOW) == {"a": 13, "b": 11, "d": 4}


@pytest.mark.patient
def test_no_more_than_the_step_is_moved_in_a_week_however_often_it_is_applied_and_undone(
    ledger: Ledger,
) -> None:
    move(ledger)
    assert proposal(ledger, NOW + HOUR_MS) is None
    assert undo(ledger, C, POOL, WHO, NOW + HOUR_MS) == {"a": -3 * GPU_PARTS, "b": 3 * GPU_PARTS}
    assert promised(ledger, NOW + HOUR_MS) == {"a": 16, "b": 8, "d": 4}
    assert undo(ledger, C, POOL, WHO, NOW + HOUR_MS) == {}
    assert proposal(ledger, NOW + WEEK_MS - 1) is None
    move(ledger, NOW + WEEK_MS)
    move(ledger, NOW + 2 * WEEK_MS)
    assert promised(ledger, NOW + 2 * WEEK_MS) == {"a": 10, "b": 14, "d": 4}
    assert proposal(ledger, NOW + 3 * WEEK_MS) is None  # nobody needs more
    undo(ledger, C, POOL, WHO, NOW + 3 * WEEK_MS)
    assert promised(ledger, NOW + 3 * WEEK_MS) == {"a": 13, "b": 11, "d": 4}


@pytest.mark.patient
def test_a_declaration_of_other_guarantees_in_the_pool_ends_what_was_moved(ledger: Ledger) -> None:
    move(ledger)
    assert declare(ledger, configured(YAML), NOW + HOUR_MS) == []
    elsewhere = YAML.replace("guarantees: [", "guarantees: [{team: a, pool: other, gpus: 2}, ")
    declare(ledger, configured(elsewhere), NOW + HOUR_MS)
    assert promised(ledger, NOW + HOUR_MS) == {"a": 13, "b": 11, "d": 4}
    said = declare(ledger, configured(elsewhere.replace("gpus: 4", "gpus: 6")), NOW + 2 * HOUR_MS)
    assert sum("what was moved ends" in each for each in said) == 2
    assert promised(ledger, NOW + 2 * HOUR_MS) == {"a": 16, "b": 8, "d": 6}


def test_what_has_changed_since_it_was_shown_is_not_applied(ledger: Ledger) -> None:
    shown = move(ledger)
    with pytest.raises(InputError, match="no longer what was shown"):
        apply(ledger, C, BOUNDS, shown, asked_by=WHO, at_ms=NOW + HOUR_MS)


def test_it_is_no_booking_that_somebody_could_cancel_by_half(ledger: Ledger) -> None:
    move(ledger)
    with ledger.reading() as cursor:
        assert standing(cursor, [C], NOW) == ()
    asked = ledger.query("select kind, asked_by, words from requests order by kind").to_dicts()
    assert asked == [{"kind": kind, "asked_by": WHO, "words": "rebalance"} for kind in ("book", "offer")]


def test_who_gave_cannot_offer_what_it_has_no_more(ledger: Ledger) -> None:
    move(ledger)
    offered = Booking("a", POOL, 14 * GPU_PARTS, NOW + HOUR_MS, NOW + DAY_MS, offer=True)
    with pytest.raises(InputError, match="a is promised 13 GPUs"):
        write(ledger, wish(C, offered, WHO), NOW + HOUR_MS)


def test_whose_work_is_no_teams_gets_nothing(ledger: Ledger) -> None:
    told = hours(UNASSIGNED, (FEWEST_HOURS, 30))

    def hold(cursor: Cursor) -> None:
        cursor.register("told", told)
        cursor.execute(_INSERT)

    ledger.write(f"unassigned/{uuid4().hex}", hold)
    found = proposal(ledger)
    assert found is not None
    assert [each.team for each in found.moves] == ["a", "b"]


def test_the_accounts_go_by_it_from_the_minute_of_the_move_on() -> None:
    small = Small()
    small.promise("a", 3)
    small.promise("b", 1)
    small.promise("a", 1, 30, kind="offer", source="rebalance")
    small.promise("b", 1, 30, kind="booking", source="rebalance")
    guaranteed = [row["guaranteed_pms"] // (GPU_PARTS * MINUTE) for row in small.account().quota.values()]
    assert sorted(guaranteed) == [30 * 1 + 30 * 2, 30 * 3 + 30 * 2]


def test_of_less_than_a_week_nothing_is_proposed(ledger: Ledger) -> None:
    with ledger.reading() as cursor:
        found = known(cursor, C, BOUNDS, NOW - HOUR_MS)
    assert (found.hours, found.proposal(BOUNDS)) == (FEWEST_HOURS - 1, None)


CONNECTION = toy()


@given(
    st.lists(st.tuples(st.integers(1, 150), st.integers(0, 9)), min_size=1, max_size=5), st.integers(1, 300)
)
@settings(max_examples=40)
@pytest.mark.patient
def test_needed_is_the_highest_hour_once_one_in_a_hundred_of_all_hours_is_left_out(
    needs: list[tuple[int, int]], others: int
) -> None:
    CONNECTION.execute("delete from quota_hourly")
    CONNECTION.execute("delete from quotas_versions")
    CONNECTION.execute("delete from teams_versions")
    insert(CONNECTION, "teams_versions", pl.DataFrame({"team_id": [1], "team": ["a"], "start_at": [0]}))
    insert(CONNECTION, "quota_hourly", hours("a", *needs))
    insert(CONNECTION, "quota_hourly", hours("b", (others, 1)))
    mine = [gpus for count, gpus in needs for _ in range(count)]
    total = min(max(len(mine), others), 4 * 7 * 24)
    mine = [*mine, *[0] * total][:total]
    found = known(CONNECTION, C, BOUNDS, NOW)
    expected = sorted(mine, reverse=True)[total // 100] * GPU_PARTS
    assert found.hours == total
    assert [(each.team, each.needed_parts) for each in found.uses] == [("a", expected)]
