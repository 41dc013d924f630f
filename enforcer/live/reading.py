"""Reading a scene: what is there, as a snapshot that a plan is made of; pure."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from collector.kubernetes.claims import existing
from enforcer.live.coming import scaled_up
from enforcer.live.groups import Teams, counted, gather
from enforcer.live.holders import workloads_of
from enforcer.live.hosts import Host
from enforcer.live.places import Places
from enforcer.live.scene import Scene
from enforcer.live.seen import KEEP_UNTIL, Seen
from enforcer.live.waits import waiting_of
from enforcer.snapshot import Budget, Coming, Node, Promise, Snapshot, Taking, Waiting
from quartermaster.pool import pool_of


class Reading:
    """One look at a scene at an instant (epoch ms, on the API server's clock).

    `pools` are those of nodes that are not seen, as the ledger has them.
    """

    def __init__(self, scene: Scene, at_ms: int, pools: Mapping[str, str] | None = None) -> None:
        self.scene, self.at_ms = scene, at_ms
        self._pools = pools or {}
        self.groups = dict(sorted(gather(scene).items()))
        self.hosts = _with_claimed(scene)

    def snapshot(self, seen_at_ms: int, promises: Sequence[Promise], takings: Sequence[Taking]) -> Snapshot:
        """The snapshot. `takings` of which nobody is there any more are left out."""
        workload_of = {pod.uid: group.uid for group in self.groups.values() for pod in group.pods}
        gpu_hosts = [host for _, host in sorted(self.hosts.items()) if host.node.unit_parts]
        places = Places(self.scene, gpu_hosts, workload_of)
        with_gpus = [group for group in self.groups.values() if counted(group.pods)]
        teams = Teams(self.scene.settings, self.at_ms)
        workloads = workloads_of(with_gpus, self.scene, self.hosts, teams, self.at_ms, pools=self._pools)
        waits = (waiting_of(each, self.scene, places, takings, teams) for each in self.groups.values())
        waiting = tuple(each for each in waits if each is not None)
        queued = (each.lack for each in self.scene.queued.values())
        queues = bool(self.scene.gangs) or any(lack is not None and not lack.over for lack in queued)
        uids = {each.uid for each in (*workloads, *waiting)}
        return Snapshot(
            self.scene.settings.cluster,
            self.at_ms,
            seen_at_ms,
            tuple(self._nodes(gpu_hosts, {pod.uid for group in with_gpus for pod in group.pods})),
            workloads,
            waiting,
            tuple(promises),
            tuple(self._coming(waiting, workload_of)),
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
        found = {uid: group.latest(KEEP_UNTIL) for uid, group in self.groups.items() if counted(group.pods)}
        return {uid: at_ms for uid, at_ms in found.items() if at_ms is not None}

    def _nodes(self, hosts: Collection[Host], told: Collection[str]) -> Iterator[Node]:
        """The nodes, less what pods take that are in no workload of the snapshot."""
        others: dict[str, list[Seen]] = {}
        for pod in self.scene.pods.values():
            if pod.node and pod.uid not in told:
                others.setdefault(pod.node, []).append(pod)
        for host in hosts:
            yield _less(host.node, others.get(host.node.name, ()))

    def _coming(self, waiting: Collection[Waiting], workload_of: Mapping[str, str]) -> Iterator[Coming]:
        with_gpus = {name for name, host in self.hosts.items() if host.node.unit_parts}
        for _, each in sorted(self.scene.ordered.items()):
            if each.node_name not in with_gpus:
                yield each.coming
        pools = {each.uid: each.pool for each in waiting}
        wanted = {
            pod.uid: (pools[workload_of[pod.uid]], pod.asked.shape)
            for each in self.scene.scale_ups.values()
            if (pod := self.scene.pods.get(each.pod)) is not None
            and pod.waits
            and workload_of[pod.uid] in pools
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
