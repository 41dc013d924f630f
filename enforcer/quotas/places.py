"""Places: the portions of queues that are a team's in a pool, and by how much bookings and offers move each. Pure."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from enforcer.booking import Booking
from enforcer.quotas.backends import QUEUES
from enforcer.quotas.cap import Cap, Portion, whole_gpus
from enforcer.quotas.last import Lasts, is_theirs, written
from enforcer.quotas.tree import Tree
from quartermaster.parts import GPU_PARTS
from quartermaster.remainder import share

Owned = tuple[str, str]  # team and pool
Key = tuple[str, str]  # a queue's UID, and the name of the field that promises


@dataclass(frozen=True, slots=True)
class Place:
    """A portion of a queue that is a team's, and what it promises as its people wrote it, in GPUs."""

    cap: Cap
    portion: Portion
    promised: int

    @property
    def key(self) -> Key:
        return self.cap.uid, self.portion.quota

    @property
    def least(self) -> int:
        """Under which it is not lowered now."""
        return min(self.cap.read.least_gpus, whole_gpus(self.cap.fields.get(self.portion.quota)) or 0)


@dataclass(frozen=True, slots=True)
class Moved:
    """By how many GPUs places have more, which are booked, and fewer, which are offered and booked by others."""

    more: Mapping[Key, int] = field(default_factory=dict[Key, int])
    less: Mapping[Key, int] = field(default_factory=dict[Key, int])

    def of(self, place: Place) -> tuple[int, int]:
        """More and fewer. What non-preemptible work holds beyond them stays until it ends."""
        plus, minus = self.more.get(place.key, 0), self.less.get(place.key, 0)
        return plus + max(0, place.least - (place.promised + plus - minus)), minus

    def gpus(self, place: Place) -> int:
        """What it is to promise."""
        plus, minus = self.of(place)
        return place.promised + plus - minus


def places(
    queues: Sequence[Cap], tree: Tree, owners: Mapping[str, Owned], lasts: Lasts
) -> dict[Owned, list[Place]]:
    """Each team's places in each pool, the largest first.

    Left alone: what somebody else has changed, queues above others, and flavors with two kinds of GPUs.
    """
    found: dict[Owned, list[Place]] = {}
    for cap in queues:
        last = lasts.get(cap.uid)
        if is_theirs(cap, last) or not tree.is_leaf(cap):
            continue
        first = written(cap, last)
        for portion in cap.read.portions:
            name = f"{cap.source_object}/{portion.flavor}" if portion.flavor else cap.source_object
            owner, promised = owners.get(name), QUEUES[cap.kind].promised(portion, first)
            alone = sum(each.flavor == portion.flavor for each in cap.read.portions) == 1
            if owner is not None and promised is not None and alone:
                found.setdefault(owner, []).append(Place(cap, portion, promised))
    for those in found.values():
        those.sort(key=lambda each: (-each.promised, each.cap.name, each.portion.flavor))
    return found


def moved(
    found: Mapping[Owned, Sequence[Place]],
    bookings: Sequence[Booking],
    at_ms: int,
    without: Collection[Owned] = (),
) -> Moved:
    """What is moved by the bookings that stand, but for those of the owners `without` any."""
    booked, offered = (dict.fromkeys(found, 0) for _ in range(2))
    for each in bookings:
        owner = each.team, each.pool
        if owner in found and each.start_at <= at_ms < each.end_at and (each.offer or owner not in without):
            (offered if each.offer else booked)[owner] += each.parts // GPU_PARTS
    more = {found[owner][0].key: gpus for owner, gpus in booked.items() if gpus}
    less: dict[Key, int] = {}
    for pool in {pool for _, pool in found}:
        has = {
            team: min(offered[team, of], sum(max(0, each.promised - each.least) for each in found[team, of]))
            for team, of in found
            if of == pool
        }
        given = min(sum(has.values()), sum(gpus for (_, of), gpus in booked.items() if of == pool))
        for team, gpus in share(given, has).items():
            left = gpus
            for each in found[team, pool]:
                less[each.key] = min(left, max(0, each.promised - each.least))
                left -= less[each.key]
    return Moved(more, less)
