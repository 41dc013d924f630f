"""The picture of one host: looks in, rows for the ledger out; pure.

A look that fails is a gap of telemetry and of holders, never a zero. A GPU that is lost is a gap of its own, which
silences nobody else: its last sample ends at once, and it is not well until it is back.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import polars as pl

from collector import gaps
from collector.batch import Census, Opening
from collector.dcgm.understand import Reading, samples_frame
from collector.gaps import Watch
from collector.nvml.book import Book
from collector.nvml.claims import claims_of
from collector.nvml.fleet import Fleet
from collector.nvml.look import Look
from collector.nvml.people import People
from collector.nvml.settings import NVML, RANKS, Settings
from collector.nvml.telemetry import Telemetry
from collector.presence import LIFE_AFTER_LAST_PAGE_MS
from collector.targets import Target
from quartermaster.ids import content_id
from quartermaster.records import Authority, Gap, Watermark
from sql.ledger import frame

HOLDERS = "holders"
OTHER_NUMBERS, UNTOLD = "other namespace", "processes not told"


@dataclass(frozen=True)
class Taken:
    """What is new since the last time: rows by table, and what is for logs and metrics."""

    start_at: int
    complete_until_at: int
    frames: Mapping[str, pl.DataFrame]
    looks: int
    samples: int
    missed: Mapping[str, int]
    failures: tuple[tuple[Target, str, str], ...]
    recovered: tuple[Target, ...]
    census: Census | None


@dataclass
class _Basket:
    readings: list[Reading] = field(default_factory=list[Reading])
    gaps: list[Gap] = field(default_factory=list[Gap])
    targets: list[tuple[Target, int, int | None]] = field(
        default_factory=list[tuple[Target, int, int | None]]
    )
    looks: int = 0
    missed: dict[str, int] = field(default_factory=dict[str, int])
    failures: list[tuple[Target, str, str]] = field(default_factory=list[tuple[Target, str, str]])
    recovered: list[Target] = field(default_factory=list[Target])


class Picture:
    """What is known of one host."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.fleet = Fleet(settings)
        self.book = Book(People(settings))
        self._telemetry = Telemetry(settings)
        self._target = Target(settings.cluster, settings.target, settings.node)
        self._activity = Watch(self._target, NVML, (settings.node,))
        self._holders = Watch(self._target, settings.source, (settings.node,), covers=HOLDERS)
        self._lost: dict[str, Watch] = {}
        self._basket = _Basket()
        self._notes: set[str] = set()
        self._taken_until_ms: int | None = None
        self._first_ms: int | None = None
        self._counted = False

    @property
    def silent(self) -> bool:
        """Whether the host is in a gap."""
        return self._activity.gap is not None

    def pids(self) -> set[int]:
        """The processes that the next look shall look at, wherever they are."""
        return self.book.pids()

    def openings(self, now_ms: int) -> tuple[Opening, ...]:
        """The beginning of this life, for what an earlier one left open."""
        settings, ids = self.settings, [self._target.target_id]
        self._basket.targets.append((self._target, now_ms, None))
        for known in (self.fleet.nodes, self.fleet.devices):
            known.tell_open()
        self.book.tell_open()
        return (
            Opening(settings.cluster, NVML, now_ms, settings.interval_ms, ids),
            Opening(settings.cluster, settings.source, now_ms, settings.interval_ms, (), HOLDERS),
        )

    def see(self, look: Look) -> None:
        """Take in a look."""
        self._basket.looks += 1
        if self._first_ms is None:
            self._first_ms = look.at_ms
        last_ms = max(self.book.looked.values(), default=look.at_ms)
        if look.at_ms - last_ms > LIFE_AFTER_LAST_PAGE_MS:
            self.fleet.lapse(last_ms + LIFE_AFTER_LAST_PAGE_MS)
        self.fleet.see(look, booted=self.book.booted(look))
        devices = {device.device_id: device for device in self.fleet.open_devices()}
        claims = claims_of(look, self.settings)
        self.book.see(look, claims, devices)
        self._basket.readings.append(self._telemetry.read(look))
        self._activity = self._heard(self._activity, look.at_ms)
        reason = OTHER_NUMBERS if look.others_unseen else UNTOLD if _untold(look) else ""
        if reason:
            self._holders = self._missing(self._holders, look.at_ms, reason, "")
        else:
            self._holders = self._heard(self._holders, look.at_ms)
        self._look_for_lost(look)
        self._notes = _notes(look, claims.untold_jobs)

    def miss(self, at_ms: int, reason: str) -> None:
        """There is no look: nobody knows what the GPUs do, nor who holds them."""
        self._basket.missed[reason] = self._basket.missed.get(reason, 0) + 1
        self._activity = self._missing(self._activity, at_ms, reason, "")
        self._holders = self._missing(self._holders, at_ms, reason, "")

    def unseen(self, start_ms: int, end_ms: int, reason: str) -> None:
        """Record a span in which the collector itself saw nothing that counts."""
        cluster, source = self.settings.cluster, self.settings.source
        if end_ms > start_ms:
            self._basket.gaps.append(gaps.of_cluster(cluster, NVML, start_ms, end_ms, reason))
            self._basket.gaps.append(
                gaps.of_cluster(cluster, source, start_ms, end_ms, reason, covers=HOLDERS)
            )

    def notes(self) -> set[str]:
        """What a person should know of the last look, a sentence each."""
        return self._notes

    def take(self, now_ms: int) -> Taken:
        """What is new since the last time; complete up to now."""
        basket, self._basket = self._basket, _Basket()
        start_ms = now_ms if self._taken_until_ms is None else self._taken_until_ms
        self._taken_until_ms = max(start_ms, now_ms)
        told, fleet, settings = self.book.take(), self.fleet, self.settings
        marks = [
            Watermark(settings.cluster, NVML, gaps.TELEMETRY, self._taken_until_ms),
            Watermark(settings.cluster, settings.source, HOLDERS, self._taken_until_ms),
        ]
        frames = {
            "nodes_versions": frame(fleet.nodes.drain()),
            "devices_versions": frame(fleet.devices.drain()),
            "series_versions": frame(fleet.series.drain()),
            "workloads_versions": frame(told.workloads),
            "allocations_versions": frame(list(told.allocations.values())),
            "holdings_versions": frame(list(told.holdings.values())),
            "authority_versions": frame(self._authority()),
            "gaps_versions": frame(basket.gaps),
            "targets_versions": self._target_rows(basket),
            "watermarks": frame(marks),
        }
        if basket.readings:
            frames["samples"] = samples_frame(basket.readings)
        census = None
        if self._first_ms is not None and not self._counted:
            self._counted, census = True, self._census(now_ms)
        return Taken(
            start_at=start_ms,
            complete_until_at=self._taken_until_ms,
            frames={table: rows for table, rows in frames.items() if rows.height},
            looks=basket.looks,
            samples=sum(len(reading.rows) for reading in basket.readings),
            missed=basket.missed,
            failures=tuple(basket.failures),
            recovered=tuple(basket.recovered),
            census=census,
        )

    def _census(self, now_ms: int) -> Census:
        """What there is in the first look of this life: all else that the ledger has open has ended."""
        present = {
            "nodes_versions": [node.node for node in self.fleet.nodes.open.values()],
            "devices_versions": [device.device_id for device in self.fleet.open_devices()],
            "allocations_versions": [each.allocation_id for each in self.book.allocations.values()],
            "holdings_versions": [each.holding_id for each in self.book.holdings.values()],
        }
        return Census(self.settings.cluster, self.settings.source, now_ms, present, {})

    def _authority(self) -> list[Authority]:
        if self._first_ms is None or self._counted:
            return []
        cluster, source = self.settings.cluster, self.settings.source
        key = content_id("authority", cluster, source)
        return [Authority(cluster, key, self._first_ms, None, source, RANKS[source])]

    def _target_rows(self, basket: _Basket) -> pl.DataFrame:
        return pl.DataFrame(
            [
                {
                    "cluster": target.cluster,
                    "target_id": target.target_id,
                    "start_at": start_ms,
                    "end_at": end_ms,
                    "source": NVML,
                    "target": target.name,
                    "node": target.node,
                    "interval_ms": self.settings.interval_ms,
                    "revision": 0,
                }
                for target, start_ms, end_ms in basket.targets
            ],
            schema_overrides={"end_at": pl.Int64},
        )

    def _look_for_lost(self, look: Look) -> None:
        """A gap for each GPU that does not answer, under a name of its own, so that it silences no other."""
        index = {device.gpu_uuid: device.device_index for device in self.fleet.open_devices()}
        for uuid, trouble in self.fleet.away.items():
            name = f"{self.settings.node} GPU {index.get(uuid, '?')}"
            watch = self._lost.get(uuid)
            if watch is None:
                target = Target(self.settings.cluster, f"{self.settings.target}/{uuid}", name)
                watch = Watch(target, NVML, (name,))
            sick = self.fleet.sick.get(uuid)
            self._lost[uuid] = self._missing(watch, look.at_ms, trouble, sick or "")
        for uuid in self._lost.keys() - self.fleet.away.keys():
            self._heard(self._lost.pop(uuid), look.at_ms)

    def _missing(self, watch: Watch, at_ms: int, reason: str, detail: str) -> Watch:
        if watch.gap is None or reason not in watch.gap.reasons:
            self._basket.failures.append((watch.target, reason, detail))
        watch, told = gaps.missed(watch, at_ms, reason)
        self._basket.gaps += told
        return watch

    def _heard(self, watch: Watch, at_ms: int) -> Watch:
        if watch.gap is not None:
            self._basket.recovered.append(watch.target)
        self._basket.gaps += gaps.ended(watch, at_ms)
        return replace(watch, gap=None)


