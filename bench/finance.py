"""Finance's files of a large fleet: a month of 10,000 GPUs, a workload each, as FOCUS."""

import tempfile
import time
from pathlib import Path

from analytics.finance.focus import focus_frames
from analytics.finance.general_ledger import entries, journal, read_sums
from analytics.finance.span import span_of
from analytics.finance.written import write_csv, write_parquet
from analytics.money.calendar import Calendar
from bench.machine import Result
from quartermaster.config.accounts import AccountsPart
from sql.ledger import Cursor, Ledger, open_ledger
from sql.upgrade import upgrade

GOAL_S = 10
MONTH = "2026-11"
LINES = (Path(__file__).parent / "finance.sql").read_text(encoding="utf-8").split("\n;\n")


def run() -> list[Result]:
    """Each file once, from a ledger opened for it."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        with open_ledger(place / "ledger") as ledger:
            upgrade(ledger)
            ledger.write("bench/lines", _fill)
            lines = ledger.query("select count(*) as n from charges").item()
        span = span_of(Calendar().named(MONTH))
        results: list[Result] = []
        for name, write in (("CSV", write_csv), ("Parquet", write_parquet)):
            file = place / f"month.{name.lower()}"
            began, spent = time.perf_counter(), time.process_time()
            with open_ledger(place / "ledger", read_only=True) as ledger:
                rows = write(focus_frames(ledger, span, AccountsPart()), file)
            took, cpu = time.perf_counter() - began, time.process_time() - spent
            results.append(
                Result(
                    f"FOCUS of a month of 10,000 GPUs, {name}",
                    f"≤ {GOAL_S} s",
                    f"{took:.1f} s",
                    took <= GOAL_S,
                    f"{cpu:.1f} s of CPU; {lines:,} lines, {rows:,} rows, {file.stat().st_size / 2**20:.0f} MiB",
                )
            )
        began = time.perf_counter()
        with open_ledger(place / "ledger", read_only=True) as ledger:
            rows = _journal(ledger, place / "journal.csv")
        took = time.perf_counter() - began
        results.append(Result("a journal of that month", "—", f"{took:.2f} s", True, f"{rows} rows"))
    return results


def _fill(cursor: Cursor) -> None:
    for statement in LINES:
        cursor.execute(statement)


def _journal(ledger: Ledger, file: Path) -> int:
    span = span_of(Calendar().named(MONTH))
    return write_csv([journal(entries(read_sums(ledger, span), span, AccountsPart()))], file)
