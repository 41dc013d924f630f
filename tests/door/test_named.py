"""Each named question: the rows of a small fleet's week, and what is answered, worked out by hand."""

import json
from collections.abc import Generator
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import polars as pl
import pytest

from quartermaster.clock import HOUR_MS, from_iso
from quartermaster.ids import content_id
from quartermaster.parts import GPU_PARTS
from sql.ledger import Ledger, memory_ledger
from sql.parameters import values
from sql.questions import question, questions
from tests.money.books import Books

MONDAY, TUESDAY, NEXT_MONDAY = (f"2026-11-{day}T00:00:00Z" for day in (23, 24, 30))
GPU_H = GPU_PARTS * HOUR_MS


@pytest.fixture(scope="module")
def week() -> Generator[Ledger]:
    with memory_ledger() as ledger:
        books = Books(ledger)
        used(books)
        promised(books)
        paid(books)
        noticed(books)
        there_now(books)
        books.fill()
        peak = "update usage_daily set fb_used_peak_mib = 8192 where team = 'nlp'"  # Books keeps no memory by day
        ledger.write("named/1/1", lambda cursor: cursor.execute(peak) and None)
        yield ledger


def used(books: Books) -> None:
    """vision: 20 GPU-hours on Monday (10 computing, 8 idle, 2 unknown); nlp: 4 on Tuesday, all computing, small."""
    energy = {"energy_j": 36_000_000, "energy_known_pms": 10 * GPU_H}
    books.usage(MONDAY, hours=10, gpus=2, team="vision", computing=0.5, unknown=0.1, **energy)
    small = {"activity_peak_permille": 120, "node": "n2", "model": "NVIDIA A100"}
    books.usage(TUESDAY, hours=4, gpus=1, team="nlp", computing=1, faulted=0.25, **small)
    books.usage(MONDAY, hours=6, gpus=1, unavailable=0.5)
    books.usage(NEXT_MONDAY, hours=1, gpus=1, team="unassigned", workload="stray")
    books.name("vision-job", "Job", "train")
    books.name("nlp-job", "Deployment", "serve", namespace="nlp")
    books.name("stray", "Job", "stray", namespace="lost")


def promised(books: Books) -> None:
    lent = {"held_pms": 4 * GPU_H, "within_pms": 4 * GPU_H, "lent_pms": 2 * GPU_H, "unused_pms": 6 * GPU_H}
    books.guarantee("nlp", 10, MONDAY, **lent, waiting_pms=0)
    span = {
        "row_start_at": MONDAY,
        "row_end_at": "2026-11-23T01:00:00Z",
        "cluster": "demo",
        "pool": "training",
    }
    books.add("lending_hourly", **span, lender="nlp", borrower="vision", lent_pms=2 * GPU_H)
    own = {"cluster": "demo", "pool": "training", "start_at": MONDAY, "end_at": None, "revision": 0}
    promise = own | {"team": "nlp", "kind": "promise", "limit_parts": 12 * GPU_PARTS}
    books.add("quotas_versions", quota_id=1, guaranteed_parts=10 * GPU_PARTS, **promise)
    offer = own | {"team": "nlp", "kind": "offer", "limit_parts": None}
    books.add("quotas_versions", quota_id=2, guaranteed_parts=3 * GPU_PARTS, **offer)
    for gone, demand, minutes in ((True, 1, 10), (True, 2, 30)):
        since = from_iso(MONDAY)
        row = {"cluster": "demo", "pool": "training", "demand_id": demand, "start_at": since, "revision": 0}
        row |= {"end_at": since + minutes * 60_000 if gone else None, "gpu_parts": 2 * GPU_PARTS, "pods": 1}
        books.add("demand_versions", **row)


