"""Lines of cost, by property: conserved for random usage and cards, whatever the order; as the accountant says."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analytics.money.pricing import NANO_GPU_HOUR_PMS
from analytics.money.segments import VARIANTS
from tests.depth import deep
from tests.money.accountant import KINDS, Promise, Row, World, account
from tests.money.worlds import FULL, SEGMENTS, key, lines_of, micros, worlds


@settings(max_examples=deep(50, 15))
@given(worlds())
@pytest.mark.patient
def test_lines_are_what_the_accountant_says(world: World) -> None:
    lines = lines_of(world)
    assert len({line["charge_id"] for line in lines}) == len(lines)
    assert {key(line): micros(line) for line in lines} == account(world)


@settings(max_examples=deep(50, 15))
@given(worlds())
@pytest.mark.patient
def test_lines_add_up_to_the_pools_cost(world: World) -> None:
    """Rule 2: base lines and what nobody held are capacity × price; every other line has its counter-line."""
    lines = lines_of(world)
    for segment, prices in enumerate(world.prices):
        capacity = sum(row.capacity for row in world.rows if row.segment == segment)
        exact = Fraction(capacity * prices["gpu_hour"], NANO_GPU_HOUR_PMS * 1_000_000)
        mine = [line for line in lines if line["segment"] == segment]
        base = [line for line in mine if line["kind"] in ("base", *KINDS)]
        gpus = [line for line in base if line["measure"] == "gpu_hour"]
        assert abs(sum(Fraction(line["amount"]) for line in gpus) - exact) <= Fraction(1, 2_000_000)
        assert sum(line["amount"] for line in mine) == sum(line["amount"] for line in base)
        assert sum(line["quantity_pms"] for line in gpus) == capacity
        assert sum(line["quantity_pms"] for line in mine) == capacity
        assert all(line["amount"] >= 0 for line in base)
    by_detail = dict[tuple[int, str, str], Decimal]()
    for line in lines:
        if line["kind"] in ("adjustment", "shared", "clearing"):
            subject = (line["segment"], line["detail"], line["measure"])
            by_detail[subject] = by_detail.get(subject, Decimal(0)) + line["amount"]
    assert not any(by_detail.values())


@settings(max_examples=deep(50, 15))
@given(worlds())
@pytest.mark.patient
def test_what_is_taken_off_a_line_is_never_more_than_the_line(world: World) -> None:
    """However many adjustments touch it: each takes of what those before it left."""
    lines = lines_of(world)
    off = dict[tuple[object, ...], Decimal]()
    for line in lines:
        if line["kind"] == "adjustment" and line["amount"] < 0 and line["detail"] not in ("lent", "system"):
            subject = (line["segment"], line["team"], line["workload_id"])
            off[subject] = off.get(subject, Decimal(0)) + line["amount"]
    for line in lines:
        if line["kind"] == "base" and line["measure"] == "gpu_hour":
            subject = (line["segment"], line["team"], line["workload_id"])
            assert line["amount"] + off.get(subject, 0) >= 0


@settings(max_examples=deep(25, 15))
@given(worlds(), st.randoms(use_true_random=False))
@pytest.mark.patient
def test_order_and_cutting_change_nothing(world: World, random: Random) -> None:
    """Rule 4: rows in another order, or nobody's cut in two, give the same lines, bit for bit."""
    cut: list[Row] = []
    for row in world.rows:
        if row.held:
            cut.append(row)
            continue
        halves = {kind: getattr(row, kind) // 2 for kind in KINDS}
        cut.append(replace(row, **halves))
        cut.append(replace(row, **{kind: getattr(row, kind) - half for kind, half in halves.items()}))
    random.shuffle(cut)
    assert lines_of(replace(world, rows=tuple(cut))) == lines_of(world)


def test_the_largest_fleet_does_not_overflow() -> None:
    """10,000 GPUs for a day at a price that no GPU has, with every adjustment."""
    dearest = 10**12
    line = dict.fromkeys(("gpu_hour", *VARIANTS), dearest) | {"borrowed": 0}
    rows = (
        Row(0, "a", 1, 1, held=FULL, faulted=FULL // 3, borrowed=FULL // 3, idle=FULL // 3),
        Row(0, "b", 2, 2, held=FULL // 7),
    )
    world = World(SEGMENTS, (line,) * 3, rows, dict.fromkeys((*KINDS, "system"), "own"))
    world = replace(world, promises=(Promise("pool-1", "a", FULL, FULL // 2),), discounts=(("*", 1),))
    lines = lines_of(world)
    assert sum(line["amount"] for line in lines) == Decimal("274285714.285714")
    assert {key(line): micros(line) for line in lines} == account(world)
