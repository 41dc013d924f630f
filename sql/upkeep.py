"""Upkeep: small steps that keep a ledger fast and small, each holding the write lock for a moment only."""

import contextlib
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from quartermaster.clock import DAY_MS, HOUR_MS
from quartermaster.errors import LedgerBusyError, LedgerError
from sql.catalog import Cursor
from sql.faults import understand
from sql.ledger import Ledger, transaction
from sql.lock import syncfs
from sql.retention import Retention, expirable, retirable, text

# A step aims at this much of the write lock, so that a busy machine still stays below MOST_S.
AIM_S = 0.15
MOST_S = 0.3
# In passing, a merge takes at most so many rows: each row of samples takes some 400 bytes of memory in it.
MOST_ROWS = 200_000
# Files are merged with their like: below 128 KiB, 1 MiB, 8 MiB; larger ones stay as they are.
TIERS = ((0, 128 << 10), (128 << 10, 1 << 20), (1 << 20, 8 << 20))
# So many rows in the catalog, or files of one tier, make a step worth while in passing.
_INLINED_ROWS = 2_000
_FILES = 8
# What nothing names any more is kept for those who read an older snapshot, or are about to commit it.
_FILE_GRACE_MS = 6 * HOUR_MS
_ORPHAN_GRACE_MS = DAY_MS
_CATALOG = "__ducklake_metadata_lake"
_VACUUM = """import sqlite3, sys
catalog = sqlite3.connect(sys.argv[1], timeout=30, isolation_level=None)
catalog.execute("vacuum")
catalog.execute("pragma wal_checkpoint(truncate)")
"""


@dataclass(frozen=True)
class Step:
    """What was done to which table, over how many files, rows or snapshots, and its time under the lock."""

    what: str
    table: str
    things: int
    held_s: float


@dataclass
class Pace:
    """What this machine can do within AIM_S: `slowness` times the assumed cost, learned from steps."""

    slowness: float = 1.0
    orphans_looked_for_ms: int = field(default=0)

    def files(self, available: int, rows_per_file: float, *, most_rows: int = MOST_ROWS) -> int:
        """How many files one merge may take: 10 ms a file and 0.3 µs a row when the machine is quiet."""
        in_time, in_memory = AIM_S / self._each_s(rows_per_file), most_rows / max(1.0, rows_per_file)
        return max(2, min(available, int(in_time), int(in_memory)))

    def bears(self, rows_per_file: float) -> bool:
        """Whether the smallest merge stays below MOST_S and MOST_ROWS; each no for want of time makes the next yes
        likelier: times get better."""
        if 2 * rows_per_file > MOST_ROWS:
            return False
        bearable = 2 * self._each_s(rows_per_file) <= MOST_S
        if not bearable:
            self.slowness = max(1.0, 0.9 * self.slowness)
        return bearable

    def _each_s(self, rows_per_file: float) -> float:
        return (0.010 + 0.3e-6 * rows_per_file) * self.slowness

    def learn(self, files: int, rows: float, held_s: float) -> None:
        """Take a merge's cost into account."""
        seen = held_s / (0.010 * files + 0.3e-6 * rows)
        self.slowness = min(50.0, max(0.2, 0.7 * self.slowness + 0.3 * seen))


def compact(
    ledger: Ledger,
    now_ms: int,
    *,
    budget_s: float = 5.0,
    everything: bool = False,
    keep: Retention | None = None,
    pace: Pace | None = None,
    done: Callable[[Step], None] | None = None,
) -> list[Step]:
    """Do what upkeep there is for about `budget_s` seconds, and give the steps; readers go on.

    In passing (a collector's loop, with a `pace` of its own) only what is worth while is done; `everything`
    does the rest too, files with deleted rows included. When another process is at it, nothing is done.
    Raises LedgerError when the ledger cannot be written; what was done until then stays done.
    """
    ledger.get_ready()
    with contextlib.closing(ledger.cursor()) as cursor:
        cursor.execute("set global enable_external_file_cache = false")  # what is merged is not read again
    pace = pace or Pace()
    steps: list[Step] = []
    until = time.monotonic() + budget_s
    try:
        with ledger.exclusive("upkeep", wait_s=0.05):
            while True:
                try:
                    for step in _steps(ledger, now_ms, everything, keep or Retention(), pace):
                        steps.append(step)
                        if done:
                            done(step)
                        if time.monotonic() > until:
                            return steps
                        time.sleep(min(step.held_s, 0.1))
                except LedgerBusyError:
                    if not everything or time.monotonic() > until:
                        return steps
                    time.sleep(0.1)
                else:
                    return steps
    except LedgerBusyError:
        return steps
    except (duckdb.Error, OSError) as error:
        fault = understand(error, ledger.where, "compacting")
        if not fault.transient:
            raise fault.error from error
    return steps


