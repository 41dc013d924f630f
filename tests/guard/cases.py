"""Cases for the guard: a cluster in which one thing may be taken, and a standing that speaks against nothing."""

from typing import Any

from enforcer.guard.judge import Judgement, judge
from enforcer.guard.refused import Refused
from enforcer.guard.standing import Standing, Taken
from enforcer.idleness import Findings, Idle, by_uid
from enforcer.making import target_of
from enforcer.plan import Act, Action, Cause, Plan, hash_of_policy
from enforcer.planner import plan
from enforcer.snapshot import Snapshot, Workload
from quartermaster.clock import HOUR_MS, MINUTE_MS
from quartermaster.config.policy import PolicyPart
from quartermaster.parts import GPU_PARTS
from tests.enforcer.clusters import NOW, UTC
from tests.enforcer.scenes import POOL, TOLD, idle, job, node, scene

FREE: dict[str, Any] = {
    "mode": "act",
    "a_cycle": 100,
    "an_hour": 1000,
    "team_an_hour": 1000,
    "pool_share_a_day": 1,
}


def rules(more: dict[str, Any] | None = None, **acting: Any) -> PolicyPart:
    """A policy with wide limits; the keywords are of `acting`, `more` of the policy."""
    told = FREE | acting
    told |= {each: min(told[each], told["an_hour"]) for each in ("a_cycle", "team_an_hour")}
    return PolicyPart.model_validate({"acting": told, **(more or {})})


def standing(*found: Idle, **more: Any) -> Standing:
    """Nothing speaks against acting: it was started an hour ago, all is known, and `found` is noticed."""
    told: dict[str, Any] = {
        "now_ms": NOW,
        "asked": "act",
        "started_at_ms": NOW - HOUR_MS,
        "policy_since_ms": NOW - HOUR_MS,
        "freeze": None,
        "coverage_permille": 1000,
        "coverage_of_pools": {POOL: 1000},
        "idle": by_uid(found),
    }
    return Standing(**(told | more))


def taken(uid: str, minutes: float, *, team: str = "b", pool: str = POOL, gpus: float = 1) -> Taken:
    """That something was taken some minutes ago."""
    return Taken(uid, NOW - round(minutes * MINUTE_MS), team, pool, round(gpus * GPU_PARTS))


def idler(uid: str = "i", **more: Any) -> Idle:
    """A finding that is due to be taken."""
    return idle(uid, 130, **({"told": TOLD} | more))


def idle_scene(*uids: str, gpus: int = 1, nodes: int = 2, **more: Any) -> Snapshot:
    """Jobs of team c that stand idle, beside one that computes."""
    held = [job(uid, "c", "n0", gpus=gpus, ran=300, **more) for uid in uids or ("i",)]
    return scene(tuple(node(f"n{n}") for n in range(nodes)), *held, job("busy", "a", "n1"))


def planned(snapshot: Snapshot, policy: PolicyPart, *found: Idle) -> Plan:
    """The planner's own plan."""
    return plan(snapshot, Findings(found, frozenset({POOL})), policy, UTC)


def stop(group: int, workload: Workload, for_uid: str = "") -> Action:
    """The stopping of a workload, for somebody or because it stands idle."""
    cause = Cause.OWNER if for_uid else Cause.IDLE
    parts = sum(pod.parts for pod in workload.pods)
    return Action(group, Act.STOP, cause, target_of(workload), for_uid, parts, why=("1",))


def written(snapshot: Snapshot, policy: PolicyPart, *actions: Action, **more: Any) -> Plan:
    """A plan of just these actions."""
    return Plan(snapshot.cluster, snapshot.at_ms, hash_of_policy(policy.model_dump_json()), actions, **more)


def judged(snapshot: Snapshot, made: Plan, now: Standing, policy: PolicyPart) -> Judgement:
    """What the guard says, in UTC."""
    return judge(made, snapshot, now, policy, UTC)


def judged_idle(
    policy: PolicyPart, now: Standing | None = None, snapshot: Snapshot | None = None
) -> Judgement:
    """The usual case: job `i` stands idle and is due to be taken. `snapshot` is what is seen when it is judged."""
    made = planned(idle_scene(), policy, idler())
    return judged(snapshot or idle_scene(), made, now or standing(idler()), policy)


def uids(judgement: Judgement) -> list[str]:
    """Who is stopped, in order."""
    return [each.target.uid for group in judgement.allowed for each in group if each.act is Act.STOP]


def only_refusal(judgement: Judgement) -> Refused:
    """The one refusal there is; nothing is allowed."""
    assert judgement.allowed == ()
    ((_, refused),) = judgement.refused
    return refused
