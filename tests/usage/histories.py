# ruff: noqa: E501, PLR0917
"""Random histories of a small cluster, by seed: everything that decisions 1–9 speak of, in three coarse hours."""

from dataclasses import replace
from json import dumps
from random import Random
from typing import Any

from quartermaster import records
from quartermaster.ids import content_id
from quartermaster.parts import GPU_PARTS
from tests.usage.history import History, Rule, Sample, Threshold

STEP = 300_000
HOURS = 3
STEPS = HOURS * 12
ORIGIN = 1_764_000_000_000 // 3_600_000 * 3_600_000
TEAMS = ("ada", "bo", "cy")
KINDS = ("Job", "Notebook")
MODELS = ("H100", "A30")
POOLS = ("big", "big", "big", "small")
PATTERNS = tuple(content_id("user", glob) for glob in ("a*", "b*"))


def at(step: int) -> int:
    return ORIGIN + step * STEP


def random_words(rng: Random) -> History:
    """Rules, thresholds and cuts, which hold for all clusters."""
    words = History()
    for number in range(rng.randint(1, 6)):
        start = rng.choice([-20, -20, -20, rng.randint(0, STEPS)])
        rule = Rule(
            number, at(start), rng.choice([None, at(start + rng.randint(1, STEPS))]), rng.randint(0, 5), rng.choice(TEAMS),
            cluster_glob=rng.choice([None, "*", "c[0-4]*"]),
            namespace_glob=rng.choice([None, "ns-*", "ns-1", "ns-2", "other"]),
            label_key=rng.choice([None, None, None, "team", "app.kubernetes.io/na~me"]),
            label_glob=rng.choice([None, "x*", "y"]),
            user_pattern_id=rng.choice([None, None, None, None, PATTERNS[0]]),
            unix_user_pattern_id=rng.choice([None, None, None, None, PATTERNS[1]]),
            unix_group_pattern_id=rng.choice([None, None, None, None, PATTERNS[0]]),
        )  # fmt: skip
        words.team_rules += revised(rng, rule, team=rng.choice(TEAMS), position=rng.randint(0, 5))
    for number in range(rng.randint(1, 6)):
        start = rng.choice([-20, -20, -20, rng.randint(0, STEPS)])
        signal = rng.choice(["gr_engine", "gpu_util", "tensor", "power", "power", "power"])
        threshold = Threshold(
            number, at(start), rng.choice([None, at(start + rng.randint(1, STEPS))]), signal,
            rng.randint(2000, 9000) if signal == "power" else rng.randint(1, 60), rng.choice(["*", "*", "Notebook", "N*"]), rng.choice(["*", "*H1*", "A30"]),
            measured_how=rng.choice(["configuration", "default"]),
        )  # fmt: skip
        words.thresholds += revised(rng, threshold, floor=rng.randint(1, 100))
    words.cuts = [at(rng.randint(-3, STEPS + 3)) for _ in range(rng.choice([0, 0, 1, 2]))]
    return words


def revised(rng: Random, record: Any, **changes: Any) -> list[Any]:
    """The record as it was told: often once, sometimes corrected, sometimes withdrawn, sometimes followed by a new version."""
    told = [record]
    if rng.random() < 0.2:
        told.append(
            replace(
                record, revision=1, **{name: value for name, value in changes.items() if rng.random() < 0.7}
            )
        )
    if rng.random() < 0.1:
        end = rng.choice([None, record.start_at + rng.randint(1, STEPS) * STEP])
        told.append(replace(told[-1], revision=2, end_at=end))
    if rng.random() < 0.03:
        told.append(replace(told[-1], revision=3, end_at=record.start_at))
    return told


