"""Nodes and devices from telemetry alone, where no Kubernetes tells of them; pure.

A node lives from its first page to 24 h after its last. A device lives with its node, or until its GPU is
cut otherwise.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from quartermaster.clock import DAY_MS
from quartermaster.ids import device_id
from quartermaster.parts import GPU_PARTS, mig_parts, mig_slices
from quartermaster.records import Device, Node

LIFE_AFTER_LAST_PAGE_MS = DAY_MS
UNCARVED = "uncarved"


@dataclass(frozen=True, slots=True)
class Sighting:
    """A device on a node's pages: what they call it, and from which page to which it was there."""

    gpu_uuid: str
    gi_id: str
    profile: str
    model: str
    device_index: int
    shared: bool
    first_ms: int
    last_ms: int


@dataclass(frozen=True, slots=True)
class Fleet:
    """A node's records that are open, or new versions of them to append; `ended_ms` is when the node ended,
    if it did."""

    nodes: tuple[Node, ...] = ()
    devices: tuple[Device, ...] = ()
    ended_ms: int | None = None


def presence(
    cluster: str, name: str, sightings: Sequence[Sighting], known: Fleet, pool_of_model: Callable[[str], str]
) -> Fleet:
    """The versions to append, given what was seen of a node since what is known (its open node and open
    devices)."""
    devices = _Devices(cluster, name, known.devices)
    for uuid in sorted({sighting.gpu_uuid for sighting in sightings}):
        devices.see([sighting for sighting in sightings if sighting.gpu_uuid == uuid])
    nodes = _node_versions((cluster, name), sightings, known, devices, pool_of_model)
    return Fleet(nodes, devices.changed())


def ended(known: Fleet, last_page_ms: int, until_ms: int) -> Fleet:
    """The end of a node of which no page came for 24 h, and of its devices; nothing while it lives."""
    end_ms = last_page_ms + LIFE_AFTER_LAST_PAGE_MS
    if end_ms > until_ms:
        return Fleet()
    return Fleet(
        tuple(
            replace(node, end_at=max(end_ms, node.start_at), revision=node.revision + 1)
            for node in known.nodes
        ),
        tuple(
            replace(device, end_at=max(end_ms, device.start_at), revision=device.revision + 1)
            for device in known.devices
        ),
        end_ms,
    )


