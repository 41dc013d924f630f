"""The checks: silent on a sound ledger, and each names the rows that break its rule."""

from collections.abc import Iterator
from typing import Any

import polars as pl
import pytest

from quartermaster.clock import HOUR_MS
from quartermaster.errors import InputError
from sql import checks
from sql.ledger import Cursor, Ledger, memory_ledger

H0 = 1_790_000_000_000 // HOUR_MS * HOUR_MS
FULL = 168_000 * HOUR_MS
Rows = dict[str, list[dict[str, Any]]]

NO_USE = dict.fromkeys(
    (
        *(
            "capacity_pms",
            "held_pms",
            "computing_pms",
            "idle_pms",
            "unknown_pms",
            "unallocated_pms",
            "unavailable_pms",
        ),
        *(
            "unobserved_pms",
            "idle_confirmed_pms",
            "stalled_pms",
            "faulted_pms",
            "not_started_pms",
            "borrowed_pms",
        ),
        *("estimated_pms", "overbooked_pms", "energy_j", "energy_known_pms", "activity_permille_pms"),
    ),
    0,
)
NO_QUOTA = dict.fromkeys(
    (
        "guaranteed_pms",
        "held_pms",
        "within_pms",
        "borrowed_pms",
        "lent_pms",
        "from_spare_pms",
        "unused_pms",
        "waiting_pms",
    ),
    0,
)


def usage(**changed: Any) -> dict[str, Any]:
    row = {
        "cluster": "c",
        "row_start_at": H0,
        "row_end_at": H0 + HOUR_MS,
        "pool": "p",
        "model": "H100",
        "node": "n",
    }
    return row | {"device_id": 1, "allocation_id": None, "workload_id": None, "team": ""} | NO_USE | changed


def day(**changed: Any) -> dict[str, Any]:
    row = {
        "cluster": "c",
        "business_day": "2026-09-21",
        "pool": "p",
        "model": "H100",
        "team": "",
        "workload_id": None,
    }
    return row | NO_USE | changed


def quota(**changed: Any) -> dict[str, Any]:
    return {"cluster": "c", "row_start_at": H0, "row_end_at": H0 + HOUR_MS, "pool": "p"} | NO_QUOTA | changed


def charge(**changed: Any) -> dict[str, Any]:
    row = {"charge_id": 1, "cluster": "c", "business_day": "2026-09-21", "pool": "p", "currency": "EUR"}
    return row | {"kind": "base", "amount": "1.000000", "rate_id": 5, "workload_id": 9} | changed


HELD = {"allocation_id": 7, "workload_id": 9, "team": "vision", "capacity_pms": FULL, "held_pms": FULL}


def deed(number: int, **changed: Any) -> dict[str, Any]:
    return {"cluster": "c", "number": number, "row_hash": f"hash {number}", "phase": "intent"} | changed


