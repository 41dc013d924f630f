# ruff: noqa: E501, PLR0917, C901
"""The brute-force accountant: walks every instant and states decisions 1–9 as directly as they can be read. The specification.

Time is coarse: every instant of a history is a multiple of `step` milliseconds, so that nothing changes within a step.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fnmatch import fnmatchcase
from itertools import pairwise
from json import loads
from typing import Any

from quartermaster import records
from quartermaster.clock import HOUR_MS
from quartermaster.ids import device_id
from quartermaster.parts import GPU_PARTS
from quartermaster.remainder import share

FOREVER = 253_402_300_800_000
SOURCES = {"dcgm": 0, "nvml": 1, "prometheus": 2}
EVIDENCE = {"dra": 0, "kubelet": 1, "label": 2}
SIGNALS = ("gr_engine", "gpu_util", "sm", "tensor", "dram", "mem_copy")
FLOORS = {"gr_engine": 20, "gpu_util": 20, "sm": 20, "tensor": 10, "dram": 20, "mem_copy": 20}
MOST_WATTS = 3000


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


Row = dict[str, Any]


@dataclass
class Account:
    """What the accountant found, keyed as the ledger's rows are."""

    usage: dict[tuple[Any, ...], Row]
    quota: dict[tuple[Any, ...], Row]
    lending: dict[tuple[Any, ...], int]


def account(
    history: History, cluster: str, start: int, end: int, step: int, midnights: Sequence[int] = ()
) -> Account:
    """Usage, quota and lending of [start, end), by walking every step of it."""
    return _Walk(history, cluster, start, end, step, midnights).walk()


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


def _effective_end(rule: Rule, rules: Iterable[Rule]) -> int:
    later = [
        other.start_at for other in rules if other.rule_id == rule.rule_id and other.start_at > rule.start_at
    ]
    return min([FOREVER if rule.end_at is None else rule.end_at, *later])


