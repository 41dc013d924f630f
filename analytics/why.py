"""Why: one sentence for any number of a team, a pod or a GPU on a business day, with the rows behind it."""

from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

import polars as pl
from typing_extensions import override

import sql
from analytics.business import business_day, days_between
from quartermaster.clock import to_datetime
from quartermaster.errors import InputError
from quartermaster.parts import GPU_PARTS
from quartermaster.text import visible
from sql.ledger import Ledger

GPU_HOUR_PMS = GPU_PARTS * 3_600_000
_QUERIES = Path(sql.__file__).parent / "queries" / "why"
_MOST_CANDIDATES = 8
_ASIDES = (
    ("borrowed", "borrowed"),
    ("faulted", "while the GPU was faulty"),
    ("not_started", "before the pod started"),
    ("overbooked", "found no room"),
)


@dataclass(frozen=True)
class Subject:
    """Who a number is about: `kind` is team, pod or gpu; `id` the team, namespace/pod or the GPU's uuid."""

    kind: str
    cluster: str
    id: str

    @override
    def __str__(self) -> str:
        """As people say it: `pod vision/train-0 of demo`."""
        return f"{self.kind} {self.id}" + (f" of {self.cluster}" if self.cluster else "")


@dataclass(frozen=True)
class Why:
    """The answer: the sentence, and the rows behind it, one a pod and device (times in part-milliseconds)."""

    subject: Subject
    day: str
    sentence: str
    rows: pl.DataFrame


def why(
    ledger: Ledger,
    name: str,
    time_zone: str,
    *,
    day: str | None = None,
    kind: str | None = None,
    cluster: str | None = None,
) -> Why:
    """Explain what a team, a pod (`pod`, `namespace/pod`) or a GPU (uuid, `node/index`) was told for a day.

    Without a day it is the last one on which there is usage. Raises InputError for a name that nothing has
    (it tells the nearest), one that several have (it lists them), or a day without usage.
    """
    subject = find_subject(ledger, name, kind, cluster)
    given = {"kind": subject.kind, "cluster": subject.cluster, "id": subject.id}
    if day is None:
        until_ms = ledger.query(_text("day"), given).item()
        if until_ms is None:
            raise InputError(
                f"there is no usage of {subject} yet", "run quartermaster rollup, then ask again"
            )
        day = days_between(int(until_ms) - 1, int(until_ms), time_zone)[0].day
    span = business_day(day, time_zone)
    bounds = {"start_at": to_datetime(span.start_ms), "end_at": to_datetime(span.end_ms)}
    rows = ledger.query(_text("rows"), given | bounds)
    if not rows.height:
        raise InputError(
            f"there is no usage of {subject} on {day}", "leave --day out for the last day with usage"
        )
    return Why(subject, day, _sentence(subject, day, rows), rows)


def find_subject(ledger: Ledger, name: str, kind: str | None, cluster: str | None) -> Subject:
    """Who a name is, among those of a kind and a cluster where these are given. Raises InputError as `why` does."""
    names = ledger.query(_text("names"))
    if kind is not None:
        names = names.filter(pl.col("kind") == kind)
    if cluster is not None:
        names = names.filter(pl.col("cluster").is_in([cluster, ""]))
    fitting = names.filter((pl.col("name") == name) | (pl.col("short") == name)).unique(
        ["kind", "cluster", "id"], maintain_order=True
    )
    found = [Subject(row["kind"], row["cluster"], row["id"]) for row in fitting.iter_rows(named=True)]
    if len(found) == 1:
        return found[0]
    if found:
        told = ", ".join(str(subject) for subject in found[:_MOST_CANDIDATES])
        more = f" and {len(found) - _MOST_CANDIDATES} more" if len(found) > _MOST_CANDIDATES else ""
        raise InputError(f"{name!r} may be: {told}{more}", "say which: namespace/pod, --kind or --cluster")
    known = dict.fromkeys([*names["name"].to_list(), *names["short"].to_list()])
    nearest = get_close_matches(name, known, n=3, cutoff=0.5)
    hint = (
        f"the nearest: {', '.join(map(visible, nearest))}"
        if nearest
        else "quartermaster report names teams and workloads"
    )
    raise InputError(f"there is no {kind or 'team, pod or GPU'} called {name!r}", hint)


def _sentence(subject: Subject, day: str, rows: pl.DataFrame) -> str:
    total = {name: int(rows[name].sum()) for name in rows.columns if name.endswith("_pms")}
    if subject.kind == "gpu":
        return _gpu_sentence(subject, day, rows, total)
    who = f"Team {subject.id}" if subject.kind == "team" else f"Pod {subject.id}"
    first = rows.row(0, named=True)
    if subject.kind == "pod":
        who += (
            f" ({first['workload']}, team {first['team']})"
            if first["workload"]
            else f" (team {first['team']})"
        )
    told = f"{who} held {gpu_hours(total['held_pms'])} GPU-h on {day}{_did(total)}"
    asides = [f"{gpu_hours(total[f'{name}_pms'])} {word}" for name, word in _ASIDES if total[f"{name}_pms"]]
    if asides:
        told += f"; {', '.join(asides)}"
    return f"{told}: {_most(rows, subject.kind)}."


def _gpu_sentence(subject: Subject, day: str, rows: pl.DataFrame, total: dict[str, int]) -> str:
    place = rows.row(0, named=True)
    told = f"GPU {subject.id} ({place['node']}/{place['device_index']}, pool {place['pool']}) was held for "
    held_h, capacity_h = gpu_hours(total["held_pms"]), gpu_hours(total["capacity_pms"])
    told += f"{held_h} of its {capacity_h} GPU-h on {day}{_did(total)}"
    rest = [
        f"{gpu_hours(total[f'{name}_pms'])} {name}"
        for name in ("unallocated", "unavailable", "unobserved")
        if total[f"{name}_pms"]
    ]
    if rest:
        told += f"; {', '.join(rest)}"
    held = rows.filter(pl.col("held_pms") > 0)
    return f"{told}: {_most(held, 'gpu')}." if held.height else f"{told}."


def _did(total: dict[str, int]) -> str:
    if not total["held_pms"]:
        return ""
    states = ", ".join(
        f"{gpu_hours(total[f'{name}_pms'])} {name}"
        for name in ("computing", "idle", "unknown")
        if total[f"{name}_pms"]
    )
    coverage = (total["held_pms"] - total["unknown_pms"]) * 100 // total["held_pms"]
    return f", of which {states} (coverage {coverage} %)"


def _most(rows: pl.DataFrame, kind: str) -> str:
    """The row that weighs most, and how many others there are."""
    first = rows.row(0, named=True)
    where = first["node"] if first["device_index"] is None else f"{first['node']}/{first['device_index']}"
    idle = f", {gpu_hours(first['idle_pms'])} of it idle" if first["idle_pms"] else ""
    what = (
        f"on {where}"
        if kind == "pod"
        else f"pod {first['pod']}"
        if kind == "gpu"
        else f"pod {first['pod']} on {where}"
    )
    others = rows.height - 1
    also = f", and {others} more row{'s' if others > 1 else ''}" if others else ""
    return f"{what} {gpu_hours(first['held_pms'])} GPU-h{idle}{also}"


def gpu_hours(pms: int) -> str:
    """GPU-hours with one decimal; what is less than a twentieth of an hour with three."""
    hours = pms / GPU_HOUR_PMS
    return f"{hours:,.1f}" if hours >= 0.05 or not pms else f"{hours:,.3f}"


def _text(query: str) -> str:
    return (_QUERIES / f"{query}.sql").read_text(encoding="utf-8")
