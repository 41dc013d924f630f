"""Machines as they stand: free slots, what is cordoned, lost or sick, and the records that tell of it."""

from dataclasses import replace

from quartermaster.records import Device, Node
from simulator.fleet import Fleet, Machine, Slot, gpu_devices
from simulator.truth import Truth


class MachineState:
    """One node. Faults of a kind may overlap: a thing is well again when the last one has ended."""

    def __init__(self, fleet: Fleet, machine: Machine, truth: Truth, at_ms: int) -> None:
        self.machine = machine
        self.cordons = 0
        self.losses = 0
        self.silences = 0  # exporter faults
        self.sick: dict[int, int] = {}  # GPU number to how many faults
        self.changes = 0  # grows when a page must look otherwise
        self._fleet = fleet
        self._truth = truth
        self._free: dict[str, list[Slot]] = {}
        for slot in machine.slots():
            self._free.setdefault(slot.resource, []).append(slot)
        self._node: Node = truth.tell(at_ms, machine.node(fleet.cluster, at_ms))
        self._devices: dict[int, Device] = {
            device.device_id: truth.tell(at_ms, device) for device in machine.devices(fleet.cluster, at_ms)
        }

    @property
    def open(self) -> bool:
        """Whether it takes pods."""
        return not self.cordons and not self.losses

    @property
    def answers(self) -> bool:
        """Whether its exporter answers."""
        return not self.losses and not self.silences

    def free(self) -> dict[str, int]:
        """How many slots of each resource can be bound; empty while it takes nobody."""
        if not self.open:
            return {}
        return {resource: len(self._healthy(resource)) for resource in self._free}

    def take(self, resource: str, count: int) -> tuple[Slot, ...]:
        """Take free healthy slots, in order."""
        taken = self._healthy(resource)[:count]
        for slot in taken:
            self._free[resource].remove(slot)
        self.changes += 1
        return tuple(taken)

    def give_back(self, slots: tuple[Slot, ...]) -> None:
        """Slots are free again."""
        for slot in slots:
            self._free[slot.resource].append(slot)
        self._free[slots[0].resource].sort(key=lambda slot: slot.index)
        self.changes += 1

    def tell_node(self, at_ms: int) -> None:
        """Tell the node as it is now: what it was ends, what it is begins."""
        now = replace(self._node, schedulable=self.cordons == 0, ready=self.losses == 0)
        if now == self._node:
            return
        if at_ms > self._node.start_at:
            self._truth.end(at_ms, self._node)
        self._node = self._truth.tell(at_ms, replace(now, start_at=at_ms))
        self.changes += 1

    def tell_gpu(self, at_ms: int, gpu: int) -> None:
        """Tell a GPU's units as they are now."""
        healthy = not self.sick.get(gpu)
        for device in gpu_devices(self._fleet.cluster, self._fleet.gpus[gpu], at_ms, healthy=healthy):
            before = self._devices[device.device_id]
            if before.healthy == healthy:
                continue
            if at_ms > before.start_at:
                self._truth.end(at_ms, before)
            self._devices[device.device_id] = self._truth.tell(at_ms, device)
        self.changes += 1

    def _healthy(self, resource: str) -> list[Slot]:
        units = self._fleet.units
        return [slot for slot in self._free.get(resource, ()) if not self.sick.get(units[slot.unit].gpu)]