class _Walk:
    def __init__(
        self, history: History, cluster: str, start: int, end: int, step: int, midnights: Sequence[int]
    ) -> None:
        h = history
        self.cluster, self.start, self.end, self.step = cluster, start, end, step
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
        marks = (
            {m for r in self.rules for m in (r.start_at, _effective_end(r, self.rules))}
            | set(h.cuts)
            | set(midnights)
        )
        self.row_starts = sorted(
            {m for m in marks if m is not None and start <= m < end} | set(range(start, end, HOUR_MS))
        )
        self.claims = {a.allocation_id: self.naming(a) for a in self.allocations}
        self.end_labels()
        self.voices, self.meters = self.listen(h.samples)
        self.usage: dict[tuple[Any, ...], Row] = {}
        self.quota: dict[tuple[Any, ...], Row] = {}
        self.lending: dict[tuple[Any, ...], int] = defaultdict(int)
        self.metered: dict[tuple[Any, ...], dict[tuple[Any, ...], int]] = defaultdict(
            lambda: defaultdict(int)
        )

    def walk(self) -> Account:
        for t in range(self.start, self.end, self.step):
            self.instant(t)
        self.split_energy()
        return Account(self.usage, self.quota, dict(self.lending))

    # decision 4: the best evidence, once seen, names the device for the whole allocation;
    # for one that labels or processes alone tell of, it does so in its own span
    def naming(self, allocation: Any) -> tuple[int, list[tuple[int, int, int, int]]]:
        end = FOREVER if allocation.end_at is None else allocation.end_at
        mine = [h for h in self.holdings if h.allocation_id == allocation.allocation_id]
        mine = [
            h
            for h in mine
            if h.start_at < end and (FOREVER if h.end_at is None else h.end_at) > allocation.start_at
        ]
        best = min((EVIDENCE.get(h.evidence, 3) for h in mine), default=9)
        mine = sorted((h for h in mine if EVIDENCE.get(h.evidence, 3) == best), key=lambda h: h.start_at)
        if allocation.source not in {"labels", "nvml", "slurm"}:
            latest = {h.device_id: h.parts for h in mine}
            return best, [(device, parts, allocation.start_at, end) for device, parts in latest.items()]
        spans: list[tuple[int, int, int, int]] = []
        for h in mine:
            later = [
                other.start_at
                for other in self.holdings
                if other.holding_id == h.holding_id and other.start_at > h.start_at
            ]
            spans.append(
                (
                    h.device_id,
                    h.parts,
                    max(h.start_at, allocation.start_at),
                    min([end, h.end_at or FOREVER, *later]),
                )
            )
        return best, [span for span in spans if span[2] < span[3]]

    # decision 7: only intervals from labels end where the next begins (on a device that is not shared then)
    def end_labels(self) -> None:
        told = {
            a.allocation_id: self.claims[a.allocation_id][1] for a in self.allocations if a.source == "labels"
        }
        for mine, spans in told.items():
            cut: list[tuple[int, int, int, int]] = []
            for device, parts, start, end in spans:
                nexts = [
                    begin
                    for other, others in told.items()
                    for its, _, begin, _ in others
                    if other != mine
                    and its == device
                    and (begin, other) > (start, mine)
                    and not self.shared(device, begin)
                ]
                cut.append((device, parts, start, min([end, *nexts])))
            self.claims[mine] = self.claims[mine][0], cut

    def shared(self, device: int, t: int) -> bool:
        there = [d for d in in_force(self.devices, "device_id", t) if d.device_id == device]
        nodes = {n.node: n for n in in_force(self.nodes, "node", t)}
        return any(d.node in nodes and nodes[d.node].sharing != "none" for d in there)

    # decision 1: samples of the source that counts, merged at one millisecond; forward for activity, backward for energy
    def listen(
        self, samples: Iterable[Sample]
    ) -> tuple[dict[tuple[str, str], list[Any]], dict[str, list[Any]]]:
        units: dict[tuple[str, str], dict[int, dict[str, Any]]] = defaultdict(lambda: defaultdict(dict))
        gpus: dict[str, dict[int, dict[str, Any]]] = defaultdict(lambda: defaultdict(dict))
        for sample in samples:
            t = sample.sampled_at
            current = in_force(self.series, "series_id", t)
            mine = [s for s in current if s.series_id == sample.series_id]
            if not mine:
                continue
            series = mine[0]
            rivals = [s.source for s in current if s.gpu_uuid == series.gpu_uuid]
            if sample.source != min(rivals, key=lambda source: (SOURCES.get(source, 3), source)):
                continue
            silent = self.silenced(series.node, sample.source, t)
            for place in (units[series.gpu_uuid, series.gi_id][t], gpus[series.gpu_uuid][t]):
                place["source"] = sample.source
                place["hold"] = max(place.get("hold", 0), sample.hold_ms)
                for name in (
                    *(f"{signal}_permille" for signal in SIGNALS),
                    "power_dw",
                    "energy_j",
                    "fb_used_mib",
                ):
                    values = [
                        v
                        for v in (place.get(name), None if silent else getattr(sample, name))
                        if v is not None
                    ]
                    place[name] = max(values, default=None)
        voices: dict[tuple[str, str], list[Any]] = {}
        for unit, heard in units.items():
            times = sorted(heard)
            voices[unit] = [
                (t, min(after, t + heard[t]["hold"]), heard[t])
                for t, after in zip(times, [*times[1:], FOREVER], strict=True)
            ]
        meters: dict[str, list[Any]] = {}
        for gpu, heard in gpus.items():
            times = sorted(heard)
            meters[gpu] = []
            for before, t in pairwise(times):
                was, now = heard[before]["energy_j"], heard[t]["energy_j"]
                if was is None or now is None or t - before > heard[t]["hold"]:
                    continue
                if was <= now and (now - was) * 1000 <= MOST_WATTS * (t - before):
                    meters[gpu].append((before, t, now - was))
        return voices, meters

    # a gap silences only its own source: its node, or without one its target's nodes, or without either the whole cluster
    def silenced(self, node: str, source: str, t: int) -> bool:
        for gap in self.gaps:
            if gap.covers != "telemetry" or gap.source != source or not within(gap, t):
                continue
            if gap.node == node or (not gap.node and not gap.target):
                return True
            if not gap.node and any(
                s.node == node and s.source == source and s.target == gap.target for s in self.series
            ):
                return True
        return False

    def team(self, claim: Any, t: int) -> str:
        labels, patterns = loads(claim.labels), loads(claim.user_patterns)
        for rule in sorted(
            in_force(self.rules, "rule_id", t), key=lambda rule: (rule.position, rule.rule_id)
        ):
            if rule.cluster_glob is not None and not fnmatchcase(self.cluster, rule.cluster_glob):
                continue
            if rule.namespace_glob is not None and not fnmatchcase(claim.namespace, rule.namespace_glob):
                continue
            if rule.label_key is not None and (
                rule.label_key not in labels
                or not fnmatchcase(labels[rule.label_key], rule.label_glob or "*")
            ):
                continue
            if any(
                wanted is not None and wanted not in patterns
                for wanted in (rule.user_pattern_id, rule.unix_user_pattern_id, rule.unix_group_pattern_id)
            ):
                continue
            return rule.team
        return "unassigned"

    # decision 2: the floor of a signal is that of the most special threshold in force
    def floor(self, signal: str, kind: str, model: str, t: int) -> int | None:
        fitting = [
            x
            for x in in_force(self.thresholds, "threshold_id", t)
            if x.signal == signal and fnmatchcase(kind, x.workload_kind) and fnmatchcase(model, x.model)
        ]
        special = min(
            fitting,
            key=lambda x: (
                x.measured_how == "default",
                x.workload_kind == "*",
                -len(x.model.replace("*", "")),
                x.threshold_id,
            ),
            default=None,
        )
        return special.floor if special else FLOORS.get(signal)

    # decision 8: what is there; what gpu_count has and nobody names is node/index
    def there(self, t: int) -> list[tuple[Any, Any]]:
        nodes = {n.node: n for n in in_force(self.nodes, "node", t)}
        devices = [d for d in in_force(self.devices, "device_id", t) if d.node in nodes]
        real = {(d.node, d.device_index) for d in devices if d.evidence != "assumed"}
        devices = [d for d in devices if d.evidence != "assumed" or (d.node, d.device_index) not in real]
        found = [(d, nodes[d.node]) for d in devices]
        for node in nodes.values():
            named = {d.device_index for d in devices if d.node == node.node}
            free = [index for index in range(node.gpu_count) if index not in named]
            for index in free[: max(0, node.gpu_count - len(named))]:
                uuid = f"{node.node}/{index}"
                ghost = records.Device(
                    self.cluster,
                    device_id(self.cluster, uuid),
                    t,
                    None,
                    node.node,
                    index,
                    uuid,
                    "gpu",
                    GPU_PARTS,
                    evidence="assumed",
                )
                found.append((ghost, node))
        return found

    def instant(self, t: int) -> None:
        there = self.there(t)
        nodes = {n.node: n for n in in_force(self.nodes, "node", t)}
        present = {d.device_id: (d, n) for d, n in there}
        believed = min(
            (x for x in in_force(self.authority, "authority_id", t) if x.kind == "holders"),
            key=lambda x: (x.rank, x.source),
            default=None,
        )
        source = believed.source if believed else None
        order = sorted(
            (a for a in self.allocations if within(a, t) and a.source == source),
            key=lambda a: (a.start_at, a.allocation_id),
        )

        # decisions 4, 5, 7: named holdings fill a device in order; the rest is laid on the node's free parts
        room = {device: d.parts for device, (d, _) in present.items()}
        held: list[tuple[Any, Any, int, bool]] = []
        laid: list[tuple[Any, int]] = []
        evident = {
            a.allocation_id: [c for c in self.claims[a.allocation_id][1] if c[2] <= t < c[3]] for a in order
        }
        whole: dict[int, int] = defaultdict(int)
        for a in order:
            for device, parts, _, _ in evident[a.allocation_id]:
                whole[device] += device in present and self.rank(a) == 0 and parts == present[device][0].parts
        for a in order:
            missing = a.gpu_parts if self.rank(a) == 9 else 0
            for device, parts, _, _ in evident[a.allocation_id]:
                if device not in present:
                    missing += parts
                    continue
                wanted = (
                    parts // whole[device]
                    if self.rank(a) == 0 and parts == present[device][0].parts
                    else parts
                )
                got = min(room[device], wanted)
                room[device] -= got
                held.append((a, device, got, True))
                self.over(a, t, device, present[device][1], wanted - got)
            laid.append((a, missing))
        for a, missing in laid:
            if a.node not in nodes:
                continue
            left = missing
            for d, _ in sorted(there, key=lambda x: (not x[0].healthy, x[0].device_index, x[0].device_id)):
                if d.node == a.node and d.kind != "uncarved":
                    got = min(room[d.device_id], left)
                    room[d.device_id] -= got
                    left -= got
                    held.append((a, d.device_id, got, False))
            self.over(a, t, None, nodes[a.node], left)

        held = [x for x in held if x[2]]
        holders: dict[int, int] = defaultdict(int)
        for _, device, _, _ in held:
            holders[device] += 1
        self.lend(t, there, held, present)
        for a, device, parts, named in held:
            self.hold(t, a, *present[device], parts, named, holders[device])
        for d, node in there:
            self.free(t, d, node, room[d.device_id], source)

    def rank(self, allocation: Any) -> int:
        return self.claims[allocation.allocation_id][0]

    def row(self, t: int, node: Any, device: Any, allocation: Any, index: int | None = None) -> Row:
        start = max(mark for mark in self.row_starts if mark <= t)
        key = (
            start,
            node.pool,
            node.model,
            node.node,
            device,
            allocation.allocation_id if allocation else None,
        )
        if key not in self.usage:
            empty = dict.fromkeys(PMS, 0) | dict.fromkeys(PEAKS)
            self.usage[key] = empty | {
                "workload_id": allocation.workload_id if allocation else None,
                "team": self.team(allocation, t) if allocation else None,
            }
        return self.usage[key]

    def over(self, allocation: Any, t: int, device: Any, node: Any, parts: int) -> None:
        if parts > 0:
            self.row(t, node, device, allocation)["overbooked_pms"] += parts * self.step

    # decisions 2, 3, 6: what the held parts did
    def hold(self, t: int, a: Any, d: Any, node: Any, parts: int, named: bool, holders: int) -> None:
        row, pms = self.row(t, node, d.device_id, a), parts * self.step
        row["capacity_pms"] += pms
        row["held_pms"] += pms
        row["borrowed_pms"] += self.borrowed[a.allocation_id, d.device_id, named] * self.step
        if t < (a.start_at if a.sure_start_at is None else a.sure_start_at) or (
            a.sure_end_at is not None and t >= a.sure_end_at
        ):
            row["estimated_pms"] += pms
        state, confirmed, stalled = (
            self.judge(t, a, d, node, row, pms) if named else ("unknown", False, False)
        )
        row[f"{state}_pms"] += pms
        row["stalled_pms"] += pms * stalled
        started = a.started_at is not None and t >= a.started_at
        if not (node.ready and d.healthy) and state != "computing":
            row["faulted_pms"] += pms
        elif not started:
            row["not_started_pms"] += pms
        elif confirmed and not (self.rank(a) >= 2 and (node.sharing != "none" or holders > 1)):
            row["idle_confirmed_pms"] += pms
        if named:
            self.meter(t, a, d, node, pms)

    def judge(self, t: int, a: Any, d: Any, node: Any, row: Row, pms: int) -> tuple[str, bool, bool]:
        speaking = [x for begin, end, x in self.voices.get((d.gpu_uuid, d.gi_id), []) if begin <= t < end]
        if not speaking or self.silenced(d.node, speaking[0]["source"], t):
            return "unknown", False, False
        said = {signal: speaking[0][f"{signal}_permille"] for signal in SIGNALS}
        kind = self.kinds.get(a.workload_id, "")
        floors = {signal: self.floor(signal, kind, node.model, t) for signal in (*SIGNALS, "power")}
        activity = next(
            (said[signal] for signal in ("gr_engine", "sm", "gpu_util") if said[signal] is not None), None
        )
        if activity is not None:
            row["activity_permille_pms"] += activity * pms
            row["activity_peak_permille"] = max(row["activity_peak_permille"] or 0, activity)
        if speaking[0]["power_dw"] is not None:
            row["power_peak_dw"] = max(
                row["power_peak_dw"] or 0, speaking[0]["power_dw"] * d.parts // GPU_PARTS
            )
        if speaking[0]["fb_used_mib"] is not None:
            row["fb_used_peak_mib"] = max(row["fb_used_peak_mib"] or 0, speaking[0]["fb_used_mib"])
        known = {signal: value for signal, value in said.items() if value is not None}
        if not known:
            return "unknown", False, False
        busy = {signal: value >= (floors[signal] or 0) for signal, value in known.items()}
        drawn = [
            (energy, end - begin)
            for begin, end, energy in self.meters.get(d.gpu_uuid, [])
            if begin <= t < end
        ]
        weak = (
            bool(drawn)
            and floors["power"] is not None
            and drawn[0][0] * 10_000 < floors["power"] * drawn[0][1]
        )
        if any(busy.values()):
            return (
                "computing",
                False,
                busy.get("gpu_util", False)
                and not busy.get("tensor", True)
                and not busy.get("dram", True)
                and weak,
            )
        return "idle", weak, False

    def free(self, t: int, d: Any, node: Any, parts: int, source: str | None) -> None:
        if not parts:
            return
        row, pms = self.row(t, node, d.device_id, None), parts * self.step
        gap = any(
            g.covers == "holders" and g.source == source and within(g, t) and g.node in ("", node.node)
            for g in self.gaps
        )
        row["capacity_pms"] += pms
        if not (node.schedulable and node.ready and d.healthy):
            row["unavailable_pms"] += pms
        elif source is None or gap:
            row["unobserved_pms"] += pms
        else:
            row["unallocated_pms"] += pms
        self.meter(t, None, d, node, pms)

    def meter(self, t: int, a: Any, d: Any, node: Any, pms: int) -> None:
        for begin, end, energy in self.meters.get(d.gpu_uuid, []):
            if begin <= t < end:
                start = max(mark for mark in self.row_starts if mark <= t)
                stop = min([mark for mark in self.row_starts if mark > t] + [self.end])
                self.row(t, node, d.device_id, a)["energy_known_pms"] += pms
                claim = (start, node.pool, node.model, node.node, d.device_id, a.allocation_id if a else None)
                self.metered[d.gpu_uuid, begin, end, energy, start, stop][claim] += pms

    # decision 1: over time, then parts, by differences of floors of the running amount
    def split_energy(self) -> None:
        for (_, begin, end, energy, start, stop), claims in self.metered.items():
            low, high = max(begin, start), min(end, stop)
            amount = energy * (high - begin) // (end - begin) - energy * (low - begin) // (end - begin)
            whole = max(GPU_PARTS * (high - low), sum(claims.values()))
            running = 0
            for claim in sorted(claims, key=lambda c: (c[4], c[5] is None, c[5] or 0, c[1:4])):
                before = amount * running // whole
                running += claims[claim]
                self.usage[claim]["energy_j"] += amount * running // whole - before

    # decision 9
    def guarantees(self, t: int) -> dict[tuple[str, str], int]:
        promised: dict[tuple[str, str], int] = defaultdict(int)
        for quota in in_force([self.stretched(q) for q in self.quotas], "quota_id", t):
            promised[quota.pool, quota.team] += quota.guaranteed_parts * (-1 if quota.kind == "offer" else 1)
        return {key: max(0, parts) for key, parts in promised.items()}

    def stretched(self, quota: Any) -> Any:
        """In a quota gap the last known guarantee stands: one that ends in a gap ends with it."""
        changed = True
        while changed and quota.end_at is not None:
            changed = False
            for gap in self.gaps:
                end = FOREVER if gap.end_at is None else gap.end_at
                if (
                    gap.covers == "quota"
                    and gap.source == quota.source
                    and gap.start_at <= quota.end_at < end
                ):
                    quota = replace(quota, end_at=end)
                    changed = True
        return quota

    def lend(self, t: int, there: Any, held: Any, present: Any) -> None:
        self.borrowed: dict[tuple[int, int, bool], int] = {}
        guarantees, start = self.guarantees(t), max(mark for mark in self.row_starts if mark <= t)
        waiting: dict[tuple[str, str], int] = defaultdict(int)
        for wish in in_force(self.demand, "demand_id", t):
            waiting[wish.pool, self.team(wish, t)] += wish.gpu_parts
        mine: dict[tuple[str, str], list[Any]] = defaultdict(list)
        for a, device, parts, named in held:
            d, node = present[device]
            mine[node.pool, self.team(a, t)].append(
                (a.preemptible, a.start_at, a.allocation_id, d.node, d.device_index, device, not named, parts)
            )
        for pool in {pool for pool, _ in (*guarantees, *mine, *waiting)}:
            teams = sorted({team for p, team in (*guarantees, *mine, *waiting) if p == pool})
            capacity = sum(d.parts for d, node in there if node.pool == pool)
            has = {team: sum(x[-1] for x in mine[pool, team]) for team in teams}
            promise = {team: guarantees.get((pool, team), 0) for team in teams}
            inside = {team: min(has[team], promise[team]) for team in teams}
            borrowed = {team: has[team] - inside[team] for team in teams}
            unused = {team: promise[team] - inside[team] for team in teams}
            spare = min(max(0, capacity - sum(promise.values())), sum(borrowed.values()))
            from_spare = share(spare, borrowed)
            lent = share(sum(borrowed.values()) - spare, unused)
            for team in teams:
                figures = (
                    promise[team],
                    has[team],
                    inside[team],
                    borrowed[team],
                    lent[team],
                    from_spare[team],
                    unused[team],
                    waiting.get((pool, team), 0),
                )
                row = self.quota.setdefault((start, pool, team), dict.fromkeys(QUOTA, 0))
                for name, parts in zip(QUOTA, figures, strict=True):
                    row[name] += parts * self.step
                left = promise[team]
                for x in sorted(mine[pool, team]):
                    self.borrowed[x[2], x[5], not x[6]] = max(0, x[-1] - left)
                    left = max(0, left - x[-1])
            self.matrix(start, pool, lent, {team: borrowed[team] - from_spare[team] for team in teams})

    def matrix(self, start: int, pool: str, lent: Mapping[str, int], borrowed: Mapping[str, int]) -> None:
        """Both laid side by side in order of name: unit k that is lent goes to whoever borrows unit k."""
        lenders, borrowers = _laid(lent), _laid(borrowed)
        for lender, low, high in lenders:
            for borrower, begin, end in borrowers:
                parts = min(high, end) - max(low, begin)
                if parts > 0:
                    self.lending[start, pool, lender, borrower] += parts * self.step


def _laid(amounts: Mapping[str, int]) -> list[tuple[str, int, int]]:
    found, at = [], 0
    for name in sorted(amounts):
        found.append((name, at, at + amounts[name]))
        at += amounts[name]
    return found


PMS = (
    "capacity_pms", "held_pms", "computing_pms", "idle_pms", "unknown_pms", "unallocated_pms", "unavailable_pms", "unobserved_pms",
    "idle_confirmed_pms", "stalled_pms", "faulted_pms", "not_started_pms", "borrowed_pms", "estimated_pms", "overbooked_pms",
    "energy_j", "energy_known_pms", "activity_permille_pms",
)  # fmt: skip
PEAKS = ("activity_peak_permille", "power_peak_dw", "fb_used_peak_mib")
QUOTA = (
    "guaranteed_pms",
    "held_pms",
    "within_pms",
    "borrowed_pms",
    "lent_pms",
    "from_spare_pms",
    "unused_pms",
    "waiting_pms",
)
