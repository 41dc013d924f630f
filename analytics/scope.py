"""Whose figures a reader may see: DESIGN rule 15.

Every function that reads for a person takes a scope and applies it where the rows are read.
"""

from dataclasses import dataclass

from quartermaster.errors import InputError


@dataclass(frozen=True, slots=True)
class Scope:
    """The teams that a reader may see; None: all, and what no team is charged for, too."""

    teams: frozenset[str] | None = None

    @property
    def whole(self) -> bool:
        """Whether it holds everything."""
        return self.teams is None

    @property
    def bound(self) -> list[str] | None:
        """The teams as a SQL parameter: a list in order, or null for all."""
        return None if self.teams is None else sorted(self.teams)

    def admits(self, team: str) -> bool:
        """Whether the team is one of them."""
        return self.teams is None or team in self.teams

    def require(self, team: str) -> None:
        """Raises InputError for a team outside it, in the words for one that does not exist."""
        if not self.admits(team):
            raise no_such_team(team)


ALL = Scope()


def no_such_team(team: str) -> InputError:
    """What is said of a team that is unknown, or not the reader's: the two must not be told apart."""
    return InputError(f"there is no team {team!r}", "choose one of the teams in the list")
