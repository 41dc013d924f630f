"""MIG instances: dynamic resource allocation knows them by UUID, exporters by number; which is which, pure."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from quartermaster.records import Device


@dataclass(frozen=True, slots=True)
class Instance:
    """An instance on an exporter's pages; `device_ids` are of the GPU and profile what its named pods hold."""

    gpu_uuid: str
    gi_id: str
    profile: str
    device_ids: tuple[int, ...]


def numbered(devices: Iterable[Device], seen: Iterable[Instance]) -> list[Device]:
    """The devices of instances that get their number now, as new versions: samples meet them from then on.

    An instance is the device that its pods hold, where that is one; and the last one of a profile on its GPU is the
    last device of it. Where neither tells, it stays unknown.
    """
    unnumbered = [each for each in devices if each.kind == "mig" and each.gi_id == each.mig_uuid != ""]
    taken = {(each.gpu_uuid, each.gi_id) for each in devices if each.gi_id != each.mig_uuid}
    places: dict[tuple[str, str], tuple[list[Device], list[Instance]]] = {}
    for device in unnumbered:
        places.setdefault((device.gpu_uuid, device.profile), ([], []))[0].append(device)
    for instance in seen:
        place = places.get((instance.gpu_uuid, instance.profile))
        if place is not None and (instance.gpu_uuid, instance.gi_id) not in taken:
            place[1].append(instance)
    told: list[Device] = []
    for theirs, instances in places.values():
        pairs = _by_pods(theirs, instances)
        left = [each for each in theirs if each.device_id not in pairs]
        numbers = [each.gi_id for each in instances if each.gi_id not in pairs.values()]
        if len(left) == len(numbers) == 1:
            pairs[left[0].device_id] = numbers[0]
        told += [
            replace(each, gi_id=pairs[each.device_id], revision=each.revision + 1)
            for each in theirs
            if each.device_id in pairs
        ]
    return told


def _by_pods(devices: Iterable[Device], instances: Iterable[Instance]) -> dict[int, str]:
    """Device → number, where each names the other alone."""
    names = {each.device_id for each in devices}
    found: dict[int, list[str]] = {}
    for instance in instances:
        if len(instance.device_ids) == 1 and instance.device_ids[0] in names:
            found.setdefault(instance.device_ids[0], []).append(instance.gi_id)
    return {device: numbers[0] for device, numbers in found.items() if len(numbers) == 1}
