"""Decisions 4 and 7: which devices a claim has, by the best evidence, and when claims from labels end."""

from typing import Any

from tests.usage.history import FOREVER, Told, in_force

EVIDENCE = {"dra": 0, "kubelet": 1, "label": 2}


class Naming:
    """`claims`: of each allocation the rank of its evidence (9: none) and its devices, parts and spans."""

    def __init__(self, told: Told) -> None:
        self.told = told
        self.claims = {a.allocation_id: self.naming(a) for a in told.allocations}
        self.end_labels()

    def rank(self, allocation: Any) -> int:
        return self.claims[allocation.allocation_id][0]

    # decision 4: the best evidence, once seen, names the device for the whole allocation;
    # for one that labels or processes alone tell of, it does so in its own span
    def naming(self, allocation: Any) -> tuple[int, list[tuple[int, int, int, int]]]:
        end = FOREVER if allocation.end_at is None else allocation.end_at
        mine = [h for h in self.told.holdings if h.allocation_id == allocation.allocation_id]
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
                for other in self.told.holdings
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
            a.allocation_id: self.claims[a.allocation_id][1]
            for a in self.told.allocations
            if a.source == "labels"
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
        there = [d for d in in_force(self.told.devices, "device_id", t) if d.device_id == device]
        nodes = {n.node: n for n in in_force(self.told.nodes, "node", t)}
        return any(d.node in nodes and nodes[d.node].sharing != "none" for d in there)
