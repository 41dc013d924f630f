# ruff: noqa: E501, PLR0917, C901
"""The brute-force accountant: walks every instant and states decisions 1–9 as directly as they can be read. The specification.

Time is coarse: every instant of a history is a multiple of `step` milliseconds, so that nothing changes within a step.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from quartermaster import records
from quartermaster.clock import HOUR_MS
from quartermaster.ids import device_id
from quartermaster.parts import GPU_PARTS
from tests.usage.hearing import SIGNALS, Hearing
from tests.usage.history import History, Told, effective_end, in_force, within
from tests.usage.lending import Lending
from tests.usage.naming import Naming
from tests.usage.words import Words

PMS = (
    "capacity_pms", "held_pms", "computing_pms", "idle_pms", "unknown_pms", "unallocated_pms", "unavailable_pms", "unobserved_pms",
    "idle_confirmed_pms", "stalled_pms", "faulted_pms", "not_started_pms", "borrowed_pms", "estimated_pms", "overbooked_pms",
    "energy_j", "energy_known_pms", "activity_permille_pms",
)  # fmt: skip
PEAKS = ("activity_peak_permille", "power_peak_dw", "fb_used_peak_mib")
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


class _Walk:
    def __init__(
        self, history: History, cluster: str, start: int, end: int, step: int, midnights: Sequence[int]
    ) -> None:
        told = Told(history, cluster)
        self.told, self.start, self.end, self.step = told, start, end, step
        self.words, self.naming, self.hearing = Words(told), Naming(told), Hearing(told, history.samples)
        self.lending = Lending(told, self.words, step)
        marks = (
            {m for r in self.told.rules for m in (r.start_at, effective_end(r, self.told.rules))}
            | set(history.cuts)
            | set(midnights)
        )
        self.row_starts = sorted(
            {m for m in marks if m is not None and start <= m < end} | set(range(start, end, HOUR_MS))
        )
        self.usage: dict[tuple[Any, ...], Row] = {}
        self.metered: dict[tuple[Any, ...], dict[tuple[Any, ...], int]] = defaultdict(
            lambda: defaultdict(int)
        )

    def walk(self) -> Account:
        for t in range(self.start, self.end, self.step):
            self.instant(t)
        self.split_energy()
        return Account(self.usage, self.lending.quota, dict(self.lending.lent))

    # decision 8: what is there; what gpu_count has and nobody names is node/index
    def there(self, t: int) -> list[tuple[Any, Any]]:
        nodes = {n.node: n for n in in_force(self.told.nodes, "node", t)}
        devices = [d for d in in_force(self.told.devices, "device_id", t) if d.node in nodes]
        real = {(d.node, d.device_index) for d in devices if d.evidence != "assumed"}
        devices = [d for d in devices if d.evidence != "assumed" or (d.node, d.device_index) not in real]
        found = [(d, nodes[d.node]) for d in devices]
        for node in nodes.values():
            named = {d.device_index for d in devices if d.node == node.node}
            free = [index for index in range(node.gpu_count) if index not in named]
            for index in free[: max(0, node.gpu_count - len(named))]:
                uuid = f"{node.node}/{index}"
                ghost = records.Device(
                    self.told.cluster,
                    device_id(self.told.cluster, uuid),
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
        nodes = {n.node: n for n in in_force(self.told.nodes, "node", t)}
        present = {d.device_id: (d, n) for d, n in there}
        believed = min(
            (x for x in in_force(self.told.authority, "authority_id", t) if x.kind == "holders"),
            key=lambda x: (x.rank, x.source),
            default=None,
        )
        source = believed.source if believed else None
        order = sorted(
            (a for a in self.told.allocations if within(a, t) and a.source == source),
            key=lambda a: (a.start_at, a.allocation_id),
        )

        # decisions 4, 5, 7: named holdings fill a device in order; the rest is laid on the node's free parts
        room = {device: d.parts for device, (d, _) in present.items()}
        held: list[tuple[Any, Any, int, bool]] = []
        laid: list[tuple[Any, int]] = []
        evident = {
            a.allocation_id: [c for c in self.naming.claims[a.allocation_id][1] if c[2] <= t < c[3]]
            for a in order
        }
        whole: dict[int, int] = defaultdict(int)
        for a in order:
            for device, parts, _, _ in evident[a.allocation_id]:
                whole[device] += (
                    device in present and self.naming.rank(a) == 0 and parts == present[device][0].parts
                )
        for a in order:
            missing = a.gpu_parts if self.naming.rank(a) == 9 else 0
            for device, parts, _, _ in evident[a.allocation_id]:
                if device not in present:
                    missing += parts
                    continue
                wanted = (
                    parts // whole[device]
                    if self.naming.rank(a) == 0 and parts == present[device][0].parts
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
        self.lending.lend(t, self.row_start(t), there, held, present)
        for a, device, parts, named in held:
            self.hold(t, a, *present[device], parts, named, holders[device])
        for d, node in there:
            self.free(t, d, node, room[d.device_id], source)

    def row_start(self, t: int) -> int:
        return max(mark for mark in self.row_starts if mark <= t)

    def row(self, t: int, node: Any, device: Any, allocation: Any, index: int | None = None) -> Row:
        start = self.row_start(t)
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
                "team": self.words.team(allocation, t) if allocation else None,
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
        row["borrowed_pms"] += self.lending.borrowed[a.allocation_id, d.device_id, named] * self.step
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
        elif confirmed and not (self.naming.rank(a) >= 2 and (node.sharing != "none" or holders > 1)):
            row["idle_confirmed_pms"] += pms
        if named:
            self.meter(t, a, d, node, pms)

    def judge(self, t: int, a: Any, d: Any, node: Any, row: Row, pms: int) -> tuple[str, bool, bool]:
        speaking = [
            x for begin, end, x in self.hearing.voices.get((d.gpu_uuid, d.gi_id), []) if begin <= t < end
        ]
        if not speaking or self.hearing.silenced(d.node, speaking[0]["source"], t):
            return "unknown", False, False
        said = {signal: speaking[0][f"{signal}_permille"] for signal in SIGNALS}
        kind = self.told.kinds.get(a.workload_id, "")
        floors = {signal: self.words.floor(signal, kind, node.model, t) for signal in (*SIGNALS, "power")}
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
            for begin, end, energy in self.hearing.meters.get(d.gpu_uuid, [])
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
            for g in self.told.gaps
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
        for begin, end, energy in self.hearing.meters.get(d.gpu_uuid, []):
            if begin <= t < end:
                start = self.row_start(t)
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
