"""Teams: which team an allocation is of. Rules in order, the first that matches decides; none: `unassigned`.

A pattern knows two signs: `*` stands for any text, also none, and `?` for one byte of UTF-8 (a letter of
ASCII). All else stands for itself, capital or small. DuckDB's GLOB reads such patterns in the same way, byte
by byte, so SQL finds the same team as this module.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from quartermaster.ids import content_id

UNASSIGNED = "unassigned"


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule, in force over [start_at, end_at) (epoch ms; None: for ever). Conditions that are None ask for
    nothing."""

    team: str
    cluster: str = "*"
    namespace: str = "*"
    label_key: str | None = None
    label_value: str = "*"
    user: str | None = None
    unix_user: str | None = None
    unix_group: str | None = None
    start_at: int | None = None
    end_at: int | None = None


def team_of(
    rules: Iterable[Rule],
    instant_ms: int,
    *,
    cluster: str,
    namespace: str,
    labels: Mapping[str, str],
    user_patterns: Collection[int] = (),
) -> str:
    """The team of an allocation at an instant; `user_patterns` are the ids that `user_pattern_ids` gave when
    it was recorded."""
    for rule in rules:
        if (
            (rule.start_at is None or rule.start_at <= instant_ms)
            and (rule.end_at is None or instant_ms < rule.end_at)
            and glob_matches(rule.cluster, cluster)
            and glob_matches(rule.namespace, namespace)
            and (
                rule.label_key is None
                or (rule.label_key in labels and glob_matches(rule.label_value, labels[rule.label_key]))
            )
            and (rule.user is None or pattern_id("user", rule.user) in user_patterns)
            and (rule.unix_user is None or pattern_id("unix_user", rule.unix_user) in user_patterns)
            and (rule.unix_group is None or pattern_id("unix_group", rule.unix_group) in user_patterns)
        ):
            return rule.team
    return UNASSIGNED


def user_pattern_ids(
    rules: Iterable[Rule],
    *,
    user: str | None = None,
    unix_user: str | None = None,
    unix_groups: Collection[str] = (),
) -> list[int]:
    """The ids of the rules' patterns that a person's names, or one of the groups, match, sorted: all that the
    ledger keeps of the names."""
    known = list(rules)
    found = {
        pattern_id("user", rule.user)
        for rule in known
        if user is not None and rule.user and glob_matches(rule.user, user)
    }
    found |= {
        pattern_id("unix_user", rule.unix_user)
        for rule in known
        if unix_user is not None and rule.unix_user and glob_matches(rule.unix_user, unix_user)
    }
    found |= {
        pattern_id("unix_group", rule.unix_group)
        for rule in known
        if rule.unix_group and any(glob_matches(rule.unix_group, group) for group in unix_groups)
    }
    return sorted(found)


def pattern_id(kind: str, pattern: str) -> int:
    """The id of a pattern over users (`kind` is `user`, `unix_user` or `unix_group`), as it stands in `team_rules` and
    `allocations.user_patterns`."""
    return content_id(kind, pattern)


def glob_matches(pattern: str, text: str) -> bool:
    """Whether the whole text fits the pattern. No pattern is slow: nothing is ever tried twice."""
    given = text.encode("utf-8", "surrogatepass")
    head, *rest = _pieces(pattern)
    if not rest:
        return head.expression.fullmatch(given) is not None
    found = head.expression.match(given)
    *middle, tail = rest
    for piece in middle:  # between two stars the first place that fits is as good as any later one
        found = found and piece.expression.search(given, found.end())
    last = len(given) - tail.length
    return found is not None and found.end() <= last and tail.expression.fullmatch(given, last) is not None


class _Piece(NamedTuple):
    """A text between two stars, in which only `?` is special, and its length in bytes."""

    expression: re.Pattern[bytes]
    length: int


@lru_cache(maxsize=4096)
def _pieces(pattern: str) -> tuple[_Piece, ...]:
    return tuple(
        _Piece(re.compile(b".".join(map(re.escape, piece.split(b"?"))), re.DOTALL), len(piece))
        for piece in pattern.encode("utf-8", "surrogatepass").split(b"*")
    )
