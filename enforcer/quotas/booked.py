"""Bookings and offers in Kueue: ClusterQueues whose quotas follow them while they last. Pure.

Kueue lends and reclaims by itself, within what its quotas say; so these are moved, and nothing else of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from collector.kubernetes.lent import Fields, same
from collector.kubernetes.values import quantity
from enforcer.booking import Booking
from enforcer.quotas.cap import BORROWING, CLUSTER_QUEUE, LENDING, NOMINAL, Cap, Flavor, whole_gpus
from enforcer.quotas.change import QuotaChange
from enforcer.quotas.last import Lasts, is_theirs, written
from quartermaster.parts import GPU_PARTS
from quartermaster.remainder import share
from quartermaster.text import visible

Owned = tuple[str, str]  # team and pool


@dataclass(frozen=True, slots=True)
class _Place:
    """A flavor of a ClusterQueue that is a team's, and its nominal quota as its people wrote it, in GPUs."""

    cap: Cap
    flavor: Flavor
    nominal: int

    @property
    def key(self) -> tuple[str, str]:
        return self.cap.uid, self.flavor.name


def follow(
    caps: Sequence[Cap], bookings: Sequence[Booking], owners: Mapping[str, Owned], lasts: Lasts, at_ms: int
) -> tuple[QuotaChange, ...]:
    """The ClusterQueues that are to be changed now, those first that are put back.

    What a team has booked is added to the nominal quota of its largest flavor in the pool. What another has offered is
    taken off its own, as far as somebody has booked it: the rest is lent by Kueue anyway, and would be nobody's.
    A limit on borrowing keeps what a queue may hold at most; a limit on lending is no more than what it has.
    """
    queues = [
        each for each in caps if each.kind == CLUSTER_QUEUE and not is_theirs(each, lasts.get(each.uid))
    ]
    places = _places(queues, owners, lasts)
    more, less = _moved(places, bookings, at_ms)
    found: list[QuotaChange] = []
    for cap in queues:
        change = _change(cap, lasts, places, more, less)
        last = lasts.get(cap.uid)
        if change is None or (last is not None and last.waits(at_ms)):
            continue
        if change.goes_back or last is None or not last.rests(at_ms):
            found.append(change)
    return tuple(sorted(found, key=lambda each: (not each.goes_back, each.raises, each.cap.name)))


def _places(queues: Sequence[Cap], owners: Mapping[str, Owned], lasts: Lasts) -> dict[Owned, list[_Place]]:
    """Each team's flavors in each pool, the largest first. Flavors with two kinds of GPUs are left alone."""
    found: dict[Owned, list[_Place]] = {}
    for cap in queues:
        first = written(cap, lasts.get(cap.uid))
        for flavor in cap.flavors:
            owner = owners.get(f"{cap.source_object}/{flavor.name}")
            nominal = whole_gpus(first.get(flavor.field(NOMINAL)))
            alone = sum(each.name == flavor.name for each in cap.flavors) == 1
            if owner is not None and nominal is not None and alone:
                found.setdefault(owner, []).append(_Place(cap, flavor, nominal))
    for those in found.values():
        those.sort(key=lambda each: (-each.nominal, each.cap.name, each.flavor.name))
    return found


def _moved(
    places: Mapping[Owned, Sequence[_Place]], bookings: Sequence[Booking], at_ms: int
) -> tuple[dict[tuple[str, str], int], dict[tuple[str, str], int]]:
    """By how many GPUs each place has more, and less."""
    booked, offered = (dict.fromkeys(places, 0) for _ in range(2))
    for each in bookings:
        owner = each.team, each.pool
        if owner in places and each.start_at <= at_ms < each.end_at:
            (offered if each.offer else booked)[owner] += each.parts // GPU_PARTS
    more = {places[owner][0].key: gpus for owner, gpus in booked.items() if gpus}
    less: dict[tuple[str, str], int] = {}
    for pool in {pool for _, pool in places}:
        has = {
            team: min(offered[team, of], sum(each.nominal for each in places[team, of]))
            for team, of in places
            if of == pool
        }
        given = min(sum(has.values()), sum(gpus for (_, of), gpus in booked.items() if of == pool))
        for team, gpus in share(given, has).items():
            left = gpus
            for each in places[team, pool]:
                less[each.key] = min(left, each.nominal)
                left -= less[each.key]
    return more, less


def _change(
    cap: Cap,
    lasts: Lasts,
    places: Mapping[Owned, Sequence[_Place]],
    more: Mapping[tuple[str, str], int],
    less: Mapping[tuple[str, str], int],
) -> QuotaChange | None:
    first = dict(written(cap, lasts.get(cap.uid)))
    target, words = dict(first), list[str]()
    whose: list[Owned] = []
    for owner, those in places.items():
        for each in those:
            plus, minus = more.get(each.key, 0), less.get(each.key, 0)
            if each.cap is not cap:
                continue
            whose.append(owner)
            target |= _fields(each, first, plus, minus)
            if plus or minus:
                words.append(
                    f"{visible(each.flavor.name)}: {each.nominal} GPUs as its people wrote, {plus} more that "
                    f"are booked, {minus} fewer that are offered and booked by others"
                )
    touched = [
        name
        for name in first
        if not (same(target[name], cap.fields[name]) and same(target[name], first[name]))
    ]
    if all(same(target[name], cap.fields[name]) for name in touched):
        return None
    team, pool = whose[0] if whose else ("", "")
    before, after = ({name: of[name] for name in touched} for of in (first, target))
    return QuotaChange(cap, team, pool, before, after, "; ".join(words) or "no booking of it stands any more")


def _fields(place: _Place, first: Fields, plus: int, minus: int) -> Fields:
    if not (plus or minus):
        return {}
    nominal = place.nominal + plus - minus
    fields: dict[str, str | None] = {place.flavor.field(NOMINAL): str(nominal)}
    borrowing = whole_gpus(first.get(place.flavor.field(BORROWING)))
    if borrowing is not None:
        fields[place.flavor.field(BORROWING)] = str(borrowing + minus)
    lending = quantity(first.get(place.flavor.field(LENDING)))
    if lending is not None and lending > nominal:
        fields[place.flavor.field(LENDING)] = str(nominal)
    return fields
