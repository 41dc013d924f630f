"""Judging: rows about workloads, promises and borrowers become findings; pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

from analytics.found import Found, Kind
from quartermaster.clock import HOUR_MS, MINUTE_MS
from quartermaster.config.findings import FindingsPart
from quartermaster.config.policy import PolicyPart
from quartermaster.parts import GPU_PARTS
from quartermaster.team import UNASSIGNED, glob_matches

# What answers requests: reported only. That a Deployment has a Service in front of it is not in the ledger.
SERVING = frozenset({"InferenceService", "RayService", "LeaderWorkerSet"})
FRESH_INTERVALS = 2
KNOWN_PERMILLE = 950
LATE_MS = 15 * MINUTE_MS
_MILLIONTH = Decimal("0.000001")

# The price of a GPU-hour and its currency for cluster, pool and model; None where there is none.
PriceOf = Callable[[str, str, str], tuple[Decimal, str] | None]
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Terms:
    """By what findings are judged: the instant, the configuration's two parts, and prices."""

    at_ms: int
    findings: FindingsPart
    policy: PolicyPart
    price_of: PriceOf

    def window_ms(self, kind: str) -> int:
        """How long a workload of the kind must be idle: the first step of its ladder, or what is reported only."""
        rule = self.policy.idle_rule(kind, serving=kind in SERVING)
        return self.findings.report_after_ms if rule is None or rule.warn_ms is None else rule.warn_ms

    def reported_only(self, kind: str) -> bool:
        """Whether nothing ever happens to workloads of the kind."""
        rule = self.policy.idle_rule(kind, serving=kind in SERVING)
        return rule is None or rule.warn_ms is None

    def is_workspace(self, kind: str) -> bool:
        """Whether a person works in it."""
        return any(glob_matches(pattern, kind) for pattern in self.findings.workspaces)

    def is_late(self, heard_ms: int | None) -> bool:
        """Whether holders were told last so long ago that nobody knows who holds, waits or borrows now."""
        return heard_ms is None or self.at_ms - heard_ms > LATE_MS


def workload_findings(rows: Iterable[Row], terms: Terms, heard_ms: int | None) -> list[Found]:
    """Findings about workloads, from the rows of sql/queries/findings/workloads.sql; holders are told up to
    `heard_ms`."""
    unheard = ("who holds was told last too long ago",) if terms.is_late(heard_ms) else ()
    found: list[Found] = []
    for row in rows:
        if row["quiet"] == row["devices"]:
            forgotten = (
                terms.is_workspace(row["kind"])
                and terms.at_ms - row["since_ms"] >= terms.findings.forgotten_after_ms
                and row["idle_pms"] * 1000 >= KNOWN_PERMILLE * row["held_pms"]
            )
            kind = Kind.forgotten if forgotten else Kind.idle
            found.append(_of_workload(row, terms, kind, row["since_ms"], (*unheard, *_doubts(row, terms))))
        elif row["quiet"]:
            found.append(_of_workload(row, terms, Kind.partly_idle, row["quiet_since_ms"]))
        if row["stalled"] == row["devices"]:
            found.append(_of_workload(row, terms, Kind.stalled, terms.at_ms - row["window_ms"]))
        late = (
            row["unstarted"]
            and terms.at_ms - row["unstarted_since_ms"] >= terms.findings.not_started_after_ms
        )
        if late:
            found.append(_of_workload(row, terms, Kind.never_started, row["unstarted_since_ms"]))
    return found


def promise_findings(rows: Iterable[Row], terms: Terms, heard_ms: int | None) -> list[Found]:
    """Findings about teams' guarantees, from the rows of sql/queries/findings/promises.sql."""
    found: list[Found] = []
    settings = terms.findings
    for row in rows:
        since = row["starving_since_ms"]
        if (
            since is not None
            and not terms.is_late(heard_ms)
            and row["starved_parts"] > 0
            and terms.at_ms - since >= settings.starving_after_ms
        ):
            waits = {
                "waits_for_gpus": _gpus(row["starved_parts"]),
                "guarantee_gpus": _gpus(row["guaranteed_parts"]),
            }
            found.append(_of_team(row, Kind.starving, since, waits))
        told_enough = row["told_ms"] * 10 >= settings.quota_window_ms * 9
        if not told_enough or not row["guaranteed_parts"]:
            continue
        start_ms = terms.at_ms - settings.quota_window_ms
        figures = {
            "guarantee_gpus": _gpus(row["guaranteed_parts"]),
            "used_permille": row["used_permille"],
            "idle_permille": row["idle_permille"],
            "idle_gpus": _gpus(row["idle_parts"]),
            "always_unused_gpus": _gpus(row["always_unused_parts"]),
            "days": settings.quota_window_ms // (24 * HOUR_MS),
        }
        if row["used_permille"] <= settings.never_used:
            found.append(_of_team(row, Kind.never_used, start_ms, figures))
        elif row["idle_permille"] >= settings.idle_quota:
            found.append(_of_team(row, Kind.idle_quota, start_ms, figures))
        if row["used_permille"] >= settings.always_used:
            found.append(_of_team(row, Kind.always_used, start_ms, figures))
    return found


def borrower_findings(rows: Iterable[Row], terms: Terms, heard_ms: int | None) -> list[Found]:
    """Who holds what is promised to others, from the rows of sql/queries/findings/borrowers.sql."""
    return [
        Found(
            cluster=row["cluster"],
            kind=Kind.borrower,
            subject=f"{row['borrower']} from {row['lender']} in {row['pool']}",
            since_ms=row["since_ms"],
            team=row["borrower"],
            pool=row["pool"],
            signals=(),
            coverage_permille=None,
            cost=None,
            currency="",
            evidence={
                "lender": row["lender"],
                "gpus": _gpus(row["parts"]),
                "lender_waits": row["lender_waits"],
            },
        )
        for row in rows
        if not terms.is_late(heard_ms)
    ]


