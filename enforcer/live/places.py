"""Places: in which pool pods would be, and what else of the cluster decides where; as far as it is understood."""

from collections.abc import Collection, Mapping
from dataclasses import replace
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
TWO_WAYS = "places apart from one another in two ways"


class Places:
    """Where pods that wait may be, as nodes and other pods are; `workload_of` has the UID of each pod's workload."""

    def __init__(self, scene: Scene, hosts: Collection[Host], workload_of: Mapping[str, str]) -> None:
        self._scene, self._hosts, self._workload_of = scene, hosts, workload_of
        self._keepers = {
            (pod.namespace, each, workload_of[pod.uid])
            for pod in scene.pods.values()
            if pod.asked.relations
            for each in pod.asked.relations
            if each.apart
        }
        self._pools: dict[Asked, tuple[str, Host | None]] = {}
        self._by_claims = {
            host.node.pool for host in hosts if any(" " in unit for unit, _ in host.node.units)
        }

    def of(self, asked: Asked) -> tuple[str, Host | None]:
        """The pool with the most GPUs on nodes that offer what it asks for and where it may be, and one of those nodes.

        Where it may be on none, that of the nodes that offer it at all.
        """
        known = self._pools.get(asked)
        if known is None:
            units = {unit for unit, _ in asked.requests}
            offering = [host for host in self._hosts if units <= {unit for unit, _ in host.node.units}]
            may = [
                host
                for host in offering
                if allowed(asked.shape, host.node.name, host.node.labels, host.node.taints)
            ]
            known = self._pools[asked] = _largest(may or offering)
        return known

    def parts_of(self, asked: Asked) -> int:
        """What one such pod would hold in its pool."""
        return weighed(asked, self.of(asked)[1])

    def shape_of(self, asked: Asked, uid: str, namespace: str, labels: Labels, pool: str) -> Shape:
        """The shape of such a pod of a workload: with where its volumes are, and what other pods mean for it."""
        shape = asked.shape
        terms, doubt = reached(
            asked.volumes, namespace, self._scene.claimed, self._scene.volumes, shape.affinity
        )
        doubts = [*shape.unsure, *([doubt] if doubt else [])]
        if pool in self._by_claims:
            doubts.append(BY_CLAIMS)
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


def _largest(hosts: Collection[Host]) -> tuple[str, Host | None]:
    sizes: dict[str, int] = {}
    for host in hosts:
        sizes[host.node.pool] = sizes.get(host.node.pool, 0) + host.gpu_parts
    pool = min(sizes, key=lambda pool: (-sizes[pool], pool), default="")
    of_pool = (host for host in hosts if host.node.pool == pool)
    return (pool or UNKNOWN), min(of_pool, key=lambda host: host.node.name, default=None)
