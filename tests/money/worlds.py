"""Days of usage and cards to price, by random or by hand, in a database that has no more than they need."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from typing import Any

import duckdb
import polars as pl
from hypothesis import strategies as st

from analytics.business import Day
from analytics.money.pricing import EMPTY, make_lines
from analytics.money.rates import FOREVER_MS, Card, Prices, Rate, Variant
from analytics.money.segments import VARIANTS, Used, lay, lay_segments
from analytics.money.terms import Commitment, Terms
from quartermaster.clock import to_datetime
from quartermaster.parts import GPU_PARTS
from tests.money.accountant import DAY_MS, HOUR_MS, KINDS, Asked, Key, Promise, Row, World

TEAMS = ("a", "b", "c")
SEGMENTS = (("pool-1", "H100"), ("pool-1", "A100"), ("pool-2", "H100"))
WAYS = ("own", "none", "even", "held", "guarantee", "weighted")
SYSTEM = 3  # the workload that serves everybody, where a card knows any
FULL = GPU_PARTS * HOUR_MS * 24 * 10_000
TIMES = ("held", "faulted", "borrowed", "idle_confirmed", "idle", "computing", *KINDS)
USAGE = (
    "cluster varchar, pool varchar, model varchar, device_id bigint, row_start_at timestamptz, "
    "row_end_at timestamptz, allocation_id bigint, team varchar, workload_id bigint, energy_j bigint, "
    + ", ".join(f"{name}_pms bigint" for name in TIMES)
)
QUOTA = "cluster varchar, pool varchar, team varchar, row_start_at timestamptz, guaranteed_pms bigint, lent_pms bigint"
DAY = Day("1970-01-01", 0, DAY_MS)

pms = st.one_of(st.just(0), st.integers(1, 50), st.integers(1, GPU_PARTS * HOUR_MS), st.integers(1, FULL))
price = st.integers(0, 10**12)


@st.composite
def usage_rows(draw: st.DrawFn) -> Row:
    """A row of one segment: held by a team's workload, or held by nobody."""
    segment = draw(st.integers(0, len(SEGMENTS) - 1))
    if not draw(st.booleans()):
        return replace(Row(segment), **{kind: draw(pms) for kind in KINDS})
    held = draw(pms)
    part = st.one_of(st.just(0), st.just(held), st.integers(0, held))
    faulted = draw(part)
    idle = draw(st.integers(0, held - faulted))
    team, workload = draw(st.sampled_from(TEAMS)), draw(st.integers(1, 3))
    return Row(
        segment,
        team,
        workload,
        allocation=100 * TEAMS.index(team) + 10 * workload + draw(st.integers(0, 1)),
        held=held,
        faulted=faulted,
        borrowed=draw(part),
        idle=idle,
        computing=draw(st.one_of(st.just(0), st.just(held - idle))),
        energy_j=draw(st.integers(0, 10**9)),
    )


@st.composite
def price_lines(draw: st.DrawFn) -> dict[str, int]:
    """A price line: the lent credit is never more than the reserved charge, as the configuration holds it."""
    line = {"gpu_hour": draw(price)}
    line |= {name: draw(price) for name in VARIANTS if draw(st.booleans())}
    if "lent" in line:
        line["lent"] = min(line["lent"], line.get("reserved", 0))
    return line


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """A day of usage, a price line for each segment, a card for all, guarantees, and all that a card may ask."""
    subjects = draw(st.sets(st.tuples(st.sampled_from(("pool-1", "pool-2")), st.sampled_from(TEAMS))))
    promises = [Promise(pool, team, draw(pms)) for pool, team in sorted(subjects)]
    allocations = [100 * t + 10 * w + n for t in range(3) for w in range(1, 4) for n in range(2)]
    some = st.frozensets(st.sampled_from(allocations))
    asked = st.builds(Asked, st.integers(0, 10**6), st.integers(0, 10**7), st.integers(1, HOUR_MS))
    sums = st.tuples(st.integers(1, 64 * GPU_PARTS), st.integers(0, 10**12))
    places = st.tuples(st.sampled_from(("pool-1", "pool-2")), st.sampled_from(TEAMS))
    return World(
        segments=SEGMENTS,
        prices=tuple(draw(price_lines()) for _ in SEGMENTS),
        rows=tuple(draw(st.lists(usage_rows(), max_size=12))),
        ways={kind: draw(st.sampled_from(WAYS)) for kind in (*KINDS, "system")},
        promises=tuple(replace(one, lent=draw(st.integers(0, one.guaranteed))) for one in promises),
        bill_faulted=draw(st.booleans()),
        lost_permille=draw(st.sampled_from((0, 500, 1000))),
        idle_coverage_permille=draw(st.sampled_from((1, 900, 1000))),
        weights=draw(st.dictionaries(st.sampled_from(TEAMS), st.integers(0, 5))),
        discounts=tuple(
            draw(st.lists(st.tuples(st.sampled_from(("a", "?", "*")), st.integers(1, 1000)), max_size=2))
        ),
        commitments=dict(sorted(draw(st.dictionaries(places, sums, max_size=2)).items())),
        preemptible=draw(some),
        lost=draw(some),
        system=frozenset({SYSTEM}) if draw(st.booleans()) else frozenset(),
        asked=draw(st.dictionaries(st.sampled_from(allocations), asked)),
        kwh_nano=draw(st.one_of(st.none(), price)),
        pue_permille=draw(st.sampled_from((1000, 1377))),
    )


