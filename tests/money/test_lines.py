"""Lines of cost, by property: conserved for random usage and cards, whatever the order; as an oracle says."""

from collections import defaultdict
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

import duckdb
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics.money.charges import NANO_GPU_HOUR_PMS
from analytics.money.rates import money_sql
from quartermaster.clock import to_datetime
from quartermaster.parts import GPU_PARTS
from quartermaster.remainder import share

TEAMS: list[str] = ["a", "b", "c"]
POOLS: list[str] = ["pool-1", "pool-2"]
WAYS = ("own", "none", "even", "held", "guarantee")
KINDS = ("unallocated", "unavailable", "unobserved")
SEGMENTS = (("demo", "pool-1", "H100"), ("demo", "pool-1", "A100"), ("demo", "pool-2", "H100"))
USAGE = (
    "cluster varchar, pool varchar, model varchar, row_start_at timestamptz, team varchar, "
    "workload_id bigint, " + ", ".join(f"{name}_pms bigint" for name in ("held", "faulted", *KINDS))
)
QUOTA = "cluster varchar, pool varchar, team varchar, row_start_at timestamptz, guaranteed_pms bigint"
FULL = GPU_PARTS * 3_600_000 * 24 * 10_000

Given = tuple[int, dict[str, Any]]  # a segment, and a row of it
Guarantees = dict[tuple[str, str], int]
Day = tuple[list[Given], list[int], dict[str, Any], Guarantees]
Holder = tuple[str, str, int]
Key = tuple[int, str, str, str, int, str]

pms = st.one_of(st.just(0), st.integers(1, 50), st.integers(1, GPU_PARTS * 3_600_000), st.integers(1, FULL))


@st.composite
def usage_rows(draw: st.DrawFn) -> Given:
    """A row of one segment: held by a team's workload, or held by nobody."""
    segment = draw(st.integers(0, len(SEGMENTS) - 1))
    if draw(st.booleans()):
        held = draw(pms)
        row = {"team": draw(st.sampled_from(TEAMS)), "workload_id": draw(st.integers(1, 3)), "held_pms": held}
        return segment, row | {
            "faulted_pms": draw(st.one_of(st.just(0), st.just(held), st.integers(0, held)))
        }
    return segment, {f"{kind}_pms": draw(pms) for kind in KINDS}


@st.composite
def days(draw: st.DrawFn) -> Day:
    """A day of usage, a price for each segment, a card for all, and guarantees by pool and team."""
    prices = [draw(st.integers(0, 10**12)) for _ in SEGMENTS]
    card = {f"share_{kind}": draw(st.sampled_from(WAYS)) for kind in KINDS} | {
        "bill_faulted": draw(st.booleans())
    }
    guarantees = draw(st.dictionaries(st.tuples(st.sampled_from(POOLS), st.sampled_from(TEAMS)), pms))
    return draw(st.lists(usage_rows(), max_size=12)), prices, card, guarantees


def lines_of(day: Day) -> list[dict[str, Any]]:
    """What the query gives, as sorted tuples."""
    rows, prices, card, guarantees = day
    start, end = to_datetime(0), to_datetime(86_400_000)
    usage = [
        {"cluster": c, "pool": p, "model": m, "row_start_at": start, "team": None, "workload_id": None}
        | {f"{name}_pms": 0 for name in ("held", "faulted", *KINDS)}
        | row
        for (c, p, m), row in ((SEGMENTS[segment], row) for segment, row in rows)
    ]
    segments = [
        {
            "segment": n,
            "cluster": c,
            "pool": p,
            "model": m,
            "business_day": "1970-01-01",
            "day_start_at": start,
        }
        | {
            "day_end_at": end,
            "start_at": start,
            "end_at": end,
            "rate_id": n,
            "price_nano": prices[n],
            "currency": "EUR",
        }
        | card
        for n, (c, p, m) in enumerate(SEGMENTS)
    ]
    quota = [
        {"cluster": "demo", "pool": pool, "team": team, "row_start_at": start, "guaranteed_pms": promised}
        for (pool, team), promised in guarantees.items()
    ]
    with duckdb.connect() as connection:
        connection.execute("set global timezone = 'UTC'")
        connection.execute(f"create table usage_hourly ({USAGE})")
        connection.execute(f"create table quota_hourly ({QUOTA})")
        for table, values in (("usage_hourly", usage), ("quota_hourly", quota)):
            if values:
                connection.register("given_rows", pl.DataFrame(values, infer_schema_length=None))
                connection.execute(f"insert into {table} by name select * from given_rows")
        connection.register("segments", pl.DataFrame(segments))
        found = connection.execute(money_sql("lines"), {"nano_gpu_hour_pms": NANO_GPU_HOUR_PMS}).pl()
        return found.sort("charge_id").to_dicts()


def expected(day: Day) -> dict[Key, int]:
    """The same in plain Python: {(segment, kind, account, team, workload, detail): millionths}."""
    rows, prices, card, guarantees = day
    found = defaultdict[Key, int](int)
    for segment, (_, pool, _) in enumerate(SEGMENTS):
        weights, faulted = weigh([row for n, row in rows if n == segment])
        quantity = sum(weights.values())
        if not quantity:
            continue
        micros = (2 * quantity * prices[segment] + NANO_GPU_HOUR_PMS) // (2 * NANO_GPU_HOUR_PMS)
        costs = share(micros, {" ".join(map(str, key)): weight for key, weight in weights.items()})
        for key, weight in weights.items():
            cost = costs[" ".join(map(str, key))]
            account = "own" if key[0] in KINDS else "team"
            found[segment, key[0], account, *key[1:], ""] += cost
            detail, off = taken_off(key, cost, weight, faulted, card)
            if detail:
                found[segment, "adjustment", account, *key[1:], detail] -= off
                found[segment, "clearing", "clearing", "", 0, detail] += off
            takers = receivers(card.get(f"share_{key[0]}"), pool, rows, guarantees)
            if takers:
                found[segment, "clearing", "clearing", "", 0, key[0]] -= cost
            for taker, part in share(cost, takers).items() if takers else ():
                found[segment, "shared", "team", taker, 0, key[0]] += part
    return dict(found)


