"""Audiences: for whom a report is made, and so of which teams it tells."""

from dataclasses import dataclass
from enum import StrEnum

from analytics.scope import Scope
from quartermaster.errors import InputError


class Kind(StrEnum):
    """Who reads it."""

    MANAGERS = "managers"  # all teams, as a manager reads them
    FINANCE = "finance"  # all teams, with accounts, cost centres, adjustments and corrections
    DEPARTMENT = "department"  # the teams of one department
    TEAM = "team"  # one team
    TEAMS = "teams"  # those of a reader of pages


@dataclass(frozen=True, slots=True)
class Audience:
    """A kind of reader; `name` is the team's or the department's."""

    kind: Kind = Kind.MANAGERS
    name: str = ""

    @property
    def whole(self) -> bool:
        """Whether it is told of everything, and not of some teams alone."""
        return self.kind in {Kind.MANAGERS, Kind.FINANCE}

    @property
    def words(self) -> str:
        """As people write it: `managers`, `team vision`."""
        return f"{self.kind.value} {self.name}".rstrip()


MANAGERS = Audience()
_WRITTEN = frozenset(Kind) - {Kind.TEAMS}
_NAMED = 3  # teams that are named; above them they are counted


def team(name: str | None) -> Audience:
    """The audience of one team; of None, the managers."""
    return MANAGERS if name is None else Audience(Kind.TEAM, name)


def of_scope(scope: Scope) -> Audience:
    """The audience of a reader who chose no team: everything, or the teams that are theirs. Raises InputError for a
    reader without any."""
    if scope.bound is None:
        return MANAGERS
    if not scope.bound:
        raise InputError("no team is yours to see", "ask who runs Quartermaster to give you a team or a role")
    if len(scope.bound) == 1:
        return team(scope.bound[0])
    named = ", ".join(scope.bound[:_NAMED])
    more = len(scope.bound) - _NAMED
    return Audience(Kind.TEAMS, f"{named} and {more} more" if more > 0 else named)


def parse(text: str) -> Audience:
    """The audience written `managers`, `finance`, `team vision` or `department research`. Raises InputError."""
    kind, _, name = text.strip().partition(" ")
    named = kind in {Kind.TEAM, Kind.DEPARTMENT}
    if kind not in _WRITTEN or bool(name.strip()) is not named:
        raise InputError(f"{text!r} is no audience", "write managers, finance, team NAME or department NAME")
    return Audience(Kind(kind), name.strip())