def paid(books: Books) -> None:
    line = {
        "cluster": "demo",
        "pool": "training",
        "model": "NVIDIA H100",
        "currency": "EUR",
        "measure": "gpu_hour",
    }
    told: list[tuple[str, str | None, str | None, str, str, int]] = [
        ("2026-11-23", "vision", "vision-job", "base", "40.000000", 20),
        ("2026-11-23", "vision", None, "shared", "6.000000", 0),
        ("2026-11-23", None, None, "clearing", "-6.000000", 0),
        ("2026-11-23", None, None, "unallocated", "6.000000", 3),
        ("2026-11-23", None, None, "unavailable", "6.000000", 3),
        ("2026-11-20", "vision", "vision-job", "base", "10.000000", 5),
    ]
    for number, (day, team, workload, kind, amount, gpu_h) in enumerate(told):
        account = "clearing" if kind == "clearing" else "team" if team else "own"
        books.add(
            "charges",
            **line,
            charge_id=number,
            business_day=day,
            team=team,
            kind=kind,
            account=account,
            amount=Decimal(amount),
            quantity_pms=gpu_h * GPU_H,
            workload_id=content_id("workload", workload) if workload else None,
        )
    for number, (clusters, price) in enumerate((("*", "9"), ("demo", "0.30"), ("dem?", "8"))):
        tariff = {
            "tariff_id": number,
            "cluster_glob": clusters,
            "kwh_price": Decimal(price),
            "currency": "EUR",
        }
        start = "2026-01-01T00:00:00Z" if clusters != "dem?" else NEXT_MONDAY
        books.add(
            "tariffs_versions",
            **tariff,
            start_at=start,
            pue_permille=1200,
            grams_per_kwh=Decimal(400),
            revision=0,
        )
    for version, start, price in ((1, "2026-01-01T00:00:00Z", "2.00"), (2, MONDAY, "2.50")):
        books.rate(price, model="*H100*", version=version, position=0, start_at=from_iso(start), author="fin")
    team = {"start_at": MONDAY, "end_at": None, "revision": 0, "team_id": 1}
    books.add("teams_versions", **team, team="vision", department="research", cost_centre="CC1")


def noticed(books: Books) -> None:
    finding = {"cluster": "demo", "team": "vision", "start_at": MONDAY, "end_at": None, "revision": 0}
    finding |= {"currency": "EUR", "coverage_permille": 900, "state": "open"}
    doubts = json.dumps({"doubts": ["coverage is thin"]})
    told = {"kind": "idle workload", "subject": "Job ns/train", "cost": Decimal("12.5"), "evidence": doubts}
    books.add("findings_versions", finding_id=1, **finding, **told)
    told = {"kind": "idle quota", "subject": "vision in training", "cost": None, "evidence": "{}"}
    books.add("findings_versions", finding_id=2, **finding, **told)
    gap = {
        "cluster": "demo",
        "start_at": MONDAY,
        "end_at": "2026-11-23T02:00:00Z",
        "revision": 0,
        "gap_id": 1,
    }
    books.add("gaps_versions", **gap, covers="telemetry", source="dcgm", reason="refused", node="n1")
    deed = {
        "cluster": "demo",
        "number": 1,
        "told_at": MONDAY,
        "phase": "outcome",
        "act": "stop",
        "team": "vision",
    }
    deed |= {"kind": "Job", "namespace": "ns", "name": "train", "frees_parts": 2 * GPU_PARTS}
    books.add("deeds", **deed, cause="owner waits", result="done", words="gone")


