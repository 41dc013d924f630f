"""Who held which device from when to when, look by look; pure.

A holder is on a device from its first process' own start, no earlier than the look before, which did not see it
there, to the first look that does not see it any more. Between the last look that saw it and that one is estimated;
so is what lies between its start and the first look that saw it. Holders that share a device have equal parts.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from collector.nvml.claims import Claim, Claims, Mark
from collector.nvml.look import Look
from collector.nvml.owner import JOB, Owner
from collector.nvml.people import People
from quartermaster.ids import content_id
from quartermaster.records import Allocation, Device, Holding, Workload

GONE, BOOTED, CUT = "gone", "host booted", "device gone"
Seat = tuple[Owner, int]


@dataclass
class Told:
    """Records to append."""

    workloads: list[Workload] = field(default_factory=list[Workload])
    allocations: dict[int, Allocation] = field(default_factory=dict[int, Allocation])
    holdings: dict[tuple[int, int], Holding] = field(default_factory=dict[tuple[int, int], Holding])


@dataclass
class Book:
    """What is open: workloads and allocations by owner, holdings by owner and device; and what was seen last.

    marks    the processes by which an owner is on a device; empty where Slurm alone says so
    looked   the last look at a device that told its holders, epoch ms
    seen     the last look that saw an owner
    """

    people: People
    boot_id: str = ""
    workloads: dict[Owner, Workload] = field(default_factory=dict[Owner, Workload])
    allocations: dict[Owner, Allocation] = field(default_factory=dict[Owner, Allocation])
    holdings: dict[Seat, Holding] = field(default_factory=dict[Seat, Holding])
    marks: dict[Seat, frozenset[Mark]] = field(default_factory=dict[Seat, frozenset[Mark]])
    looked: dict[int, int] = field(default_factory=dict[int, int])
    seen: dict[Owner, int] = field(default_factory=dict[Owner, int])
    told: Told = field(default_factory=Told)
    _parts: Mapping[int, int] = field(default_factory=dict[int, int])

    def booted(self, look: Look) -> bool:
        """Whether the host was booted since the last look."""
        return self.boot_id not in {"", look.boot_id}

    def see(self, look: Look, claims: Claims, devices: Mapping[int, Device]) -> None:
        """Take in a look: its claims, upon the devices that are there now, by id."""
        if self.booted(look):
            self._leave(list(self.holdings), min(look.booted_ms, look.at_ms), BOOTED, {})
        self.boot_id = look.boot_id
        self._parts = {device_id: device.parts for device_id, device in devices.items()}
        gone = [seat for seat in self.holdings if seat[1] not in devices]
        self._leave(gone, look.at_ms, CUT, {})
        self._leave(self._vanished(look, claims), look.at_ms, GONE, devices)
        on = {device_id: claims.on[device_id] for device_id in sorted(claims.on) if device_id in devices}
        starts = self._starts(look, on, devices)
        left = [seat for seat in self.holdings if seat[1] in on and seat[0] not in on[seat[1]]]
        earlier = {seat: start_ms for seat, start_ms in starts.items() if start_ms < look.at_ms}
        self._open_all(earlier, on, devices, look)
        self._leave(left, look.at_ms, GONE, devices)
        self._open_all({seat: starts[seat] for seat in starts.keys() - earlier.keys()}, on, devices, look)
        for device_id, theirs in on.items():
            for owner, claim in theirs.items():
                self.marks[owner, device_id] = claim.marks
                self.seen[owner] = look.at_ms
                self._match_again(owner, look)
        self.looked |= dict.fromkeys(on, look.at_ms)
        self.looked = {device_id: at for device_id, at in self.looked.items() if device_id in devices}

    def take(self) -> Told:
        """What is to be told since the last time."""
        told, self.told = self.told, Told()
        return told

    def tell_open(self) -> None:
        """Tell all that is open once more: what was told last may not have reached the ledger."""
        self.told.workloads += self.workloads.values()
        for allocation in self.allocations.values():
            self.told.allocations[allocation.allocation_id] = allocation
        for holding in self.holdings.values():
            self.told.holdings[holding.holding_id, holding.start_at] = holding

    def pids(self) -> set[int]:
        """The processes that hold something."""
        return {pid for marks in self.marks.values() for pid, _ in marks}

    def _vanished(self, look: Look, claims: Claims) -> list[Seat]:
        """On devices that do not tell: who is there no more at all."""
        alive = {(process.pid, process.ticks) for process in look.processes.values()}
        jobs = {job.job for job in look.jobs}
        return [
            seat
            for seat in self.holdings
            if seat[1] not in claims.on
            and not look.others_unseen
            and not (self.marks[seat] & alive)
            and (self.marks[seat] or seat[0].kind == JOB)
            and not (seat[0].kind == JOB and seat[0].name in jobs)
        ]

    def _starts(
        self, look: Look, on: Mapping[int, Mapping[Owner, Claim]], devices: Mapping[int, Device]
    ) -> dict[Seat, int]:
        """Since when each new seat is taken."""
        return {
            (owner, device_id): min(
                look.at_ms, max(claim.start_ms, self.looked.get(device_id, devices[device_id].start_at))
            )
            for device_id, theirs in on.items()
            for owner, claim in theirs.items()
            if (owner, device_id) not in self.holdings
        }

    def _open_all(
        self,
        starts: Mapping[Seat, int],
        on: Mapping[int, Mapping[Owner, Claim]],
        devices: Mapping[int, Device],
        look: Look,
    ) -> None:
        """Take these seats, in order of time; an owner's allocation begins with its first."""
        first_ms: dict[Owner, int] = {}
        for (owner, _), start_ms in starts.items():
            first_ms[owner] = min(start_ms, first_ms.get(owner, start_ms))
        for seat in sorted(starts, key=lambda seat: (starts[seat], seat)):
            owner, device_id = seat
            claim, span = on[device_id][owner], (first_ms[owner], starts[seat])
            self._open(seat, claim, devices[device_id], span, look)

    def _open(self, seat: Seat, claim: Claim, device: Device, starts: tuple[int, int], look: Look) -> None:
        """`starts` are the owner's, on any device, and the one on this device."""
        owner, cluster = seat[0], device.cluster
        allocation = self.allocations.get(owner)
        if allocation is None:
            workload, allocation = self.people.allocation(owner, claim.name, look, starts[0])
            self.workloads[owner] = workload
            self.told.workloads.append(workload)
        theirs = sum(self._parts[device_id] for other, device_id in self.holdings if other == owner)
        if theirs + device.parts > allocation.gpu_parts:  # the most that it is on at once
            revision = allocation.revision + (allocation.gpu_parts > 0)
            allocation = replace(allocation, gpu_parts=theirs + device.parts, revision=revision)
            self.told.allocations[allocation.allocation_id] = allocation
        self.allocations[owner] = allocation
        self.holdings[seat] = Holding(
            cluster=cluster,
            holding_id=content_id("holding", cluster, allocation.allocation_id, device.device_id),
            start_at=max(starts[1], allocation.start_at),
            end_at=None,
            allocation_id=allocation.allocation_id,
            device_id=device.device_id,
            parts=0,
            evidence=claim.evidence,
        )
        self._share(device, starts[1])

    def _match_again(self, owner: Owner, look: Look) -> None:
        """Rules, and whose groups are which, may have changed while the owner holds."""
        allocation, patterns = self.allocations[owner], self.people.patterns(owner, look)
        if patterns != allocation.user_patterns:
            allocation = replace(allocation, user_patterns=patterns, revision=allocation.revision + 1)
            self.allocations[owner] = self.told.allocations[allocation.allocation_id] = allocation

    def _share(self, device: Device, at_ms: int) -> None:
        """From an instant on all who are on the device have equal parts."""
        seats = [seat for seat in self.holdings if seat[1] == device.device_id]
        for seat in seats:
            holding, parts = self.holdings[seat], device.parts // len(seats)
            if holding.parts == parts:
                continue
            if holding.start_at < at_ms:
                ended = replace(holding, end_at=at_ms, revision=holding.revision + 1)
                self.told.holdings[holding.holding_id, holding.start_at] = ended
                holding = replace(holding, start_at=at_ms, parts=parts, revision=0)
            else:
                was_told = holding.parts > 0
                holding = replace(holding, parts=parts, revision=holding.revision + was_told)
            self.holdings[seat] = holding
            self.told.holdings[holding.holding_id, holding.start_at] = holding

    def _leave(self, seats: Iterable[Seat], at_ms: int, why: str, devices: Mapping[int, Device]) -> None:
        """These seats are empty from an instant on; who stays on these devices shares what was left; who has no
        seat any more has ended."""
        left = list(seats)
        for seat in left:
            holding = self.holdings.pop(seat)
            self.marks.pop(seat, None)
            end_ms = max(at_ms, holding.start_at)
            ended = replace(holding, end_at=end_ms, revision=holding.revision + 1)
            self.told.holdings[holding.holding_id, holding.start_at] = ended
        for owner in sorted({owner for owner, _ in left} - {owner for owner, _ in self.holdings}):
            self._end(owner, at_ms, why)
        for device_id in {device_id for _, device_id in left} & devices.keys():
            self._share(devices[device_id], at_ms)

    def _end(self, owner: Owner, at_ms: int, why: str) -> None:
        del self.workloads[owner]
        allocation, seen_ms = self.allocations.pop(owner), self.seen.pop(owner, None)
        end_ms = max(at_ms, allocation.start_at)
        sure_ms = allocation.start_at if seen_ms is None else max(allocation.start_at, min(seen_ms, end_ms))
        self.told.allocations[allocation.allocation_id] = replace(
            allocation, end_at=end_ms, sure_end_at=sure_ms, end_evidence=why, revision=allocation.revision + 1
        )
