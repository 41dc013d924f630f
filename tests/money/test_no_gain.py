"""No team gains by raising a guarantee that it does not use: for any card that the configuration takes, any history."""

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from quartermaster.config.prices import PricePart
from quartermaster.parts import GPU_PARTS
from quartermaster.remainder import share
from tests.depth import deep
from tests.money.accountant import HOUR_MS, Promise, Row, World
from tests.money.worlds import TEAMS, lines_of, worlds

CAPACITY = 16 * GPU_PARTS
gpus = st.integers(0, 16).map(lambda n: n * GPU_PARTS)


def promises(pool: str, capacity: int, held: dict[str, int], guaranteed: dict[str, int]) -> list[Promise]:
    """Who lends to whom, in parts over an hour (docs/accounting.md): what is borrowed comes from what is promised to
    nobody, then from unused guarantees in proportion."""
    borrowed = sum(max(0, held.get(team, 0) - promised) for team, promised in guaranteed.items())
    borrowed += sum(parts for team, parts in held.items() if team not in guaranteed)
    unused = {team: max(0, promised - held.get(team, 0)) for team, promised in guaranteed.items()}
    spare = max(0, capacity - sum(guaranteed.values()))
    lent = min(max(0, borrowed - spare), sum(unused.values()))
    parts = share(lent, unused) if lent else dict.fromkeys(unused, 0)
    return [
        Promise(pool, team, promised * HOUR_MS, parts[team] * HOUR_MS)
        for team, promised in guaranteed.items()
    ]


def owed(world: World, team: str) -> Decimal:
    lines = lines_of(world)
    return sum(
        (line["amount"] for line in lines if line["account"] == "team" and line["team"] == team), Decimal(0)
    )


@st.composite
def histories(draw: st.DrawFn) -> tuple[World, World]:
    """An hour of one pool, before and after `a` raises its guarantee above what it holds."""
    world = draw(worlds())
    left, held, rows = CAPACITY, dict[str, int](), list[Row]()
    for team in TEAMS:
        parts = min(draw(gpus), left)
        left -= parts
        held[team] = parts
        pms = parts * HOUR_MS
        borrowed = draw(st.integers(0, pms)) if team != "a" else 0
        rows.append(
            Row(draw(st.integers(0, 1)), team, 1, 100 * TEAMS.index(team) + 10, pms, borrowed=borrowed)
        )
    rows.append(Row(draw(st.integers(0, 1)), unallocated=left * HOUR_MS))
    guaranteed = {team: draw(gpus) for team in TEAMS}
    guaranteed["a"] = held["a"] + draw(gpus)
    raised = guaranteed | {"a": guaranteed["a"] + draw(gpus)}
    world = replace(world, rows=tuple(rows), system=frozenset())
    return (
        replace(world, promises=tuple(promises("pool-1", CAPACITY, held, guaranteed))),
        replace(world, promises=tuple(promises("pool-1", CAPACITY, held, raised))),
    )


@settings(max_examples=deep(30, 10))
@given(histories())
@pytest.mark.patient
def test_no_team_gains_by_a_guarantee_that_it_does_not_use(history: tuple[World, World]) -> None:
    """But for what rounding may give: a millionth for each line that its guarantee has a part in."""
    before, after = history
    assert owed(after, "a") >= owed(before, "a") - Decimal("0.000010")


@pytest.mark.parametrize(("reserved", "lent"), [({}, "0.01"), ({"reserved": "0.30"}, "0.300000001")])
def test_the_configuration_refuses_a_card_that_would_let_it(reserved: dict[str, str], lent: str) -> None:
    with pytest.raises(ValidationError, match="a team would gain by raising a guarantee"):
        PricePart.model_validate({"gpu_hour": "3", "lent": lent, **reserved})


def test_without_the_refusal_it_would_gain() -> None:
    """The inequality is needed: a lent credit above the reserved charge pays for a promise that nobody uses."""
    line = {"gpu_hour": 10**9, "reserved": 10**8, "lent": 2 * 10**8}
    held = {"a": 0, "b": CAPACITY}
    worlds_ = [
        World(
            (("pool-1", "H100"), ("pool-1", "A100"), ("pool-2", "H100")),
            (line,) * 3,
            (Row(0, "b", 1, 10, CAPACITY * HOUR_MS),),
            dict.fromkeys(("unallocated", "unavailable", "unobserved", "system"), "own"),
            promises=tuple(promises("pool-1", CAPACITY, held, {"a": parts})),
        )
        for parts in (0, 4 * GPU_PARTS)
    ]
    assert [owed(world, "a") for world in worlds_] == [Decimal(0), Decimal("-0.4")]