def prices_of(world: World) -> Prices:
    """The card and the price lists that say what the world says."""
    terms = Terms(
        lost_permille=world.lost_permille,
        idle_coverage_permille=world.idle_coverage_permille,
        share_system=world.ways["system"],
        weights=tuple(world.weights.items()),
        discounts=world.discounts,
        commitments=tuple(
            Commitment(team, pool, "demo", parts, micros * 31)
            for (pool, team), (parts, micros) in world.commitments.items()
        ),
        bill_energy=world.kwh_nano is not None,
    )
    ways = {f"share_{kind}": world.ways[kind] for kind in KINDS}
    card = Card("2026", 0, FOREVER_MS, "EUR", **ways, bill_faulted=world.bill_faulted, terms=terms)
    rates = [
        Rate(
            *(n, "2026", 1, n, "*", pool, model, Decimal(line["gpu_hour"]) / 10**9, 0, FOREVER_MS),
            others=tuple(
                Variant(name, n, Decimal(nano) / 10**9) for name, nano in line.items() if name != "gpu_hour"
            ),
        )
        for n, ((pool, model), line) in enumerate(zip(SEGMENTS, world.prices, strict=True))
    ]
    return Prices((card,), tuple(rates))


@contextmanager
def laid(world: World) -> Generator[duckdb.DuckDBPyConnection]:
    """A database in which the world stands as the ledger and the configuration would give it."""
    start, end = to_datetime(0), to_datetime(HOUR_MS)
    usage = [
        {"cluster": "demo", "pool": SEGMENTS[row.segment][0], "model": SEGMENTS[row.segment][1]}
        | {"device_id": 1, "row_start_at": start, "row_end_at": end, "energy_j": row.energy_j}
        | {
            "team": row.team or None,
            "workload_id": row.workload or None,
            "allocation_id": row.allocation or None,
        }
        | {f"{name}_pms": getattr(row, name) for name in TIMES if name != "idle_confirmed"}
        | {"idle_confirmed_pms": row.idle}
        for row in world.rows
    ]
    quota = [
        {"cluster": "demo", "pool": one.pool, "team": one.team, "row_start_at": start}
        | {"guaranteed_pms": one.guaranteed, "lent_pms": one.lent}
        for one in world.promises
    ]
    with duckdb.connect() as connection:
        connection.execute("set global timezone = 'UTC'")
        connection.execute("set threads = 1")
        connection.execute(f"create table usage_hourly ({USAGE})")
        connection.execute(f"create table quota_hourly ({QUOTA})")
        for name in ("profiles", "preemptible", "asked", "lost", "system_workloads"):
            connection.execute(f"create temp table {name} ({EMPTY[name]})")
        facts = {
            "usage_hourly": usage,
            "quota_hourly": quota,
            "preemptible": [{"cluster": "demo", "allocation_id": one} for one in world.preemptible],
            "lost": [{"cluster": "demo", "allocation_id": one, "stopped_at": end} for one in world.lost],
            "system_workloads": [{"card": 0, "cluster": "demo", "workload_id": one} for one in world.system],
            "asked": [
                {"cluster": "demo", "allocation_id": one, "start_at": start, "end_at": to_datetime(asked.ms)}
                | {"cpu_milli": asked.cpu_milli, "memory_mib": asked.memory_mib}
                for one, asked in world.asked.items()
            ],
        }
        for table, values in facts.items():
            if values:
                connection.register("given_rows", pl.DataFrame(values, infer_schema_length=None))
                connection.execute(f"insert into {table} by name select * from given_rows")
        tariff = pl.Schema(
            {"cluster": pl.String(), "start_at": pl.Datetime("ms", "UTC"), "end_at": pl.Datetime("ms", "UTC")}
            | {"kwh_nano": pl.Int64(), "pue_permille": pl.Int64()}
        )
        spans = [("demo", start, to_datetime(DAY_MS), world.kwh_nano or 0, world.pue_permille)]
        lay(connection, "tariff_spans", tariff, spans)
        used = [Used("1970-01-01", "demo", pool, model, "", 0, HOUR_MS) for pool, model in SEGMENTS]
        lay_segments(connection, prices_of(world), used, {"1970-01-01": DAY})
        yield connection


def lines_of(world: World) -> list[dict[str, Any]]:
    """What the queries give, in order of the lines' ids, each with the number of its segment."""
    with laid(world) as connection:
        make_lines(connection, prices_of(world))
        lines = connection.execute("from new_lines order by charge_id").pl().to_dicts()
    pools = sorted({pool for pool, _ in world.commitments})
    for line in lines:
        of_commitments = line["model"] is None
        place = (line["pool"], line["model"])
        line["segment"] = (
            len(SEGMENTS) + pools.index(line["pool"]) if of_commitments else SEGMENTS.index(place)
        )
    return lines


def key(line: dict[str, Any]) -> Key:
    who = (line["team"] or "", line["workload_id"] or 0)
    return (line["segment"], line["kind"], line["account"], *who, line["detail"], line["measure"])


def micros(line: dict[str, Any]) -> int:
    return int(line["amount"] * 1_000_000)
