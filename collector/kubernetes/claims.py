"""Dynamic resource allocation: which devices there are, and which of them a claim was given."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from collector.kubernetes.settings import Settings
from collector.kubernetes.values import Json, instant_ms, mapping, objects, text, whole
from quartermaster.ids import device_id
from quartermaster.parts import GPU_PARTS, mig_parts, mig_slices
from quartermaster.records import Device

_MINOR = re.compile(r"gpu-(\d{1,4})(?:-mig-.*)?", re.ASCII)
DeviceKey = tuple[str, str, str]  # driver, pool, device


@dataclass(frozen=True, slots=True)
class Unit:
    """A device of a slice: a whole GPU, or an instance of one."""

    name: str
    node: str
    uuid: str
    gpu_uuid: str  # its own, or its parent's; a name of its place where neither is published
    index: int
    model: str
    profile: str  # empty for a whole GPU
    potential: bool  # an instance that is made when it is claimed: it exists on its GPU only while it is held
    memory: int
    shares: int
    tainted: bool

    @property
    def parts(self) -> int:
        """The parts of the unit."""
        if not self.profile:
            return GPU_PARTS
        try:
            return mig_parts(self.model, self.profile)
        except ValueError:
            return GPU_PARTS // mig_slices(self.model)

    def device(self, settings: Settings, start_ms: int) -> Device:
        """The unit's record; a potential instance has its GPU's."""
        carved = bool(self.profile) and not self.potential
        gi_id = (self.uuid or self.name) if carved else ""
        return Device(
            cluster=settings.cluster,
            device_id=device_id(settings.cluster, self.gpu_uuid, gi_id),
            start_at=start_ms,
            end_at=None,
            node=self.node,
            device_index=self.index,
            gpu_uuid=self.gpu_uuid,
            kind="mig" if carved else "gpu",
            parts=self.parts if carved else GPU_PARTS,
            gi_id=gi_id,
            mig_uuid=self.uuid if carved else "",
            profile=self.profile if carved else "",
            healthy=not self.tainted,
            evidence="dra",
        )


@dataclass(frozen=True, slots=True)
class Slice:
    """A ResourceSlice: a part of a pool's devices in one generation."""

    name: str
    driver: str
    pool: str
    generation: int
    units: tuple[Unit, ...]


@dataclass(frozen=True, slots=True)
class Grant:
    """One device of a claim's allocation, and how much of it (shares or memory, of what the device has)."""

    key: DeviceKey
    shares: int
    memory: int


@dataclass(frozen=True, slots=True)
class Claim:
    """A ResourceClaim: what was allocated, and for whom. `grants` is empty where nothing (any more) is."""

    namespace: str
    name: str
    uid: str
    grants: tuple[Grant, ...]
    pods: frozenset[str]  # uids
    allocated_at: int | None
    unreadable: int  # results of GPUs that name no device
    asked_parts: int  # what it asks for, whole GPUs as far as one can tell before it is given


@dataclass(frozen=True, slots=True)
class Given:
    """What one claim gives: units with their parts, and parts of GPUs that no slice names."""

    units: tuple[tuple[Unit, int], ...]
    unnamed_parts: int


def read_slice(raw: Json, settings: Settings) -> Slice | None:
    """The slice, None where its driver's devices are no GPUs. A slice may have counters alone, and no devices."""
    spec = mapping(raw.get("spec"))
    driver, pool = text(spec.get("driver")), mapping(spec.get("pool"))
    if driver not in settings.drivers:
        return None
    node = text(spec.get("nodeName"))
    units = (_unit(each, driver, node or text(each.get("nodeName"))) for each in objects(spec.get("devices")))
    return Slice(
        text(mapping(raw.get("metadata")).get("name")),
        driver,
        text(pool.get("name")),
        whole(pool.get("generation")),
        tuple(unit for unit in units if unit is not None),
    )


def _unit(raw: Json, driver: str, node: str) -> Unit | None:
    said = mapping(raw.get("basic")) or raw  # v1beta1 has a level more
    name, attributes = text(raw.get("name")), mapping(said.get("attributes"))
    kind, profile = _attribute(attributes, driver, "type"), _attribute(attributes, driver, "profile")
    if kind not in {"", "gpu", "mig"}:
        return None
    uuid, parent = _attribute(attributes, driver, "uuid"), _attribute(attributes, driver, "parentUUID")
    minor = _MINOR.fullmatch(name)
    capacity = mapping(said.get("capacity"))
    gpu = (parent if profile else uuid) or f"{driver}/{node}/{minor[1] if minor else name}"
    taints = [
        each for each in objects(said.get("taints")) if each.get("effect") in {"NoSchedule", "NoExecute"}
    ]
    return Unit(
        name=name,
        node=node,
        uuid=uuid,
        gpu_uuid=gpu,
        index=int(minor[1]) if minor else 0,
        model=_attribute(attributes, driver, "productName"),
        profile=profile,
        potential=bool(profile) and not uuid,
        memory=_capacity(capacity, "memory"),
        shares=_capacity(capacity, "shares"),
        tainted=bool(taints),
    )


def _attribute(attributes: Json, driver: str, name: str) -> str:
    """An attribute's text: names may stand alone, or behind the driver's."""
    told = mapping(attributes.get(name)) or mapping(attributes.get(f"{driver}/{name}"))
    return text(told.get("string"))


def _capacity(capacity: Json, name: str) -> int:
    return whole(mapping(capacity.get(name)).get("value"))


