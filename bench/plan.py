"""A plan and fair shares of a large cluster: 10,000 GPUs, 100,000 pods, on one core."""

import statistics
import time
from collections.abc import Iterator
from zoneinfo import ZoneInfo

from bench.machine import Result
from enforcer.idleness import Evidence, Findings, Idle
from enforcer.plan import Act, Plan
from enforcer.planner import plan
from enforcer.shape import Shape
from enforcer.snapshot import Node, Pod, Promise, Snapshot, Waiting, Workload
from quartermaster.clock import HOUR_MS, MINUTE_MS
from quartermaster.config.policy import PolicyPart
from quartermaster.parts import GPU_PARTS

NODES = 1_250
SHARED_NODES = 1_125  # time-sliced, ten to a GPU: 90,000 pods; the others are held whole
TEAMS = 50
OWNERS = 20
GOAL_S = 0.5
RUNS = 9
NOW = 1_796_000_000_000
SHARED, WHOLE = "nvidia.com/gpu.shared", "nvidia.com/gpu"
TENTH = GPU_PARTS // 10


def run() -> list[Result]:
    """The median of nine plans, in CPU seconds: owners wait in both pools, and borrowers hold all there is."""
    snapshot, findings = cluster()
    policy, zone = PolicyPart(), ZoneInfo("Europe/Berlin")
    took: list[float] = []
    made: Plan | None = None
    for _ in range(RUNS):
        began = time.process_time()
        made = plan(snapshot, findings, policy, zone)
        took.append(time.process_time() - began)
    assert made is not None
    stops = sum(action.act is Act.STOP for action in made.actions)
    pods = sum(len(workload.pods) for workload in snapshot.workloads)
    median = statistics.median(took)
    return [
        Result(
            f"a plan: {NODES * 8:,} GPUs, {pods:,} pods, {len(snapshot.workloads):,} workloads, "
            f"{len(snapshot.waiting):,} waiting",
            f"≤ {GOAL_S} s",
            f"{median:.2f} s of CPU",
            median <= GOAL_S,
            f"at most {max(took):.2f} s; {OWNERS} owners wait, {stops} workloads are stopped for them, "
            f"{len(findings.idle):,} findings of idleness judged, {TEAMS} teams' shares in two pools",
        )
    ]


def cluster() -> tuple[Snapshot, Findings]:
    """The cluster, and idle workloads in it."""
    workloads = tuple(_workloads())
    waiting = tuple(_waiting())
    promises = tuple(
        Promise(
            f"team-{team:02d}", pool, guaranteed * GPU_PARTS, weight=1 + team % 3, department=f"d{team % 5}"
        )
        for team in range(TEAMS)
        for pool, guaranteed in (("shared", 180), ("whole", 20))
    )
    nodes = tuple(
        Node(
            f"node-{number:04d}",
            *(("shared", ((SHARED, 80),)) if number < SHARED_NODES else ("whole", ((WHOLE, 8),))),
            ((SHARED, TENTH), (WHOLE, GPU_PARTS)),
            cpu_milli=256_000,
            memory_mib=2_000_000,
            most_pods=250,
            labels={"kubernetes.io/hostname": f"node-{number:04d}"},
        )
        for number in range(NODES)
    )
    evidence = tuple(
        Evidence(f"gpu-{number}", 1000, ("gr_engine", "power"), (), NOW - 10_000, 30_000)
        for number in range(2)
    )
    idle = tuple(Idle(each.uid, NOW - 90 * MINUTE_MS, evidence) for each in workloads[::10])
    snapshot = Snapshot("large", NOW, NOW, nodes, workloads, waiting, promises)
    return snapshot, Findings(idle, frozenset({"shared", "whole"}))


def _workloads() -> Iterator[Workload]:
    """Nine pods a workload on shared GPUs, and a thousand pods of one GPU each; teams 0 to 9 hold nothing."""
    shape = Shape(((SHARED, 1),), cpu_milli=1_000, memory_mib=4_096)
    seats = [number for number in range(SHARED_NODES) for _ in range(80)]
    for first in range(0, len(seats), 9):
        yield _workload(f"s{first}", "shared", (shape, TENTH), seats[first : first + 9], first // 9)
    single = Shape(((WHOLE, 1),), cpu_milli=8_000, memory_mib=65_536)
    for number in range((NODES - SHARED_NODES) * 8):
        yield _workload(f"w{number}", "whole", (single, GPU_PARTS), [SHARED_NODES + number // 8], number)
    pods_left = 100_000 - len(seats) - (NODES - SHARED_NODES) * 8
    helper = Shape((), cpu_milli=100, memory_mib=256)
    for first in range(0, pods_left, 9):  # pods without GPUs beside them
        nodes = [(first + n) % NODES for n in range(min(9, pods_left - first))]
        yield _workload(f"c{first}", "shared", (helper, 0), nodes, first)


def _workload(uid: str, pool: str, pod: tuple[Shape, int], nodes: list[int], number: int) -> Workload:
    shape, parts = pod
    began = NOW - HOUR_MS - (number * 7_919) % (48 * HOUR_MS)
    pods = tuple(
        Pod(f"{uid}-{index}", "ns", f"{uid}-{index}", f"node-{node:04d}", shape, parts, began, began + 20_000)
        for index, node in enumerate(nodes)
    )
    team = f"team-{10 + number % (TEAMS - 10):02d}"
    return Workload(uid, "Job", "ns", uid, team, pool, pods, way_down="suspend")


def _waiting() -> Iterator[Waiting]:
    """Owners with gangs of two whole nodes or forty slices; and borrowers that are held back."""
    for number in range(OWNERS):
        shared = number % 2 == 0
        pool, shape, count, parts = (
            ("shared", Shape(((SHARED, 1),), cpu_milli=1_000, memory_mib=4_096), 40, TENTH)
            if shared
            else ("whole", Shape(((WHOLE, 8),), cpu_milli=64_000, memory_mib=500_000), 2, 8 * GPU_PARTS)
        )
        since = NOW - (number + 1) * MINUTE_MS
        yield Waiting(
            f"q{number}",
            "Job",
            "ns",
            f"q{number}",
            f"team-{number % 10:02d}",
            pool,
            ((shape, count, parts),),
            since,
            count,
        )
    for number in range(1_000):
        shape = Shape(((WHOLE, 4),), cpu_milli=8_000, memory_mib=65_536)
        yield Waiting(
            f"b{number}",
            "Job",
            "ns",
            f"b{number}",
            f"team-{10 + number % 40:02d}",
            "whole",
            ((shape, 1, 4 * GPU_PARTS),),
            NOW - number * MINUTE_MS,
            held_back=True,
            way_down="suspend",
        )
