"""Places: in which pool pods would be, and what else of the cluster decides where; as far as it is understood."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from enforcer.live.asked import Asked, Relation
from enforcer.live.holders import UNKNOWN
from enforcer.live.hosts import Host, weighed
from enforcer.live.scene import Scene
from enforcer.live.selector import Labels
from enforcer.live.volumes import reached
from enforcer.shape import Shape, allowed

BY_CLAIMS = "GPUs of a pool where dynamic resource allocation gives them"
BESIDE_OTHERS = "places by where pods of others are"
KEPT_APART = "a place that pods of others keep others from"
NODES_UNSEEN = "nodes, which are not seen with rights in namespaces alone"
TWO_WAYS = "places apart from one another in two ways"


@dataclass(slots=True)
class _Free:
    """What is free on a node now: those on their way out still hold theirs."""

    cpu_milli: int
    memory_mib: int
    pods: int
    units: dict[str, int]

    def fits(self, shape: Shape) -> int:
        """How many such pods would fit."""
        asked = [(self.cpu_milli, shape.cpu_milli), (self.memory_mib, shape.memory_mib), (self.pods, 1)]
        asked += [(self.units.get(unit, 0), count) for unit, count in shape.units]
        return max(0, min(free // wanted for free, wanted in asked if wanted))


class Places:
    """Where pods that wait may be, as nodes (in order of their names) and other pods are.

    `workload_of` has the UID of each pod's workload.
    """

    def __init__(self, scene: Scene, hosts: Collection[Host], workload_of: Mapping[str, str]) -> None:
        self._scene, self._hosts, self._workload_of = scene, hosts, workload_of
        self._keepers = {
            (pod.namespace, each, workload_of[pod.uid])
            for pod in scene.pods.values()
            if pod.asked.relations
            for each in pod.asked.relations
            if each.apart
        }
        self._pools: dict[tuple[Asked, Shape], dict[str, list[Host]]] = {}
        self._by_claims = {
            host.node.pool for host in hosts if any(" " in unit for unit, _ in host.node.units)
        }

    def pool_of(self, asked: Asked, shape: Shape, count: int, team: str) -> str:
        """The pool in which so many such pods of a team would be.

        Of those where they may be, one in which they all fit now, for there they take from nobody. Else one in which
        the team is promised something; else the one with the most GPUs.
        """
        pools = self._pools_of(asked, shape)
        if len(pools) < 2:
            return next(iter(pools), UNKNOWN)
        promised = self._scene.settings.promised

        def order(pool: str) -> tuple[bool, bool, int, str]:
            room = sum(self._free[host.node.name].fits(shape) for host in pools[pool])
            size = sum(host.gpu_parts for host in pools[pool])
            return room < count, (team, pool) not in promised, -size, pool

        return min(pools, key=order)

    def parts_of(self, asked: Asked, shape: Shape, pool: str) -> int:
        """What one such pod would hold in the pool."""
        hosts = self._pools_of(asked, shape).get(pool)
        return weighed(asked, hosts[0] if hosts else None)

    def doubt_of(self, pool: str) -> str:
        """Why it cannot be told where pods would be in a pool; "" where it can."""
        if not self._scene.has_nodes:
            return NODES_UNSEEN
        return BY_CLAIMS if pool in self._by_claims else ""

    def shape_of(self, asked: Asked, uid: str, namespace: str, labels: Labels) -> Shape:
        """The shape of such a pod of a workload: with where its volumes are, and what other pods mean for it."""
        shape = asked.shape
        terms, doubt = reached(
            asked.volumes, namespace, self._scene.claimed, self._scene.volumes, shape.affinity
        )
        doubts = [*shape.unsure, *([doubt] if doubt else [])]
        apart, together = set[str](), set[str]()
        for relation in asked.relations:
            own, others = self._meant(relation, uid, namespace, labels)
            if others or not (own or relation.apart):
                doubts.append(BESIDE_OTHERS)
            elif own:
                (apart if relation.apart else together).add(relation.on)
        if self._kept_apart(uid, namespace, labels):
            doubts.append(KEPT_APART)
        if len(apart) > 1 or len(together) > 1:
            doubts.append(TWO_WAYS)
        if not (doubts or apart or together or asked.volumes):
            return shape
        return replace(
            shape,
            affinity=terms,
            apart_on=min(apart, default=""),
            together_on=min(together, default=""),
            unsure=tuple(dict.fromkeys(doubts)),
        )

    def _pools_of(self, asked: Asked, shape: Shape) -> Mapping[str, list[Host]]:
        """The nodes where such a pod may be and that offer what it asks for, by pool; if there is none, all that do."""
        key = asked, shape
        known = self._pools.get(key)
        if known is None:
            units = {unit for unit, _ in asked.requests}
            offering = [host for host in self._hosts if units <= {unit for unit, _ in host.node.units}]
            may = [
                host
                for host in offering
                if allowed(shape, host.node.name, host.node.labels, host.node.taints)
            ]
            known = self._pools[key] = {}
            for host in may or offering:
                known.setdefault(host.node.pool, []).append(host)
        return known

    @cached_property
    def _free(self) -> dict[str, _Free]:
        found = {
            host.node.name: _Free(
                host.node.cpu_milli, host.node.memory_mib, host.node.most_pods, dict(host.node.units)
            )
            for host in self._hosts
        }
        for host in self._hosts:
            if not (host.node.ready and host.node.schedulable):
                found[host.node.name].pods = 0
        for pod in self._scene.pods.values():
            free = found.get(pod.node)
            if free is not None:
                shape = pod.asked.shape
                free.cpu_milli -= shape.cpu_milli
                free.memory_mib -= shape.memory_mib
                free.pods -= 1
                for unit, count in shape.units:
                    free.units[unit] = free.units.get(unit, 0) - count
        return found

    @cached_property
    def _labels(self) -> dict[str, dict[Labels, set[str]]]:
        """The labels that there are in each namespace, and of each the workloads that have such pods."""
        found: dict[str, dict[Labels, set[str]]] = {}
        for pod in self._scene.pods.values():
            of = found.setdefault(pod.namespace, {}).setdefault(pod.labels, set())
            of.add(self._workload_of[pod.uid])
        return found

    def _meant(self, relation: Relation, uid: str, namespace: str, labels: Labels) -> tuple[bool, bool]:
        """Whether it means pods of the workload itself, and whether pods of others."""
        spaces = relation.namespaces or (namespace,)
        own = namespace in spaces and relation.selector.means(dict(labels))
        others = any(
            whose - {uid} and relation.selector.means(dict(told))
            for space in spaces
            for told, whose in self._labels.get(space, {}).items()
        )
        return own, others

    def _kept_apart(self, uid: str, namespace: str, labels: Labels) -> bool:
        return any(
            whose != uid
            and namespace in (relation.namespaces or (space,))
            and relation.selector.means(dict(labels))
            for space, relation, whose in self._keepers
        )