def read_claim(raw: Json, settings: Settings) -> Claim | None:
    """The claim. Results with adminAccess are no holdings: the device is also given to others."""
    metadata, status = mapping(raw.get("metadata")), mapping(raw.get("status"))
    uid = text(metadata.get("uid"))
    if not uid:
        return None
    allocation = mapping(status.get("allocation"))
    grants: list[Grant] = []
    unreadable = 0
    for result in objects(mapping(allocation.get("devices")).get("results")):
        driver = text(result.get("driver"))
        if driver not in settings.drivers or result.get("adminAccess") is True:
            continue
        key = (driver, text(result.get("pool")), text(result.get("device")))
        consumed = mapping(result.get("consumedCapacity"))
        if all(key):
            grants.append(Grant(key, whole(consumed.get("shares")), whole(consumed.get("memory"))))
        else:
            unreadable += 1
    pods = {
        text(each.get("uid"))
        for each in objects(status.get("reservedFor"))
        if each.get("resource") == "pods" and not each.get("apiGroup")
    }
    pods |= {
        text(each.get("uid"))
        for each in objects(metadata.get("ownerReferences"))
        if each.get("kind") == "Pod" and each.get("controller") is True
    }
    return Claim(
        namespace=text(metadata.get("namespace")),
        name=text(metadata.get("name")),
        uid=uid,
        grants=tuple(grants),
        pods=frozenset(pods - {""}),
        allocated_at=instant_ms(allocation.get("allocationTimestamp")),
        unreadable=unreadable,
        asked_parts=_asked(mapping(mapping(raw.get("spec")).get("devices")), settings),
    )


def _asked(devices: Json, settings: Settings) -> int:
    total = 0
    for request in objects(devices.get("requests")):
        options = list(objects(request.get("firstAvailable")))
        exact = mapping(request.get("exactly")) or (options[0] if options else request)
        if text(exact.get("deviceClassName")) in settings.drivers:
            total += max(1, whole(exact.get("count") or 1)) * GPU_PARTS
    return total


@dataclass
class Inventory:
    """The slices' devices by (driver, pool, device): those of a pool's highest generation."""

    slices: dict[str, Slice] = field(default_factory=dict[str, Slice])
    _units: dict[DeviceKey, Unit] | None = None

    def put(self, new: Slice) -> None:
        """A slice as it is now."""
        self.slices[new.name] = new
        self._units = None

    def remove(self, name: str) -> None:
        """A slice that is gone."""
        self.slices.pop(name, None)
        self._units = None

    def units(self) -> Mapping[DeviceKey, Unit]:
        """The devices that there are."""
        if self._units is None:
            newest: dict[tuple[str, str], int] = {}
            for each in self.slices.values():
                key = (each.driver, each.pool)
                newest[key] = max(newest.get(key, 0), each.generation)
            self._units = {
                (each.driver, each.pool, unit.name): unit
                for each in self.slices.values()
                if each.generation == newest[each.driver, each.pool]
                for unit in each.units
            }
        return self._units


def given(claim: Claim, units: Mapping[DeviceKey, Unit]) -> Given:
    """What the claim gives, by the devices as they are now: to be kept, for a slice may go or change its UUID."""
    found: list[tuple[Unit, int]] = []
    unnamed = claim.unreadable * GPU_PARTS
    for grant in claim.grants:
        unit = units.get(grant.key)
        if unit is None:
            unnamed += GPU_PARTS
        else:
            found.append((unit, _consumed(grant, unit)))
    return Given(tuple(found), unnamed)


def _consumed(grant: Grant, unit: Unit) -> int:
    """The parts: all of the unit, or by shares, or by memory where it may be given to several."""
    for taken, of in ((grant.shares, unit.shares), (grant.memory, unit.memory)):
        if taken and of:
            return unit.parts * min(taken, of) // of
    return unit.parts


def uncarved(settings: Settings, units: Iterable[Unit], start_ms: int) -> list[Device]:
    """What MIG left of each GPU that is carved: a device of its own."""
    rest: dict[str, tuple[Unit, int]] = {}
    for unit in units:
        if unit.profile and not unit.potential:
            _, taken = rest.get(unit.gpu_uuid, (unit, 0))
            rest[unit.gpu_uuid] = (unit, taken + unit.parts)
    return [
        Device(
            cluster=settings.cluster,
            device_id=device_id(settings.cluster, gpu, "uncarved"),
            start_at=start_ms,
            end_at=None,
            node=unit.node,
            device_index=unit.index,
            gpu_uuid=gpu,
            kind="uncarved",
            parts=GPU_PARTS - taken,
            gi_id="uncarved",
            evidence="dra",
        )
        for gpu, (unit, taken) in rest.items()
        if taken < GPU_PARTS
    ]


def existing(units: Iterable[Unit]) -> list[Unit]:
    """The units that stand by themselves: no potential instances, and no GPU that is carved."""
    known = list(units)
    carved = {unit.gpu_uuid for unit in known if unit.profile and not unit.potential}
    return [u for u in known if not u.potential and (u.profile or u.gpu_uuid not in carved)]


def memory_share(memory_mib: int, gpu_memory_mib: int) -> int:
    """The parts of a GPU that so much of its memory is; a whole one where its memory is not known."""
    return min(GPU_PARTS, GPU_PARTS * memory_mib // gpu_memory_mib) if gpu_memory_mib else GPU_PARTS