SOUND: Rows = {
    "nodes_versions": [
        {"cluster": "c", "node": "n", "start_at": 0, "pool": "p", "gpu_count": 2, "revision": 0}
    ],
    "devices_versions": [
        {
            "cluster": "c",
            "device_id": 1,
            "start_at": 0,
            "node": "n",
            "device_index": 0,
            "parts": 168_000,
            "evidence": "kubelet",
        },
        {
            "cluster": "c",
            "device_id": 3,
            "start_at": 0,
            "node": "n",
            "device_index": 0,
            "parts": 168_000,
            "evidence": "assumed",
        },
    ],
    "workloads_versions": [{"cluster": "c", "workload_id": 9, "start_at": 0, "name": "w"}],
    "allocations_versions": [
        {
            "cluster": "c",
            "allocation_id": 7,
            "start_at": H0 - HOUR_MS,
            "started_at": H0,
            "workload_id": 9,
            "node": "n",
        }
    ],
    "holdings_versions": [
        {"cluster": "c", "holding_id": 1, "start_at": 0, "allocation_id": 7, "device_id": 1, "parts": 168_000}
    ],
    "gaps_versions": [{"cluster": "c", "gap_id": 1, "start_at": 5, "end_at": 5}],
    "series_versions": [{"cluster": "c", "series_id": 4, "start_at": 0}],
    "samples": [{"cluster": "c", "series_id": 4, "sampled_at": H0, "source": "dcgm", "hold_ms": 75_000}],
    "usage_hourly": [
        usage(**HELD, computing_pms=FULL, energy_j=5, energy_known_pms=FULL, borrowed_pms=FULL),
        usage(device_id=2, capacity_pms=FULL, unallocated_pms=FULL),
    ],
    "usage_daily": [
        day(workload_id=9, team="vision", capacity_pms=FULL, held_pms=FULL, computing_pms=FULL, energy_j=5),
        day(capacity_pms=FULL, unallocated_pms=FULL),
    ],
    "quota_hourly": [
        quota(team="vision", held_pms=9, within_pms=2, borrowed_pms=7, from_spare_pms=3),
        quota(team="speech", guaranteed_pms=4, lent_pms=4),
    ],
    "lending_hourly": [
        {
            "cluster": "c",
            "row_start_at": H0,
            "pool": "p",
            "lender": "speech",
            "borrower": "vision",
            "lent_pms": 4,
        }
    ],
    "deeds": [deed(1), deed(2, phase="outcome", intent="hash 1"), deed(3, phase="answered", request_id=6)],
    "deed_heads": [{"cluster": "c", "number": 3, "row_hash": "hash 3"}],
    "requests": [{"cluster": "c", "request_id": 6, "kind": "freeze"}],
    "rates": [{"rate_id": 5, "card": "2026"}],
    "charges": [
        charge(),
        charge(charge_id=2, kind="adjustment", amount="-0.250000"),
        charge(charge_id=3, kind="clearing", amount="0.250000", corrects=2),
    ],
}
BROKEN: dict[str, Rows] = {
    "rule_one": {
        "usage_hourly": [usage(device_id=2, held_pms=1, idle_pms=1), usage(device_id=2, unknown_pms=None)]
    },
    "rule_one_daily": {"usage_daily": [day(held_pms=1, computing_pms=1)]},
    "capacity_of_devices": {
        "nodes_versions": [{"cluster": "c", "node": "m", "start_at": H0 + 1, "pool": "q", "gpu_count": 1}]
    },
    "parts_of_device": {"usage_hourly": [usage(capacity_pms=1, unallocated_pms=1)]},
    "usage_orphans": {
        "usage_hourly": [usage(allocation_id=70), usage(workload_id=90), usage(node="nowhere")]
    },
    "holding_orphans": {
        "holdings_versions": [
            {"cluster": "c", "holding_id": 2, "start_at": 0, "allocation_id": 7, "device_id": 99}
        ],
        "allocations_versions": [{"cluster": "c", "allocation_id": 8, "start_at": 0, "workload_id": 90}],
    },
    "sample_orphans": {"samples": [{"cluster": "c", "series_id": 40, "sampled_at": H0, "hold_ms": 1}]},
    "samples_twice": {
        "samples": [{"cluster": "c", "series_id": 4, "sampled_at": H0, "source": "dcgm", "hold_ms": 1}]
    },
    "open_on_gone_nodes": {
        "nodes_versions": [
            {
                "cluster": "c",
                "node": "n",
                "start_at": 0,
                "end_at": H0 + 5 * HOUR_MS,
                "gpu_count": 2,
                "pool": "p",
                "revision": 1,
            }
        ]
    },
    "impossible_spans": {
        "usage_hourly": [usage(row_end_at=H0), usage(row_end_at=H0 + HOUR_MS + 1)],
        "allocations_versions": [
            {"cluster": "c", "allocation_id": 8, "start_at": 9, "started_at": 8, "workload_id": 9}
        ],
        "samples": [{"cluster": "c", "series_id": 4, "sampled_at": H0 + 1, "hold_ms": 0}],
    },
    "held_outside": {
        "usage_hourly": [usage(row_start_at=H0 - 2 * HOUR_MS, row_end_at=H0 - HOUR_MS, **HELD, idle_pms=FULL)]
    },
    "negative": {
        "usage_hourly": [
            usage(device_id=2, unallocated_pms=-1, unavailable_pms=1),
            usage(device_id=2, borrowed_pms=None),
        ],
        "quota_hourly": [quota(team="x", held_pms=-1, within_pms=-1)],
        "lending_hourly": [
            {"cluster": "c", "row_start_at": H0, "pool": "p", "lender": "x", "borrower": "y", "lent_pms": -4}
        ],
    },
    "overlays": {
        "usage_hourly": [usage(device_id=2, stalled_pms=1), usage(device_id=2, idle_confirmed_pms=1)]
    },
    "daily_of_hourly": {"usage_daily": [day(team="late", capacity_pms=1, unallocated_pms=1)]},
    "quota_sums": {"quota_hourly": [quota(pool="q", team="x", held_pms=2, within_pms=1)]},
    "adjustments": {"charges": [charge(charge_id=4, kind="adjustment", amount="-0.010000")]},
    "deed_numbers": {"deeds": [deed(3), deed(5)]},
    "deed_orphans": {
        "deeds": [deed(4, phase="outcome", intent="none"), deed(5, phase="answered", request_id=7)]
    },
    "charge_orphans": {"charges": [charge(charge_id=5, rate_id=50), charge(charge_id=6, corrects=60)]},
    "backwards": {"gaps_versions": [{"cluster": "c", "gap_id": 2, "start_at": 5, "end_at": 4}]},
}
EXPECTED = {
    "impossible_spans": 4,
    "negative": 4,
    "usage_orphans": 3,
    "overlays": 2,
    "rule_one": 2,
    "charge_orphans": 2,
    "deed_numbers": 3,
    "deed_orphans": 2,
    "holding_orphans": 2,
    "open_on_gone_nodes": 3,
}


