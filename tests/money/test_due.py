"""Which days are due: what the roll-up wrote, what prices changed, and nothing else."""

from typing import Any

import pytest

from analytics.money.charges import charge
from quartermaster.errors import ConfigurationError
from sql.ledger import Cursor
from tests.money.books import Books, snapshot
from tests.money.test_facts import pod, variant

MONDAY, TUESDAY, WEDNESDAY = "2026-11-23", "2026-11-24", "2026-11-25"


def roll_up_again(books: Books, day: str, times: int, cluster: str = "demo") -> None:
    """Write a cluster's day anew as the roll-up does: held `times` as much as now; 0: nothing is left of it."""
    days = {"usage_hourly": "strftime(row_start_at, '%Y-%m-%d')", "usage_daily": "business_day"}
    more = ", ".join(f"{name}_pms * {times} as {name}_pms" for name in ("capacity", "held", "idle"))

    def work(cursor: Cursor) -> None:
        for table, business_day in days.items():
            where = f"where cluster = '{cluster}' and {business_day} = '{day}'"
            cursor.execute(f"create or replace temp table old_rows as from {table} {where}")
            cursor.execute(f"delete from {table} {where}")
            if times:
                cursor.execute(f"insert into {table} by name select * replace ({more}) from old_rows")

    books.store.write(f"rollup/{snapshot(books.store)}", work)


@pytest.fixture
def charged(books: Books) -> Books:
    """Three days of one GPU-hour each, charged at 1 EUR; and a second cluster on Wednesday."""
    books.card()
    books.rate("1")
    for day in (MONDAY, TUESDAY, WEDNESDAY):
        books.usage(f"{day}T00:00:00Z", team="vision")
    books.usage(f"{WEDNESDAY}T00:00:00Z", team="vision", cluster="other")
    charge(books.fill(), 0, "UTC")
    return books


def agrees(books: Books) -> bool:
    """Whether looking at every day finds nothing that was overlooked."""
    return charge(books.ledger, 0, "UTC", everything=True).changed_days == ()


def test_without_news_nothing_is_due(charged: Books) -> None:
    assert charge(charged.ledger, 0, "UTC").days == ()


@pytest.mark.patient
def test_a_day_that_was_rolled_up_again_is_due(charged: Books) -> None:
    roll_up_again(charged, TUESDAY, 2)
    found = charge(charged.ledger, 0, "UTC")
    assert found.days == found.changed_days == (TUESDAY,)
    assert charge(charged.ledger, 0, "UTC").days == ()
    assert agrees(charged)


@pytest.mark.patient
def test_a_day_that_lost_its_usage_is_due(charged: Books) -> None:
    roll_up_again(charged, TUESDAY, 0)
    assert charge(charged.ledger, 0, "UTC").changed_days == (TUESDAY,)
    assert agrees(charged)


@pytest.mark.patient
def test_a_day_that_lost_the_usage_of_one_cluster_is_due(charged: Books) -> None:
    roll_up_again(charged, WEDNESDAY, 0, cluster="other")
    assert charge(charged.ledger, 0, "UTC").changed_days == (WEDNESDAY,)
    assert {line["cluster"] for line in charged.lines()} == {"demo"}
    assert agrees(charged)


@pytest.mark.patient
def test_a_day_whose_usage_came_out_the_same_is_looked_at_and_left_alone(charged: Books) -> None:
    roll_up_again(charged, TUESDAY, 1)
    found = charge(charged.ledger, 0, "UTC")
    assert (found.days, found.changed_days) == ((TUESDAY,), ())


@pytest.mark.patient
def test_a_new_price_list_makes_the_days_from_its_start_due(charged: Books) -> None:
    charged.rate("2", version=2, start_at=f"{TUESDAY}T00:00:00Z")
    assert charge(charged.fill(), 0, "UTC").changed_days == (TUESDAY, WEDNESDAY)
    assert agrees(charged)


@pytest.mark.patient
def test_a_card_that_was_told_anew_makes_the_days_from_its_start_due(charged: Books) -> None:
    charged.card("new", start=f"{WEDNESDAY}T00:00:00Z", currency="USD")
    charged.rate("1", card="new", start_at=f"{WEDNESDAY}T00:00:00Z")
    assert charge(charged.fill(), 0, "UTC").changed_days == (WEDNESDAY,)
    charged.card("new", start=f"{WEDNESDAY}T00:00:00Z", currency="CHF", revision=1)
    assert charge(charged.fill(), 0, "UTC").changed_days == (WEDNESDAY,)
    assert agrees(charged)


@pytest.mark.patient
def test_what_was_due_when_charging_failed_is_due_the_next_time(charged: Books) -> None:
    roll_up_again(charged, MONDAY, 2)
    charged.card("bare", start=f"{WEDNESDAY}T00:00:00Z")
    charged.fill()
    with pytest.raises(ConfigurationError, match="no price"):
        charge(charged.ledger, 0, "UTC")
    charged.rate("3", card="bare", start_at=f"{WEDNESDAY}T00:00:00Z")
    assert charge(charged.fill(), 0, "UTC").changed_days == (MONDAY, WEDNESDAY)
    assert agrees(charged)


@pytest.mark.patient
def test_charging_named_days_leaves_the_others_due(charged: Books) -> None:
    roll_up_again(charged, MONDAY, 2)
    roll_up_again(charged, TUESDAY, 2)
    assert charge(charged.ledger, 0, "UTC", [TUESDAY]).changed_days == (TUESDAY,)
    assert charge(charged.ledger, 0, "UTC").changed_days == (MONDAY,)
    assert agrees(charged)


@pytest.mark.patient
def test_in_another_time_zone_every_day_is_due(charged: Books) -> None:
    assert charge(charged.ledger, 0, "Europe/Berlin").days == (MONDAY, TUESDAY, WEDNESDAY)


@pytest.mark.patient
def test_when_the_last_charging_is_forgotten_every_day_is_due(charged: Books) -> None:
    with_news = snapshot(charged.store)
    charged.store.write(
        "a/1/1", lambda cursor: cursor.execute("insert into cuts by name select 'price' reason") and None
    )
    charged.store.write(
        "a/1/2", lambda cursor: cursor.execute("insert into cuts by name select 'price' reason") and None
    )
    with charged.store.cursor() as cursor:
        cursor.execute(f"call ducklake_expire_snapshots('lake', versions => [{with_news}])")
    assert charge(charged.ledger, 0, "UTC").days == (MONDAY, TUESDAY, WEDNESDAY)


@pytest.mark.parametrize("told", [{"preemptible": True}, {"cpu_milli": 2000}, {"memory_mib": 4096}])
def test_an_allocation_that_is_told_otherwise_makes_its_days_due(
    charged: Books, told: dict[str, Any]
) -> None:
    variant(charged, "preemptible", "0.5")
    variant(charged, "cpu_hour", "0.1")
    variant(charged, "memory_gib_hour", "0.1")
    charged.usage(f"{TUESDAY}T00:00:00Z", team="vision", workload="late")
    span = (f"{TUESDAY}T00:00:00Z", f"{TUESDAY}T01:00:00Z")
    known = {"cpu_milli": 1000, "memory_mib": 1024}
    pod(charged, "late", *span, **known)
    charge(charged.fill(), 0, "UTC")
    assert charge(charged.ledger, 0, "UTC").days == ()
    pod(charged, "late", *span, **known | told | {"revision": 1})
    found = charge(charged.fill(), 0, "UTC")
    assert found.days == found.changed_days == (TUESDAY,)
    assert agrees(charged)
