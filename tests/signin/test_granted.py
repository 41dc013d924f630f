"""From who somebody is and the configuration's rules to what they may see and do."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics.asking.request import Kind
from analytics.scope import ALL, Scope
from dashboards.granted import NOTHING, Identity, everybody, viewer_of
from quartermaster.config.dashboards import AccessRulePart
from quartermaster.config.load import parse_configuration
from quartermaster.config.secret import Surroundings
from quartermaster.config.teams import TeamPart
from quartermaster.role import Role

TEAMS = (
    TeamPart(name="vision", department="research"),
    TeamPart(name="language", department="research"),
    TeamPart(name="speech", department="product"),
    TeamPart(name="attic"),
)
ALICE = Identity("alice", "Alice@Example.org", "Alice", frozenset({"staff", "team-vision"}))


def rules(text: str) -> tuple[AccessRulePart, ...]:
    proxy = "sign_in: proxy, address: 'https://g.example', proxy: {addresses: [10.0.0.1]}"
    file = f"clusters: [{{name: c}}]\ndashboards: {{{proxy}, access: [{text}]}}\n"
    return parse_configuration(file, "q.yaml", Surroundings({}, Path(), str)).need().dashboards.access


def scope(*teams: str) -> Scope:
    return Scope(frozenset(teams))


@pytest.mark.parametrize(
    ("text", "roles", "seen", "owned"),
    [
        ("", "", NOTHING, NOTHING),
        ("{groups: [other], teams: ['*']}", "", NOTHING, NOTHING),
        ("{groups: [staff]}", "viewer", NOTHING, NOTHING),  # a role for no team
        ("{groups: [team-vision], teams: [vision]}", "viewer", scope("vision"), NOTHING),
        ("{groups: ['team-*'], teams: [vision], roles: [owner]}", "owner", scope("vision"), scope("vision")),
        (
            "{mails: ['*@example.org'], departments: [research]}",
            "viewer",
            scope("vision", "language"),
            NOTHING,
        ),
        ("{mails: ['*@EXAMPLE.org'], teams: ['s*']}", "viewer", scope("speech"), NOTHING),
        ("{mails: ['*'], teams: ['*']}", "viewer", ALL, NOTHING),
        ("{groups: [staff], departments: ['*']}", "viewer", scope("vision", "language", "speech"), NOTHING),
        ("{groups: [staff], roles: [finance]}", "finance", ALL, NOTHING),
        ("{groups: [staff], roles: [admin]}", "admin", ALL, ALL),
        (  # the owner of one team is not the owner of another that they may see
            "{groups: [staff], teams: [speech]}, {groups: [team-vision], teams: [vision], roles: [owner]}",
            "owner viewer",
            scope("speech", "vision"),
            scope("vision"),
        ),
        (
            "{groups: [staff], roles: [finance]}, {groups: [staff], teams: [vision], roles: [owner]}",
            "finance owner",
            ALL,
            scope("vision"),
        ),
        ("{groups: [Staff], teams: ['*']}", "", NOTHING, NOTHING),  # groups are what they are
    ],
)
def test_what_rules_give(text: str, roles: str, seen: Scope, owned: Scope) -> None:
    viewer = viewer_of(ALICE, rules(text), TEAMS)
    assert (viewer.scope, viewer.owned) == (seen, owned)
    assert viewer.roles == frozenset(map(Role, roles.split()))
    assert viewer.known is (seen != NOTHING)
    assert (viewer.name, viewer.called) == ("alice", "Alice")


def test_without_an_address_no_rule_of_addresses_matches() -> None:
    assert not viewer_of(Identity("x"), rules("{mails: ['*'], teams: ['*']}"), TEAMS).known


def test_a_team_that_is_called_like_a_pattern_is_a_pattern() -> None:
    assert viewer_of(ALICE, rules("{groups: [staff], teams: ['v?sion']}"), TEAMS).scope == scope("vision")


@pytest.mark.parametrize(
    ("roles", "may"),
    [
        ("", ""),
        ("viewer", ""),
        ("manager", ""),
        ("finance", ""),
        ("owner", "keep, give back"),
        ("admin", "keep, give back, approve, freeze, thaw, restore"),
    ],
)
def test_what_roles_may_ask_for(roles: str, may: str) -> None:
    viewer = viewer_of(
        ALICE, rules(f"{{groups: [staff], teams: [vision], roles: [{roles or 'viewer'}]}}"), TEAMS
    )
    assert {kind.value for kind in Kind if viewer.may(kind)} == set(filter(None, may.split(", ")))


def test_who_stands_at_the_machine_sees_all_and_may_all() -> None:
    viewer = everybody("root")
    assert viewer.scope == viewer.owned == ALL
    assert viewer.may(Kind.FREEZE)


_NAMES = st.sampled_from(["vision", "language", "speech", "attic", "unknown", "*", "v*", "?peech"])


def _rule(group: str, teams: list[str], roles: list[Role], departments: list[str]) -> AccessRulePart:
    return AccessRulePart.model_construct(
        groups=(group,), mails=(), teams=tuple(teams), roles=tuple(roles), departments=tuple(departments)
    )


_RULES = st.builds(
    _rule,
    st.sampled_from(["staff", "team-vision", "other", "team-*"]),
    st.lists(_NAMES, max_size=3),
    st.lists(st.sampled_from(Role), min_size=1, max_size=3),
    st.lists(st.sampled_from(["research", "product", "labs"]), max_size=2),
)


def holds(wide: Scope, narrow: Scope) -> bool:
    """Whether all that the one admits the other admits."""
    return wide.whole or (not narrow.whole and (narrow.teams or set()) <= (wide.teams or set()))


@given(st.lists(_RULES, max_size=5), _RULES)
def test_a_rule_more_takes_nothing_away_and_order_does_not_matter(
    before: list[AccessRulePart], more: AccessRulePart
) -> None:
    one, two = viewer_of(ALICE, before, TEAMS), viewer_of(ALICE, [more, *before], TEAMS)
    assert one.roles <= two.roles
    assert holds(two.scope, one.scope)
    assert holds(two.owned, one.owned)
    assert two == viewer_of(ALICE, [*before, more], TEAMS)


@given(st.lists(_RULES, max_size=5))
def test_nobody_answers_for_what_they_do_not_see(rules_: list[AccessRulePart]) -> None:
    viewer = viewer_of(ALICE, rules_, TEAMS)
    assert holds(viewer.scope, viewer.owned)
    # no rule's department has it, so that it must be named
    assert (
        viewer.scope.whole
        or not viewer.scope.admits("attic")
        or any("attic" in each.teams for each in rules_)
    )
