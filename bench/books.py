"""Closing the books of a month of 10,000 GPUs: charged before, then closed, written out, and verified."""

import tempfile
import time
from pathlib import Path

from analytics.money.calendar import Calendar
from analytics.money.close import close, folder_of
from analytics.money.periods import standings
from analytics.money.ready import Terms
from analytics.money.verified import verify
from bench.machine import Result
from bench.report import GPUS, fill
from quartermaster.clock import from_iso
from sql.ledger import open_ledger
from sql.upgrade import upgrade

MONTH, DAYS = "2026-09", 30
CLOSE_GOAL_S = 20


def run() -> list[Result]:
    """One closing, as finance does it: everything is charged anew and compared, checked, hashed and written."""
    with tempfile.TemporaryDirectory() as place:
        books = Path(place) / "books"
        with open_ledger(Path(place) / "ledger") as ledger:
            upgrade(ledger)
            _, lines = fill(ledger, days=DAYS)
            terms = Terms(Calendar(), from_iso("2026-10-10T00:00:00Z"), "bench", books=books)
            start, begun = time.perf_counter(), time.process_time()
            closed = close(ledger, MONTH, terms)
            took_s, cpu_s = time.perf_counter() - start, time.process_time() - begun
            start = time.perf_counter()
            with ledger.reading() as cursor:
                (found,) = verify(cursor, standings(cursor, terms.calendar, terms.now_ms), books)
            verified_s = time.perf_counter() - start
        files = list(folder_of(books, MONTH, closed.number or 0).iterdir())
        mib = sum(file.stat().st_size for file in files) / 2**20
    return [
        Result(
            f"closing a month of {GPUS:,} GPUs",
            f"≤ {CLOSE_GOAL_S} s",
            f"{took_s:.1f} s",
            took_s <= CLOSE_GOAL_S and not found.amiss,
            f"{lines:,} lines, {mib:.0f} MiB written out; {cpu_s:.1f} s of CPU; verified in {verified_s:.1f} s",
        )
    ]
