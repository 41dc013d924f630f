"""What the tests of reports' looks and of pages share: a week's report made by hand, and hostile names."""

from collections.abc import Callable, Generator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
import streamlit as st

from analytics.money.charges import charge
from analytics.reports.audience import MANAGERS
from analytics.reports.figures import (
    GPU_HOUR_PMS,
    Amount,
    DayCost,
    IdleRow,
    OwnLine,
    PoolRow,
    Report,
    Split,
    TeamRow,
    WorkloadRow,
)
from quartermaster.clock import DAY_MS, HOUR_MS, from_iso
from quartermaster.ids import content_id
from quartermaster.parts import GPU_PARTS
from sql.ledger import Ledger
from tests.ledgers import new_ledger

HOSTILE = "<script>alert(1)</script>[bold]x[/bold]=cmd()|{{7*7}}`"
_PRICE = Decimal("3.10")
_DAYS = tuple(f"2026-11-{day}" for day in range(23, 30))
_TEAMS = {  # team: department, GPUs of 128, computing and idle in percent, guaranteed GPUs
    "vision": ("research", 34, 71, 24, 24),
    "language": ("research", 28, 88, 9, 32),
    "speech": ("product", 14, 62, 33, 16),
    "robotics": ("labs", 9, 55, 20, 8),
    "forecasting": ("product", 5, 80, 18, 0),
    "search": ("product", 4, 90, 7, 8),
    "unassigned": ("", 2, 31, 44, 0),
}
# team, kind, namespace, name, why, hours, devices, advice
_IDLE = (
    (
        "vision",
        "Notebook",
        "vision-lab",
        "jupyter-experiments",
        "idle",
        168,
        2,
        "stop it: nothing ran for 6 days",
    ),
    (
        "speech",
        "Job",
        "speech-train",
        "conformer-xl-1124",
        "stalled",
        120,
        8,
        "look at its log: busy by counter, at 70 W",
    ),
    (
        "vision",
        "PyTorchJob",
        "vision-train",
        "detector-sweep-17",
        "over-requested",
        96,
        4,
        "ask for 4 GPUs, not 8",
    ),
    ("robotics", "Deployment", "robotics", "sim-server", "idle", 150, 1, "scale it down at night"),
    (
        "unassigned",
        "Pod",
        "default",
        "cuda-test",
        "idle",
        110,
        1,
        "find its owner; add a team rule for default",
    ),
    ("language", "StatefulSet", "nlp", "embedding-cache", "not started", 20, 4, "mend its image's name"),
)


@pytest.fixture(autouse=True)
def a_fresh_cache() -> Generator[None]:
    """No test sees what another read; what a test opened is closed."""
    yield
    st.cache_data.clear()
    st.cache_resource.clear()


@pytest.fixture(scope="session")
def a_week() -> Report:
    """A plausible week of 128 GPUs at 3.10 EUR."""
    return _week()


@pytest.fixture(scope="session")
def a_hostile_week() -> Report:
    """The same, with names that are code in HTML, Markdown, a terminal, a spreadsheet and a template."""
    return _week(lambda name: f"{name}{HOSTILE}")


@pytest.fixture(scope="session")
def an_empty_week() -> Report:
    """A week in which there were GPUs, unpriced, and nobody held any."""
    return replace(
        _week(),
        currency="",
        split=Split(unallocated=_amount(21504)),
        billed=Decimal(0),
        pool_cost=Decimal(0),
        pool_cost_before=None,
        by_day=(),
        by_team=(),
        by_workload=(),
        workload_count=0,
        idlest=(),
        own_lines=(),
        provisional=True,
        known_until_ms=None,
    )


def _amount(hours: float) -> Amount:
    return Amount(round(hours) * GPU_HOUR_PMS, round(hours) * _PRICE)


