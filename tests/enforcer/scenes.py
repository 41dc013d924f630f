"""Scenes written by hand: a cluster in a few lines, amounts in GPUs, times in minutes before now."""

from dataclasses import replace
from typing import Any

from enforcer.idleness import Evidence, Findings, Idle, Notice
from enforcer.plan import Act, Answer, Plan
from enforcer.planner import plan
from enforcer.shape import Shape
from enforcer.snapshot import Node, Pod, Promise, Snapshot, Waiting, Workload
from quartermaster.clock import MINUTE_MS
from quartermaster.config.policy import PolicyPart
from quartermaster.parts import GPU_PARTS
from tests.enforcer.clusters import GPU, NOW, UTC

POOL = "whole"
TOLD = (("warn", 90), ("again", 45))  # warnings that let a batch job be taken after two hours


def node(name: str, gpus: int = 8, **more: Any) -> Node:
    """A node of whole GPUs."""
    told: dict[str, Any] = {"cpu_milli": 64_000, "memory_mib": 512_000} | more
    labels = {"kubernetes.io/hostname": name} | told.pop("labels", {})
    return Node(name, POOL, ((GPU, gpus),), ((GPU, GPU_PARTS),), labels=labels, **told)


def shape(gpus: int, **more: Any) -> Shape:
    """What a pod asks for."""
    return Shape(((GPU, gpus),), **more)


def job(uid: str, team: str, *nodes: str, gpus: int = 1, ran: int = 120, **more: Any) -> Workload:
    """A job with a pod on each of the nodes, which run for `ran` minutes."""
    pod: dict[str, Any] = more.pop("pod", {})
    begun = NOW - ran * MINUTE_MS
    one = more.pop("shape", shape(gpus))
    pods = tuple(
        Pod(f"{uid}-{n}", f"ns-{team}", f"{uid}-{n}", where, one, gpus * GPU_PARTS, begun, begun, **pod)
        for n, where in enumerate(nodes)
    )
    told: dict[str, Any] = {
        "kind": "Job",
        "namespace": f"ns-{team}",
        "name": uid,
        "team": team,
        "pool": POOL,
        "pods": pods,
        "way_down": "suspend",
    } | more
    return Workload(uid, **told)


def ask(uid: str, team: str, *, gpus: int = 1, pods: int = 1, waits: int = 5, **more: Any) -> Waiting:
    """A gang that waits for `waits` minutes; more shapes as `also`."""
    one = more.pop("shape", shape(gpus))
    wanted = ((one, pods, gpus * GPU_PARTS), *more.pop("also", ()))
    told: dict[str, Any] = {
        "gang_minimum": sum(count for _, count, _ in wanted),
        "way_down": "suspend",
        "name": uid,
    } | more
    return Waiting(
        uid, "Job", f"ns-{team}", team=team, pool=POOL, pods=wanted, since_ms=NOW - waits * MINUTE_MS, **told
    )


def promise(team: str, gpus: float, **more: Any) -> Promise:
    """A guarantee."""
    return Promise(team, POOL, round(gpus * GPU_PARTS), **more)


def scene(nodes: tuple[Node, ...], *things: Workload | Waiting | Promise, **more: Any) -> Snapshot:
    """A snapshot of all that."""
    return Snapshot(
        "here",
        NOW,
        NOW,
        nodes,
        tuple(each for each in things if isinstance(each, Workload)),
        tuple(each for each in things if isinstance(each, Waiting)),
        tuple(each for each in things if isinstance(each, Promise)),
        **more,
    )


def idle(uid: str, minutes: int = 90, *, told: tuple[tuple[str, int], ...] = (), **more: Any) -> Idle:
    """A workload that is idle beyond doubt; `told` are warnings, each some minutes ago."""
    evidence = more.pop("evidence", (proof(),))
    notices = tuple(Notice(stage, NOW - ago * MINUTE_MS) for stage, ago in told)
    return Idle(uid, NOW - minutes * MINUTE_MS, evidence, notices=notices, **more)


def proof(**more: Any) -> Evidence:
    """Evidence of idleness that nothing is wrong with."""
    return replace(Evidence("gpu-0", 1000, ("gr_engine", "power"), (), NOW - 10_000, 30_000), **more)


def made(snapshot: Snapshot, *found: Idle, computing: bool = True, at: int = NOW, **policy: Any) -> Plan:
    """The plan, where something computes."""
    findings = Findings(found, frozenset({POOL}) if computing else frozenset())
    snapshot = replace(snapshot, at_ms=at, seen_at_ms=snapshot.seen_at_ms + at - NOW)
    return plan(snapshot, findings, PolicyPart.model_validate(policy), UTC)


def taken(plan_: Plan) -> list[str]:
    """Who is stopped, in order."""
    return [action.target.uid for action in plan_.actions if action.act is Act.STOP]


def done(plan_: Plan) -> list[tuple[str, str]]:
    """All that is done, in order."""
    return [(action.act.value, action.target.uid) for action in plan_.actions]


def answer(plan_: Plan, uid: str = "q") -> Answer:
    """What becomes of one that waits."""
    return next(each for each in plan_.answers if each.uid == uid)


# What many scenes have: a machine or two of eight GPUs, a promise of one of them, a job that nobody may take.
ONE = (node("n1"),)
TWO = (node("n1"), node("n2"))
A8 = promise("a", 8)
FULL = job("full", "f", "n2", gpus=8, preemptible=False)
