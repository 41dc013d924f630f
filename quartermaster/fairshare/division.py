"""Division: a pool's available GPUs divided among departments and their teams.

At each level, among the members of one parent: first everybody's guarantee as far as it asks for it; then what is
left, to the highest priority that wants more, and within a priority to whoever is least above its guarantee for
its weight (quartermaster.fairshare.deal). All in whole units: what is available, asked and allowed is rounded down,
what is promised up.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from quartermaster.fairshare.deal import Claim, deal
from quartermaster.fairshare.entitlement import Entitlement
from quartermaster.parts import GPU_PARTS

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Share:
    """What one team or department is entitled to, and what it was made of; all in parts."""

    path: Path  # departments from the top down to it
    entitlement: Entitlement
    promised_parts: int  # its guarantee; a department's is at least its members' together
    wants_parts: int  # its request, cut by its limit
    claim_parts: int  # as much of its guarantee as it wants
    assured_parts: int  # what it gets of that: less only where guarantees do not fit
    spare_parts: int  # what it gets beyond

    @property
    def parts(self) -> int:
        """The fair share."""
        return self.assured_parts + self.spare_parts


@dataclass(frozen=True, slots=True)
class Turn:
    """The turn of one priority: how much was left when it came, and how much it wanted; in parts."""

    priority: int
    left_parts: int
    wanted_parts: int
    names: tuple[str, ...]  # who wanted more


@dataclass(frozen=True, slots=True)
class Round:
    """What was divided among the members of one parent (the pool's is the path ()); in parts."""

    path: Path
    given_parts: int
    most_parts: int  # what they could be given at most: what is available, or the parent's limit
    promised_parts: int
    claimed_parts: int
    turns: tuple[Turn, ...]

    @property
    def overpromised(self) -> bool:
        """Whether more is promised than there can be."""
        return self.promised_parts > self.most_parts

    @property
    def scaled(self) -> bool:
        """Whether guarantees were cut: more of them was asked for, in whole units, than there is."""
        return self.claimed_parts > self.given_parts


@dataclass(frozen=True, slots=True)
class Division:
    """The shares of all, by path, and the rounds in which they came about."""

    available_parts: int
    unit_parts: int
    shares: dict[Path, Share]
    rounds: dict[Path, Round]

    def of(self, team: str) -> Share:
        """A team's share. Raises KeyError when there is no such team."""
        for path, share in self.shares.items():
            if path[-1] == team and not share.entitlement.members:
                return share
        raise KeyError(team)

    @property
    def teams(self) -> dict[str, int]:
        """The fair share of every team, in parts."""
        return {path[-1]: share.parts for path, share in self.shares.items() if not share.entitlement.members}

    @property
    def overpromised(self) -> tuple[Round, ...]:
        """Where more is promised than there can be; those that are `scaled` were cut."""
        return tuple(each for each in self.rounds.values() if each.overpromised or each.scaled)


def divide(
    available_parts: int, entitlements: Sequence[Entitlement], unit_parts: int = GPU_PARTS
) -> Division:
    """Divide what is available in a pool; `unit_parts` is the smallest thing that can be given there (a GPU).

    Raises ValueError when a name stands twice (among siblings, or among all teams), or an amount is impossible.
    """
    if available_parts < 0 or unit_parts < 1:
        raise ValueError(f"{available_parts} parts in units of {unit_parts} cannot be divided")
    top = _Member.of((), Entitlement("", members=tuple(entitlements)), unit_parts)
    _check_names(top)
    division = Division(available_parts, unit_parts, {}, {})
    _divide(top, available_parts // unit_parts, division)
    return division


@dataclass(frozen=True, slots=True)
class _Member:
    """An entitlement in whole units, with what its members make of it."""

    path: Path
    entitlement: Entitlement
    members: tuple["_Member", ...]
    promised_parts: int
    wants: int
    claim: int

    @classmethod
    def of(cls, path: Path, entitlement: Entitlement, unit: int) -> "_Member":
        ordered = sorted(entitlement.members, key=lambda each: each.name)
        members = tuple(cls.of((*path, each.name), each, unit) for each in ordered)
        wants = sum(each.wants for each in members) if members else entitlement.request_parts // unit
        if entitlement.limit_parts is not None:
            wants = min(wants, entitlement.limit_parts // unit)
        promised = max(entitlement.guarantee_parts, sum(each.promised_parts for each in members))
        asked = max(-(-entitlement.guarantee_parts // unit), sum(each.claim for each in members))
        return cls(path, entitlement, members, promised, wants, min(wants, asked))


def _divide(parent: _Member, units: int, division: Division) -> None:
    unit = division.unit_parts
    claimed = sum(each.claim for each in parent.members)
    assured = _assured(parent.members, min(units, claimed), unit)
    spare: dict[str, int] = {}
    turns: list[Turn] = []
    left = units - sum(assured.values())
    by_priority = sorted(parent.members, key=lambda each: -each.entitlement.priority)
    for priority, group in groupby(by_priority, key=lambda each: each.entitlement.priority):
        claims = [
            Claim(
                each.path[-1],
                each.wants - assured[each.path[-1]],
                each.entitlement.weight,
                each.entitlement.remembered_parts,
            )
            for each in group
            if each.wants > assured[each.path[-1]]
        ]
        if claims:
            wanted = sum(claim.room_units for claim in claims)
            names = tuple(claim.name for claim in claims)
            turns.append(Turn(priority, left * unit, wanted * unit, names))
            dealt = deal(left, claims, unit)
            left -= sum(dealt.values())
            spare |= dealt
    promised = sum(each.promised_parts for each in parent.members)
    limit = parent.entitlement.limit_parts
    most = division.available_parts if limit is None else min(limit, division.available_parts)
    division.rounds[parent.path] = Round(
        parent.path, units * unit, most, promised, claimed * unit, tuple(turns)
    )
    for each in parent.members:
        name = each.path[-1]
        mine = assured[name] + spare.get(name, 0)
        division.shares[each.path] = Share(
            each.path,
            each.entitlement,
            each.promised_parts,
            each.wants * unit,
            each.claim * unit,
            assured[name] * unit,
            spare.get(name, 0) * unit,
        )
        if each.members:
            _divide(each, mine, division)


def _assured(members: Sequence[_Member], units: int, unit: int) -> dict[str, int]:
    """What of its guarantee each gets: all that it asks for or, where that does not fit, the same part of it."""
    given = {each.path[-1]: 0 for each in members}
    claims = [Claim(each.path[-1], each.claim, each.promised_parts) for each in members if each.claim]
    return given | deal(units, claims, unit) if claims else given


def _check_names(top: _Member) -> None:
    seen: set[Path] = set()
    teams: set[str] = set()
    for member in _all(top):
        if member.path in seen or (not member.members and member.path[-1] in teams):
            raise ValueError(f"{'/'.join(member.path)!r} is there twice")
        seen.add(member.path)
        if not member.members:
            teams.add(member.path[-1])


def _all(parent: _Member) -> Iterator[_Member]:
    for each in parent.members:
        yield each
        yield from _all(each)
