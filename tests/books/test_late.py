"""Late usage: rows of a closed period stay; with the differences they are what an open ledger has, also mid-hour."""

from contextlib import closing

import polars as pl
import pytest

from analytics.business import business_day
from analytics.late import fold, lay_effective
from analytics.usage import roll_up
from quartermaster import records
from quartermaster.clock import HOUR_MS, from_iso
from quartermaster.ids import content_id, device_id
from quartermaster.parts import GPU_PARTS
from sql.checks import run as run_checks
from sql.ledger import Ledger, memory_ledger

C, ZONE = "c", "Asia/Kolkata"  # its days begin at half past six in the evening, UTC
FIRST, LAST = (business_day(day, ZONE) for day in ("2026-10-30", "2026-10-31"))
NEXT = LAST.end_ms  # November's first midnight, at 18:30 UTC
END = from_iso("2026-11-01T00:00:00Z")


def tell(ledger: Ledger, name: str, start: int, end: int, revision: int = 0) -> None:
    """A pod that held the GPU from an instant to another."""
    pod, gpu = content_id("pod", name), device_id(C, "G0")
    claim = records.Allocation(
        C, pod, start, start, end, "kubernetes", pod, "n", "ns", name, gpu_parts=GPU_PARTS
    )
    holding = records.Holding(
        C, content_id("holding", C, pod, gpu), start, end, pod, gpu, GPU_PARTS, "kubelet", revision
    )
    owner = records.Workload(C, pod, start, None, "batch", "Job", "ns", name)
    rows = {"allocations_versions": [claim], "holdings_versions": [holding], "workloads_versions": [owner]}
    ledger.append(f"tell/{name}/{revision}", rows)


def begin(ledger: Ledger) -> None:
    """A node with a GPU, two days rolled up, and nobody on it but for the first three hours."""
    fleet = {
        "nodes_versions": [records.Node(C, "n", FIRST.start_ms, None, "p", "H100", 1)],
        "devices_versions": [
            records.Device(C, device_id(C, "G0"), FIRST.start_ms, None, "n", 0, "G0", "gpu", GPU_PARTS)
        ],
        "authority_versions": [records.Authority(C, 1, FIRST.start_ms, None, "kubernetes", 0)],
        "watermarks": [records.Watermark(C, "kubernetes", "holders", END + HOUR_MS)],
    }
    ledger.append("fleet", fleet)
    tell(ledger, "early", FIRST.start_ms, FIRST.start_ms + 3 * HOUR_MS)
    roll_up(ledger, END + HOUR_MS, ZONE)


def shut(ledger: Ledger) -> None:
    """October is closed, as far as the roll-up can tell."""
    row = {"period": "2026-10", "revision": 0, "state": "closed", "number": 1, "time_zone": ZONE}
    row |= {
        "start_day": "2026-10-01",
        "end_day": "2026-11-01",
        "start_at": from_iso("2026-09-30T18:30:00Z"),
        "end_at": NEXT,
    }
    ledger.append("shut", {"periods_versions": pl.DataFrame([row])})


def rows(ledger: Ledger, where: str = "true") -> pl.DataFrame:
    return ledger.query(f"from usage_hourly where {where} order by all")


@pytest.mark.patient
def test_closed_rows_stay_and_their_differences_are_told() -> None:
    with memory_ledger() as closed, memory_ledger() as left_open:
        for ledger in (closed, left_open):
            begin(ledger)
        shut(closed)
        before = rows(closed, f"epoch_ms(row_start_at) < {NEXT}")
        daily = closed.query("from usage_daily where business_day < '2026-11' order by all")
        for ledger in (closed, left_open):
            tell(ledger, "late", NEXT - 2 * HOUR_MS, NEXT + HOUR_MS)  # over the midnight within the hour
            roll_up(ledger, END + HOUR_MS, ZONE)
        assert rows(closed, f"epoch_ms(row_start_at) < {NEXT}").equals(before)
        assert closed.query("from usage_daily where business_day < '2026-11' order by all").equals(daily)
        assert rows(closed, f"epoch_ms(row_start_at) >= {NEXT}").equals(
            rows(left_open, f"epoch_ms(row_start_at) >= {NEXT}")
        )
        late = closed.query("select sum(held_pms) as held, sum(unallocated_pms) as free from usage_late").row(
            0
        )
        assert late == (2 * HOUR_MS * GPU_PARTS, -2 * HOUR_MS * GPU_PARTS)
        assert same(effective(closed), rows(left_open))
        assert roll_up(closed, END + HOUR_MS, ZONE, everything=True).hours > 0
        assert closed.query("select sum(held_pms) as held from usage_late").item() == 2 * HOUR_MS * GPU_PARTS
        closed.write("fold", lambda cursor: fold(cursor, [FIRST, LAST]))
        assert same(rows(closed), rows(left_open))
        assert (
            run_checks(closed, ["rule_one", "daily_of_hourly", "held_outside", "capacity_of_devices"]) == []
        )


def effective(ledger: Ledger) -> pl.DataFrame:
    """All usage, with what came late."""
    with closing(ledger.cursor()) as cursor:
        lay_effective(cursor, "whole_usage", [(FIRST.start_ms, END + HOUR_MS)])
        return cursor.sql("from whole_usage").pl()


def same(found: pl.DataFrame, expected: pl.DataFrame) -> bool:
    """Whether the same rows stand in both, in whatever order."""
    columns = expected.columns
    keys = ["row_start_at", "device_id", "allocation_id"]
    return found.select(columns).sort(keys).equals(expected.sort(keys))
