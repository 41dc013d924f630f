"""What of a workload waits: pods that are not bound, what a quota refuses, what a queue or the enforcer holds back."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from collector.kubernetes.values import whole
from enforcer.act.effects import pointer
from enforcer.act.mark import Mark
from enforcer.act.way import SCALED_WAY
from enforcer.live.asked import Asked
from enforcer.live.groups import Group, Teams
from enforcer.live.hosts import weighed
from enforcer.live.makes import MOST_PODS
from enforcer.live.owners import Known
from enforcer.live.places import Places
from enforcer.live.scene import Scene
from enforcer.live.selector import Labels
from enforcer.plan import Act
from enforcer.shape import Shape
from enforcer.snapshot import Taking, Waiting

# All of their pods run, or none does anything.
_GANGS = {
    *(
        "JAXJob",
        "JobSet",
        "LeaderWorkerSet",
        "MPIJob",
        "PaddleJob",
        "PyTorchJob",
        "TFJob",
        "TrainJob",
        "XGBoostJob",
    ),
}
_REPLICAS = "/spec/replicas"


@dataclass(frozen=True, slots=True)
class _Wish:
    """Pods of one sort that wait, since when, and whether no scheduler sees them."""

    asked: Asked
    labels: Labels
    user_patterns: tuple[int, ...]
    count: int
    since_ms: int
    priority: int
    preemptible: bool
    minimum: int
    claimed_parts: int = 0
    held_back: bool = False


def waiting_of(
    group: Group, scene: Scene, places: Places, takings: Sequence[Taking], teams: Teams
) -> Waiting | None:
    """What waits of a workload; None where nothing does, or its owners are not known yet.

    What the enforcer holds back counts only where nothing else of it waits.
    """
    if not group.complete:
        return None
    wishes = [*_pods(group, scene), *_makers(group, scene)]
    if not wishes:
        wishes = list(_held_back(group, scene, takings))
    if not wishes:
        return None
    first = wishes[0]
    team = teams.of(group.namespace, first.labels, first.user_patterns)
    counts: dict[tuple[Asked, Shape, int], int] = {}
    for each in wishes:
        shape = places.shape_of(each.asked, group.uid, group.namespace, each.labels)
        key = each.asked, shape, each.claimed_parts
        counts[key] = min(counts.get(key, 0) + each.count, MOST_PODS)
    most = max(counts, key=lambda key: (counts[key] * weighed(key[0], None), repr(key[1])))
    pool = places.pool_of(most[0], most[1], counts[most], team)
    doubt = places.doubt_of(pool)
    pods = [
        (
            replace(shape, unsure=(*shape.unsure, doubt)) if doubt else shape,
            count,
            places.parts_of(asked, shape, pool) + claimed,
        )
        for (asked, shape, claimed), count in counts.items()
    ]
    count = sum(counts.values())
    patched = group.owner if group.queued else group.patched or group.owner
    running = sum(1 for pod in group.pods if pod.node and not pod.terminating and pod.asks_for_gpus)
    minimum = max(each.minimum for each in wishes)
    return Waiting(
        group.uid,
        group.kind,
        group.namespace,
        group.name,
        team,
        pool,
        tuple(sorted(pods, key=repr)),
        min(each.since_ms for each in wishes),
        gang_minimum=count + running if group.kind in _GANGS else minimum,
        version=patched.version if patched is not None else "",
        priority=max(each.priority for each in wishes),
        preemptible=all(each.preemptible for each in wishes),
        held_back=first.held_back,
        way_down=group.way_down(scene.ways) if group.patched and not group.queued else "",
    )


def _pods(group: Group, scene: Scene) -> Iterator[_Wish]:
    for pod in group.pods:
        if pod.waits:
            claimed = sum(scene.grants.asked(pod.namespace, name) for name in pod.claims)
            minimum = scene.gangs.get(f"{pod.namespace}/{pod.group}", 1)
            yield _Wish(
                *(pod.asked, pod.labels, pod.user_patterns, 1, pod.created_at or 0),
                *(pod.priority, pod.preemptible, minimum, claimed),
            )


def _makers(group: Group, scene: Scene) -> Iterator[_Wish]:
    """What a quota refuses, and what a queue has not admitted."""
    for maker in group.makers:
        lack, uid = maker.lack, maker.reference.uid
        if lack is None or not lack.missing or lack.over:
            continue
        if uid in scene.queued:
            yield from _batches(maker, scene, maker.created_at or 0)
        elif not lack.suspended and maker.reference.kind != "Deployment":
            since = lack.refused_at if lack.refused_at is not None else scene.refused.get(uid)
            if since is not None:
                yield from _batches(maker, scene, since)


def _held_back(group: Group, scene: Scene, takings: Iterable[Taking]) -> Iterator[_Wish]:
    """What the enforcer stopped for an owner, or held back. What it took because it stood idle waits for nothing."""
    owner, patched = group.owner, group.patched
    if patched is None or patched.stopped is None or not patched.down or group.queued:
        return
    stopped = patched.stopped
    last = max((each for each in takings if each.uid == group.uid), key=_when, default=None)
    if stopped.act != Act.HOLD and (last is None or not last.for_uid):
        return
    created = patched.created_at or 0
    since = created if stopped.act == Act.HOLD else max(stopped.at_ms, created)
    for maker in group.makers:
        lack = maker.lack
        if lack is None or lack.over:
            continue
        if lack.suspended and lack.missing:  # a Job, which may be one of several below its owner
            yield from _batches(maker, scene, since, held_back=True)
        elif maker is owner:
            yield from _batches(maker, scene, since, replicas=_replicas(stopped), held_back=True)


def _replicas(stopped: Mark) -> int | None:
    """How many replicas it had; None for what has none. How many KEDA will make nobody knows: one at least."""
    if pointer(SCALED_WAY.field) in stopped.before:
        return 1
    if _REPLICAS not in stopped.before:
        return None
    told = stopped.before[_REPLICAS]
    return min(whole(told), MOST_PODS) if told is not None else 1


def _batches(
    maker: Known, scene: Scene, since_ms: int, *, replicas: int | None = None, held_back: bool = False
) -> Iterator[_Wish]:
    for each in maker.lack.batches if maker.lack else ():
        template = each.template
        yield _Wish(
            template.asked,
            template.labels,
            template.user_patterns,
            each.count if replicas is None else min(max(1, each.count) * replicas, MOST_PODS),
            since_ms,
            scene.priority(template.class_name),
            template.preemptible,
            maker.lack.minimum if maker.lack else 1,
            held_back=held_back,
        )


def _when(taking: Taking) -> int:
    return taking.at_ms