def there_now(books: Books) -> None:
    """n1: 8 GPUs, 5 held; n2: 4 GPUs, one with two sevenths held; n3 is cordoned with 2."""
    span = {"cluster": "demo", "start_at": MONDAY, "end_at": None, "revision": 0}
    for node, gpus, open_ in (("n1", 8, True), ("n2", 4, True), ("n3", 2, False)):
        row = {"node": node, "pool": "training", "model": "NVIDIA H100", "gpu_count": gpus}
        books.add(
            "nodes_versions", **span, **row, schedulable=open_, ready=True, cpu_milli=1000, memory_mib=1024
        )
        for index in range(gpus):
            device = {
                "device_id": content_id(node, index),
                "node": node,
                "device_index": index,
                "kind": "gpu",
            }
            books.add(
                "devices_versions", **span, **device, parts=GPU_PARTS, healthy=True, gpu_uuid=f"{node}{index}"
            )
    for node, index, parts in (
        *(("n1", index, GPU_PARTS) for index in range(5)),
        ("n2", 0, GPU_PARTS * 2 // 7),
    ):
        held = {"holding_id": content_id("h", node, index), "allocation_id": 1, "parts": parts}
        books.add("holdings_versions", **span, **held, device_id=content_id(node, index))


WEEK = {"from": "2026-11-23", "to": "2026-11-29"}
AT = datetime(2026, 11, 23, tzinfo=UTC)
EXPECTED: dict[str, tuple[dict[str, str], list[tuple[Any, ...]]]] = {
    "utilization-by-team": (WEEK, [("vision", 20, 10, 8, 2, 55.6, 90), ("nlp", 4, 4, 0, 0, 100, 100)]),
    "idle-by-team": (WEEK | {"team": "vision"}, [("vision", 20, 8, 2, 44.4)]),
    "idle-workloads": (
        WEEK | {"top": "1"},
        [("vision", "ns", "Job", "train", 20, 8, 2)],
    ),
    "idle-now": ({}, [("demo", "vision", "idle workload", "Job ns/train", AT, 12.5, "EUR", 90, 1)]),
    "idle-cost": (WEEK, [("vision", "EUR", 8, 16, 40)]),
    "lending-matrix": ({"pool": "training"}, [("demo", "training", "nlp", "vision", 2)]),
    "quota-against-use": (WEEK, [("demo", "training", "nlp", 10, 4, 0, 2, 6, 0, 40)]),
    "queue-waits": (WEEK, [("demo", "training", 2, 0, None, 20, 28, 30)]),
    "fragmentation": ({}, [("demo", "training", 6.714286, 2, 3.714286, 6, 2, 0, 0, 0.714286)]),
    "free-now": ({}, [("demo", "training", "NVIDIA H100", 3, 14, 5.285714, 6.714286, 0, 2)]),
    "mig-fit": ({"hours": "4"}, [("nlp", "nlp", "Deployment", "serve", "1/7", 4, 8, 12, 100)]),
    "energy": (
        WEEK,
        [
            # 10 kWh × PUE 1.2 × 0.30 EUR, × 400 g; the tariff of all clusters is the shorter pattern
            ("vision", 10, 1000, 50, 12, 3.6, "EUR", 4.8),
            ("nlp", 0, None, 0, 0, 0, "EUR", 0),
            (None, 0, None, 0, 0, 0, "EUR", 0),
        ],
    ),
    "coverage-holes": ({}, [("demo", date(2026, 11, 23), "n1", 20, 2, 90)]),
    "coverage-by-node": (WEEK, [("demo", "n1", 20, 2, 90), ("demo", "n2", 4, 0, 100)]),
    "faults-by-node": (WEEK, [("demo", "n1", 0, 3), ("demo", "n2", 1, 0)]),
    "price-changes": (
        {},
        [
            (
                "2026",
                "*",
                "*",
                "*H100*",
                None,
                None,
                "gpu_hour",
                datetime(2026, 1, 1, tzinfo=UTC),
                None,
                2,
                "EUR",
                None,
                "fin",
            ),
            ("2026", "*", "*", "*H100*", None, None, "gpu_hour", AT, 2, 2.5, "EUR", 25, "fin"),
        ],
    ),
    "audit": (
        {"team": "vision"},
        [(AT, "demo", "outcome", "stop", "vision", "Job", "ns", "train", 2, "owner waits", "done", "gone")],
    ),
    "top-movers": (WEEK, [("vision", 10, 46, 36, "EUR", 360)]),
    "cost-by-team": (WEEK, [("vision", "base", 40, "EUR"), ("vision", "shared", 6, "EUR")]),
    "cost-by-department": (WEEK, [("research", "CC1", 1, 46, "EUR")]),
    "cost-by-model": (WEEK, [("demo", "NVIDIA H100", 52, "EUR", 26)]),
    "cost-by-day": ({"from": "2026-11-23"}, [(date(2026, 11, 23), "EUR", 52, 12)]),
    "top-costs": ({}, [("vision", "ns", "Job", "train", 50, "EUR")]),
    "capacity-by-pool": (WEEK, [("demo", "training", 30, 24, 3, 3, 0)]),
    "gaps-by-reason": ({"cluster": "demo"}, [("demo", "dcgm", "telemetry", "refused", 1, 2, 0)]),
    "open-findings": (
        {},
        [
            ("demo", "idle workload", "Job ns/train", "vision", AT, 12.5, "EUR", 1),
            ("demo", "idle quota", "vision in training", "vision", AT, None, "EUR", 0),
        ],
    ),
    "promised-now": ({}, [("demo", "training", "nlp", 7, 12, 1)]),
    "unassigned": ({}, [("demo", "lost", 1, 1)]),
}


@pytest.mark.parametrize("name", EXPECTED)
@pytest.mark.patient
def test_what_is_answered(week: Ledger, name: str) -> None:
    given, expected = EXPECTED[name]
    asked = question(name)
    found = week.query(asked.query, values(asked.parameters, given))
    assert [tuple(map(figure, row)) for row in found.rows()] == [tuple(map(figure, row)) for row in expected]


def test_every_named_question_is_here() -> None:
    assert set(EXPECTED) == {each.name for each in questions()}


@pytest.mark.parametrize(
    "name", ["utilization-by-team", "idle-by-team", "cost-by-team", "top-costs", "audit"]
)
def test_a_hostile_team_is_a_team_that_is_not_there(week: Ledger, name: str) -> None:
    asked = question(name)
    hostile = values(asked.parameters, {"team": "' or 1=1 --"})
    assert week.query(asked.query, hostile).is_empty()


def figure(cell: object) -> object:
    """A number by its value, whatever its type."""
    return round(float(cell), 6) if isinstance(cell, int | float | Decimal) else cell


def test_views_are_in_peoples_units(week: Ledger) -> None:
    day = week.query(
        "select held_gpu_h, energy_kwh, typeof(held_gpu_h) as type from reporting.usage_by_day where team = 'vision'"
    )
    assert day.rows() == [(Decimal("20.000000"), Decimal("10.000000"), "DECIMAL(18,6)")]
    device = week.query(
        "select gpus, held_gpus from reporting.devices where node = 'n2' order by held_gpus desc"
    )
    assert device.rows()[0] == (Decimal("1.000000"), Decimal("0.285714"))
    assert week.query("select sum(gpu_h) from reporting.costs where kind = 'base'").item() == 25


def test_the_views_lose_nothing_but_the_seventh_digit(week: Ledger) -> None:
    exact = week.query("select sum(held_pms) / 604800000000 as gpu_h from usage_daily").item()
    shown = week.query("select sum(held_gpu_h) as gpu_h from reporting.usage_by_day").item()
    assert abs(float(shown) - exact) < 1e-6 * week.query("from usage_daily").height


@pytest.mark.patient
def test_telemetry_is_in_watts_and_percent() -> None:
    at = from_iso(MONDAY)
    sample = {"cluster": ["c"], "series_id": [1], "sampled_at": [at], "source": ["dcgm"], "power_dw": [3501]}
    series = {
        "cluster": ["c"],
        "series_id": [1],
        "start_at": [0],
        "end_at": [None],
        "node": ["n"],
        "revision": [0],
    }
    with memory_ledger() as ledger:
        tables = {"samples": sample | {"gr_engine_permille": [905]}, "series_versions": series}
        ledger.append("t/1/1", {table: pl.DataFrame(rows) for table, rows in tables.items()})
        found = ledger.query("select node, power_w, activity_percent from reporting.telemetry").rows()
    assert found == [("n", Decimal("350.1"), Decimal("90.5"))]
