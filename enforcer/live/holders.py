"""Who holds: the workloads that have bound pods, each with all that decides whether it may be taken."""

from collections.abc import Iterable, Mapping, Sequence

from analytics.judged import SERVING
from enforcer.act.server import WORDS, is_of_a_hub
from enforcer.book import spared_until_ms
from enforcer.live.groups import Group, Teams, counted, without_people
from enforcer.live.hosts import Host, weighed
from enforcer.live.scene import Scene
from enforcer.live.seen import BORROWABLE, CHECKPOINT_AT, Seen
from enforcer.snapshot import Pod, Workload
from enforcer.ways import lost_for_good

UNKNOWN = "unknown"
_BEHIND_A_SERVICE = {"Deployment", "StatefulSet", "ReplicaSet", "Rollout"}


def workloads_of(
    groups: Iterable[Group],
    scene: Scene,
    hosts: Mapping[str, Host],
    teams: Teams,
    at_ms: int,
    *,
    pools: Mapping[str, str],
) -> tuple[Workload, ...]:
    """The workloads that hold GPUs; `pools` are those of nodes that are not seen.

    One of which nothing has changed since the last time is the same value, which the scene keeps meanwhile: of 1,000
    workloads with 8,000 pods that takes 15 ms instead of 70.
    """
    kept: dict[str, tuple[tuple[object, ...], Workload]] = {}
    found: list[Workload] = []
    for group in groups:
        bound = [pod for pod in group.pods if pod.node]
        if not counted(bound):
            continue
        first = next(pod for pod in bound if pod.asks_for_gpus)
        team = teams.of(first.namespace, first.labels, first.user_patterns)
        nodes = [hosts.get(name) or pools.get(name) for name in sorted({pod.node for pod in bound})]
        whose = (group.kind, group.owner, group.queued, group.in_queue, group.scalers, group.above, team)
        key = (*whose, bound, nodes, scene.budgets, scene.services)
        known = scene.kept.get(group.uid)
        if known is not None and known[0] == key:
            workload = known[1]
        else:
            workload = _Holder(scene, hosts, at_ms, pools).workload(group, bound, team)
        if _stands(group, bound, at_ms):
            kept[group.uid] = key, workload
        found.append(workload)
    scene.kept = kept
    return tuple(found)


def _stands(group: Group, bound: Sequence[Seen], at_ms: int) -> bool:
    """Whether it is what its objects are at any later instant too, and nothing else tells of it."""
    told = [at for pod in bound for at in (pod.bound_at, pod.created_at, pod.started_at) if at is not None]
    saved = group.latest(CHECKPOINT_AT)
    return max([*told, saved or 0], default=0) <= at_ms and not any(pod.claims for pod in bound)


class _Holder:
    def __init__(self, scene: Scene, hosts: Mapping[str, Host], at_ms: int, pools: Mapping[str, str]) -> None:
        self._scene, self._hosts, self._at_ms, self._pools = scene, hosts, at_ms, pools

    def workload(self, group: Group, bound: Sequence[Seen], team: str) -> Workload:
        scene, owner, wishes = self._scene, group.owner, group.wishes
        labels: dict[str, str] = {}
        for some in (*(each.labels for each in group.above), *dict.fromkeys(pod.labels for pod in bound)):
            labels |= without_people(some, scene.settings)
        told = {each[BORROWABLE].lower() for each in wishes if BORROWABLE in each}
        serving = group.kind in SERVING or (
            group.kind in _BEHIND_A_SERVICE
            and any(scene.services.over(*key) for key in {(pod.namespace, pod.labels) for pod in bound})
        )
        saved = group.latest(CHECKPOINT_AT)
        pods = tuple(map(self._pod, bound))
        # What is patched to stop it is what must not change until then.
        stopped_by = group.patched
        patched = stopped_by or owner
        served = self._served(bound)
        return Workload(
            group.uid,
            group.kind,
            group.namespace,
            group.name,
            team,
            self._pool_of_most(pods),
            pods,
            version=patched.version if patched is not None else bound[0].version if served else "",
            priority=max(pod.priority for pod in bound),
            preemptible="false" not in told and all(pod.preemptible for pod in bound),
            serving=serving,
            labels=labels,
            checkpoint_at_ms=saved if saved is not None and saved <= self._at_ms else None,
            lost_for_good=lost_for_good(group.kind),
            spared_until_ms=max((spared_until_ms(each) for each in wishes), default=0),
            way_down=group.way_down(scene.ways) if stopped_by else WORDS if served else "",
        )

    def _served(self, bound: Sequence[Seen]) -> bool:
        """Whether it is one pod that a Hub has started."""
        first = bound[0]
        alone = len(bound) == 1 and first.owner is None
        return alone and is_of_a_hub(dict(first.labels), first.namespace, self._scene.hubs)

    def _pod(self, pod: Seen) -> Pod:
        told = (at for at in (pod.bound_at, pod.created_at) if at is not None)
        started = pod.started_at
        return Pod(
            pod.uid,
            pod.namespace,
            pod.name,
            pod.node,
            pod.asked.shape,
            self._parts(pod) if pod.asks_for_gpus else 0,
            min(next(told, self._at_ms), self._at_ms),
            started if started is not None and started <= self._at_ms else None,
            pod.terminating,
            self._scene.budgets.over(pod.namespace, pod.labels),
            pod.version,
        )

    def _parts(self, pod: Seen) -> int:
        held = weighed(pod.asked, self._hosts.get(pod.node))
        for name in pod.claims:
            given = self._scene.grants.given_to(pod.uid, pod.namespace, name)
            if given is not None:
                held += given.unnamed_parts + sum(parts for _, parts in given.units)
        return held

    def _pool_of_most(self, pods: Iterable[Pod]) -> str:
        """The pool in which its pods hold the most parts; by name, where that is several."""
        held: dict[str, int] = {}
        for pod in pods:
            host = self._hosts.get(pod.node)
            pool = self._pools.get(pod.node) if host is None else host.node.pool
            if pool is not None:
                held[pool] = held.get(pool, 0) + pod.parts
        return min(held, key=lambda pool: (-held[pool], pool), default=UNKNOWN)
