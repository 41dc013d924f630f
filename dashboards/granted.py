"""What somebody may see and do, from who they are and the configuration's rules. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from analytics.asking.request import Kind
from analytics.asking.wish import Asker
from analytics.scope import ALL, Scope
from quartermaster.config.dashboards import AccessRulePart
from quartermaster.config.teams import TeamPart
from quartermaster.role import Role
from quartermaster.team import glob_matches

NOTHING = Scope(frozenset())
_OF_ALL_TEAMS = frozenset({Role.FINANCE, Role.ADMIN})


@dataclass(frozen=True, slots=True)
class Identity:
    """Who somebody is, as the provider or the proxy says. `person` is one word that does not change."""

    person: str
    mail: str = ""
    name: str = ""
    groups: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Viewer:
    """A person in front of a page: the name by which a pseudonym is made, what they may do, whose figures are theirs.

    `owned`: the teams they answer for, whose workloads they may keep and give back. `called`: what to call them.
    """

    name: str
    roles: frozenset[Role]
    scope: Scope
    owned: Scope = NOTHING
    called: str = ""

    @property
    def known(self) -> bool:
        """Whether any rule matches them; whom none matches sees nothing."""
        return bool(self.roles) and self.scope != NOTHING

    def may(self, kind: Kind) -> bool:
        """Whether a role lets them ask for it."""
        return self.asker("").may(kind)

    def asker(self, pseudonym: str) -> Asker:
        """Who they are when they ask for something."""
        return Asker(pseudonym, self.roles, self.owned)


def everybody(person: str) -> Viewer:
    """Who stands at the machine itself, where nobody is asked: sees all and may do all."""
    return Viewer(person, frozenset(Role), ALL, ALL, person)


def viewer_of(identity: Identity, rules: Iterable[AccessRulePart], teams: Iterable[TeamPart]) -> Viewer:
    """What all rules together that match somebody give them. A role counts for the teams of its own rules alone."""
    known = tuple(teams)
    scopes: dict[Role, Scope] = {}
    for rule in rules:
        if _matches(rule, identity):
            for role in rule.roles:
                mine = ALL if role in _OF_ALL_TEAMS else _teams(rule, known)
                scopes[role] = _both(scopes.get(role, NOTHING), mine)
    scope = owned = NOTHING
    for role, each in scopes.items():
        scope = _both(scope, each)
        if role in {Role.OWNER, Role.ADMIN}:
            owned = _both(owned, each)
    return Viewer(identity.person, frozenset(scopes), scope, owned, identity.name or identity.person)


def _matches(rule: AccessRulePart, identity: Identity) -> bool:
    mail = identity.mail.lower()
    return any(glob_matches(pattern, group) for pattern in rule.groups for group in identity.groups) or (
        bool(mail) and any(glob_matches(pattern.lower(), mail) for pattern in rule.mails)
    )


def _teams(rule: AccessRulePart, known: tuple[TeamPart, ...]) -> Scope:
    if "*" in rule.teams:
        return ALL
    named = frozenset(pattern for pattern in rule.teams if not {"*", "?"} & set(pattern))
    found = frozenset(
        team.name
        for team in known
        if any(glob_matches(pattern, team.name) for pattern in rule.teams)
        or (team.department and any(glob_matches(pattern, team.department) for pattern in rule.departments))
    )
    return Scope(named | found)


def _both(one: Scope, other: Scope) -> Scope:
    if one.teams is None or other.teams is None:
        return ALL
    return Scope(one.teams | other.teams)
