"""All reports of a week: 200 teams of 10,000 GPUs, each as HTML, XLSX and CSV; and as PDF, one by one."""

import statistics
import tempfile
import time
from pathlib import Path

from analytics.business import iso_week
from analytics.reports.audience import MANAGERS, Audience, Kind
from analytics.reports.figures import Report
from analytics.reports.forms import Form, written
from analytics.reports.made import reports, teams_of
from analytics.reports.span import of_week
from bench.machine import Result
from bench.report import FLEET, fill
from sql.ledger import open_ledger
from sql.upgrade import upgrade

TEAMS, DAYS, WEEK = 200, 20, "2026-W37"
GOAL_S, PDF_GOAL_S, PDFS = 60.0, 0.3, 20


def run() -> list[Result]:
    """The ledger is filled first; then everything is read, made and counted in bytes."""
    fleet = [
        text.replace("% 40 end", f"% {TEAMS} end").replace("range(40)", f"range({TEAMS})") for text in FLEET
    ]
    with tempfile.TemporaryDirectory() as folder:
        with open_ledger(Path(folder)) as ledger:
            upgrade(ledger)
            fill(ledger, fleet, DAYS)
        with open_ledger(Path(folder), read_only=True) as ledger:
            begun, begun_cpu = time.perf_counter(), time.process_time()
            span = of_week(iso_week(WEEK, "UTC"))
            audiences = [MANAGERS, *(Audience(Kind.TEAM, team) for team in teams_of(ledger, span))]
            made = reports(ledger, span, audiences, now_ms=0)
            read_s = time.perf_counter() - begun
            sizes = [len(written(each, form)) for each in made for form in (Form.HTML, Form.XLSX, Form.CSV)]
            took_s, cpu_s = time.perf_counter() - begun, time.process_time() - begun_cpu
    pdfs = [_timed(each) for each in made[1 : PDFS + 1]]
    pdf_s = statistics.median(wall for wall, _ in pdfs)
    return [
        Result(
            f"{len(made)} reports of a week of {TEAMS} teams and 10,000 GPUs, each as HTML, XLSX and CSV",
            f"≤ {GOAL_S:.0f} s",
            f"{took_s:.0f} s",
            took_s <= GOAL_S,
            f"one process, {cpu_s:.0f} s of CPU; {read_s:.1f} s to read all figures; {sum(sizes) / 2**20:.0f} MiB",
        ),
        Result(
            "a team's report as PDF",
            f"≤ {PDF_GOAL_S} s",
            f"{pdf_s:.2f} s",
            pdf_s <= PDF_GOAL_S,
            f"median of {PDFS}, {statistics.median(cpu for _, cpu in pdfs):.2f} s of CPU",
        ),
    ]


def _timed(report: Report) -> tuple[float, float]:
    begun, cpu = time.perf_counter(), time.process_time()
    written(report, Form.PDF)
    return time.perf_counter() - begun, time.process_time() - cpu