def _steps(ledger: Ledger, now_ms: int, everything: bool, keep: Retention, pace: Pace) -> Iterator[Step]:
    yield from _flush(ledger, everything)
    yield from _place_years(ledger)
    yield from _merge(ledger, pace, everything=everything)
    yield from _retire(ledger, now_ms, keep)
    if everything:
        yield from _rewrite(ledger)
    expired = 0
    for step in _expire(ledger, now_ms, keep, pace):
        expired += step.things
        yield step
    if everything and (expired or _name_is_due(ledger, now_ms, keep)):
        yield _forget_names(ledger)
        if ledger.kind == "sqlite":
            yield _vacuum(ledger)
    yield from _clean_up(ledger, now_ms)
    if everything or now_ms - pace.orphans_looked_for_ms > DAY_MS:
        pace.orphans_looked_for_ms = now_ms
        yield _remove_orphans(ledger, now_ms)


def _flush(ledger: Ledger, everything: bool) -> Iterator[Step]:
    """Write out the small batches that are still in the catalog."""
    for table, rows in inlined(ledger, ended=everything).items():
        if everything or rows >= _INLINED_ROWS:
            call = f"call ducklake_flush_inlined_data('lake', table_name => '{table}')"
            yield Step(
                "flush", table, rows, _held(ledger, f"flush {table}", lambda c, call=call: c.execute(call))
            )


def _place_years(ledger: Ledger) -> Iterator[Step]:
    """Put right what DuckLake notes of the partition of files that `Ledger.adopt` gave it. No query uses it so far."""
    found = int(ledger.query(text("misplaced_years")).item())
    if found:
        with contextlib.closing(ledger.cursor()) as cursor, ledger.catalog.write_lock():
            begun = time.monotonic()
            cursor.execute(text("place_years"))
            yield Step("place", "samples", found, time.monotonic() - begun)


def _merge(ledger: Ledger, pace: Pace, *, everything: bool) -> Iterator[Step]:
    """Merge small files with their like, few at a time, until no tier of a table has enough of them."""
    stuck: set[tuple[str, int]] = set()
    while True:
        found = [
            tier
            for tier in mergeable(ledger, 2 if everything else _FILES)
            if (tier.table, tier.lower) not in stuck
        ]
        if not found:
            return
        tier = found[0]
        if not everything and not pace.bears(tier.rows / tier.files):
            stuck.add((tier.table, tier.lower))
            continue
        most_rows = tier.rows if everything else MOST_ROWS
        files = pace.files(tier.files, tier.rows / tier.files, most_rows=most_rows)
        # The session's target size bounds how many files one merge takes up: about as many as fit into it.
        target = max(1, round(tier.size_bytes / tier.files * files))
        call = (
            f"call ducklake_merge_adjacent_files('lake', '{tier.table}', max_compacted_files => 1, "
            f"min_file_size => {tier.lower}, max_file_size => {tier.upper})"
        )
        merged: list[int] = []

        def merge(cursor: Cursor, target: int = target, call: str = call, merged: list[int] = merged) -> None:
            cursor.execute(f"set ducklake_target_file_size = '{target}B'")
            merged.extend(int(row[2]) for row in cursor.execute(call).fetchall())

        held_s = _held(ledger, f"merge {tier.table}", merge)
        if not merged:
            stuck.add((tier.table, tier.lower))
            continue
        pace.learn(sum(merged), sum(merged) * tier.rows / tier.files, held_s)
        yield Step("merge", tier.table, sum(merged), held_s)


def _retire(ledger: Ledger, now_ms: int, keep: Retention) -> Iterator[Step]:
    """Delete what has been kept long enough, a file's span at a time."""
    while (old := retirable(ledger, now_ms, keep)) is not None:
        delete = f"delete from lake.{old.table} where cluster = ? and {old.column} <= make_timestamptz(?)"  # noqa: S608
        values = [old.cluster, old.until_us]
        held_s = _held(ledger, f"retire {old.table}", lambda c, d=delete, v=values: c.execute(d, v))
        yield Step("retire", old.table, old.rows, held_s)


def _rewrite(ledger: Ledger) -> Iterator[Step]:
    """Write files anew of which a third or more has been deleted."""
    for table in ledger.query(text("half_deleted")).to_series().to_list():
        call = f"call ducklake_rewrite_data_files('lake', '{table}', delete_threshold => 0.33)"
        yield Step(
            "rewrite", table, 1, _held(ledger, f"rewrite {table}", lambda c, call=call: c.execute(call))
        )


def _expire(ledger: Ledger, now_ms: int, keep: Retention, pace: Pace) -> Iterator[Step]:
    """Forget old snapshots, never the roll-up's last one, nor those after it."""
    while versions := expirable(ledger, now_ms, keep, at_most=max(10, int(100 / pace.slowness))):
        call = f"call ducklake_expire_snapshots('lake', versions => {versions})"
        yield Step("expire", "", len(versions), _held(ledger, "expire", lambda c, call=call: c.execute(call)))


def _name_is_due(ledger: Ledger, now_ms: int, keep: Retention) -> bool:
    """Whether a name was erased whose snapshots are old enough: upkeep in passing may have forgotten them."""
    return bool(ledger.query(text("erased"), {"until_us": (now_ms - keep.snapshots_ms) * 1000}).item())