def weigh(rows: list[dict[str, Any]]) -> tuple[dict[Holder, int], dict[Holder, int]]:
    """Who had the time: {(kind, team, workload): pms}; and the faulted part of each workload's."""
    weights, faulted = defaultdict[Holder, int](int), defaultdict[Holder, int](int)
    for row in rows:
        if row.get("held_pms"):
            weights["base", row["team"], row["workload_id"]] += row["held_pms"]
            faulted["base", row["team"], row["workload_id"]] += row["faulted_pms"]
        for kind in KINDS:
            if row.get(f"{kind}_pms"):
                weights[kind, "", 0] += row[f"{kind}_pms"]
    return weights, faulted


def taken_off(
    key: Holder, cost: int, weight: int, faulted: dict[Holder, int], card: dict[str, Any]
) -> tuple[str, int]:
    """What is taken off a line, and why; ("", 0) where nothing is."""
    if faulted[key] and not card["bill_faulted"]:
        return "faulted", cost * faulted[key] // weight
    return (key[0], cost) if card.get(f"share_{key[0]}") == "none" else ("", 0)


def receivers(way: str | None, pool: str, rows: list[Given], guarantees: Guarantees) -> dict[str, int]:
    """The weights of the teams that share, empty where none does."""
    held = defaultdict[str, int](int)
    for segment, row in rows:
        if SEGMENTS[segment][1] == pool and row.get("held_pms"):
            held[row["team"]] += row["held_pms"]
    promised = {team: one for (where, team), one in guarantees.items() if where == pool and one}
    ways = {"even": dict.fromkeys({*held, *promised}, 1), "held": dict(held), "guarantee": promised}
    return ways.get(way or "", {})


@given(days())
def test_lines_are_what_the_rules_say(day: Day) -> None:
    lines, found = lines_of(day), {}
    for line in lines:
        who = (line["team"] or "", line["workload_id"] or 0)
        key = (line["rate_id"], line["kind"], line["account"], *who, line["detail"])
        found[key] = int(line["amount"] * 1_000_000)
    assert len(found) == len(lines)
    assert len({line["charge_id"] for line in lines}) == len(lines)
    assert found == expected(day)


@given(days())
def test_lines_add_up_to_the_pools_cost(day: Day) -> None:
    """Rule 2: base lines and what nobody held are capacity × price; every other line has its counter-line."""
    rows, prices, *_ = day
    lines = lines_of(day)
    for segment in range(len(SEGMENTS)):
        capacity = sum(
            value for n, row in rows if n == segment for name, value in row.items() if name in PARTS
        )
        exact = Fraction(capacity * prices[segment], NANO_GPU_HOUR_PMS * 1_000_000)
        mine = [line for line in lines if line["rate_id"] == segment]
        base = [line for line in mine if line["kind"] in ("base", *KINDS)]
        assert abs(sum(Fraction(line["amount"]) for line in base) - exact) <= Fraction(1, 2_000_000)
        assert sum(line["amount"] for line in mine) == sum(line["amount"] for line in base)
        assert sum(line["quantity_pms"] for line in base) == capacity
        assert sum(line["quantity_pms"] for line in mine) == capacity
        for line in base:
            own = Fraction(int(line["quantity_pms"]) * prices[segment], NANO_GPU_HOUR_PMS * 1_000_000)
            assert abs(Fraction(line["amount"]) - own) < Fraction(2, 1_000_000)
            assert line["amount"] >= 0


@given(days(), st.randoms(use_true_random=False))
@pytest.mark.patient
def test_order_and_cutting_change_nothing(day: Day, random: Random) -> None:
    """Rule 4: rows in another order, or cut in two, give the same lines, bit for bit."""
    rows, prices, card, guarantees = day
    cut: list[Given] = []
    for segment, row in rows:
        halves = {name: value // 2 for name, value in row.items() if name.endswith("_pms")}
        cut.append((segment, row | halves))
        cut.append((segment, row | {name: row[name] - half for name, half in halves.items()}))
    random.shuffle(cut)
    assert lines_of((cut, prices, card, guarantees)) == lines_of(day)


PARTS = {"held_pms", *(f"{kind}_pms" for kind in KINDS)}


def test_the_largest_fleet_does_not_overflow() -> None:
    """10,000 GPUs for a day at the highest price that a rate can have."""
    dearest = 10**18 - 1
    rows = [(0, {"team": "a", "workload_id": 1, "held_pms": FULL, "faulted_pms": FULL // 3})]
    rows += [(0, {"team": "b", "workload_id": 2, "held_pms": FULL // 7, "faulted_pms": 0})]
    card = dict.fromkeys(("share_unallocated", "share_unavailable", "share_unobserved"), "own")
    lines = lines_of((rows, [dearest // 10**6, 0, 0], card | {"bill_faulted": False}, {}))
    assert sum(line["amount"] for line in lines) == Decimal("274285714.285440")