class _Devices:
    """A node's open devices while sightings are applied."""

    def __init__(self, cluster: str, node: str, known: Iterable[Device]) -> None:
        self._cluster, self._node = cluster, node
        self._open = {device.device_id: device for device in known}
        self._changed: dict[tuple[int, int], Device] = {}

    def changed(self) -> tuple[Device, ...]:
        """The versions to append."""
        return tuple(self._changed[key] for key in sorted(self._changed, key=lambda key: (key[1], key[0])))

    def gpus(self) -> int:
        """How many GPUs the open devices are of."""
        return len({device.gpu_uuid for device in self._open.values()})

    def begun(self) -> list[int]:
        """The instants at which devices began."""
        return sorted({device.start_at for device in self._changed.values() if device.revision == 0})

    def see(self, sightings: Sequence[Sighting]) -> None:
        """Apply what was seen of one GPU: as a whole, or cut into instances."""
        carved = [sighting for sighting in sightings if sighting.gi_id]
        whole = [
            sighting
            for sighting in sightings
            if not sighting.gi_id and not any(_overlap(sighting, other) for other in carved)
        ]
        for sighting in sorted([*carved, *whole], key=lambda sighting: (sighting.first_ms, sighting.gi_id)):
            parts = _parts(sighting)
            there = self._open.get(device_id(self._cluster, sighting.gpu_uuid, sighting.gi_id))
            if there is not None and (there.profile, there.parts) == (sighting.profile, parts):
                continue
            self._make_room(sighting, parts, sightings)
            self._put(sighting, sighting.gi_id, parts, sighting.first_ms)
        if sightings:
            self._lay_uncarved(sightings)

    def _make_room(self, new: Sighting, parts: int, sightings: Sequence[Sighting]) -> None:
        """End what cannot be there beside the new device: another cut, or what fills the GPU and is seen no
        more."""
        last = {device_id(self._cluster, s.gpu_uuid, s.gi_id): s.last_ms for s in sightings}
        siblings = [d for d in self._open.values() if d.gpu_uuid == new.gpu_uuid and d.kind != UNCARVED]
        same = device_id(self._cluster, new.gpu_uuid, new.gi_id)
        for device in siblings:
            otherwise = (device.kind == "mig") != bool(new.gi_id)
            if device.device_id == same or otherwise:
                self._end(device, new.first_ms)
        gone_first = sorted(
            (d for d in siblings if d.device_id in self._open and last.get(d.device_id, 0) < new.first_ms),
            key=lambda device: last.get(device.device_id, 0),
        )
        for device in gone_first:
            taken = sum(
                d.parts for d in self._open.values() if d.gpu_uuid == new.gpu_uuid and d.kind != UNCARVED
            )
            if taken + parts > GPU_PARTS:
                self._end(device, new.first_ms)

    def _lay_uncarved(self, sightings: Sequence[Sighting]) -> None:
        """What MIG left of the GPU is a device of its own, from the last change of the cut on."""
        example = sightings[0]
        instances = [d for d in self._open.values() if d.gpu_uuid == example.gpu_uuid and d.kind == "mig"]
        rest = GPU_PARTS - sum(device.parts for device in instances) if instances else 0
        there = self._open.get(device_id(self._cluster, example.gpu_uuid, UNCARVED))
        if (there.parts if there is not None else 0) == max(rest, 0):
            return
        changed = [d for d in self._changed.values() if d.gpu_uuid == example.gpu_uuid]
        since_ms = max(d.start_at if d.end_at is None else d.end_at for d in changed)
        if there is not None:
            self._end(there, since_ms)
        if rest > 0:
            self._put(example, UNCARVED, rest, since_ms)

    def _put(self, sighting: Sighting, gi_id: str, parts: int, start_ms: int) -> None:
        kind = UNCARVED if gi_id == UNCARVED else "mig" if gi_id else "gpu"
        device = Device(
            cluster=self._cluster,
            device_id=device_id(self._cluster, sighting.gpu_uuid, gi_id),
            start_at=start_ms,
            end_at=None,
            node=self._node,
            device_index=sighting.device_index,
            gpu_uuid=sighting.gpu_uuid,
            kind=kind,
            parts=parts,
            gi_id=gi_id,
            profile="" if kind == UNCARVED else sighting.profile,
            evidence="telemetry",
        )
        self._open[device.device_id] = device
        self._changed[device.device_id, device.start_at] = device

    def _end(self, device: Device, at_ms: int) -> None:
        end_ms = max(at_ms, device.start_at)
        self._open.pop(device.device_id, None)
        self._changed[device.device_id, device.start_at] = replace(
            device, end_at=end_ms, revision=device.revision + 1
        )


def _node_versions(
    cluster_node: tuple[str, str],
    sightings: Sequence[Sighting],
    known: Fleet,
    devices: _Devices,
    pool_of_model: Callable[[str], str],
) -> tuple[Node, ...]:
    cluster, name = cluster_node
    was = max(known.nodes, key=lambda node: node.start_at, default=None)
    models = Counter(sighting.model for sighting in sightings if sighting.model)
    model = min(models, key=lambda model: (-models[model], model)) if models else was.model if was else ""
    shared = any(sighting.shared for sighting in sightings) or (was is not None and was.sharing != "none")
    start_ms = min(sighting.first_ms for sighting in sightings)
    now = Node(
        cluster=cluster,
        node=name,
        start_at=start_ms,
        end_at=None,
        pool=pool_of_model(model),
        model=model,
        gpu_count=devices.gpus(),
        sharing="time-slicing" if shared else "none",
    )
    if was is None:
        return (now,)
    if replace(now, start_at=was.start_at, revision=was.revision) == was:
        return ()
    changed_ms = next((at for at in devices.begun() if at > was.start_at), max(start_ms, was.start_at + 1))
    return (
        replace(was, end_at=changed_ms, revision=was.revision + 1),
        replace(now, start_at=changed_ms),
    )


def _parts(sighting: Sighting) -> int:
    if not sighting.gi_id:
        return GPU_PARTS
    try:
        return mig_parts(sighting.model, sighting.profile)
    except ValueError:
        return GPU_PARTS // mig_slices(sighting.model)


def _overlap(one: Sighting, other: Sighting) -> bool:
    return one.first_ms <= other.last_ms and other.first_ms <= one.last_ms