@pytest.fixture(scope="module")
def sound_ledger() -> Iterator[Ledger]:
    with memory_ledger() as opened:
        opened.append("sound/1/1", frames(SOUND))
        yield opened


def frames(rows: Rows) -> dict[str, pl.DataFrame]:
    return {table: pl.DataFrame(table_rows, infer_schema_length=None) for table, table_rows in rows.items()}


def test_every_check_has_its_case() -> None:
    assert set(BROKEN) == set(checks.names())


@pytest.mark.patient
def test_a_sound_ledger_passes_every_check(sound_ledger: Ledger) -> None:
    begun: list[str] = []
    assert checks.run(sound_ledger, begun=begun.append) == []
    assert begun == checks.names()


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.patient
def test_a_check_names_the_rows_that_break_its_rule(name: str, sound_ledger: Ledger) -> None:
    sound_ledger.append(f"{name}/1/1", frames(BROKEN[name]))
    try:
        [breach] = checks.run(sound_ledger, [name])
    finally:
        sound_ledger.write(f"{name}/1/2", lambda cursor: mend(sound_ledger, cursor, list(BROKEN[name])))
    assert breach.check == name
    assert breach.count == EXPECTED.get(name, 1)
    assert len(breach.rows) == breach.count
    assert breach.rule


def mend(ledger: Ledger, cursor: Cursor, tables: list[str]) -> None:
    """The tables as they were."""
    for table in tables:
        cursor.execute(f"delete from lake.{table}")
        if table in SOUND:
            ledger.insert(cursor, table, frames(SOUND)[table], recorded_at=H0)


@pytest.mark.patient
def test_a_late_difference_belongs_to_the_capacity() -> None:
    with memory_ledger() as ledger:
        ledger.append("sound/1/1", frames(SOUND | {"usage_hourly": SOUND["usage_hourly"][:1]}))
        [breach] = checks.run(ledger, ["capacity_of_devices"])
        assert breach.rows.select("usage_pms", "devices_pms").row(0) == (FULL, 2 * FULL)
        late = {"cluster": "c", "row_start_at": H0, "pool": "p", "capacity_pms": FULL}
        ledger.append("late/1/1", {"usage_late": pl.DataFrame([late])})
        assert checks.run(ledger, ["capacity_of_devices"]) == []


@pytest.mark.patient
def test_the_capacity_follows_a_node_through_its_changes() -> None:
    half = H0 + HOUR_MS // 2
    rows: Rows = {
        "nodes_versions": [
            {"cluster": "c", "node": "n", "start_at": 0, "pool": "p", "gpu_count": 2},
            {"cluster": "c", "node": "n", "start_at": half, "pool": "q", "gpu_count": 1},
        ],
        "devices_versions": [
            {
                "cluster": "c",
                "device_id": 1,
                "start_at": half,
                "node": "n",
                "device_index": 0,
                "parts": 24_000,
            },
            {
                "cluster": "c",
                "device_id": 2,
                "start_at": half,
                "node": "n",
                "device_index": 0,
                "parts": 144_000,
            },
        ],
        "usage_hourly": [usage(capacity_pms=FULL), usage(pool="q", capacity_pms=FULL // 2)],
    }
    with memory_ledger() as ledger:
        ledger.append("a/1/1", frames(rows))
        assert checks.run(ledger, ["capacity_of_devices"]) == []


@pytest.mark.patient
def test_many_rows_are_counted_and_the_first_are_shown() -> None:
    with memory_ledger() as ledger:
        gaps = [{"cluster": "c", "gap_id": number, "start_at": 5, "end_at": 4} for number in range(50)]
        ledger.append("a/1/1", frames({"gaps_versions": gaps}))
        [breach] = checks.run(ledger, ["backwards"])
        assert (breach.count, len(breach.rows)) == (50, checks.SHOWN)


def test_a_check_that_there_is_not(sound_ledger: Ledger) -> None:
    with pytest.raises(InputError, match="there is no check rule_two"):
        checks.run(sound_ledger, ["rule_two"])


@pytest.mark.patient
def test_the_checks_run_on_each_catalog(ledger: Ledger) -> None:
    def bad(cursor: Cursor) -> None:
        cursor.execute("insert into gaps_versions (start_at, end_at) values (now(), now() - interval 1 day)")

    ledger.write("a/1/1", bad)
    assert [breach.check for breach in checks.run(ledger)] == ["backwards"]
