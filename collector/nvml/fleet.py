"""The host's GPUs over time: capacity, how they are cut, and whether they are well; pure.

A GPU that was seen once is capacity until the host is booted without it. One that is lost, needs a reset or had an
XID after which it cannot be used is there and not well: nobody can hold what is free of it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from collector.kubernetes.told import Key, Versions
from collector.nvml.look import Gpu, Instance, Look
from collector.nvml.settings import NVML, Settings
from collector.presence import UNCARVED
from quartermaster.ids import content_id, device_id
from quartermaster.parts import GPU_PARTS, mig_parts, mig_slices
from quartermaster.pool import pool_of
from quartermaster.records import Device, Node, Series

# XIDs after which NVIDIA's catalogue asks for a reset of the GPU, or of the host.
FATAL_XIDS = frozenset({48, 62, 64, 79, 95, 119, 120, 140})


@dataclass
class Fleet:
    """The node, its devices and their series as they are known; `sick` says why a GPU is not well, by UUID."""

    settings: Settings
    nodes: Versions[Node] = field(default_factory=Versions[Node])
    devices: Versions[Device] = field(default_factory=Versions[Device])
    series: Versions[Series] = field(default_factory=Versions[Series])
    sick: dict[str, str] = field(default_factory=dict[str, str])
    away: dict[str, str] = field(default_factory=dict[str, str])

    def see(self, look: Look, *, booted: bool) -> None:
        """Take in a look; `booted`: the host was booted since the last one."""
        seen = {gpu.uuid: gpu for gpu in look.gpus if gpu.uuid and not gpu.trouble}
        if booted:
            self.sick.clear()
            self._end_missing(look, {gpu.uuid for gpu in look.gpus})
        self._diagnose(look, seen)
        for gpu in seen.values():
            self._put_gpu(gpu, look.at_ms)
        for device in self.open_devices():
            if device.gpu_uuid in self.away:
                self.devices.put(device.device_id, replace(device, start_at=look.at_ms, healthy=False))
        self._put_node(seen, look.at_ms)

    def lapse(self, at_ms: int) -> None:
        """Nobody looked for so long that the host is not taken to have been there from an instant on."""
        for key in list(self.nodes.open):
            self.nodes.end(key, at_ms)
        for key in list(self.devices.open):
            self.devices.end(key, at_ms)

    def open_devices(self) -> list[Device]:
        """The devices that are there."""
        return list(self.devices.open.values())

    def _end_missing(self, look: Look, present: set[str]) -> None:
        """After a boot what is not there any more was taken out, unless one that is there cannot say its name."""
        if any(not gpu.uuid for gpu in look.gpus):
            return
        for device in self.open_devices():
            if device.gpu_uuid not in present:
                self.devices.end(device.device_id, look.booted_ms)

    def _diagnose(self, look: Look, seen: Mapping[str, Gpu]) -> None:
        known = {device.gpu_uuid for device in self.open_devices()}
        troubles = {gpu.uuid: gpu.trouble for gpu in look.gpus if gpu.trouble}
        nameless = next(
            (gpu.trouble for gpu in look.gpus if gpu.trouble and not gpu.uuid), "not there any more"
        )
        was_away = self.away
        self.away = {uuid: troubles.get(uuid, nameless) for uuid in sorted(known - seen.keys())}
        for uuid in was_away.keys() & seen.keys():
            self.sick.pop(uuid, None)  # it came back: it was reset
        for gpu in look.gpus:
            fatal = [xid for xid in gpu.xids if xid in FATAL_XIDS]
            if fatal and gpu.uuid:
                self.sick[gpu.uuid] = f"XID {fatal[-1]}"

    def _put_gpu(self, gpu: Gpu, at_ms: int) -> None:
        wanted = {device.device_id: device for device in _devices(self.settings, gpu, at_ms)}
        healthy = gpu.uuid not in self.sick
        for device in self.open_devices():
            if device.gpu_uuid == gpu.uuid and device.device_id not in wanted:
                self.devices.end(device.device_id, at_ms)
        for key, device in wanted.items():
            self.devices.put(key, replace(device, healthy=healthy))
        for one in (None, *gpu.instances):
            series = series_of(self.settings, gpu, one, at_ms)
            self.series.put(series.series_id, series)

    def _put_node(self, seen: Mapping[str, Gpu], at_ms: int) -> None:
        uuids = {device.gpu_uuid for device in self.open_devices()}
        key: Key = self.settings.node
        for other in self.nodes.open.keys() - {key}:  # the host has another name now
            self.nodes.end(other, at_ms)
        if not uuids:
            self.nodes.end(key, at_ms)
            return
        was = self.nodes.open.get(key)
        models = Counter(gpu.model for gpu in seen.values() if gpu.model)
        model = min(models, key=lambda name: (-models[name], name)) if models else was.model if was else ""
        self.nodes.put(
            key,
            Node(
                cluster=self.settings.cluster,
                node=self.settings.node,
                start_at=at_ms,
                end_at=None,
                pool=pool_of(self.settings.pools, model, {}),
                model=model,
                gpu_count=len(uuids),
            ),
        )


def gi_id(instance: Instance) -> str:
    """How the instance is called on its GPU: by the GPU instance, as dcgm-exporter does; one that has a part of its
    compute slices only (`1c.3g.20gb`), with its own number."""
    return f"{instance.gi}.{instance.ci}" if "c." in instance.profile else str(instance.gi)


def series_of(settings: Settings, gpu: Gpu, instance: Instance | None, at_ms: int) -> Series:
    """What NVML calls the GPU, or an instance of it."""
    gi = gi_id(instance) if instance else ""
    return Series(
        cluster=settings.cluster,
        series_id=content_id("series", settings.cluster, NVML, settings.node, gpu.uuid, gi, ""),
        start_at=at_ms,
        end_at=None,
        source=NVML,
        node=settings.node,
        gpu_uuid=gpu.uuid,
        gi_id=gi,
        vgpu="",
        profile=instance.profile if instance else "",
        model=gpu.model,
        device_index=gpu.index,
        kind="mig" if instance else "gpu",
        label_generation="",
        target=settings.target,
    )


def _devices(settings: Settings, gpu: Gpu, at_ms: int) -> Iterable[Device]:
    """The GPU whole, or its instances and what is left of it."""
    whole = Device(
        cluster=settings.cluster,
        device_id=device_id(settings.cluster, gpu.uuid),
        start_at=at_ms,
        end_at=None,
        node=settings.node,
        device_index=gpu.index,
        gpu_uuid=gpu.uuid,
        kind="gpu",
        parts=GPU_PARTS,
        evidence="telemetry",
    )
    if not gpu.mig:
        yield whole
        return
    left = GPU_PARTS
    for instance in gpu.instances:
        gi, parts = gi_id(instance), min(left, _parts(gpu.model, instance.profile))
        left -= parts
        if not parts:
            continue
        yield replace(
            whole,
            device_id=device_id(settings.cluster, gpu.uuid, gi),
            kind="mig",
            parts=parts,
            gi_id=gi,
            mig_uuid=instance.uuid,
            profile=instance.profile,
        )
    if left:
        rest = device_id(settings.cluster, gpu.uuid, UNCARVED)
        yield replace(whole, device_id=rest, kind=UNCARVED, parts=left, gi_id=UNCARVED)


def _parts(model: str, profile: str) -> int:
    try:
        return mig_parts(model, profile)
    except ValueError:
        return GPU_PARTS // mig_slices(model)