def _week(name: Callable[[str], str] = str) -> Report:
    start = from_iso("2026-11-22T23:00:00Z")
    teams: list[TeamRow] = []
    days: list[DayCost] = []
    for team, (department, gpus, computing, idle, guaranteed) in _TEAMS.items():
        hours = gpus * 168
        split = Split(
            _amount(hours * computing / 100),
            _amount(hours * idle / 100),
            _amount(hours * (100 - computing - idle) / 100),
        )
        promised = guaranteed * 168 * GPU_HOUR_PMS
        borrowed, unused = max(0, split.held.pms - promised), max(0, promised - split.held.pms)
        cost = split.held.cost
        teams.append(
            TeamRow(
                name(team),
                name(department) if department else "",
                split,
                promised,
                split.held.pms - borrowed,
                borrowed,
                unused // 2,
                Decimal(0),
                Decimal(0),
                cost,
                cost * Decimal("0.93"),
            )
        )
        weights = [10 + (gpus * 7 + place * place * 3) % 5 - (4 if place > 4 else 0) for place in range(7)]
        days += [
            DayCost(
                day, name(team), True, split.held.pms * weight // sum(weights), cost * weight / sum(weights)
            )
            for day, weight in zip(_DAYS, weights, strict=True)
        ]
    fleet = Split()
    for row in teams:
        fleet = Split(
            fleet.computing + row.split.computing,
            fleet.idle + row.split.idle,
            fleet.unknown + row.split.unknown,
        )
    own = {"unallocated": _amount(128 * 168 * 0.17), "unavailable": _amount(128 * 168 * 0.035)}
    own["unobserved"] = _amount(
        128 * 168 - fleet.held.gpu_hours - sum(line.gpu_hours for line in own.values())
    )
    fleet = replace(fleet, **own)
    days += [
        DayCost(day, kind, False, line.pms // 7, line.cost / 7) for kind, line in own.items() for day in _DAYS
    ]
    workloads = tuple(
        WorkloadRow(
            "demo",
            place,
            row.team,
            name("Job"),
            name(f"ns-{place}"),
            name(f"train-{place}"),
            row.split,
            0,
            0,
            0,
            0,
            Decimal(0),
            row.cost,
        )
        for place, row in enumerate(teams)
    )
    return Report(
        span="2026-W48",
        unit="week",
        days=_DAYS,
        start_ms=start,
        end_ms=start + 7 * DAY_MS,
        time_zone="Europe/Berlin",
        currency="EUR",
        generated_at_ms=from_iso("2026-11-30T06:00:00Z"),
        known_until_ms=start + 7 * DAY_MS + HOUR_MS,
        provisional=False,
        audience=MANAGERS,
        split=fleet,
        billed=sum((row.cost for row in teams), Decimal(0)),
        pool_cost=fleet.capacity.cost,
        pool_cost_before=fleet.capacity.cost * Decimal("0.957"),
        adjustments=Decimal("-312.40"),
        by_day=tuple(days),
        by_team=tuple(sorted(teams, key=lambda row: -row.cost)),
        by_pool=(PoolRow("demo", name("training"), name("NVIDIA H100 80GB HBM3"), fleet, (_PRICE,)),),
        by_workload=workloads,
        workload_count=342,
        idlest=tuple(
            sorted(
                (_idle(place, row, name) for place, row in enumerate(_IDLE)), key=lambda row: -row.wasted.cost
            )
        ),
        own_lines=tuple(
            OwnLine(kind, line, Decimal(0), Decimal(0), "a line of its own") for kind, line in own.items()
        ),
        notes=(
            "2 targets of 16 did not answer for 3.5 hours on Thursday.",
            "11 % of held time rests on labels alone, without Kubernetes.",
        ),
    )


def _idle(
    place: int, row: tuple[str, str, str, str, str, int, int, str], name: Callable[[str], str]
) -> IdleRow:
    team, kind, namespace, workload, why, hours, devices, advice = row
    split = Split(
        computing=_amount(hours * devices * 0.04),
        idle=_amount(hours * devices * 0.93),
        unknown=_amount(hours * devices * 0.03),
    )
    return IdleRow(
        WorkloadRow(
            "demo",
            100 + place,
            name(team),
            name(kind),
            name(namespace),
            name(workload),
            split,
            0,
            0,
            0,
            0,
            Decimal(0),
            split.held.cost,
        ),
        why,
        split.idle,
        devices,
        devices,
        None,
        4,
        12,
        720,
        name("activity 0.4 % on average, 1.2 % at most, 72 W at most"),
        name(advice + "."),
    )


_FLEET = (  # team, kind, namespace, workload, GPUs, computing and idle parts of the week, the rest is unknown
    ("vision", "PyTorchJob", "vision-train", "detector-sweep-17", 20, 0.82, 0.14),
    ("vision", "Notebook", "vision-lab", "jupyter-experiments", 4, 0.03, 0.97),
    ("language", "PyTorchJob", "nlp", "llm-finetune", 30, 0.93, 0.05),
    ("language", "InferenceService", "nlp", "chat", 6, 0.55, 0.40),
    ("speech", "Job", "speech-train", "conformer-xl-1124", 12, 0.35, 0.55),
    ("robotics", "Deployment", "robotics", "sim-server", 7, 0.45, 0.35),
    ("forecasting", "Job", "forecast", "nightly", 5, 0.80, 0.18),
    ("search", "Deployment", "search", "embedder", 4, 0.90, 0.08),
    ("unassigned", "Pod", "default", "cuda-test", 2, 0.10, 0.60),
)
_PROMISED = {"vision": 16, "language": 32, "speech": 16, "robotics": 8, "search": 8}
_STATES = ("computing", "idle", "unknown", "unallocated", "unavailable", "unobserved")
_OTHERS = ("idle_confirmed", "stalled", "faulted", "not_started", "borrowed", "estimated", "overbooked")


@pytest.fixture(scope="session")
def a_ledger_of_a_week(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Makes a configuration and a ledger of two weeks of 120 GPUs beside it; gives the configuration's path.

    `name` changes every name in it; without `usage` the ledger is empty, without `prices` nothing has a cost.
    """

    def make(name: Callable[[str], str] = str, *, usage: bool = True, prices: bool = True) -> Path:
        folder = tmp_path_factory.mktemp("pages")
        configuration = folder / "quartermaster.yaml"
        configuration.write_text("business: {time_zone: UTC}\nclusters: [{name: demo}]\n")
        with new_ledger(folder / "ledger") as ledger:
            if usage:
                _fill(ledger, name, prices=prices)
        return configuration

    return make


def _fill(ledger: Ledger, name: Callable[[str], str], *, prices: bool) -> None:
    hourly: list[dict[str, object]] = []
    quota: list[dict[str, object]] = []
    start = from_iso("2026-11-16T00:00:00Z")
    for day in range(13):  # the second week lacks its Sunday
        at = start + day * DAY_MS
        rhythm = 1.0 if day % 7 < 5 else 0.7
        free = 120.0
        for team, kind, namespace, workload, gpus, computing, idle in _FLEET:
            busy = gpus * rhythm if kind == "PyTorchJob" else float(gpus)
            free -= busy
            parts = {"computing": computing, "idle": idle, "unknown": 1 - computing - idle}
            label = name(f"{namespace}/{workload}")
            hourly.append(_hourly(at, busy, parts, name(team), content_id("workload", label)))
        rest = {"unallocated": 0.8, "unavailable": 0.13, "unobserved": 0.07}
        hourly.append(_hourly(at, free, rest, None, None))
        quota += [_quota(at, name(team), gpus) for team, gpus in _PROMISED.items()]
    workloads = [
        {
            "cluster": "demo",
            "workload_id": content_id("workload", name(f"{namespace}/{workload}")),
            "start_at": start,
            "kind": name(kind),
            "namespace": name(namespace),
            "name": name(workload),
            "revision": 0,
        }
        for _, kind, namespace, workload, *_ in _FLEET
    ]
    teams = [
        {
            "team_id": content_id("team", name(team)),
            "team": name(team),
            "start_at": 0,
            "department": "research",
            "revision": 0,
        }
        for team in dict.fromkeys(row[0] for row in _FLEET)
    ]
    card = {
        "card_id": 1,
        "card": "2026",
        "start_at": 0,
        "currency": "EUR",
        "share_unallocated": "own",
        "share_unavailable": "own",
        "share_unobserved": "own",
        "bill_faulted": False,
        "revision": 0,
    }
    rate = {
        "rate_id": 1,
        "card": "2026",
        "version": 1,
        "position": 0,
        "cluster_glob": "*",
        "pool_glob": "*",
        "model_glob": "*",
        "measure": "gpu_hour",
        "unit": "gpu_hour",
        "price": Decimal("3.10"),
        "currency": "EUR",
        "start_at": 0,
    }
    marks = [{"cluster": "demo", "snapshot_id": 1, "rolled_until_at": start + 13 * DAY_MS}]
    tables = {
        "usage_hourly": hourly,
        "quota_hourly": quota,
        "workloads_versions": workloads,
        "teams_versions": teams,
        "rollup_marks": marks,
    }
    if prices:
        tables |= {"cards_versions": [card], "rates": [rate]}
    ledger.append(
        "test/week", {table: pl.DataFrame(rows, infer_schema_length=None) for table, rows in tables.items()}
    )
    ledger.write("test/daily", lambda cursor: cursor.execute(_DAILY) and None)
    charge(ledger, from_iso("2026-11-29T01:00:00Z"), "UTC")


def _hourly(
    at: int, gpus: float, parts: dict[str, float], team: str | None, workload: int | None
) -> dict[str, object]:
    sizes = {state: round(gpus * GPU_PARTS * parts.get(state, 0.0)) * DAY_MS for state in _STATES}
    row: dict[str, object] = {f"{state}_pms": size for state, size in sizes.items()}
    row |= {f"{other}_pms": 0 for other in _OTHERS}
    row |= {"held_pms": sum(sizes[state] for state in _STATES[:3]), "capacity_pms": sum(sizes.values())}
    row |= {
        "cluster": "demo",
        "pool": "training",
        "model": "NVIDIA H100 80GB HBM3",
        "node": "n1",
        "device_id": (workload or 0) >> 8,
    }
    row |= {
        "row_start_at": at,
        "row_end_at": at + DAY_MS,
        "team": team,
        "workload_id": workload,
        "allocation_id": workload,
    }
    return row | {
        "energy_j": 0,
        "energy_known_pms": 0,
        "activity_permille_pms": 0,
        "activity_peak_permille": 31,
        "power_peak_dw": 720,
    }


def _quota(at: int, team: str, gpus: int) -> dict[str, object]:
    row: dict[str, object] = {
        "cluster": "demo",
        "row_start_at": at,
        "row_end_at": at + DAY_MS,
        "team": team,
        "pool": "training",
    }
    names = ("held", "within", "borrowed", "lent", "from_spare", "unused", "waiting")
    return row | {f"{name}_pms": 0 for name in names} | {"guaranteed_pms": gpus * GPU_PARTS * DAY_MS}


_SUMS = ("capacity", "held", *_STATES, *_OTHERS)
_DAILY = f"""
insert into usage_daily by name
select
  cluster, strftime(row_start_at, '%Y-%m-%d') as business_day, pool, model, team, workload_id,
  {", ".join(f"sum({state}_pms)::decimal(38, 0) as {state}_pms" for state in _SUMS)},
  0 as energy_j, 0 as energy_known_pms, 0 as activity_permille_pms,
  max(activity_peak_permille) as activity_peak_permille, max(power_peak_dw) as power_peak_dw
from usage_hourly group by all
"""
