"""Sickness: the API tells how many of a node's GPUs are sick, telemetry's XIDs tell which; pure."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from quartermaster.records import Device


@dataclass(frozen=True, slots=True)
class Ward:
    """A node of which `sick` GPUs may not be allocated, so many since `changed_ms`."""

    node: str
    sick: int
    changed_ms: int


def diagnosed(devices: Iterable[Device], wards: Iterable[Ward], xids: Mapping[str, int]) -> Iterator[Device]:
    """The versions of telemetry's whole GPUs that become sick, or well again.

    Sick are first those with an XID (by GPU: when it was seen last), then those that were, then the last ones:
    how many is sure, which is a guess without an XID.
    """
    by_node: dict[str, list[Device]] = {}
    for each in devices:
        if each.evidence == "telemetry" and each.kind == "gpu":
            by_node.setdefault(each.node, []).append(each)
    for ward in wards:
        theirs = sorted(
            by_node.get(ward.node, ()),
            key=lambda each: (-xids.get(each.gpu_uuid, -1), each.healthy, -each.device_index),
        )
        for number, each in enumerate(theirs):
            healthy = number >= ward.sick
            if each.healthy != healthy:
                yield from _from_then_on(each, ward.changed_ms, healthy=healthy)


def _from_then_on(was: Device, at_ms: int, *, healthy: bool) -> Iterator[Device]:
    if at_ms <= was.start_at:
        yield replace(was, healthy=healthy, revision=was.revision + 1)
    else:
        yield replace(was, end_at=at_ms, revision=was.revision + 1)
        yield replace(was, start_at=at_ms, healthy=healthy, revision=0)
