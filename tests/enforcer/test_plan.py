"""The plan as a value: its hash is of the deed, not of the minute."""

from dataclasses import replace

from enforcer.plan import Act, Step
from enforcer.standing import borrowed_in_order
from quartermaster.clock import MINUTE_MS
from quartermaster.parts import GPU_PARTS
from tests.enforcer.clusters import NOW
from tests.enforcer.scenes import ask, job, made, node, promise, scene

SCENE = scene(
    (node("n1"),), promise("a", 8), job("b1", "b", "n1", gpus=8, version="7"), ask("q", "a", gpus=8)
)


def test_the_same_deed_has_the_same_hash_a_minute_later() -> None:
    now, later = made(SCENE), made(SCENE, at=NOW + MINUTE_MS)
    assert now.actions[0].harm != later.actions[0].harm
    assert (now.hash, now.snapshot_hash) == (later.hash, later.snapshot_hash)


def test_another_deed_object_version_pod_owner_or_policy_has_another() -> None:
    (workload,), (waiting,) = SCENE.workloads, SCENE.waiting
    (pod,) = workload.pods
    others = [
        replace(SCENE, workloads=(replace(workload, version="8"),)),
        replace(SCENE, workloads=(replace(workload, uid="b2"),)),
        replace(SCENE, workloads=(replace(workload, pods=(replace(pod, uid="again"),)),)),
        replace(SCENE, workloads=(replace(workload, pods=(replace(pod, version="1"),)),)),
        replace(SCENE, waiting=(replace(waiting, uid="r"),)),
        replace(SCENE, cluster="there"),
        replace(SCENE, waiting=()),
    ]
    plans = [made(SCENE), made(SCENE, minimum_runtime="11m"), *map(made, others)]
    assert len({plan.hash for plan in plans}) == len(plans)
    assert plans[0].snapshot_hash == plans[1].snapshot_hash


def test_the_hash_is_this_one() -> None:
    # Stands here so that a change of what is hashed is seen: an approval names a hash.
    assert made(SCENE).hash == made(SCENE).hash
    assert len(made(SCENE).hash) == 64
    assert made(replace(SCENE, waiting=())).actions == ()


def test_an_owner_is_always_stopped_before_its_pods_are_evicted() -> None:
    steps = made(SCENE).actions[0].steps
    assert made(SCENE).actions[0].act is Act.STOP
    assert (
        steps.index(Step.RECORD)
        < steps.index(Step.STOP_OWNER)
        < steps.index(Step.EVICT)
        < steps.index(Step.WATCH)
    )


def test_what_is_borrowed_is_counted_as_the_ledger_counts_it() -> None:
    jobs = [
        job("newest", "b", "n1", gpus=4, ran=10),
        job("oldest", "b", "n1", gpus=2, ran=99),
        job("fixed", "b", "n1", gpus=3, ran=1, preemptible=False),
    ]
    borrowed = borrowed_in_order(jobs, 6 * GPU_PARTS)
    assert {uid: parts // GPU_PARTS for uid, parts in borrowed.items()} == {
        "fixed": 0,
        "oldest": 0,
        "newest": 3,
    }