def _forget_names(ledger: Ledger) -> Step:
    """Take names out of the statistics that the catalog keeps of whole tables."""
    with contextlib.closing(ledger.cursor()) as cursor, ledger.catalog.write_lock():
        begun = time.monotonic()
        cursor.execute(text("forget_names"))
        return Step("names", "people", 1, time.monotonic() - begun)


def _vacuum(ledger: Ledger) -> Step:
    """Write a SQLite catalog anew, so that what was erased is not left in the slack of its pages.

    All of it at once, the only step whose time under the lock grows with the catalog: 0.5 s of CPU for 100 MB.
    In a process of its own: two copies of SQLite in one process would undo each other's locks on the file.
    """
    with ledger.catalog.write_lock(), ledger.catalog.reshaping():
        begun = time.monotonic()
        command = [sys.executable, "-I", "-c", _VACUUM, str(ledger.catalog.file)]
        ended = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603
        if ended.returncode:
            why = ended.stderr.strip().rpartition("\n")[2]
            raise LedgerError(
                f"compacting: the catalog {ledger.catalog.file} cannot be written anew: {why}",
                "free space there",
            )
        return Step("vacuum", "", 1, time.monotonic() - begun)


def _clean_up(ledger: Ledger, now_ms: int) -> Iterator[Step]:
    """Remove files that no snapshot names any more, after their grace.

    DuckLake's own call compares days, not times, on a SQLite catalog, and takes all at once: so the files
    are removed here, and then their lines in the catalog.
    """
    values = {"until_us": (now_ms - _FILE_GRACE_MS) * 1000, "at_most": 200}
    while len(due := ledger.query(text("due_files"), values)):
        for path in due["path"]:
            (ledger.catalog.data / path).unlink(missing_ok=True)
        ids = due["data_file_id"].to_list()
        with contextlib.closing(ledger.cursor()) as cursor, ledger.catalog.write_lock():
            begun = time.monotonic()
            cursor.execute(text("forget_files"), {"ids": ids})
            held_s = time.monotonic() - begun
        yield Step("remove", "", len(ids), held_s)


def _remove_orphans(ledger: Ledger, now_ms: int) -> Step:
    """Remove files that no commit ever named, because a writer was killed; not those of a living one.

    A day by this machine's clock, too, must have passed; and under the write lock, where there is one, no writer
    can have files that it has not yet committed.
    """
    older_than = (min(now_ms, time.time_ns() // 1_000_000) - _ORPHAN_GRACE_MS) * 1000
    call = f"call ducklake_delete_orphaned_files('lake', dry_run => true, older_than => make_timestamptz({older_than}))"
    with contextlib.closing(ledger.cursor()) as cursor:
        found = [Path(row[0]) for row in cursor.execute(call).fetchall()]
        if not found:
            return Step("orphans", "", 0, 0.0)
        with ledger.catalog.write_lock():
            begun = time.monotonic()
            named = {Path(path).name for path in ledger.query(text("named_files"))["path"]}
            orphans = [path for path in found if path.name not in named]
            for path in orphans:
                path.unlink(missing_ok=True)
            return Step("orphans", "", len(orphans), time.monotonic() - begun)


def _held(ledger: Ledger, message: str, work: Callable[[Cursor], object]) -> float:
    """Do the work in one transaction under the write lock; the seconds for which it was held.

    Raises LedgerBusyError when readers leave no moment for the commit: then nothing is done.
    """
    with contextlib.closing(ledger.cursor()) as cursor, ledger.catalog.write_lock():
        begun = time.monotonic()
        with ledger.catalog.reshaping():
            pass  # who reads now may read on for long: the work would be for nothing
        with contextlib.ExitStack() as moment, transaction(cursor):
            work(cursor)
            syncfs(ledger.folder)
            cursor.execute("call ducklake_set_commit_message('lake', 'upkeep', ?)", [message])
            moment.enter_context(ledger.catalog.reshaping())
        return time.monotonic() - begun


@dataclass(frozen=True)
class Tier:
    """The small files of one size in a table."""

    table: str
    lower: int
    upper: int
    files: int
    rows: int
    size_bytes: int


def mergeable(ledger: Ledger, least: int) -> list[Tier]:
    """The tiers with at least `least` files to merge in one partition, smallest files first."""
    found: list[Tier] = []
    for lower, upper in TIERS:
        values = {"lower": lower, "upper": upper, "least": least}
        found += [
            Tier(t, lower, upper, n, r, s)
            for t, n, r, s in ledger.query(text("small_files"), values).iter_rows()
        ]
    return found


def inlined(ledger: Ledger, *, ended: bool = False) -> dict[str, int]:
    """How many rows of each table are still in the catalog; `ended`: with those that only old snapshots show."""
    names = ledger.query(text("inlined_tables"))
    if names.is_empty():
        return {}
    live = "" if ended else " where end_snapshot is null"
    each = [
        f"select '{table}' as name, count(*) as n from {_CATALOG}.{held}{live}"  # noqa: S608
        for table, held in names.iter_rows()
    ]
    totals = ledger.query(f"select name, sum(n)::bigint as n from ({' union all '.join(each)}) group by 1")  # noqa: S608
    totals = totals.filter(totals["n"] > 0).sort("name")
    return dict(totals.iter_rows())
