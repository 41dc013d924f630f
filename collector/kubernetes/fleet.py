"""The fleet as it changes: nodes and their devices, from Node objects, ResourceSlices and kubelets' ids."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from collector.kubernetes.claims import Inventory, Slice, Unit, existing, uncarved
from collector.kubernetes.nodes import Machine
from collector.kubernetes.settings import Settings
from collector.kubernetes.told import Versions
from quartermaster.clock import SECOND_MS
from quartermaster.ids import device_id
from quartermaster.parts import GPU_PARTS
from quartermaster.records import Device, Node


@dataclass(frozen=True, slots=True)
class Place:
    """A pool as it is: its nodes, and the GPUs that most of them have."""

    nodes: int
    gpus_each: int


class Fleet:
    """What nodes there are, and what devices they have."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.machines: dict[str, Machine] = {}
        self.inventory = Inventory()
        self.nodes: Versions[Node] = Versions()
        self.devices: Versions[Device] = Versions()
        self._kubelet: dict[str, dict[str, bool]] = {}  # node → GPU → healthy, as kubelets told of pods
        self._lost: dict[str, int] = {}

    def put_machine(self, machine: Machine, received_ms: int) -> bool:
        """A node as it is now. Whether what its resources are worth changed (or was not known)."""
        was = self.machines.get(machine.name)
        self.machines[machine.name] = machine
        self._note_lost(machine, received_ms)
        self._tell(machine.name, self._changed_at(was, machine, received_ms))
        return was is None or (was.unit_parts, was.model) != (machine.unit_parts, machine.model)

    def remove_machine(self, name: str, received_ms: int) -> None:
        """A node that is gone: its capacity and its devices end."""
        self.machines.pop(name, None)
        self._kubelet.pop(name, None)
        self._lost.setdefault(name, received_ms)
        self.nodes.end(name, received_ms)
        for key in [key for key, device in self.devices.open.items() if device.node == name]:
            self.devices.end(key, received_ms)

    def put_slice(self, new: Slice, received_ms: int) -> None:
        """A ResourceSlice as it is now."""
        old = self.inventory.slices.get(new.name)
        self.inventory.put(new)
        self._tell_nodes_of((new, old), received_ms)

    def remove_slice(self, name: str, received_ms: int) -> None:
        """A ResourceSlice that is gone."""
        old = self.inventory.slices.get(name)
        self.inventory.remove(name)
        self._tell_nodes_of((old,), received_ms)

    def kubelet_told(self, node: str, ids: Iterable[tuple[str, bool]], at_ms: int) -> None:
        """GPUs that the kubelet of a node named, and whether they are healthy."""
        known = self._kubelet.setdefault(node, {})
        before = dict(known)
        known.update({uuid: healthy for uuid, healthy in ids if uuid and not uuid.startswith("MIG-")})
        if known != before:
            self._tell(node, at_ms)

    def lost_since(self, node: str) -> int | None:
        """Since when a node has not been heard of, or is gone; None where it is there."""
        return self._lost.get(node)

    def main_pool(self) -> str:
        """The pool with the most GPUs, for promises that name none."""
        count: dict[str, int] = {}
        for node in self.nodes.open.values():
            count[node.pool] = count.get(node.pool, 0) + node.gpu_count
        return largest(count, "unknown")

    def candidates(self, selector: Iterable[tuple[str, str]]) -> dict[str, int]:
        """The GPUs of nodes that a selector allows, by pool."""
        wanted = list(selector)
        found: dict[str, int] = {}
        for name, node in self.nodes.open.items():
            labels = self.machines[str(name)].labels if name in self.machines else {}
            if all(labels.get(key) == value for key, value in wanted):
                found[node.pool] = found.get(node.pool, 0) + node.gpu_count
        return found

    def places(self) -> dict[str, Place]:
        """The pools as they are: how many nodes, and how many GPUs most of them have."""
        sizes: dict[str, list[int]] = {}
        for node in self.nodes.open.values():
            sizes.setdefault(node.pool, []).append(node.gpu_count)
        return {
            pool: Place(len(counts), max(sorted(set(counts)), key=counts.count))
            for pool, counts in sizes.items()
        }

    def pools_by_label(self, label: str) -> dict[str, str]:
        """The pool of nodes by the value that they have of a label; of several, that of most nodes."""
        found: dict[str, list[str]] = {}
        for name, node in self.nodes.open.items():
            machine = self.machines.get(str(name))
            if machine is not None and label in machine.labels:
                found.setdefault(machine.labels[label], []).append(node.pool)
        return {value: max(sorted(set(pools)), key=pools.count) for value, pools in found.items()}

    def _note_lost(self, machine: Machine, received_ms: int) -> None:
        if machine.ready:
            self._lost.pop(machine.name, None)
            return
        known = (machine.heartbeat_at, machine.ready_changed_at)
        at_ms = next((at for at in known if at is not None), received_ms)
        self._lost[machine.name] = min(at_ms, received_ms)

    def _changed_at(self, was: Machine | None, now: Machine, received_ms: int) -> int:
        """When the change was: the API's own time of what changed, the second of the receipt for a new node.

        A node that is new is there before the pods that are bound to it in the same second.
        """
        if was is None:
            return received_ms // SECOND_MS * SECOND_MS
        told: list[int] = []
        if was.ready != now.ready and now.ready_changed_at is not None:
            told.append(now.ready_changed_at)
        if was.schedulable and not now.schedulable and now.cordoned_at is not None:
            told.append(now.cordoned_at)
        if _without_state(was) != _without_state(now):
            return received_ms
        return min([*told, received_ms])

    def _tell_nodes_of(self, slices: Iterable[Slice | None], received_ms: int) -> None:
        for node in sorted({unit.node for each in slices if each for unit in each.units}):
            self._tell(node, received_ms)

    def _tell(self, name: str, at_ms: int) -> None:
        machine = self.machines.get(name)
        if machine is None:
            return
        units = [unit for unit in self.inventory.units().values() if unit.node == name]
        gpus = max(machine.gpus, len({unit.gpu_uuid for unit in units}))
        model = next((unit.model for unit in units if unit.model), machine.model)
        if not gpus:
            self.nodes.end(name, at_ms)
            return
        self.nodes.put(name, machine.record(self._settings, at_ms, gpus, model))
        wanted = {device.device_id: device for device in self._devices(machine, units, gpus, at_ms)}
        for key in [k for k, d in self.devices.open.items() if d.node == name and k not in wanted]:
            self.devices.end(key, at_ms)
        for key, device in wanted.items():
            self.devices.put(key, device)

    def _devices(self, machine: Machine, units: list[Unit], gpus: int, at_ms: int) -> list[Device]:
        if units:
            named = [unit.device(self._settings, at_ms) for unit in existing(units)]
            return named + uncarved(self._settings, units, at_ms)
        told = self._kubelet.get(machine.name, {})
        named = [] if self._settings.telemetry else self._of_kubelet(machine.name, told, at_ms)
        sick = machine.unhealthy - sum(not device.healthy for device in named)
        taken = {device.device_index for device in named}
        free = [index for index in range(gpus - 1, -1, -1) if index not in taken]
        return named + [self._assumed(machine.name, index, at_ms) for index in free[: max(0, sick)]]

    def _of_kubelet(self, node: str, told: dict[str, bool], at_ms: int) -> list[Device]:
        """Devices by the order in which they were named: the kubelet does not tell their index."""
        return [
            replace(
                self._assumed(node, index, at_ms),
                device_id=device_id(self._settings.cluster, uuid),
                gpu_uuid=uuid,
                healthy=healthy,
                evidence="kubelet",
            )
            for index, (uuid, healthy) in enumerate(told.items())
        ]

    def _assumed(self, node: str, index: int, at_ms: int) -> Device:
        """A GPU that is sick, and nobody says which: the last one that nobody names."""
        name = f"{node}/{index}"
        return Device(
            cluster=self._settings.cluster,
            device_id=device_id(self._settings.cluster, name),
            start_at=at_ms,
            end_at=None,
            node=node,
            device_index=index,
            gpu_uuid=name,
            kind="gpu",
            parts=GPU_PARTS,
            healthy=False,
            evidence="assumed",
        )


def largest(pools: Mapping[str, int], otherwise: str) -> str:
    """The pool with the most GPUs, by name where several have."""
    return min(pools, key=lambda pool: (-pools[pool], pool), default=otherwise)


def _without_state(machine: Machine) -> Machine:
    return replace(
        machine,
        ready=True,
        schedulable=True,
        ready_changed_at=None,
        cordoned_at=None,
        heartbeat_at=None,
        labels={},
    )
