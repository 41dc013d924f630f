"""Reading a scene: what is there, as a snapshot that a plan is made of; pure."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from analytics.judged import SERVING
from collector.kubernetes.allocations import requested_parts
from collector.kubernetes.claims import existing
from collector.kubernetes.values import instant_ms
from enforcer.book import spared_until_ms
from enforcer.live.coming import scaled_up
from enforcer.live.groups import Group, counted, gather, without_people
from enforcer.live.hosts import Host
from enforcer.live.places import Places, pool_of_most
from enforcer.live.scene import Scene
from enforcer.live.seen import BORROWABLE, CHECKPOINT_AT, KEEP_UNTIL, Seen
from enforcer.live.selector import Labels
from enforcer.live.waits import waiting_of
from enforcer.snapshot import Budget, Coming, Node, Pod, Promise, Snapshot, Taking, Workload
from enforcer.ways import lost_for_good, way_down
from quartermaster.pool import pool_of
from quartermaster.team import team_of

_BEHIND_A_SERVICE = {"Deployment", "StatefulSet", "ReplicaSet", "Rollout"}


class Reading:
    """One look at a scene at an instant (epoch ms, on the API server's clock)."""

    def __init__(self, scene: Scene, at_ms: int) -> None:
        self.scene, self.at_ms = scene, at_ms
        self.groups = dict(sorted(gather(scene).items()))
        self.hosts = _with_claimed(scene)
        self._teams: dict[tuple[str, Labels, tuple[int, ...]], str] = {}
        self.parts = {
            pod.uid: self._parts(pod)
            for group in self.groups.values()
            for pod in group.pods
            if pod.node and pod.asks_for_gpus
        }

    def snapshot(self, seen_at_ms: int, promises: Sequence[Promise], takings: Sequence[Taking]) -> Snapshot:
        """The snapshot. `takings` of which nobody is there any more are left out."""
        workload_of = {pod.uid: group.uid for group in self.groups.values() for pod in group.pods}
        gpu_hosts = [host for _, host in sorted(self.hosts.items()) if host.node.unit_parts]
        places = Places(self.scene, gpu_hosts, workload_of)
        with_gpus = [group for group in self.groups.values() if counted(group.pods)]
        workloads = tuple(each for group in with_gpus if (each := self._workload(group)) is not None)
        queues = bool(self.scene.queued or self.scene.gangs)
        waits = [
            (group, found)
            for group in self.groups.values()
            if (found := waiting_of(group, self.scene, places, takings, self.team)) is not None
        ]
        waiting = tuple(found for _, found in waits)
        uids = {each.uid for each in (*workloads, *waiting)}
        return Snapshot(
            self.scene.settings.cluster,
            self.at_ms,
            seen_at_ms,
            tuple(self._nodes(gpu_hosts, {pod.uid for group in with_gpus for pod in group.pods})),
            workloads,
            waiting,
            tuple(promises),
            tuple(self._coming(places)),
            tuple(
                sorted(
                    (Budget(f"{each.namespace}/{each.name}", each.allowed) for each in self.scene.budgets),
                    key=lambda each: each.name,
                )
            ),
            tuple(each for each in takings if each.uid in uids or each.for_uid in uids),
            queues_order=queues,
            queues_reclaim=queues,
        )

    def kept_until_ms(self) -> dict[str, int]:
        """Until when people keep workloads by annotation, as they wrote it; what is no instant keeps nothing."""
        found = {uid: _latest(group, KEEP_UNTIL) for uid, group in self.groups.items() if counted(group.pods)}
        return {uid: at_ms for uid, at_ms in found.items() if at_ms is not None}

    def team(self, namespace: str, labels: Labels, user_patterns: tuple[int, ...]) -> str:
        """The team of pods with such labels, now."""
        key = namespace, labels, user_patterns
        known = self._teams.get(key)
        if known is None:
            settings = self.scene.settings
            known = self._teams[key] = team_of(
                settings.rules,
                self.at_ms,
                cluster=settings.cluster,
                namespace=namespace,
                labels=without_people(labels, settings),
                user_patterns=user_patterns,
            )
        return known

    def _workload(self, group: Group) -> Workload | None:
        bound = [pod for pod in group.pods if pod.node]
        if not counted(bound):
            return None
        scene = self.scene
        first = next(pod for pod in bound if pod.asks_for_gpus)
        labels = {
            key: value
            for told in (*(each.labels for each in group.above), *dict.fromkeys(pod.labels for pod in bound))
            for key, value in without_people(told, scene.settings).items()
        }
        wishes = group.wishes
        told = {each[BORROWABLE].lower() for each in wishes if BORROWABLE in each}
        owner = group.owner
        way = way_down(group.kind) if owner is not None and not group.queued else ""
        serving = group.kind in SERVING or (
            group.kind in _BEHIND_A_SERVICE
            and any(scene.services.over(*key) for key in {(pod.namespace, pod.labels) for pod in bound})
        )
        saved = _latest(group, CHECKPOINT_AT)
        return Workload(
            group.uid,
            group.kind,
            group.namespace,
            group.name,
            self.team(first.namespace, first.labels, first.user_patterns),
            pool_of_most(((pod, self.parts.get(pod.uid, 0)) for pod in bound), self.hosts),
            tuple(map(self._pod, bound)),
            version=owner.version if owner is not None else "",
            priority=max(pod.priority for pod in bound),
            preemptible="false" not in told and all(pod.preemptible for pod in bound),
            serving=serving,
            labels=labels,
            checkpoint_at_ms=saved if saved is not None and saved <= self.at_ms else None,
            lost_for_good=lost_for_good(group.kind),
            spared_until_ms=max((spared_until_ms(each) for each in wishes), default=0),
            way_down=way,
        )

    def _pod(self, pod: Seen) -> Pod:
        told = (at for at in (pod.bound_at, pod.created_at) if at is not None)
        started = pod.started_at
        return Pod(
            pod.uid,
            pod.namespace,
            pod.name,
            pod.node,
            pod.asked.shape,
            self.parts.get(pod.uid, 0),
            min(next(told, self.at_ms), self.at_ms),
            started if started is not None and started <= self.at_ms else None,
            pod.terminating,
            self.scene.budgets.over(pod.namespace, pod.labels),
            pod.version,
        )

    def _parts(self, pod: Seen) -> int:
        host = self.hosts.get(pod.node)
        held = requested_parts(pod.asked, host.machine if host is not None else None)
        for name in pod.claims:
            given = self.scene.grants.given_to(pod.uid, pod.namespace, name)
            if given is not None:
                held += given.unnamed_parts + sum(parts for _, parts in given.units)
        return held

    def _nodes(self, hosts: Collection[Host], told: Collection[str]) -> Iterator[Node]:
        """The nodes, less what pods take that are in no workload of the snapshot."""
        others: dict[str, list[Seen]] = {}
        for pod in self.scene.pods.values():
            if pod.node and pod.uid not in told:
                others.setdefault(pod.node, []).append(pod)
        for host in hosts:
            yield _less(host.node, others.get(host.node.name, ()))

    def _coming(self, places: Places) -> Iterator[Coming]:
        with_gpus = {name for name, host in self.hosts.items() if host.node.unit_parts}
        for _, each in sorted(self.scene.ordered.items()):
            if each.node_name not in with_gpus:
                yield each.coming
        wanted = {
            pod.uid: (places.of(pod.asked)[0], pod.asked.shape)
            for each in self.scene.scale_ups.values()
            if (pod := self.scene.pods.get(each.pod)) is not None and pod.waits
        }
        yield from scaled_up(self.scene.scale_ups.values(), wanted, self.hosts.values())


def _with_claimed(scene: Scene) -> dict[str, Host]:
    """The nodes; those that have GPUs by dynamic resource allocation alone have these as units."""
    devices: dict[str, list[tuple[str, int, str]]] = {}
    told = scene.fleet.inventory.units()
    standing = set(existing(told.values()))
    for (driver, _, _), unit in told.items():
        if unit in standing:
            name = f"{driver} {unit.profile or 'gpu'}"
            devices.setdefault(unit.node, []).append((name, unit.parts, unit.model))
    hosts = dict(scene.hosts)
    for name, units in devices.items():
        host = hosts.get(name)
        if host is None or host.node.unit_parts:
            continue
        counts: dict[str, int] = {}
        for unit, _, _ in units:
            counts[unit] = counts.get(unit, 0) + 1
        model = next((model for _, _, model in units if model), host.machine.model)
        node = replace(
            host.node,
            pool=pool_of(scene.settings.pools, model, host.node.labels),
            units=(*host.node.units, *sorted(counts.items())),
            unit_parts=tuple(sorted({unit: parts for unit, parts, _ in units}.items())),
        )
        hosts[name] = Host(node, host.machine)
    return hosts


def _less(node: Node, pods: Collection[Seen]) -> Node:
    if not pods:
        return node
    taken: dict[str, int] = {}
    for pod in pods:
        for unit, count in pod.asked.shape.units:
            taken[unit] = taken.get(unit, 0) + count
    return replace(
        node,
        cpu_milli=max(0, node.cpu_milli - sum(pod.asked.shape.cpu_milli for pod in pods)),
        memory_mib=max(0, node.memory_mib - sum(pod.asked.shape.memory_mib for pod in pods)),
        most_pods=max(0, node.most_pods - len(pods)),
        units=tuple((unit, max(0, count - taken.get(unit, 0))) for unit, count in node.units),
    )


def _latest(group: Group, note: str) -> int | None:
    told = (instant_ms(each.get(note)) for each in group.wishes)
    return max((at_ms for at_ms in told if at_ms is not None), default=None)
