"""Lending by ResourceQuotas: a team's is raised by what its fair share allows above it, and brought back. Pure.

Fair shares add up to no more than there is, and a raised quota is no more than what its team's share has left for its
namespace: so raised quotas together never let more pods in than there are GPUs that nobody is entitled to. Nothing is
ever lowered under what the object's people wrote; and lowering evicts nobody, it only lets no more in.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from enforcer.quotas.cap import Cap, whole_gpus
from enforcer.quotas.change import QuotaChange
from enforcer.quotas.last import Last, Lasts, is_theirs, written
from enforcer.quotas.native import RESOURCE_QUOTA
from enforcer.snapshot import Snapshot
from enforcer.standing import Standing, standings
from quartermaster.clock import MINUTE_MS
from quartermaster.config.policy import PolicyPart
from quartermaster.fairshare.explain import gpus
from quartermaster.parts import GPU_PARTS
from quartermaster.text import visible

# What a raised quota lets in and nobody makes use of is put back after so long.
UNUSED_MS = 10 * MINUTE_MS
_REQUESTS = "requests."
Owners = Mapping[str, tuple[str, str]]  # team and pool of each quota object, by its name
Owned = tuple[str, str]


@dataclass(frozen=True)
class Told:
    """What is known beside the snapshot: whose quota objects are, and what became of them before."""

    owners: Owners
    lasts: Lasts = field(default_factory=dict[str, Last])
    unused_since_ms: Mapping[str, int] = field(default_factory=dict[str, int])  # by UID


@dataclass
class _Space:
    """What one namespace holds and asks for, in parts."""

    owned: set[Owned] = field(default_factory=set[Owned])
    units: set[str] = field(default_factory=set[str])
    held: int = 0
    asked: int = 0  # by who may be preempted
    fixed: int = 0  # held or asked for by who may not
    asked_fixed: int = 0

    @property
    def wants(self) -> int:
        return self.held + self.asked

    @property
    def needs(self) -> int:
        return self.wants + self.asked_fixed


def lend(snapshot: Snapshot, caps: Sequence[Cap], policy: PolicyPart, told: Told) -> tuple[QuotaChange, ...]:
    """The ResourceQuotas that are to be changed now, those first that are lowered.

    The snapshot's promises are those that hold now, ResourceQuotas no limits (`Promised.at(…, caps=False)`). Raised is
    in whole GPUs, no more often than once a minute, and only for work that may be preempted. Lowered is at once where
    the GPUs are somebody else's to ask for; where nobody asks, after ten minutes in which it was of no use.
    """
    pools = standings(snapshot, policy)
    spaces = _spaces(snapshot)
    shared = _shared(snapshot)
    found: list[QuotaChange] = []
    for name in sorted(pools):
        mine = [each for each in _single(caps, told) if told.owners[each.source_object][1] == name]
        usable = {each.uid for each in mine if _is_plain(each, told, spaces, shared)}
        found += _Pool(pools[name], snapshot.at_ms, told, spaces).changes(mine, usable)
    return tuple(sorted(found, key=lambda each: (each.raises, each.cap.namespace, each.cap.name)))


def unused(snapshot: Snapshot, caps: Sequence[Cap], lasts: Lasts) -> frozenset[str]:
    """The raised quotas whose namespaces hold and ask for no more than their people wrote, by UID."""
    spaces = _spaces(snapshot)
    return frozenset(
        each.uid
        for each in caps
        if each.kind == RESOURCE_QUOTA
        and len(each.fields) == 1
        and spaces.get(each.namespace, _Space()).wants <= _parts(_only(written(each, lasts.get(each.uid))))
    )


class _Pool:
    def __init__(self, standing: Standing, at_ms: int, told: Told, spaces: Mapping[str, _Space]) -> None:
        self._standing, self._at_ms, self._told, self._spaces = standing, at_ms, told, spaces

    def changes(self, caps: Sequence[Cap], usable: set[str]) -> list[QuotaChange]:
        """What is to become of the pool's quotas."""
        raises = self._raises([each for each in caps if each.uid in usable])
        available, shares = self._standing.division.available_parts, self._standing.shares
        slack = available - sum(share.parts for share in shares.values())
        found: list[QuotaChange] = []
        for cap in caps:
            last = self._told.lasts.get(cap.uid)
            first = _parts(_only(written(cap, last)))
            now, target = _parts(_only(cap.fields)), first + raises.get(cap.uid, 0)
            if last is not None and last.waits(self._at_ms):
                continue
            if target > now:
                if last is None or not last.rests(self._at_ms):
                    found.append(self._change(cap, first, target))
                continue
            if target == now:
                continue
            extra = now - min(target, self._space(cap).wants)
            if cap.uid in usable and extra <= slack and not self._is_unused(cap):
                slack -= extra
            else:
                found.append(self._change(cap, first, target))
        return found

    def _raises(self, caps: Sequence[Cap]) -> dict[str, int]:
        """By how much each may be raised, in parts: what of its team's share is left for it, in whole GPUs."""
        left: dict[str, int] = {}
        for team in {self._team(cap) for cap in caps}:
            left[team] = self._standing.fair_share(team) if team in self._standing.shares else 0
        first = {cap.uid: _parts(_only(written(cap, self._told.lasts.get(cap.uid)))) for cap in caps}
        capped = {cap.namespace: cap for cap in caps}
        for namespace, space in self._spaces.items():
            for team, pool in space.owned:
                if pool == self._standing.pool and team in left:
                    cap = capped.get(namespace)
                    left[team] -= space.needs if cap is None else min(space.needs, first[cap.uid])
        found: dict[str, int] = {}
        for cap in caps:
            space, team = self._space(cap), self._team(cap)
            over = space.wants - first[cap.uid]
            if over <= 0 or space.fixed > first[cap.uid]:
                continue  # who may not be preempted does not borrow, and would be let in first
            more = max(0, min(over, left[team])) // GPU_PARTS * GPU_PARTS
            left[team] -= more
            found[cap.uid] = more
        return found

    def _change(self, cap: Cap, first: int, target: int) -> QuotaChange:
        (name,) = cap.fields
        team, pool = self._told.owners[cap.source_object]
        now = _parts(_only(cap.fields))
        share = self._standing.shares.get(team)
        space = self._space(cap)
        words = (
            f"from {gpus(now)} to {gpus(target)}; its people wrote {gpus(first)}. Team {visible(team)} is entitled to "
            f"{gpus(share.parts if share else 0)} in pool {visible(pool)} now; in the namespace {gpus(space.held)} are "
            f"held and {gpus(space.asked)} more are asked for."
        )
        before, after = {name: str(first // GPU_PARTS)}, {name: str(target // GPU_PARTS)}
        return QuotaChange(cap, team, pool, before, after, words)

    def _team(self, cap: Cap) -> str:
        return self._told.owners[cap.source_object][0]

    def _space(self, cap: Cap) -> _Space:
        return self._spaces.get(cap.namespace, _Space())

    def _is_unused(self, cap: Cap) -> bool:
        since_ms = self._told.unused_since_ms.get(cap.uid)
        return since_ms is not None and self._at_ms >= since_ms + UNUSED_MS


def _single(caps: Sequence[Cap], told: Told) -> list[Cap]:
    """ResourceQuotas of one amount in whole GPUs, by name; those that somebody else has changed are theirs."""
    return sorted(
        (
            each
            for each in caps
            if each.kind == RESOURCE_QUOTA
            and each.source_object in told.owners
            and len(each.fields) == 1
            and whole_gpus(*each.fields.values()) is not None
            and not is_theirs(each, told.lasts.get(each.uid))
        ),
        key=lambda each: (each.namespace, each.name),
    )


def _is_plain(cap: Cap, told: Told, spaces: Mapping[str, _Space], shared: set[str]) -> bool:
    """Whether it is of its team and pool alone, and counts what the pool's nodes have as whole GPUs."""
    (name,) = cap.fields
    space = spaces.get(cap.namespace, _Space())
    alone = sum(of.rpartition("/")[0] == cap.source_object.rpartition("/")[0] for of in told.owners) == 1
    resource = name.removeprefix(_REQUESTS)
    return (
        alone
        and not cap.read.scoped
        and name.startswith(_REQUESTS)
        and resource not in shared
        and space.owned <= {told.owners[cap.source_object]}
        and space.units <= {resource}
    )


def _spaces(snapshot: Snapshot) -> dict[str, _Space]:
    found: dict[str, _Space] = {}
    for each in snapshot.workloads:
        space = found.setdefault(each.namespace, _Space())
        space.owned.add((each.team, each.pool))
        for pod in each.pods:
            space.units |= {unit for unit, count in pod.shape.units if count}
            if not pod.terminating:
                space.held += pod.parts
                space.fixed += 0 if each.preemptible else pod.parts
    for each in snapshot.waiting:
        space = found.setdefault(each.namespace, _Space())
        space.owned.add((each.team, each.pool))
        space.units |= {unit for shape, _, _ in each.pods for unit, count in shape.units if count}
        if each.preemptible:
            space.asked += each.parts
        else:
            space.fixed += each.parts
            space.asked_fixed += each.parts
    return found


def _shared(snapshot: Snapshot) -> set[str]:
    """Resources of which one unit is not a whole GPU, on some node."""
    return {unit for node in snapshot.nodes for unit, parts in node.unit_parts if parts != GPU_PARTS}


def _only(fields: Mapping[str, str | None]) -> int:
    (value,) = fields.values()
    return whole_gpus(value) or 0


def _parts(gpus: int) -> int:
    return gpus * GPU_PARTS