def _of_team(row: Row, kind: Kind, since_ms: int, figures: Mapping[str, object]) -> Found:
    return Found(
        cluster=row["cluster"],
        kind=kind,
        subject=f"{row['team']} in {row['pool']}",
        since_ms=since_ms,
        team=row["team"],
        pool=row["pool"],
        signals=(),
        coverage_permille=None,
        cost=None,
        currency="",
        evidence=figures,
    )


def _of_workload(row: Row, terms: Terms, kind: Kind, since_ms: int, doubts: tuple[str, ...] = ()) -> Found:
    devices = [_device(each, row["window_ms"]) for each in row["each_device"]]
    idles = kind in {Kind.idle, Kind.forgotten, Kind.partly_idle}
    price = terms.price_of(row["cluster"], row["pool"], row["model"])
    wasted_pms = row["idle_pms"] if idles else _held_pms(row, kind, terms.at_ms - since_ms)
    signals = sorted({str(signal) for each in devices for signal in each["idle_by"]}) if idles else []
    evidence: dict[str, object] = {
        "workload": f"{row['kind']} {row['namespace']}/{row['workload']}",
        "kind": row["kind"],
        "uid": row["workload_uid"],
        "workload_id": row["workload_id"],
        "gpus": _gpus(row["parts"]),
        "window_ms": row["window_ms"],
        "idle_devices": row["quiet"],
        "devices": devices,
        "doubts": list(doubts),
        "reported_only": terms.reported_only(row["kind"]),
    }
    if idles:
        evidence["idle_gpu_hours"] = _hours(row["idle_pms"])
    return Found(
        cluster=row["cluster"],
        kind=kind,
        subject=f"{row['kind'] or 'workload'} {row['namespace']}/{row['workload'] or row['workload_id']}",
        since_ms=since_ms,
        team=row["team"] or UNASSIGNED,
        pool=row["pool"],
        signals=("gpu_util", "dram", "power", "tensor") if kind is Kind.stalled else tuple(signals),
        coverage_permille=min(1000, row["least_known_ms"] * 1000 // row["window_ms"]),
        cost=None if price is None else _cost(wasted_pms, price[0]),
        currency="" if price is None else price[1],
        evidence=evidence,
        doubts=doubts,
    )


def _held_pms(row: Row, kind: Kind, span_ms: int) -> int:
    """What the devices concerned held meanwhile: all of them, or those that never started."""
    concerned = [each for each in row["each_device"] if kind is Kind.stalled or each["unstarted"]]
    return sum(each["parts"] for each in concerned) * span_ms


def _device(each: Row, window_ms: int) -> dict[str, Any]:
    """One device as evidence, in the form in which the enforcer judges it again."""
    idle_by = [each["signal"]] if each["quiet"] else []
    if each["quiet"] and each["confirmed_ms"] * 1000 >= KNOWN_PERMILLE * window_ms:
        idle_by.append("power")
    return {
        "device": each["device"],
        "pod": each["pod"],
        "known_permille": min(1000, each["known_ms"] * 1000 // window_ms),
        "idle_by": idle_by,
        "active_by": [each["signal"]] if each["busy_ms"] else [],
        "sampled_at_ms": each["sampled_ms"],
        "interval_ms": each["interval_ms"],
        "since_ms": each["since_ms"],
    }


def _doubts(row: Row, terms: Terms) -> Iterator[str]:
    """Why nobody may act on it: all that keeps an idle workload from being idle beyond doubt."""
    for each in row["each_device"]:
        yield from (
            f"{each['device']}: {doubt}" for doubt in _doubts_of_device(each, row["window_ms"], terms.at_ms)
        )
    grace_ms = terms.policy.grace_ms
    if row["started_ms"] + grace_ms > terms.at_ms - row["window_ms"]:
        window = row["window_ms"] // MINUTE_MS
        yield f"it started less than {window} min and a grace of {grace_ms // MINUTE_MS} min ago"
    if not row["sure"]:
        yield "a shared GPU of it is named by labels alone, which may name the wrong one"
    if not row["fit"]:
        yield "a GPU of it, or its node, is sick"
    if row["disputed"]:
        yield "sources disagree about which GPUs it holds"
    if not row["pool_computes"]:
        yield f"nothing at all computes in pool {row['pool']}: a fault of telemetry until shown otherwise"
    if row["kind"] == "Deployment":
        yield "whether a Service stands in front of a Deployment is not in the ledger"


def _doubts_of_device(each: Row, window_ms: int, at_ms: int) -> Iterator[str]:
    if each["confirmed_ms"] * 1000 < KNOWN_PERMILLE * window_ms:
        yield f"{each['signal']} alone shows it idle; power does not say so for 95 % of the time"
    interval_ms = each["interval_ms"]
    if each["sampled_ms"] is None or interval_ms is None:
        yield "it has no two samples"
    elif at_ms - each["sampled_ms"] > FRESH_INTERVALS * interval_ms:
        yield f"its last sample is {(at_ms - each['sampled_ms']) // 1000} s old"


def _cost(pms: int, price: Decimal) -> Decimal:
    return (Decimal(pms) * price / (GPU_PARTS * HOUR_MS)).quantize(_MILLIONTH, ROUND_HALF_EVEN)


def _gpus(parts: int) -> str:
    return f"{Decimal(parts) / GPU_PARTS:.3f}".rstrip("0").rstrip(".")


def _hours(pms: int) -> str:
    return f"{Decimal(pms) / (GPU_PARTS * HOUR_MS):.3f}"