def followed(rng: Random, record: Any, chance: float = 0.3, **changes: Any) -> list[Any]:
    """The record in one or more versions of its life: the next begins later, and the one before may be left open."""
    told = revised(rng, record, **changes)
    while rng.random() < chance:
        start = record.start_at + rng.randint(1, STEPS // 2) * STEP
        if rng.random() < 0.6 and record.end_at is None:
            told.append(replace(told[-1], revision=told[-1].revision + 1, end_at=start))
        record = replace(
            record, start_at=start, end_at=rng.choice([None, start + rng.randint(1, STEPS) * STEP]),
            **{name: value for name, value in changes.items() if rng.random() < 0.5},
        )  # fmt: skip
        told += revised(rng, record)
    return told


def random_history(rng: Random, cluster: str, words: History) -> History:
    h = History(team_rules=words.team_rules, thresholds=words.thresholds, cuts=words.cuts)
    _Maker(rng, cluster, h).make()
    return h


class _Maker:
    def __init__(self, rng: Random, cluster: str, history: History) -> None:
        self.rng, self.cluster, self.h = rng, cluster, history
        self.devices: list[records.Device] = []

    def make(self) -> None:
        rng = self.rng
        self.authority()
        for number in range(rng.randint(1, 3)):
            self.node(f"n{number}")
        for number in range(rng.randint(1, 12)):
            self.allocation(number)
        for number in range(rng.randint(0, 6)):
            self.quota(number)
        for number in range(rng.randint(0, 3)):
            self.wish(number)
        for number in range(rng.choice([0, 0, 1, 2, 3])):
            self.gap(number)

    def maybe_end(self, start: int) -> int | None:
        return self.rng.choice([None, None, None, at(start + self.rng.randint(1, STEPS))])

    def authority(self) -> None:
        rng, c = self.rng, self.cluster
        kubernetes, nvml, labels = ("kubernetes", 0), ("nvml", 3), ("labels", 4)
        both = (kubernetes, labels)
        told = rng.choice(
            [
                (kubernetes,),
                (kubernetes,),
                (kubernetes,),
                (labels,),
                (labels,),
                both,
                both,
                (nvml,),
                (nvml, labels),
                (),
            ]
        )
        self.sources = [source for source, _ in told] or ["kubernetes"]
        for source, rank in told:
            start = rng.choice([-30, -30, -30, rng.randint(0, STEPS)])
            end = rng.choice([None, None, self.maybe_end(max(start, 0))])
            name = content_id("authority", c, source)
            self.h.authority += revised(rng, records.Authority(c, name, at(start), end, source, rank))

    def node(self, name: str) -> None:
        rng, c = self.rng, self.cluster
        start, count = rng.choice([-25, -25, -25, rng.randint(0, STEPS // 2)]), rng.randint(0, 3)
        sharing, model = rng.choice(["none", "none", "none", "time-slicing"]), rng.choice(MODELS)
        self.h.nodes += followed(
            rng, records.Node(c, name, at(start), rng.choice([None, self.maybe_end(max(0, start))]), rng.choice(POOLS), model, count, sharing=sharing),
            schedulable=False, ready=False, gpu_count=rng.randint(0, 3), pool=rng.choice(POOLS), sharing="time-slicing",
        )  # fmt: skip
        for index in range(count):
            if rng.random() < 0.8:
                self.gpu(name, index, start)

    def gpu(self, node: str, index: int, start: int) -> None:
        rng, c = self.rng, self.cluster
        uuid = f"GPU-{node}-{index}"
        start += rng.choice([0, 0, 0, rng.randint(1, 20)])
        shapes: list[tuple[str, str, int]] = [("", "gpu", GPU_PARTS)]
        if rng.random() < 0.25:
            shapes = [
                ("1", "mig", GPU_PARTS // 7 * 3),
                ("2", "mig", GPU_PARTS // 7 * 2),
                ("uncarved", "uncarved", GPU_PARTS // 7 * 2),
            ]
        evidence = rng.choice(["kubelet", "telemetry", "telemetry", "assumed"])
        for gi, kind, parts in shapes:
            device = records.Device(
                c,
                content_id("device", c, uuid, gi),
                at(start),
                rng.choice([None, self.maybe_end(max(0, start))]),
                node,
                index,
                uuid,
                kind,
                parts,
                gi_id=gi,
                evidence=evidence,
            )
            self.devices.append(device)
            self.h.devices += followed(rng, device, 0.15, healthy=False)
        self.telemetry(node, uuid, shapes, start)

    def telemetry(self, node: str, uuid: str, shapes: list[tuple[str, str, int]], start: int) -> None:
        rng = self.rng
        units = [gi for gi, kind, _ in shapes if kind != "uncarved"]
        units += [""] if len(units) > 1 and rng.random() < 0.5 else []
        for source in rng.choice([("dcgm",), ("dcgm",), ("dcgm",), ("nvml", "dcgm"), ("prometheus",)]):
            begin, end = (
                start + rng.choice([0, 0, rng.randint(0, 10)]),
                rng.choice([None, None, None, at(rng.randint(1, STEPS))]),
            )
            voices = [(gi, vgpu) for gi in units for vgpu in (("",) if rng.random() < 0.8 else ("0", "1"))]
            self.samples(node, uuid, source, voices, begin, end)

    def samples(
        self, node: str, uuid: str, source: str, voices: list[tuple[str, str]], begin: int, end: int | None
    ) -> None:
        rng, c = self.rng, self.cluster
        ids = []
        for gi, vgpu in voices:
            number = content_id("series", c, source, node, uuid, gi, vgpu)
            series = records.Series(
                c,
                number,
                at(begin),
                end,
                source,
                node,
                uuid,
                gi,
                vgpu,
                "",
                "",
                0,
                "mig" if gi else "gpu",
                "5",
                f"http://{node}",
            )
            self.h.series += revised(rng, series)
            ids.append(number)
        energy, every, still = rng.randint(0, 10**6), rng.choice([1, 1, 2, 3]), rng.random() < 0.3
        for step in range(max(-6, begin - 1), STEPS + 6, every):
            energy = (
                0
                if rng.random() < 0.05
                else energy
                + rng.choice(
                    [
                        0,
                        rng.randint(0, 250_000),
                        rng.randint(0, 250_000),
                        rng.randint(0, 900) if still else 2_000_000,
                    ]
                )
            )
            for number in ids:
                if rng.random() < 0.85:
                    self.h.samples.append(self.sample(number, step, source, every, energy, still))

    def sample(self, number: int, step: int, source: str, every: int, energy: int, still: bool) -> Sample:
        rng = self.rng

        def value(most: int) -> int | None:
            return None if rng.random() < 0.3 else 0 if still or rng.random() < 0.5 else rng.randint(0, most)

        hold = STEP * rng.choice([every, 2 * every, 2 * every, 3])
        if rng.random() < 0.1:
            return Sample(self.cluster, number, at(step), source, hold, energy_j=rng.choice([None, energy]))
        return Sample(
            self.cluster, number, at(step), source, hold, value(60), rng.choice([value(60), 1000]), value(60), value(40), value(40), value(60),
            rng.choice([None, rng.randint(0, 7000)]), None if rng.random() < 0.1 else energy, rng.choice([None, rng.randint(0, 80_000)]),
        )  # fmt: skip

    def allocation(self, number: int) -> None:
        rng, c = self.rng, self.cluster
        name = content_id("allocation", c, number)
        start = rng.choice([rng.randint(-10, STEPS), rng.randint(0, 12)])
        workload = content_id("workload", c, number % 3)
        if rng.random() < 0.9:
            self.h.workloads += revised(
                rng,
                records.Workload(
                    c, workload, at(start), None, "batch", rng.choice(KINDS), "ns-1", f"w{number % 3}"
                ),
            )
        labels = {
            key: rng.choice(["x1", "y", "z"])
            for key in ("team", "app.kubernetes.io/na~me")
            if rng.random() < 0.5
        }
        source = rng.choice([*self.sources, *self.sources, *self.sources, "labels"])
        allocation = records.Allocation(
            c, name, at(start), rng.choice([None, at(start), at(start + rng.randint(0, 6))]), rng.choice([self.maybe_end(start), at(start + rng.randint(1, 20))]), source, workload,
            f"n{rng.randint(0, 2)}", rng.choice(["ns-1", "ns-2", "other"]), f"pod-{number}",
            sure_start_at=rng.choice([None, at(start + rng.randint(0, 5))]), sure_end_at=rng.choice([None, at(start + rng.randint(0, 20))]),
            preemptible=rng.random() < 0.5, gpu_parts=rng.choice([GPU_PARTS, GPU_PARTS, 2 * GPU_PARTS, GPU_PARTS // 3, 0]), labels=dumps(labels),
            user_patterns=dumps([pattern for pattern in PATTERNS if rng.random() < 0.3]),
        )  # fmt: skip
        changes: dict[str, Any] = {
            "started_at": at(start + 2),
            "start_at": at(start + 1),
            "node": "n0",
            "gpu_parts": GPU_PARTS,
            "labels": "{}",
        }
        self.h.allocations += revised(rng, allocation, **changes)
        if self.devices and rng.random() < 0.8:
            for device in rng.sample(self.devices, k=min(len(self.devices), rng.choice([1, 1, 2]))):
                self.holding(allocation, device, start)

    def holding(self, allocation: records.Allocation, device: records.Device, start: int) -> None:
        rng, c = self.rng, self.cluster
        begin = rng.choice([start, start, start + rng.randint(0, 8)])
        parts = rng.choice([device.parts, device.parts, device.parts // 2, device.parts // 4])
        holding = records.Holding(
            c, content_id("holding", c, allocation.allocation_id, device.device_id), at(begin), rng.choice([allocation.end_at, None]),
            allocation.allocation_id, device.device_id, parts, rng.choice(["dra", "kubelet", "kubelet", "label", "label"]),
        )  # fmt: skip
        if holding.end_at is None or holding.end_at > holding.start_at:
            self.h.holdings += followed(rng, holding, 0.1, parts=device.parts // 3)

    def quota(self, number: int) -> None:
        rng, c = self.rng, self.cluster
        start = rng.choice([-25, -25, rng.randint(0, STEPS)])
        kind = rng.choice(["promise", "promise", "promise", "booking", "offer"])
        quota = records.Quota(
            c, content_id("quota", c, number), at(start), self.maybe_end(max(0, start)), rng.choice([*TEAMS, "unassigned"]), rng.choice(POOLS),
            rng.choice([0, GPU_PARTS // 2, GPU_PARTS, 2 * GPU_PARTS]), kind=kind,
        )  # fmt: skip
        self.h.quotas += followed(rng, quota, 0.3, guaranteed_parts=GPU_PARTS, team=rng.choice(TEAMS))

    def wish(self, number: int) -> None:
        rng, c = self.rng, self.cluster
        start = rng.randint(-5, STEPS)
        wish = records.Demand(
            c, number, at(start), self.maybe_end(start), 0, rng.choice(["ns-1", "other"]), rng.choice(POOLS), rng.randint(1, 3) * GPU_PARTS,
            1, 1, "", "kubernetes", labels=dumps({"team": "x1"}),
        )  # fmt: skip
        self.h.demand += revised(rng, wish, gpu_parts=7 * GPU_PARTS)

    def gap(self, number: int) -> None:
        rng, c = self.rng, self.cluster
        start = rng.randint(-5, STEPS)
        covers = rng.choice(["telemetry", "telemetry", "holders", "quota"])
        source = {
            "telemetry": rng.choice(["dcgm", "dcgm", "nvml"]),
            "holders": rng.choice(["kubernetes", "labels"]),
            "quota": "configuration",
        }[covers]
        node = rng.choice(["", f"n{rng.randint(0, 2)}"])
        target = rng.choice(["", f"http://n{rng.randint(0, 2)}"])
        end = rng.choice([None, at(start + rng.randint(1, 15))])
        self.h.gaps += revised(
            rng,
            records.Gap(c, content_id("gap", c, number), at(start), end, covers, source, target, node, "x"),
        )
