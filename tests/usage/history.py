# ruff: noqa: E501
"""What was told about a cluster, all versions in any order, and how the last version of each is found."""

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any

from quartermaster import records

FOREVER = 253_402_300_800_000


@dataclass(frozen=True)
class Sample:
    """One row of `samples`."""

    cluster: str
    series_id: int
    sampled_at: int
    source: str
    hold_ms: int
    gr_engine_permille: int | None = None
    gpu_util_permille: int | None = None
    sm_permille: int | None = None
    tensor_permille: int | None = None
    dram_permille: int | None = None
    mem_copy_permille: int | None = None
    power_dw: int | None = None
    energy_j: int | None = None
    fb_used_mib: int | None = None


@dataclass(frozen=True)
class Rule:
    """One row of `team_rules_versions`."""

    rule_id: int
    start_at: int
    end_at: int | None
    position: int
    team: str
    cluster_glob: str | None = None
    namespace_glob: str | None = None
    label_key: str | None = None
    label_glob: str | None = None
    user_pattern_id: int | None = None
    unix_user_pattern_id: int | None = None
    unix_group_pattern_id: int | None = None
    revision: int = 0


@dataclass(frozen=True)
class Threshold:
    """One row of `thresholds_versions`: the floor in permille, for power in dW."""

    threshold_id: int
    start_at: int
    end_at: int | None
    signal: str
    floor: int
    workload_kind: str = "*"
    model: str = "*"
    measured_how: str = "configuration"
    revision: int = 0


@dataclass
class History:
    """Everything that was told about one cluster (and the words that hold for all clusters), in any order, all versions."""

    nodes: list[records.Node] = field(default_factory=list)
    devices: list[records.Device] = field(default_factory=list)
    workloads: list[records.Workload] = field(default_factory=list)
    allocations: list[records.Allocation] = field(default_factory=list)
    holdings: list[records.Holding] = field(default_factory=list)
    demand: list[records.Demand] = field(default_factory=list)
    quotas: list[records.Quota] = field(default_factory=list)
    authority: list[records.Authority] = field(default_factory=list)
    gaps: list[records.Gap] = field(default_factory=list)
    series: list[records.Series] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    team_rules: list[Rule] = field(default_factory=list)
    thresholds: list[Threshold] = field(default_factory=list)
    cuts: list[int] = field(default_factory=list)


# where the ledger's table has its columns in another order than the record
COLUMNS: dict[type, tuple[str, ...]] = {
    records.Device: ("end_at", "node", "device_index", "gpu_uuid", "gi_id", "mig_uuid", "kind", "profile", "parts", "healthy", "evidence"),
    Threshold: ("end_at", "signal", "workload_kind", "model", "floor", "measured_how"),
}  # fmt: skip


def last(versions: Iterable[Any], *key: str) -> list[Any]:
    """The last version of each: the highest revision, of equal ones the greatest content. One that ends where it starts is withdrawn."""
    best: dict[tuple[Any, ...], Any] = {}
    for version in versions:
        name = tuple(getattr(version, part) for part in key)
        if name not in best or _standing(version) > _standing(best[name]):
            best[name] = version
    return [
        version for version in best.values() if version.end_at is None or version.end_at > version.start_at
    ]


def _standing(version: Any) -> tuple[Any, ...]:
    """The revision, then the content column by column; what is not told is less than anything told."""
    columns = COLUMNS.get(type(version)) or tuple(column.name for column in fields(version))
    content = (getattr(version, column) for column in columns)
    return version.revision, *((value is not None, value) for value in content)


def within(thing: Any, t: int) -> bool:
    return thing.start_at <= t < (FOREVER if thing.end_at is None else thing.end_at)


def in_force(versions: Iterable[Any], name: str, t: int) -> list[Any]:
    """Of each thing the version that began last, unless it has ended."""
    begun: dict[Any, Any] = {}
    for version in versions:
        if version.start_at <= t and (
            getattr(version, name) not in begun or version.start_at > begun[getattr(version, name)].start_at
        ):
            begun[getattr(version, name)] = version
    return [version for version in begun.values() if within(version, t)]


def effective_end(rule: Rule, rules: Iterable[Rule]) -> int:
    later = [
        other.start_at for other in rules if other.rule_id == rule.rule_id and other.start_at > rule.start_at
    ]
    return min([FOREVER if rule.end_at is None else rule.end_at, *later])


class Told:
    """The last version of everything that was told."""

    def __init__(self, history: History, cluster: str) -> None:
        h = history
        self.cluster = cluster
        self.nodes = last(h.nodes, "node", "start_at")
        self.devices = last(h.devices, "device_id", "start_at")
        self.allocations = last(h.allocations, "allocation_id")
        self.holdings = last(h.holdings, "holding_id", "start_at")
        self.demand = last(h.demand, "demand_id", "start_at")
        self.quotas = last(h.quotas, "quota_id", "start_at")
        self.authority = last(h.authority, "authority_id", "start_at")
        self.gaps = last(h.gaps, "gap_id", "start_at")
        self.series = last(h.series, "series_id", "start_at")
        self.rules = last(h.team_rules, "rule_id", "start_at")
        self.thresholds = last(h.thresholds, "threshold_id", "start_at")
        self.kinds = {
            w.workload_id: w.kind
            for w in sorted(last(h.workloads, "workload_id", "start_at"), key=lambda w: w.start_at)
        }