def _untold(look: Look) -> bool:
    """Whether the library does not say who computes on some GPU."""
    return any(one.pids is None for gpu in look.gpus if not gpu.trouble for one in (gpu, *gpu.instances))


def _notes(look: Look, untold_jobs: tuple[str, ...]) -> set[str]:
    notes: set[str] = set()
    if not look.gpus:
        notes.add("there is no GPU on this host")
    if look.others_unseen:
        notes.add("processes are numbered otherwise here than on the host: in a pod set hostPID: true")
    if look.hidden:
        notes.add(
            "/proc hides other users' processes (hidepid): run as root, or in the group that may see them"
        )
    if untold_jobs:
        notes.add(
            "GPUs that Slurm's jobs hold without a process on them are not seen: "
            "the jobs' environments can only be read by root"
        )
    for gpu in look.gpus:
        if gpu.persistent is False:
            notes.add(
                f"GPU {gpu.index}: persistence mode is off; without the collector the driver would unload and forget "
                "energy and XIDs (nvidia-smi -pm 1)"
            )
        if gpu.trouble and not gpu.uuid:
            notes.add(f"GPU {gpu.index}: {gpu.trouble}; nvidia-smi says more")
        if not gpu.trouble and any(one.pids is None for one in (gpu, *gpu.instances)):
            notes.add(f"GPU {gpu.index}: the driver does not tell its processes; it may want root")
    return notes
