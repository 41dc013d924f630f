"""The demo's way on one stepped clock: simulator → HTTP → collector → ledger → roll-up → charges → report."""

import asyncio
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cli import output
from cli.foreseen import foresee
from cli.session import FILE
from quartermaster.clock import HOUR_MS, MINUTE_MS, SECOND_MS, now_ms
from quartermaster.errors import LedgerError
from quartermaster.interrupt import Patience, obey

if TYPE_CHECKING:
    from analytics.business import Week
    from analytics.reports.figures import Report
    from analytics.reports.span import Span
    from quartermaster.config.model import Configuration
    from simulator.server import SimulatorServer
    from sql.ledger import Ledger

TIME_ZONE = "Europe/Berlin"  # as the simulator's configuration says
_PAUSE_MS = 30 * MINUTE_MS  # the clock runs on after the week, so that every source has passed its end


@dataclass(frozen=True)
class Stretch:
    """A part of the week that is scraped every `interval_ms` and committed every `batch_ms`."""

    start_ms: int
    end_ms: int
    interval_ms: int
    batch_ms: int


@dataclass(frozen=True)
class Told:
    """What the demo has to show."""

    report: "Report"
    page: Path
    idlest_pod: str
    foreseen: str
    measured: str


def rehearse(folder: Path, *, seed: int, week: str | None, quick: bool) -> Told:
    """Let a simulated cluster live through a week and bill it, in the folder.

    Configuration, ledger and page are left there. Raises QuartermasterError, also when a check of the ledger
    finds a row that breaks a rule.
    """
    from analytics.business import iso_week, week_at
    from analytics.money.charges import charge
    from analytics.reports.html import render
    from analytics.reports.span import of_week
    from analytics.reports.weekly import weekly
    from analytics.usage import roll_up
    from quartermaster.config.load import load_configuration
    from simulator.server import Plan, SimulatorServer
    from sql.declare import declare
    from sql.ledger import open_ledger
    from sql.upgrade import upgrade

    span = (
        iso_week(week, TIME_ZONE) if week else week_at(week_at(now_ms(), TIME_ZONE).start_ms - 1, TIME_ZONE)
    )
    stretches = _stretches(span, quick=quick)
    end_ms = stretches[-1].end_ms
    watch = _Watch()
    plan = Plan(seed, span.start_ms, end_ms, quick=quick)
    with output.progress() as bar, SimulatorServer(plan) as server:
        (folder / FILE).write_text(server.configuration(), encoding="utf-8")
        configuration = load_configuration(folder / FILE, os.environ)
        with open_ledger(configuration.ledger.path, configuration.ledger.catalog.reveal()) as ledger:
            upgrade(ledger)
            declare(ledger, configuration, span.start_ms)
            task = bar.add_task("collecting a week of metrics", total=end_ms - span.start_ms)
            # Ctrl-C waits for a round's end: a visit cut short leaves its connection's complaint on the screen.
            with Patience() as patience:

                def tick(now: int) -> None:
                    bar.update(task, completed=now - span.start_ms)
                    patience.heed()

                collected = asyncio.run(_collect(server, configuration, ledger, stretches, tick))
            watch.lap(f"{collected.pages:,} pages and {collected.samples:,} samples fetched and committed")
            task = bar.add_task("rolling up", total=None)
            rolled = roll_up(ledger, end_ms, TIME_ZONE)
            watch.lap(f"{rolled.rows:,} rows of usage")
            charged = charge(ledger, end_ms, TIME_ZONE)
            watch.lap(f"{charged.lines:,} lines of cost")
            watch.lap(f"all {_checked(ledger)} checks of the ledger hold")
            task = bar.add_task("planning in shadow", total=None)
            foreseen = foresee(configuration, ledger, lambda _: obey())
            watch.lap("shadow plans and findings")
            report = weekly(ledger, span.week, time_zone=TIME_ZONE, now_ms=end_ms)
            pod = _idlest_pod(ledger, report)
            watch.lap("the report")
            task = bar.add_task("writing reports", total=None)
            count = _write_all(ledger, of_week(span), folder / "reports", end_ms)
            watch.lap(f"{count} files of reports")
    page = folder / "report.html"
    page.write_text(render(report), encoding="utf-8")
    return Told(report, page.absolute(), pod, foreseen, watch.words())


