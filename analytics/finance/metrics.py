"""Metrics for Prometheus: each team's cost, budget and GPUs, from the ledger's last whole hour and current period."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from importlib.resources import files
from typing import Any

from prometheus_client.core import GaugeMetricFamily

from analytics.money.calendar import Calendar, Period
from quartermaster.clock import HOUR_MS
from quartermaster.parts import GPU_PARTS
from sql.ledger import Cursor, Ledger

OTHERS = "(others)"  # in place of the teams beyond the most: series are bounded, and sums stay
NOBODY = "(nobody)"  # what no team bears
MOST_TEAMS = 200
_MEAN = "the mean over the last whole hour"
_GPU_HOUR_PMS = GPU_PARTS * HOUR_MS
_HELD = {
    "computing": "held and computing",
    "idle": "held and idle",
    "unknown": "held, and telemetry does not show what they did",
}
_PROMISED = {
    "guaranteed": "promised to it",
    "borrowed": "held above its guarantee",
    "lent": "of its guarantee, held by others",
    "waiting": "wanted and not held",
}
_POOL = {
    "capacity": "all there were",
    "unallocated": "free",
    "unavailable": "cordoned, not ready or sick",
    "unobserved": "without anybody who could tell",
}

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Facts:
    """What the ledger says: rows by team of the last hour and of the period, in part-milliseconds and money."""

    period: Period
    used: Sequence[Row]
    promised: Sequence[Row]
    owed: Sequence[Row]
    budgets: Sequence[Row]
    marks: Sequence[Row]


def read_facts(ledger: Ledger, calendar: Calendar, now_ms: int) -> Facts:
    """The facts of the period in which `now_ms` lies, all of one state of the ledger."""
    period = calendar.at(now_ms)
    with ledger.reading() as cursor:
        return Facts(
            period,
            _rows(cursor, "metrics_hour"),
            _rows(cursor, "metrics_quota"),
            _rows(cursor, "metrics_cost", first_day=period.start_day, end_day=period.end_day),
            _rows(cursor, "metrics_budgets", period=period.period),
            _rows(cursor, "metrics_marks"),
        )


def families(facts: Facts, most_teams: int = MOST_TEAMS) -> list[GaugeMetricFamily]:
    """The facts as gauges. Of more teams than `most_teams`, those that hold and owe least are told together."""
    known = _known_teams(facts, most_teams)
    gauges = [
        _gauge("period_start_timestamp_seconds", "When the current billing period began.", []),
        _gauge("period_end_timestamp_seconds", "When it ends.", []),
    ]
    for gauge, instant_ms in zip(gauges, (facts.period.start_ms, facts.period.end_ms), strict=True):
        gauge.add_metric([], instant_ms / 1000)
    rolled = _gauge("rolled_up_timestamp_seconds", "Until when usage is rolled up.", ["cluster"])
    for row in facts.marks:
        rolled.add_metric([row["cluster"]], row["rolled_until_ms"] / 1000)
    return [
        *gauges,
        rolled,
        _money("team_cost", "What the team owes of the period so far.", facts.owed, known),
        _money("team_budget", "What the team means to spend in the period.", facts.budgets, known),
        *_of_teams(facts.used, _HELD, known),
        *_of_teams(facts.promised, _PROMISED, known),
        *_of_pools(facts.used),
    ]


def _known_teams(facts: Facts, most: int) -> frozenset[str]:
    weights: defaultdict[str, Decimal] = defaultdict(Decimal)
    for row in (*facts.used, *facts.promised):
        if row["team"] is not None:
            sums = (row.get(f"{name}_pms", 0) for name in ("capacity", "guaranteed"))
            weights[row["team"]] += Decimal(sum(sums)) / _GPU_HOUR_PMS
    for row in (*facts.owed, *facts.budgets):
        if row["team"] is not None:
            weights[row["team"]] += abs(row["amount"]) / 1_000_000
    order = sorted(weights, key=lambda team: (-weights[team], team))
    return frozenset(order[:most])


def _label(team: str | None, known: frozenset[str]) -> str:
    if team is None:
        return NOBODY
    return team if team in known else OTHERS


def _money(name: str, about: str, rows: Iterable[Row], known: frozenset[str]) -> GaugeMetricFamily:
    sums: defaultdict[tuple[str, str], Decimal] = defaultdict(Decimal)
    for row in rows:
        sums[_label(row["team"], known), row["currency"]] += row["amount"]
    gauge = _gauge(name, about, ["team", "currency"])
    for labels, amount in sorted(sums.items()):
        gauge.add_metric(labels, float(amount))
    return gauge


def _of_teams(
    rows: Sequence[Row], names: Mapping[str, str], known: frozenset[str]
) -> list[GaugeMetricFamily]:
    """A gauge for each name: mean GPUs by cluster, pool and team."""
    found: list[GaugeMetricFamily] = []
    for name, about in names.items():
        sums: defaultdict[tuple[str, ...], int] = defaultdict(int)
        for row in rows:
            if row["team"] is not None:
                sums[row["cluster"], row["pool"], _label(row["team"], known)] += int(row[f"{name}_pms"])
        gauge = _gauge(
            f"team_{name}_gpus", f"GPUs of the team, {about}: {_MEAN}.", ["cluster", "pool", "team"]
        )
        found.append(_filled(gauge, sums))
    return found


def _of_pools(rows: Sequence[Row]) -> list[GaugeMetricFamily]:
    found: list[GaugeMetricFamily] = []
    for name, about in _POOL.items():
        sums: defaultdict[tuple[str, ...], int] = defaultdict(int)
        for row in rows:
            sums[row["cluster"], row["pool"]] += int(row[f"{name}_pms"])
        gauge = _gauge(f"pool_{name}_gpus", f"GPUs of the pool, {about}: {_MEAN}.", ["cluster", "pool"])
        found.append(_filled(gauge, sums))
    return found


def _filled(gauge: GaugeMetricFamily, sums: Mapping[tuple[str, ...], int]) -> GaugeMetricFamily:
    for labels, pms in sorted(sums.items()):
        gauge.add_metric(labels, pms / _GPU_HOUR_PMS)
    return gauge


def _gauge(name: str, about: str, labels: Sequence[str]) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"quartermaster_{name}", about, labels=labels)


def _rows(cursor: Cursor, name: str, **given: object) -> list[dict[str, Any]]:
    text = (files("sql") / "queries" / "finance" / f"{name}.sql").read_text(encoding="utf-8")
    return (cursor.execute(text, given) if given else cursor.execute(text)).pl().to_dicts()
