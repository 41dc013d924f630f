"""The roll-up: samples and allocations become usage, hour by hour of each cluster, by one worker."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import polars as pl

import sql
from analytics.business import days_between
from analytics.daily import sum_day
from analytics.late import tell_late
from analytics.measure import FOREVER_MS, Cursor, Measure, Measured
from analytics.replaced import insert_rows, remove_rows
from analytics.touched import Touched, longest_new_hold_ms
from quartermaster.clock import HOUR_MS, MINUTE_MS, to_datetime
from quartermaster.errors import InputError
from sql.closed import ClosedPeriod, closed_books
from sql.ledger import Ledger

GRACE_MS = 5 * MINUTE_MS
# What one step reads and writes at most, so that memory stays bounded: about 2 GiB.
STEP_SAMPLES = 4_000_000
STEP_DEVICE_HOURS = 1_000_000
_DAY_HOURS = 24

Progress = Callable[[str, int, int], None]
Span = tuple[int, int]
_QUERIES = Path(sql.__file__).parent / "queries" / "usage"


@dataclass(frozen=True)
class RolledCluster:
    """What the roll-up did for one cluster: hours written new and anew, rows of usage, how far it is now.

    `slowest` is the source that the next hour waits for, empty when no source has a watermark.
    """

    cluster: str
    new_hours: int
    reopened_hours: int
    rows: int
    until_ms: int | None
    slowest: str


@dataclass(frozen=True)
class RollUp:
    """What one run of the roll-up did."""

    clusters: tuple[RolledCluster, ...]

    @property
    def hours(self) -> int:
        """Hours written, of all clusters."""
        return sum(cluster.new_hours + cluster.reopened_hours for cluster in self.clusters)

    @property
    def rows(self) -> int:
        """Rows of usage written, of all clusters."""
        return sum(cluster.rows for cluster in self.clusters)


@dataclass(frozen=True)
class _Plan:
    """What is to be written of a cluster: hours that are gone, hours again, hours ahead; in this order.

    Of the hours of closed periods only differences are written.
    """

    cluster: str
    snapshot: int
    from_ms: int
    rolled_until_ms: int
    until_ms: int
    longest_hold_ms: int
    time_zone: str
    gone: tuple[Span, ...]
    again: tuple[Span, ...]
    ahead: tuple[Span, ...]
    slowest: str
    closed: tuple[ClosedPeriod, ...]


def roll_up(
    ledger: Ledger,
    now_ms: int,
    time_zone: str = "UTC",
    clusters: Sequence[str] | None = None,
    progress: Progress | None = None,
    *,
    everything: bool = False,
) -> RollUp:
    """Write the hours that every watermark has passed by five minutes, and anew those that late data touches.

    One worker at a time, under the ledger's lock `rollup`. `everything` writes every hour anew; so does
    another `time_zone` (the business's: its midnights end rows and days). The rows of closed periods stay as they are:
    what is measured otherwise now goes to usage_late, as differences. `progress` hears the cluster, and
    hours done and in all. Raises InputError for a cluster that is not known.
    """
    done: list[RolledCluster] = []
    with ledger.exclusive("rollup"), ledger.reading() as cursor:
        marks = _marks(cursor)
        unknown = set(clusters or ()) - {str(mark["cluster"]) for mark in marks}
        if unknown:
            names = ", ".join(str(mark["cluster"]) for mark in marks) or "none"
            raise InputError(
                f"the ledger knows no cluster {', '.join(sorted(unknown))}", f"it knows: {names}"
            )
        for mark in marks:
            if clusters is None or mark["cluster"] in clusters:
                plan = _plan(cursor, mark, now_ms, time_zone, everything=everything)
                done.append(_carry_out(ledger, cursor, plan, now_ms, progress))
    return RollUp(tuple(done))


def provisional(
    ledger: Ledger, cluster: str, from_ms: int, until_ms: int, time_zone: str = "UTC"
) -> Measured:
    """The rows of [from, until), not written yet, as far as is known now; `from` is a full hour.

    The columns are those of usage_hourly, quota_hourly and lending_hourly, times as epoch ms.
    Raises InputError when the span is empty, or does not begin at a full hour.
    """
    if from_ms % HOUR_MS or until_ms <= from_ms:
        raise InputError(
            "a provisional span begins at a full hour and ends later",
            "give the hour after the last written one",
        )
    with ledger.reading() as cursor:
        hold_ms = _longest_hold_ms(cursor, cluster)
        return Measure(cursor, [cluster], from_ms, until_ms).spans(
            {cluster: (from_ms, until_ms)}, time_zone, hold_ms
        )


def _marks(cursor: Cursor) -> list[dict[str, object]]:
    text = (_QUERIES / "marks.sql").read_text(encoding="utf-8")
    return cursor.execute(text, {"hour_ms": HOUR_MS, "forever": FOREVER_MS}).pl().to_dicts()


def _plan(cursor: Cursor, mark: dict[str, object], now_ms: int, time_zone: str, *, everything: bool) -> _Plan:
    cluster, from_ms = str(mark["cluster"]), _number(mark["from_ms"])
    row = cursor.execute("select id from ducklake_current_snapshot('lake')").fetchone()
    snapshot = int(row[0]) if row else 0
    rolled_from, rolled_until = _number(mark["rolled_from_ms"], from_ms), _number(mark["rolled_until_ms"])
    complete = min(_number(mark["complete_ms"]), now_ms) - GRACE_MS
    until_ms = max(complete // HOUR_MS * HOUR_MS, rolled_until)
    after, hold_ms = _number(mark["snapshot_id"]) + 1, _number(mark["longest_hold_ms"])
    again: Iterable[int] = ()
    if mark["snapshot_id"] is None or everything or mark["time_zone"] != time_zone:
        hold_ms = _longest_hold_ms(cursor, cluster)
        again = range(from_ms, rolled_until, HOUR_MS)
    elif after <= snapshot:
        hold_ms = max(hold_ms, longest_new_hold_ms(cursor, cluster, after, snapshot))
        touched = Touched(cursor, cluster, after, snapshot, hold_ms).hours(from_ms, rolled_until)
        again = sorted({*touched, *range(from_ms, min(rolled_from, rolled_until), HOUR_MS)})
    gone_until = min(from_ms, rolled_until)
    step = _step_hours(cursor, cluster, from_ms, until_ms)
    return _Plan(
        cluster=cluster,
        snapshot=snapshot,
        from_ms=from_ms,
        rolled_until_ms=rolled_until,
        until_ms=until_ms,
        longest_hold_ms=hold_ms,
        time_zone=time_zone,
        gone=((rolled_from, gone_until),) if rolled_from < gone_until else (),
        again=_steps(again, step),
        ahead=_steps(range(max(from_ms, rolled_until), until_ms, HOUR_MS), step),
        slowest=str(mark["slowest"] or ""),
        closed=closed_books(cursor).periods,
    )


def _carry_out(
    ledger: Ledger, cursor: Cursor, plan: _Plan, now_ms: int, progress: Progress | None
) -> RolledCluster:
    spans = [*plan.gone, *plan.again, *plan.ahead]
    measured = spans[len(plan.gone) :]
    measure = (
        Measure(cursor, [plan.cluster], measured[0][0], max(end for _, end in measured)) if measured else None
    )
    rows = 0
    for number, span in enumerate(spans):
        is_ahead = span in plan.ahead
        found = measure if number >= len(plan.gone) else None
        if found:
            found.steps({plan.cluster: span}, plan.time_zone, plan.longest_hold_ms)
        # The mark goes with the last span that was touched, and with each span ahead.
        mark_ms = span[1] if is_ahead else plan.rolled_until_ms if span == spans[-1] else None
        rows += _write(ledger, plan, span, found, mark_ms=mark_ms, now_ms=now_ms, replace=not is_ahead)
        if progress:
            progress(plan.cluster, _hours(spans[: number + 1]), _hours(spans))
    until_ms = plan.until_ms if plan.until_ms > plan.from_ms else None
    return RolledCluster(plan.cluster, _hours(plan.ahead), _hours(plan.again), rows, until_ms, plan.slowest)


def _write(
    ledger: Ledger,
    plan: _Plan,
    span: Span,
    found: Measure | None,
    *,
    mark_ms: int | None,
    now_ms: int,
    replace: bool,
) -> int:
    """Replace one span in one transaction, with its business days and, when given, its mark.

    Gives how many rows of usage it has now.
    """
    mark = {
        "cluster": [plan.cluster],
        "snapshot_id": [plan.snapshot],
        "rolled_from_at": [plan.from_ms],
        "rolled_until_at": [mark_ms],
        "longest_hold_ms": [plan.longest_hold_ms],
        "time_zone": [plan.time_zone],
    }
    closed = [each for each in plan.closed if each.start_ms < span[1] and span[0] < each.end_ms]
    days = [
        day
        for day in days_between(*span, plan.time_zone)
        if not any(each.start_ms <= day.start_ms < each.end_ms for each in closed)
    ]
    whole = [day for day in days if found and span[0] <= day.start_ms and day.end_ms <= span[1]]
    summed = found.daily(whole) if found and whole else None
    rows = 0

    def work(cursor: Cursor) -> None:
        nonlocal rows
        for table in ("usage", "quota", "lending"):
            if replace:
                remove_rows(cursor, f"{table}_hourly", plan.cluster, span, closed)
            if found:
                written = insert_rows(ledger, cursor, f"{table}_hourly", found.rows(table), closed)
                rows = written if table == "usage" else rows
        if closed:
            measured = found.rows("usage") if found else None
            rows += tell_late(
                ledger, cursor, closed, measured, cluster=plan.cluster, span=span, now_ms=now_ms
            )
        cursor.execute(
            "delete from usage_daily where cluster = ? and list_contains(?, business_day)",
            [plan.cluster, [day.day for day in days]],
        )
        if summed is not None:
            ledger.insert(cursor, "usage_daily", summed, recorded_at=now_ms)
        for day in days:
            if day not in whole:
                sum_day(cursor, plan.cluster, day)
        if mark_ms is not None:
            ledger.insert(cursor, "rollup_marks", pl.DataFrame(mark), recorded_at=now_ms)

    ledger.write(
        f"rollup/{plan.snapshot}/{uuid4().hex}",
        work,
        author="rollup",
        message=f"{plan.cluster} {to_datetime(span[0])}",
    )
    return rows


def _steps(hours: Iterable[int], most: int) -> tuple[Span, ...]:
    """Hours in order, as spans of adjacent ones, each of at most `most` hours."""
    spans: list[Span] = []
    for hour in hours:
        if spans and spans[-1][1] == hour and hour - spans[-1][0] < most * HOUR_MS:
            spans[-1] = spans[-1][0], hour + HOUR_MS
        else:
            spans.append((hour, hour + HOUR_MS))
    return tuple(spans)


def _hours(spans: Sequence[Span]) -> int:
    return sum((end - start) // HOUR_MS for start, end in spans)


def _step_hours(cursor: Cursor, cluster: str, from_ms: int, until_ms: int) -> int:
    """How many hours one step takes: whole days where it can."""
    if from_ms >= until_ms:  # no node (any more), so no hour to step through
        return 1
    text = (_QUERIES / "density.sql").read_text(encoding="utf-8")
    given = {
        "cluster": cluster,
        "from_at": to_datetime(from_ms),
        "until_at": to_datetime(until_ms),
    }
    devices, samples = cursor.execute(text, given).fetchone() or (0, 0)
    hours = (until_ms - from_ms) // HOUR_MS
    step = min(STEP_DEVICE_HOURS // max(1, devices), STEP_SAMPLES * hours // max(1, samples))
    return max(1, step // _DAY_HOURS * _DAY_HOURS or step)


def _longest_hold_ms(cursor: Cursor, cluster: str) -> int:
    row = cursor.execute("select max(hold_ms) from samples where cluster = ?", [cluster]).fetchone()
    return int(row[0] or 0) if row else 0


def _number(value: object, otherwise: int = 0) -> int:
    return int(value) if isinstance(value, int) else otherwise
