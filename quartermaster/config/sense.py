"""What single values cannot show: names that nobody has, spans that overlap, rules that are never reached, secrets that lead nowhere."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, Protocol

from pydantic import BaseModel

from quartermaster.clock import to_iso
from quartermaster.config.model import UNASSIGNED, Configuration, RateCardPart
from quartermaster.config.problem import Key, Problem, nearest
from quartermaster.config.secret import Secret
from quartermaster.config.source import Source
from quartermaster.team import glob_matches

_FOREVER = 2**63
_Complain = Callable[..., Problem]


class _Dated(Protocol):
    @property
    def start_at(self) -> int | None: ...
    @property
    def end_at(self) -> int | None: ...


def doubts(configuration: Configuration, source: Source) -> tuple[Problem, ...]:
    """Everything about a well-formed configuration that cannot be right (errors) or probably is not (warnings)."""

    def problem(
        key: Key, what: str, guess: str = "", severity: Literal["error", "warning"] = "error"
    ) -> Problem:
        return Problem(source.file, source.place(key, of_value=True), key, what, guess, severity)

    found: list[Problem] = []
    for check in (_names, _teams, _rules, _guarantees, _cards, _pools, _clusters, _thresholds):
        found.extend(check(configuration, problem))
    return tuple(found)


def unresolved(configuration: Configuration, source: Source) -> tuple[Problem, ...]:
    """The secrets whose reference leads nowhere."""
    return tuple(
        Problem(source.file, source.place(key, of_value=True), key, secret.missing)
        for key, secret in secrets(configuration)
        if secret.value is None
    )


def secrets(value: object, key: Key = ()) -> Iterator[tuple[Key, Secret]]:
    """Every secret of a configuration, with its key."""
    if isinstance(value, Secret):
        yield key, value
    elif isinstance(value, BaseModel):
        for name, field in type(value).model_fields.items():
            yield from secrets(getattr(value, name), (*key, field.alias or name))
    elif isinstance(value, tuple):
        for index, item in enumerate(value):
            yield from secrets(item, (*key, index))


def _names(configuration: Configuration, problem: _Complain) -> Iterator[Problem]:
    for part, names in (
        ("clusters", [cluster.name for cluster in configuration.clusters]),
        ("pools", [pool.name for pool in configuration.pools]),
        ("teams", [team.name for team in configuration.teams]),
    ):
        first: dict[str, int] = {}
        for index, name in enumerate(names):
            if name in first:
                yield problem((part, index, "name"), f"{name!r} is there already, as {part}[{first[name]}]")
            first.setdefault(name, index)


def _teams(configuration: Configuration, problem: _Complain) -> Iterator[Problem]:
    known = [team.name for team in configuration.teams]
    for index, name in enumerate(known):
        if name == UNASSIGNED:
            yield problem(
                ("teams", index, "name"),
                f"{UNASSIGNED!r} is the house's own word for what no rule matches; take another name",
            )
    named = [
        (("team_rules", index, "team"), rule.team) for index, rule in enumerate(configuration.team_rules)
    ]
    named += [
        (("guarantees", index, "team"), promise.team)
        for index, promise in enumerate(configuration.guarantees)
    ]
    for key, name in named:
        if name == UNASSIGNED and key[0] == "team_rules":
            continue
        if name not in known:
            yield problem(key, f"there is no team {name!r}", nearest(name, known))


def _rules(configuration: Configuration, problem: _Complain) -> Iterator[Problem]:
    clusters = [cluster.name for cluster in configuration.clusters]
    open_rule: int | None = None
    for index, rule in enumerate(configuration.team_rules):
        key: Key = ("team_rules", index)
        yield from _backwards(key, rule, problem)
        if open_rule is not None:
            yield problem(
                key,
                f"this rule is never reached: team_rules[{open_rule}] matches everything",
                severity="warning",
            )
        elif (rule.cluster, rule.namespace, rule.label, rule.user, rule.unix_user) == (
            "*",
            "*",
            None,
            None,
            None,
        ) and not (rule.start_at or rule.end_at):
            open_rule = index
        yield from _no_such_cluster((*key, "cluster"), rule.cluster, clusters, problem)


def _guarantees(configuration: Configuration, problem: _Complain) -> Iterator[Problem]:
    pools = [pool.name for pool in configuration.pools]
    clusters = [cluster.name for cluster in configuration.clusters]
    of_team: dict[tuple[str, str, str], list[tuple[Key, _Dated]]] = defaultdict(list)
    for index, promise in enumerate(configuration.guarantees):
        key: Key = ("guarantees", index)
        yield from _backwards(key, promise, problem)
        if promise.pool not in pools:
            severity = "error" if pools else "warning"
            what = f"there is no pool {promise.pool!r}"
            yield problem((*key, "pool"), what, nearest(promise.pool, pools), severity=severity)
        yield from _no_such_cluster((*key, "cluster"), promise.cluster, clusters, problem)
        for cluster in clusters:
            if glob_matches(promise.cluster, cluster):
                of_team[cluster, promise.pool, promise.team].append((key, promise))
    complained: set[Key] = set()
    for (cluster, pool, team), promises in of_team.items():
        for key, other in _overlaps(promises):
            if key not in complained:
                complained.add(key)
                yield problem(
                    key,
                    f"{team!r} has a guarantee in {pool!r} of {cluster!r} for this time already: {_where(other)}",
                )


def _cards(configuration: Configuration, problem: _Complain) -> Iterator[Problem]:
    cards: list[tuple[Key, RateCardPart]] = [
        (("rate_cards", index), card) for index, card in enumerate(configuration.rate_cards)
    ]
    for key, card in cards:
        yield from _backwards(key, card, problem)
        if not any((price.model, price.pool, price.cluster) == ("*", "*", "*") for price in card.prices):
            what = "GPUs that match none of these prices cost nothing; end with a price for everything, if that is not meant"
            yield problem((*key, "prices"), what, severity="warning")
        for index, price in enumerate(card.prices[:-1]):
            if (price.model, price.pool, price.cluster) == ("*", "*", "*"):
                yield problem(
                    (*key, "prices", index + 1),
                    "this price is never reached: the one before matches everything",
                    severity="warning",
                )
    ordered = sorted(cards, key=lambda item: item[1].start_at or -_FOREVER)
    for (_, before), (key, card) in zip(ordered, ordered[1:], strict=False):
        if before.start_at == card.start_at or (
            before.end_at is not None and card.start_at is not None and before.end_at > card.start_at
        ):
            yield problem(key, f"the card {before.card!r} is in force at the same time; one card at a time")
        elif before.end_at is not None and card.start_at is not None and before.end_at < card.start_at:
            span = f"{to_iso(before.end_at)} to {to_iso(card.start_at)}"
            yield problem(
                key, f"no card is in force from {span}; what is held then costs nothing", severity="warning"
            )


def _pools(configuration: Configuration, problem: _Complain) -> Iterator[Problem]:
    for index, pool in enumerate(configuration.pools[:-1]):
        if "*" in pool.models and not pool.node_labels:
            yield problem(
                ("pools", index + 1),
                f"this pool is never reached: {pool.name!r} matches everything",
                severity="warning",
            )


def _clusters(configuration: Configuration, problem: _Complain) -> Iterator[Problem]:
    for index, cluster in enumerate(configuration.clusters):
        key: Key = ("clusters", index, "dcgm")
        dcgm = cluster.dcgm
        if not (dcgm.targets or dcgm.file_sd or dcgm.dns_srv):
            yield problem(
                key, "the cluster has no target, so there will be no telemetry of it", severity="warning"
            )
        first: dict[str, int] = {}
        for number, target in enumerate(dcgm.targets):
            if target.url in first:
                yield problem((*key, "targets", number), f"this is targets[{first[target.url]}] again")
            first.setdefault(target.url, number)
        if dcgm.tls.insecure_skip_verify:
            yield problem(
                (*key, "tls", "insecure_skip_verify"), "anybody can pose as an exporter", severity="warning"
            )
        credentials = dcgm.basic_auth is not None or dcgm.bearer_token is not None
        if credentials and any(target.url.startswith("http://") for target in dcgm.targets):
            yield problem((*key, "targets"), "a password or token goes over plain http", severity="warning")


def _thresholds(configuration: Configuration, problem: _Complain) -> Iterator[Problem]:
    first: dict[tuple[str, str, str], int] = {}
    for index, threshold in enumerate(configuration.thresholds):
        about = (threshold.signal, threshold.kind, threshold.model)
        if about in first:
            yield problem(
                ("thresholds", index), f"thresholds[{first[about]}] says a floor for the same already"
            )
        first.setdefault(about, index)


def _backwards(key: Key, part: _Dated, problem: _Complain) -> Iterator[Problem]:
    if part.start_at is not None and part.end_at is not None and part.end_at <= part.start_at:
        yield problem((*key, "to"), "it ends before it begins")


def _no_such_cluster(
    key: Key, pattern: str, clusters: Sequence[str], problem: _Complain
) -> Iterator[Problem]:
    if not any(glob_matches(pattern, cluster) for cluster in clusters):
        yield problem(
            key, f"no cluster is called {pattern!r}", nearest(pattern, clusters), severity="warning"
        )


def _overlaps(items: Iterable[tuple[Key, _Dated]]) -> Iterator[tuple[Key, Key]]:
    ordered = sorted(items, key=lambda item: item[1].start_at if item[1].start_at is not None else -_FOREVER)
    latest: tuple[int, Key] | None = None
    for key, part in ordered:
        start = part.start_at if part.start_at is not None else -_FOREVER
        end = part.end_at if part.end_at is not None else _FOREVER
        if latest is not None and start < latest[0]:
            yield key, latest[1]
        if latest is None or end > latest[0]:
            latest = (end, key)


def _where(key: Key) -> str:
    return f"{key[0]}[{key[1]}]"