def _checked(ledger: "Ledger") -> int:
    """How many checks there are, all of which hold. Raises LedgerError."""
    from sql import checks

    breaches = checks.run(ledger)
    if breaches:
        raise LedgerError(
            f"{breaches[0].count} rows of the demo's ledger break a rule: {breaches[0].rule}",
            "quartermaster demo --keep, then quartermaster ledger check",
        )
    return len(checks.names())


def _write_all(ledger: "Ledger", span: "Span", folder: Path, now_ms: int) -> int:
    """The week for every audience, in every form; how many files."""
    from analytics.reports.audience import MANAGERS, Audience, Kind
    from analytics.reports.forms import Form, file_name, written
    from analytics.reports.made import reports, teams_of

    teams = teams_of(ledger, span)
    departments = sorted({*teams.values()} - {""})
    audiences = [MANAGERS, Audience(Kind.FINANCE)]
    audiences += [Audience(Kind.DEPARTMENT, name) for name in departments]
    audiences += [Audience(Kind.TEAM, name) for name in teams]
    folder.mkdir(exist_ok=True)
    count = 0
    for report in reports(ledger, span, audiences, time_zone=TIME_ZONE, now_ms=now_ms):
        for form in Form:
            (folder / file_name(report, form)).write_bytes(written(report, form))
            count += 1
            obey()
    return count


def _stretches(span: "Week", *, quick: bool) -> list[Stretch]:
    if quick:
        return [Stretch(span.start_ms, span.end_ms + _PAUSE_MS, 15 * MINUTE_MS, 12 * HOUR_MS)]
    turn_ms = span.end_ms - 6 * HOUR_MS
    return [
        Stretch(span.start_ms, turn_ms, 5 * MINUTE_MS, 6 * HOUR_MS),
        Stretch(turn_ms, span.end_ms + _PAUSE_MS, 30 * SECOND_MS, HOUR_MS),
    ]


@dataclass
class _Collected:
    pages: int = 0
    samples: int = 0


async def _collect(
    server: "SimulatorServer",
    configuration: "Configuration",
    ledger: "Ledger",
    stretches: list[Stretch],
    tick: Callable[[int], None],
) -> _Collected:
    """Step the clock: advance the cluster, collect a round, commit what it gave and what Kubernetes told."""
    from collector.batch import Batch, commit
    from collector.dcgm.fetch import Fetcher
    from collector.round import Round
    from collector.targets import from_configuration

    cluster = configuration.clusters[0]
    targets = from_configuration(cluster.name, cluster.dcgm.targets)
    collected, told_until_ms = _Collected(), None
    async with Fetcher(cluster.dcgm) as fetcher:
        for stretch in stretches:
            round_ = Round(cluster.name, stretch.interval_ms, fetcher)
            round_.retarget(targets, stretch.start_ms)
            for now in range(stretch.start_ms + stretch.interval_ms, stretch.end_ms + 1, stretch.interval_ms):
                server.advance(now)
                await asyncio.gather(*(round_.visit(target, now) for target in targets))
                tick(now)
                if (now - stretch.start_ms) % stretch.batch_ms and now < stretch.end_ms:
                    continue
                outcome = round_.take(now)
                commit(ledger, Batch(f"demo/telemetry/{now}", now, outcome.frames))
                ledger.append(f"demo/kubernetes/{now}", server.truth(told_until_ms), recorded_at=now)
                told_until_ms = now
                collected.pages += outcome.pages
                collected.samples += outcome.samples
    return collected


def _idlest_pod(ledger: "Ledger", report: "Report") -> str:
    """A pod of the workload that wasted most; "" when nothing was idle."""
    if not report.idlest:
        return ""
    workload = report.idlest[0].workload
    pods = ledger.query(
        "select min(pod) as pod from allocations where cluster = ? and workload_id = ?",
        [workload.cluster, workload.workload_id],
    )
    return pods.item() or ""


class _Watch:
    """How long each stage took, in words."""

    def __init__(self) -> None:
        self._began = time.perf_counter()
        self._laps: list[str] = []

    def lap(self, what: str) -> None:
        obey()
        now = time.perf_counter()
        self._laps.append(f"{what} in {now - self._began:.1f} s")
        self._began = now

    def words(self) -> str:
        return "; ".join(self._laps) + "."
