"""Small clusters, drawn from a seed, in which all that a plan has to mind happens often."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from zoneinfo import ZoneInfo

from enforcer.idleness import Evidence, Findings, Idle, Notice
from enforcer.shape import Need, Shape, Taint, Toleration
from enforcer.snapshot import (
    FOREVER_MS,
    Budget,
    Coming,
    Node,
    Pod,
    Promise,
    Snapshot,
    Taking,
    Waiting,
    Workload,
)
from quartermaster.clock import HOUR_MS, MINUTE_MS
from quartermaster.config.policy import PolicyPart
from quartermaster.parts import GPU_PARTS, mig_parts

NOW = 1_796_000_400_000  # a Monday at 13:00 UTC
UTC = ZoneInfo("UTC")
GPU = "nvidia.com/gpu"
MIG = "nvidia.com/mig-1g.10gb"
SLICE = mig_parts("H100", "1g.10gb")
POLICY = PolicyPart()
TEAMS = ("a", "b", "c")


@dataclass
class Drawing:
    """A cluster being drawn: what is free on each node keeps the drawn pods possible."""

    random: Random
    free: dict[str, dict[str, int]] = field(default_factory=dict[str, dict[str, int]])
    nodes: list[Node] = field(default_factory=list[Node])
    serial: int = 0

    def uid(self, kind: str) -> str:
        """A UID that nobody has yet."""
        self.serial += 1
        return f"{kind}-{self.serial:03d}"


def draw(seed: int) -> tuple[Snapshot, Findings, PolicyPart]:
    """A snapshot, findings and a policy."""
    drawing = Drawing(Random(seed))
    random = drawing.random
    drawing.nodes = list(_nodes(drawing))
    workloads = tuple(_workloads(drawing))
    waiting = tuple(_waiting(drawing, workloads))
    uids = [each.uid for each in (*workloads, *waiting)]
    takings = tuple(
        Taking(
            random.choice(uids),
            random.choice([*uids, ""]),
            NOW - random.choice((random.randrange(2 * HOUR_MS), random.randrange(2 * MINUTE_MS))),
            random.random() < 0.1,
            random.random() < 0.1,
        )
        for _ in range(random.choice((0, 0, 1, 3)) if uids else 0)
    )
    snapshot = Snapshot(
        "here",
        NOW,
        NOW - random.choice((0, 1_000, 60_000)),
        tuple(drawing.nodes),
        workloads,
        waiting,
        tuple(_promises(drawing)),
        tuple(_coming(drawing)),
        tuple(Budget(f"ns/{name}", random.randrange(4)) for name in ("p", "q")),
        takings,
        queues_order=random.random() < 0.3,
        queues_reclaim=random.random() < 0.1,
    )
    return snapshot, _findings(drawing, workloads), _policy(random)


def _policy(random: Random) -> PolicyPart:
    told: dict[str, object] = {}
    if random.random() < 0.3:
        told["departments"] = (
            {"department": "x", "pool": "whole", "gpus": random.randrange(12)},
            {"department": "y", "pool": "whole", "limit": random.randrange(6, 20)},
        )
    if random.random() < 0.3:
        told["protected"] = {"namespaces": ("ns-b",)}
    if random.random() < 0.3:
        told["minimum_runtime"] = "1m"
    return PolicyPart.model_validate(told)


def _nodes(drawing: Drawing) -> Iterator[Node]:
    random = drawing.random
    for number in range(random.randint(1, 6)):
        pool = "mig" if random.random() < 0.2 else "whole"
        units = ((MIG, 7),) if pool == "mig" else ((GPU, random.choice((2, 4, 8))),)
        node = Node(
            f"n{number}",
            pool,
            units,
            ((MIG, SLICE), (GPU, GPU_PARTS)),
            cpu_milli=random.choice((16_000, 64_000)),
            memory_mib=256_000,
            labels={"zone": random.choice("uv"), "rank": str(number), "kubernetes.io/hostname": f"n{number}"},
            taints=(Taint("dedicated", "x"),) if random.random() < 0.15 else (),
            ready=random.random() > 0.05,
            schedulable=random.random() > 0.05,
        )
        drawing.free[node.name] = dict(units) | {"cpu": node.cpu_milli}
        yield node


def _shape(random: Random, unit: str, *, waits: bool) -> Shape:
    return Shape(
        ((unit, random.choice((1, 1, 2, 4) if unit == GPU else (1, 2))),),
        cpu_milli=random.choice((0, 2_000, 8_000)),
        memory_mib=1_000,
        selector=(("zone", random.choice("uv")),) if random.random() < 0.2 else (),
        affinity=((Need("rank", "Gt", ("1",)),), (Need("zone", "In", ("u",)),))
        if random.random() < 0.1
        else (),
        tolerations=(Toleration("dedicated", "Exists"),) if random.random() < 0.2 else (),
        apart_on="kubernetes.io/hostname" if random.random() < 0.1 else "",
        together_on="zone" if random.random() < 0.1 else "",
        unsure=("a volume of zone v",) if waits and random.random() < 0.05 else (),
    )


def _workloads(drawing: Drawing) -> Iterator[Workload]:
    random = drawing.random
    for _ in range(random.randint(0, 11)):
        pool = random.choice(("whole", "whole", "whole", "mig"))
        unit = MIG if pool == "mig" else GPU
        shape = _shape(random, unit, waits=False)
        uid, team = drawing.uid("w"), random.choice(("a", "b", "b", "b", "c", "c"))
        began = (
            NOW
            - random.choice((20_000, MINUTE_MS, HOUR_MS, 30 * HOUR_MS, 30 * HOUR_MS, 30 * HOUR_MS))
            - random.randrange(MINUTE_MS)
        )
        pods = tuple(
            Pod(
                f"{uid}-p{number}",
                f"ns-{team}",
                f"{uid}-{number}",
                node.name,
                shape,
                shape.units[0][1] * (SLICE if unit == MIG else GPU_PARTS),
                began,
                None if random.random() < 0.05 else began + random.randrange(20_000),
                terminating=random.random() < 0.05,
                budgets=tuple(f"ns/{name}" for name in ("p", "q", "gone") if random.random() < 0.06),
                version=str(random.randrange(9)),
            )
            for number, node in enumerate(_seats(drawing, pool, shape, random.choice((1, 1, 2, 3))))
        )
        if pods:
            kind = random.choice(("Job", "Job", "PyTorchJob", "Notebook", "Deployment", "Pod"))
            yield Workload(
                uid,
                kind,
                f"ns-{team}",
                uid,
                team,
                pool,
                pods,
                version=str(random.randrange(9)),
                priority=random.choice((0, 0, 0, 100, 2_000_000_000)),
                preemptible=random.random() > 0.15,
                serving=kind == "Deployment" and random.random() < 0.5,
                checkpoint_at_ms=random.choice((None, NOW - MINUTE_MS, NOW - HOUR_MS, NOW + HOUR_MS)),
                lost_for_good=("the notebook's memory",) if kind == "Notebook" else (),
                spared_until_ms=random.choice((0, 0, 0, NOW - 1, NOW + HOUR_MS, FOREVER_MS)),
                way_down="" if random.random() < 0.1 else "suspend",
            )


def _seats(drawing: Drawing, pool: str, shape: Shape, count: int) -> Iterator[Node]:
    (unit, each), *_ = shape.units
    for _ in range(count):
        fitting = [
            node
            for node in drawing.nodes
            if node.pool == pool and drawing.free[node.name].get(unit, 0) >= each
        ]
        if not fitting:
            return
        node = drawing.random.choice(fitting)
        drawing.free[node.name][unit] -= each
        yield node


def _waiting(drawing: Drawing, workloads: tuple[Workload, ...]) -> Iterator[Waiting]:
    random = drawing.random
    left = list(workloads)
    for _ in range(random.randint(0, 5)):
        pool = random.choice(("whole", "whole", "whole", "mig"))
        unit = MIG if pool == "mig" else GPU
        shapes = [_shape(random, unit, waits=True) for _ in range(random.choice((1, 1, 1, 2)))]
        pods = tuple(
            (shape, random.choice((1, 1, 2, 3)), shape.units[0][1] * (SLICE if unit == MIG else GPU_PARTS))
            for shape in shapes
        )
        team = random.choice(("a", "a", "a", "a", "b", "c"))
        partly = [each for each in left if each.team == team and each.pool == pool]
        more = random.choice(partly) if partly and random.random() < 0.1 else None  # pods of one that runs
        left = [each for each in left if each is not more]
        uid = drawing.uid("q") if more is None else more.uid
        count = sum(many for _, many, _ in pods)
        yield Waiting(
            uid,
            "Job",
            f"ns-{team}",
            uid,
            team,
            pool,
            pods,
            NOW - random.choice((1_000, MINUTE_MS, 5 * HOUR_MS)) - random.randrange(1_000),
            gang_minimum=random.choice((1, count)),
            version=str(random.randrange(9)),
            priority=random.choice((0, 0, 10)),
            preemptible=random.random() > 0.2,
            held_back=random.random() < 0.4,
            way_down="" if random.random() < 0.1 else "suspend",
        )


def _promises(drawing: Drawing) -> Iterator[Promise]:
    random = drawing.random
    for team in TEAMS:
        for pool, unit in (("whole", GPU_PARTS), ("mig", SLICE)):
            if random.random() < 0.8:
                guaranteed = (
                    random.choice((0, 0, 0, unit // 2))
                    + random.choice((4, 8, 16) if team == "a" else (0, 1, 2, 4)) * unit
                )
                limit = None if random.random() < 0.7 else guaranteed + random.randrange(6) * unit
                department = random.choice(("", "x", "y"))
                yield Promise(team, pool, guaranteed, limit, random.randint(1, 3), department)


def _coming(drawing: Drawing) -> Iterator[Coming]:
    random = drawing.random
    if random.random() < 0.15:
        node = Node("later", "whole", ((GPU, 8),), ((GPU, GPU_PARTS),), 64_000, 256_000, labels={"zone": "u"})
        yield Coming(node, NOW - random.choice((MINUTE_MS, 10 * MINUTE_MS)))


def _findings(drawing: Drawing, workloads: tuple[Workload, ...]) -> Findings:
    random = drawing.random
    found: list[Idle] = []
    for each in workloads:
        if random.random() > 0.4:
            continue
        since = NOW - random.choice((30 * MINUTE_MS, 3 * HOUR_MS, 9 * HOUR_MS, 20 * HOUR_MS))
        notices = tuple(
            Notice(stage, since + after)
            for stage, after in (("warn", 10 * MINUTE_MS), ("again", 20 * MINUTE_MS))
            if random.random() < 0.8
        )
        evidence = tuple(_evidence(random, f"{each.uid}-gpu{n}") for n in range(random.randint(1, 2)))
        keep = random.choice((0, 0, 0, NOW + HOUR_MS))
        found.append(
            Idle(
                each.uid,
                since,
                evidence,
                ("somebody doubts it",) if random.random() < 0.05 else (),
                notices,
                keep,
            )
        )
    computing = frozenset(pool for pool in ("whole", "mig") if random.random() < 0.85)
    return Findings(tuple(found), computing)


def _evidence(random: Random, device: str) -> Evidence:
    return Evidence(
        device,
        random.choice((1000,) * 8 + (950, 949, 0)),
        random.choice((("gr_engine", "power"),) * 9 + (("gr_engine",), ())),
        random.choice(((),) * 15 + (("tensor",),)),
        NOW - random.choice((0, 30_000, 30_000, 60_000, 60_000, 60_000, 60_000, 61_000)),
        30_000,
        frozen=random.random() < 0.05,
    )
