"""A node as a plan needs it: what it can give, its labels and taints; and what one unit of its GPU resources is."""

from dataclasses import dataclass, replace

from collector.kubernetes.allocations import requested_parts
from collector.kubernetes.nodes import Machine, read_node
from collector.kubernetes.pods import MIB
from collector.kubernetes.settings import Settings
from collector.kubernetes.values import Json, mapping, objects, quantity, text, texts, whole
from enforcer.live.alike import Alike
from enforcer.live.asked import Asked, units_of
from enforcer.shape import Taint
from enforcer.snapshot import Node
from quartermaster.pool import pool_of

_MOST_UNITS = 10**12
_PLAIN = {"cpu", "memory", "pods"}


@dataclass(frozen=True, slots=True)
class Host:
    """A node, and the machine that tells what its pods hold."""

    node: Node
    machine: Machine

    @property
    def gpu_parts(self) -> int:
        """What its GPUs are altogether, in parts."""
        parts = dict(self.node.unit_parts)
        return sum(count * parts.get(unit, 0) for unit, count in self.node.units)


def read_host(raw: Json, settings: Settings, alike: Alike) -> Host | None:
    """The node; None for what is none."""
    machine = read_node(raw, settings)
    if machine is None:
        return None
    metadata, spec = mapping(raw.get("metadata")), mapping(raw.get("spec"))
    told = texts(metadata.get("labels"))
    labels = {alike.one(key): alike.one(value) for key, value in told.items()}
    machine = replace(machine, labels=labels)
    allocatable = mapping(mapping(raw.get("status")).get("allocatable"))
    cpu = quantity(allocatable.get("cpu")) or 0
    memory = quantity(allocatable.get("memory")) or 0
    units = alike.one(units_offered(allocatable))
    node = Node(
        name=machine.name,
        pool=alike.one(pool_of(settings.pools, machine.model, labels)),
        units=units,
        unit_parts=alike.one(
            tuple((unit, machine.parts_of(unit, 1)) for unit, _ in units if settings.counts(unit))
        ),
        cpu_milli=max(0, int(cpu * 1000)),
        memory_mib=max(0, int(memory / MIB)),
        most_pods=whole(allocatable["pods"]) if "pods" in allocatable else 110,
        labels=labels,
        taints=alike.one(taints_of(spec.get("taints"))),
        ready=machine.ready,
        schedulable=machine.schedulable and not metadata.get("deletionTimestamp"),
    )
    return Host(node, machine)


def weighed(asked: Asked, host: Host | None) -> int:
    """The parts that such a pod's GPU resources and fraction are on a node; None: on one that is not known."""
    if host is None:
        return requested_parts(asked, None)
    worth = dict(host.node.unit_parts)
    if asked.fraction is None and all(unit in worth for unit, _ in asked.requests):
        return sum(count * worth[unit] for unit, count in asked.requests)
    return requested_parts(asked, host.machine)


def units_offered(offered: Json) -> tuple[tuple[str, int], ...]:
    """The extended resources of a node, as pods' are counted."""
    found: list[tuple[str, int]] = []
    for name, value in offered.items():
        amount = quantity(value)
        if name not in _PLAIN and amount is not None and amount > 0:
            found.append((text(name), min(int(units_of(name, amount)), _MOST_UNITS)))
    return tuple(sorted(found))


def taints_of(raw: object) -> tuple[Taint, ...]:
    """A node's taints."""
    return tuple(
        Taint(text(each.get("key")), text(each.get("value")), text(each.get("effect")))
        for each in objects(raw)
    )
