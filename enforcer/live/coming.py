"""Coming: nodes that an autoscaler has asked for and that are not there yet, as they will be."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from collector.kubernetes.demand import read_note
from collector.kubernetes.growth import KARPENTER_POOL, read_scale_ups
from collector.kubernetes.settings import Settings
from collector.kubernetes.values import Json, instant_ms, mapping, objects, text, texts
from enforcer.live.alike import Alike
from enforcer.live.hosts import Host, read_host
from enforcer.live.selector import words
from enforcer.shape import Shape, allowed
from enforcer.snapshot import Coming

_HOSTNAME = "kubernetes.io/hostname"
_MOST_NODES = 1000


@dataclass(frozen=True, slots=True)
class Ordered:
    """A node that Karpenter orders by a NodeClaim."""

    coming: Coming
    node_name: str  # once it has one


def read_ordered(raw: Json, settings: Settings, alike: Alike) -> Ordered | None:
    """A NodeClaim whose node is not there yet; None for any other, or one that says too little.

    Its labels and the requirements of one value are the node's; resources are those it was launched with, which it
    has before its devices are known only as what was asked for.
    """
    metadata, spec, status = (
        mapping(raw.get("metadata")),
        mapping(raw.get("spec")),
        mapping(raw.get("status")),
    )
    conditions = {text(each.get("type")): each.get("status") for each in objects(status.get("conditions"))}
    asked_at_ms = instant_ms(metadata.get("creationTimestamp"))
    if conditions.get("Initialized") == "True" or metadata.get("deletionTimestamp") or asked_at_ms is None:
        return None
    name = text(metadata.get("name"))
    labels = texts(metadata.get("labels"))
    for each in objects(spec.get("requirements")):
        values = words(each.get("values"))
        if each.get("operator") == "In" and len(values) == 1:
            labels.setdefault(text(each.get("key")), values[0])
    offered = mapping(status.get("allocatable")) or mapping(mapping(spec.get("resources")).get("requests"))
    as_node = {
        "metadata": {"name": f"NodeClaim {name}", "labels": labels},
        "spec": {"taints": spec.get("taints")},
        "status": {
            "capacity": offered,
            "allocatable": offered,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }
    host = read_host(as_node, settings, alike)
    if host is None or not host.node.unit_parts or KARPENTER_POOL not in labels:
        return None
    return Ordered(Coming(host.node, asked_at_ms), text(status.get("nodeName")))


@dataclass(frozen=True, slots=True)
class ScaleUp:
    """That the cluster-autoscaler made a group larger by so many nodes, for a pod."""

    group: str
    added: int
    at_ms: int
    pod: str  # its uid


def read_scaled(raw: Json, received_ms: int) -> tuple[ScaleUp, ...]:
    """What a TriggeredScaleUp tells."""
    note = read_note(raw)
    if note is None:
        return ()
    return tuple(
        ScaleUp(group, added, min(at_ms or received_ms, received_ms), note.uid)
        for group, added, _, at_ms in read_scale_ups(raw)
    )


def scaled_up(
    scale_ups: Iterable[ScaleUp], wanted: Mapping[str, tuple[str, Shape]], hosts: Iterable[Host]
) -> Iterator[Coming]:
    """Nodes that the cluster-autoscaler brings for pods that still wait: `wanted` has their pool and shape, by uid.

    Each is taken to be like the smallest node of that pool where the pod may be; where there is none, nothing can be
    said of it. Nodes of the pool that came since it was asked for are those.
    """
    of: dict[str, list[Host]] = {}
    for host in hosts:
        of.setdefault(host.node.pool, []).append(host)
    for each in sorted(scale_ups, key=lambda each: (each.group, each.at_ms)):
        pool, shape = wanted.get(each.pod, ("", None))
        if shape is None:
            continue
        there = of.get(pool, ())
        fitting = [one.node for one in there if allowed(shape, one.node.name, one.node.labels, ())]
        like = min(fitting, key=lambda node: (node.units, node.name), default=None)
        if like is None:
            continue
        came = sum(1 for one in there if (one.machine.created_at or 0) >= each.at_ms)
        for number in range(max(0, min(each.added, _MOST_NODES) - came)):
            name = f"{each.group} {number + 1}"
            labels = {**like.labels, _HOSTNAME: name}
            yield Coming(replace(like, name=name, labels=labels, ready=True, schedulable=True), each.at_ms)
