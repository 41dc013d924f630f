"""The fleet: nodes, GPUs, MIG instances and the slots that pods take, told by a plan and a seed."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

from quartermaster.ids import device_id
from quartermaster.parts import GPU_PARTS, mig_parts
from quartermaster.records import Device, Node
from simulator.models import GpuModel

UNCARVED = "uncarved"


@dataclass(frozen=True)
class NodePlan:
    """A node to be built. `mig`: the profiles of each carved GPU, by index; `replicas` > 1: time-sliced."""

    name: str
    pool: str
    model: GpuModel
    gpus: int
    mig: tuple[tuple[str, ...], ...] = ()
    replicas: int = 1
    cpu_milli: int = 128_000
    memory_mib: int = 1_048_576


@dataclass(frozen=True)
class Slot:
    """The least that a pod can ask for on a unit: the whole of it, or one replica of a time-sliced GPU."""

    index: int
    unit: int
    resource: str  # gpu | shared | mig-<profile>
    replica: int
    parts: int


@dataclass(frozen=True)
class Unit:
    """What telemetry speaks of: a whole GPU or a MIG instance."""

    index: int
    gpu: int
    device_id: int
    gi_id: str
    profile: str
    mig_uuid: str
    parts: int
    memory_mib: int  # what its users may have
    slots: tuple[Slot, ...]


@dataclass(frozen=True)
class Gpu:
    """A physical GPU of a node."""

    index: int
    node: str
    node_index: int  # 0 … on its node
    uuid: str
    pci_bus_id: str
    model: GpuModel
    units: tuple[Unit, ...]
    uncarved_parts: int


@dataclass(frozen=True)
class Machine:
    """A node as built."""

    plan: NodePlan
    gpus: tuple[Gpu, ...]

    @property
    def name(self) -> str:
        """The node's name."""
        return self.plan.name

    def slots(self) -> list[Slot]:
        """All slots, in order of GPU, unit and replica."""
        return [slot for gpu in self.gpus for unit in gpu.units for slot in unit.slots]

    def node(self, cluster: str, start_at: int) -> Node:
        """The node's record from `start_at` on."""
        plan = self.plan
        return Node(
            cluster=cluster,
            node=plan.name,
            start_at=start_at,
            end_at=None,
            pool=plan.pool,
            model=plan.model.name,
            gpu_count=plan.gpus,
            cpu_milli=plan.cpu_milli,
            memory_mib=plan.memory_mib,
            sharing="time-slicing" if plan.replicas > 1 else "none",
            replicas=plan.replicas,
        )

    def devices(self, cluster: str, start_at: int) -> list[Device]:
        """The records of its accounting units from `start_at` on: GPUs, MIG instances, what is uncarved."""
        return [device for gpu in self.gpus for device in gpu_devices(cluster, gpu, start_at)]


def gpu_devices(cluster: str, gpu: Gpu, start_at: int, *, healthy: bool = True) -> list[Device]:
    """The records of one GPU's accounting units from `start_at` on."""
    named = [
        (
            unit.device_id,
            "mig" if unit.profile else "gpu",
            unit.parts,
            unit.gi_id,
            unit.mig_uuid,
            unit.profile,
        )
        for unit in gpu.units
    ]
    if gpu.uncarved_parts:
        rest = device_id(cluster, gpu.uuid, UNCARVED)
        named.append((rest, UNCARVED, gpu.uncarved_parts, UNCARVED, "", ""))
    return [
        Device(
            cluster=cluster,
            device_id=number,
            start_at=start_at,
            end_at=None,
            node=gpu.node,
            device_index=gpu.node_index,
            gpu_uuid=gpu.uuid,
            kind=kind,
            parts=parts,
            gi_id=gi_id,
            mig_uuid=mig_uuid,
            profile=profile,
            healthy=healthy,
        )
        for number, kind, parts, gi_id, mig_uuid, profile in named
    ]


@dataclass(frozen=True)
class Fleet:
    """All machines, with their GPUs, units and slots numbered through."""

    cluster: str
    machines: tuple[Machine, ...]
    gpus: tuple[Gpu, ...]
    units: tuple[Unit, ...]
    slots: tuple[Slot, ...]


def build(cluster: str, plans: Sequence[NodePlan], seed: int) -> Fleet:
    """Build the fleet; UUIDs depend on cluster, seed, node and index alone.

    Raises ValueError for a MIG profile that the model does not have, or profiles that do not fit on a GPU.
    """
    work = _Builder(cluster, seed)
    machines = [work.machine(plan) for plan in plans]
    return Fleet(cluster, tuple(machines), tuple(work.gpus), tuple(work.units), tuple(work.slots))


class _Builder:
    """Numbers GPUs, units and slots through, machine by machine."""

    def __init__(self, cluster: str, seed: int) -> None:
        self.cluster = cluster
        self.seed = seed
        self.gpus: list[Gpu] = []
        self.units: list[Unit] = []
        self.slots: list[Slot] = []

    def machine(self, plan: NodePlan) -> Machine:
        return Machine(plan, tuple(self._gpu(plan, index) for index in range(plan.gpus)))

    def _gpu(self, plan: NodePlan, index: int) -> Gpu:
        uuid = f"GPU-{_uuid(self.cluster, self.seed, plan.name, index)}"
        profiles = plan.mig[index] if index < len(plan.mig) else ()
        units = [self._instance(plan, uuid, profile, place) for place, profile in enumerate(profiles)]
        units = units or [self._whole(plan, uuid)]
        uncarved = GPU_PARTS - sum(unit.parts for unit in units)
        if uncarved < 0:
            raise ValueError(f"{plan.name}: the profiles {', '.join(profiles)} do not fit on one GPU")
        bus = f"00000000:{(0x18 + 0x21 * index) % 256:02X}:00.0"
        gpu = Gpu(len(self.gpus), plan.name, index, uuid, bus, plan.model, tuple(units), uncarved)
        self.gpus.append(gpu)
        return gpu

    def _whole(self, plan: NodePlan, uuid: str) -> Unit:
        resource = "shared" if plan.replicas > 1 else "gpu"
        parts = GPU_PARTS // plan.replicas
        slots = [self._slot(resource, replica, parts, len(self.units)) for replica in range(plan.replicas)]
        number = device_id(self.cluster, uuid)
        memory = plan.model.memory_mib - plan.model.reserved_mib
        unit = Unit(len(self.units), len(self.gpus), number, "", "", "", GPU_PARTS, memory, tuple(slots))
        self.units.append(unit)
        return unit

    def _instance(self, plan: NodePlan, uuid: str, profile: str, place: int) -> Unit:
        gi_id = str(7 + place)
        parts = mig_parts(plan.model.name, profile)
        slot = self._slot(f"mig-{profile}", 0, parts, len(self.units))
        mig_uuid = f"MIG-{_uuid(uuid, profile, place)}"
        number = device_id(self.cluster, uuid, gi_id)
        memory = int(profile.split(".")[1].removesuffix("gb")) * 1024 * 19 // 20
        unit = Unit(len(self.units), len(self.gpus), number, gi_id, profile, mig_uuid, parts, memory, (slot,))
        self.units.append(unit)
        return unit

    def _slot(self, resource: str, replica: int, parts: int, unit: int) -> Slot:
        slot = Slot(len(self.slots), unit, resource, replica, parts)
        self.slots.append(slot)
        return slot


def _uuid(*of: str | int) -> str:
    digest = blake2b("\x1f".join(map(str, of)).encode(), digest_size=16).hexdigest()
    return f"{digest[:8]}-{digest[8:12]}-{digest[12:16]}-{digest[16:20]}-{digest[20:]}"
