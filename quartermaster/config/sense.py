"""What single values cannot show: unknown names, overlapping spans, what is never reached, unset secrets."""

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import cast

from pydantic import BaseModel

from quartermaster.config.cards import budgets, cards
from quartermaster.config.dated import Dated, backwards, overlaps
from quartermaster.config.model import Configuration
from quartermaster.config.odds import odds
from quartermaster.config.problem import Complaint, Key, nearest
from quartermaster.config.prometheus import PrometheusPart
from quartermaster.config.secret import Secret
from quartermaster.team import UNASSIGNED, glob_matches


def doubts(configuration: Configuration) -> tuple[Complaint, ...]:
    """All about a well-formed configuration that cannot be right (errors) or looks wrong (warnings)."""
    checks = (
        _names,
        _teams,
        _rules,
        _guarantees,
        cards,
        budgets,
        _pools,
        _clusters,
        _thresholds,
        odds,
        _notify,
        _reports,
        _dashboards,
    )
    return tuple(itertools.chain.from_iterable(check(configuration) for check in checks))


def unresolved(configuration: Configuration) -> tuple[Complaint, ...]:
    """The secrets whose reference leads nowhere."""
    return tuple(
        Complaint(key, secret.missing) for key, secret in secrets(configuration) if secret.value is None
    )


def secrets(value: object, key: Key = ()) -> Iterator[tuple[Key, Secret]]:
    """Every secret of a configuration, with its key."""
    if isinstance(value, Secret):
        yield key, value
    elif isinstance(value, BaseModel):
        for name, field in type(value).model_fields.items():
            yield from secrets(getattr(value, name), (*key, field.alias or name))
    elif isinstance(value, tuple):
        for index, item in enumerate(cast(tuple[object, ...], value)):
            yield from secrets(item, (*key, index))


def _names(configuration: Configuration) -> Iterator[Complaint]:
    for part, names in (
        ("clusters", [cluster.name for cluster in configuration.clusters]),
        ("pools", [pool.name for pool in configuration.pools]),
        ("teams", [team.name for team in configuration.teams]),
    ):
        yield from _twice([((part, index, "name"), name) for index, name in enumerate(names)])


def _teams(configuration: Configuration) -> Iterator[Complaint]:
    known = [team.name for team in configuration.teams]
    for index, name in enumerate(known):
        if name == UNASSIGNED:
            what = f"{UNASSIGNED!r} is the house's own word for what no rule matches; take another name"
            yield Complaint(("teams", index, "name"), what)
    for index, rule in enumerate(configuration.team_rules):
        if rule.team not in {*known, UNASSIGNED}:
            yield _no_team(("team_rules", index, "team"), rule.team, known)
    for index, promise in enumerate(configuration.guarantees):
        if promise.team not in known:
            yield _no_team(("guarantees", index, "team"), promise.team, known)


def _rules(configuration: Configuration) -> Iterator[Complaint]:
    clusters = [cluster.name for cluster in configuration.clusters]
    all_taking: Key | None = None
    for index, rule in enumerate(configuration.team_rules):
        key: Key = ("team_rules", index)
        yield from backwards(key, rule)
        yield from _no_such_cluster((*key, "cluster"), rule.cluster, clusters)
        conditions = (rule.cluster, rule.namespace, rule.label, rule.user, rule.unix_user, rule.unix_group)
        if all_taking is not None:
            yield _warning(key, "this rule is never reached: one before it matches everything", all_taking)
        elif (
            conditions == ("*", "*", None, None, None, None) and rule.start_at is None and rule.end_at is None
        ):
            all_taking = key


def _guarantees(configuration: Configuration) -> Iterator[Complaint]:
    pools = [pool.name for pool in configuration.pools]
    clusters = [cluster.name for cluster in configuration.clusters]
    promises: dict[tuple[str, str, str], list[tuple[Key, Dated]]] = defaultdict(list)
    for index, promise in enumerate(configuration.guarantees):
        key: Key = ("guarantees", index)
        yield from backwards(key, promise)
        yield from _no_such_cluster((*key, "cluster"), promise.cluster, clusters)
        if pools and promise.pool not in pools:
            what = f"there is no pool {promise.pool!r}"
            yield Complaint((*key, "pool"), what, nearest(promise.pool, pools))
        for cluster in clusters:
            if glob_matches(promise.cluster, cluster):
                promises[cluster, promise.pool, promise.team].append((key, promise))
    at_once = {pair for items in promises.values() for pair in overlaps(items)}
    for later, earlier in sorted(at_once, key=str):
        what = (
            "the team has a guarantee in this pool at that time already; end one (to:) where the other begins"
        )
        yield Complaint(later, what, other=earlier)


def _pools(configuration: Configuration) -> Iterator[Complaint]:
    all_taking: Key | None = None
    for index, pool in enumerate(configuration.pools):
        if all_taking is not None:
            what = "this pool is never reached: one before it matches everything"
            yield _warning(("pools", index), what, all_taking)
        elif "*" in pool.models and not pool.node_labels:
            all_taking = ("pools", index)


def _clusters(configuration: Configuration) -> Iterator[Complaint]:
    for index, cluster in enumerate(configuration.clusters):
        if cluster.holders == "kubernetes" and cluster.kubernetes is None:
            what = (
                "there is no kubernetes: to read holders from, so that nobody will be known to hold anything"
            )
            yield _warning(("clusters", index, "holders"), what)
        if cluster.holders != "kubernetes" and cluster.kubernetes is not None:
            what = f"it is not read, because holders is {cluster.holders}"
            yield _warning(("clusters", index, "kubernetes"), what)
        if cluster.holders in {"nvml", "slurm"} and cluster.nvml is None:
            what = "there is no nvml: to read holders from, so that nobody will be known to hold anything"
            yield _warning(("clusters", index, "holders"), what)
        if cluster.holders == "kube-state-metrics" and cluster.prometheus is None:
            what = (
                "there is no prometheus: to read holders from, so that nobody will be known to hold anything"
            )
            yield _warning(("clusters", index, "holders"), what)
        if cluster.prometheus is not None:
            yield from _prometheus(("clusters", index, "prometheus"), cluster.prometheus)
        key: Key = ("clusters", index, "dcgm")
        dcgm = cluster.dcgm
        if not (dcgm.targets or dcgm.file_sd or dcgm.dns_srv or cluster.nvml or cluster.prometheus):
            yield _warning(
                key, "no targets, no file_sd, no dns_srv: there will be no telemetry of this cluster"
            )
        yield from _twice(
            [((*key, "targets", number), target.url) for number, target in enumerate(dcgm.targets)]
        )
        if dcgm.tls.insecure_skip_verify:
            yield _warning((*key, "tls", "insecure_skip_verify"), "anybody can pose as an exporter")
        in_clear = any(target.url.startswith("http://") for target in dcgm.targets)
        if in_clear and (dcgm.basic_auth is not None or dcgm.bearer_token is not None):
            yield _warning((*key, "targets"), "a password or token goes over plain http")


def _prometheus(key: Key, part: PrometheusPart) -> Iterator[Complaint]:
    if part.tls.insecure_skip_verify:
        yield _warning((*key, "tls", "insecure_skip_verify"), "anybody can pose as the Prometheus")
    if part.url.startswith("http://") and (part.basic_auth is not None or part.bearer_token is not None):
        yield _warning((*key, "url"), "a password or token goes over plain http")


def _thresholds(configuration: Configuration) -> Iterator[Complaint]:
    subjects = [(floor.signal, floor.kind, floor.model) for floor in configuration.thresholds]
    yield from _twice([(("thresholds", index), " ".join(subject)) for index, subject in enumerate(subjects)])


def _notify(configuration: Configuration) -> Iterator[Complaint]:
    notify = configuration.notify
    names = [channel.name for channel in notify.channels]
    yield from _twice([(("notify", "channels", index, "name"), name) for index, name in enumerate(names)])
    all_taking: Key | None = None
    for index, route in enumerate(notify.routes):
        key: Key = ("notify", "routes", index)
        if all_taking is not None:
            yield _warning(key, "this route is never reached: one before it names every team", all_taking)
        elif route.team == "*":
            all_taking = key
        for number, name in enumerate(route.channels):
            if name not in names:
                yield _no_channel((*key, "channels", number), name, names)
    if notify.owners is not None and notify.owners not in names:
        yield _no_channel(("notify", "owners"), notify.owners, names)


def _reports(configuration: Configuration) -> Iterator[Complaint]:
    channels = [channel.name for channel in configuration.notify.channels]
    sendings = configuration.reports.sending
    yield from _twice(
        [(("reports", "sending", index, "name"), one.name) for index, one in enumerate(sendings)]
    )
    teams = [team.name for team in configuration.teams]
    departments = [team.department for team in configuration.teams]
    for index, sending in enumerate(sendings):
        key: Key = ("reports", "sending", index)
        for number, name in enumerate(sending.to):
            if name not in channels:
                yield _no_channel((*key, "to", number), name, channels)
        kind, _, name = sending.audience.partition(" ")
        if kind == "team" and teams and name not in teams:
            yield _no_team((*key, "audience"), name, teams)
        if kind == "department" and departments and name not in departments:
            hint = nearest(name, departments)
            yield Complaint((*key, "audience"), f"there is no department {name!r}", hint)


def _dashboards(configuration: Configuration) -> Iterator[Complaint]:
    dashboards = configuration.dashboards
    if dashboards.sign_in == "local":
        if dashboards.access:
            yield _warning(
                ("dashboards", "access"), "sign_in is local, which asks nobody: no rule is looked at"
            )
        return
    if not dashboards.access:
        yield _warning(("dashboards", "access"), "there is no rule, so nobody who signs in sees anything")
    teams = [team.name for team in configuration.teams]
    departments = sorted({team.department for team in configuration.teams} - {""})
    for index, rule in enumerate(dashboards.access):
        for part, patterns, known in (
            ("teams", rule.teams, teams),
            ("departments", rule.departments, departments),
        ):
            for number, pattern in enumerate(patterns):
                if known and not any(glob_matches(pattern, name) for name in known):
                    what = f"no {part[:-1]} is called {pattern!r}"
                    yield Complaint(
                        ("dashboards", "access", index, part, number),
                        what,
                        nearest(pattern, known),
                        severity="warning",
                    )


def _no_channel(key: Key, name: str, known: Iterable[str]) -> Complaint:
    return Complaint(key, f"there is no channel {name!r}", nearest(name, known))


def _warning(key: Key, what: str, other: Key | None = None) -> Complaint:
    return Complaint(key, what, severity="warning", other=other)


def _twice(items: Iterable[tuple[Key, str]]) -> Iterator[Complaint]:
    first: dict[str, Key] = {}
    for key, name in items:
        if name in first:
            yield Complaint(key, f"{name!r} is there already", other=first[name])
        first.setdefault(name, key)


def _no_team(key: Key, name: str, known: Iterable[str]) -> Complaint:
    return Complaint(key, f"there is no team {name!r}", nearest(name, known))


def _no_such_cluster(key: Key, pattern: str, clusters: Sequence[str]) -> Iterator[Complaint]:
    if not any(glob_matches(pattern, cluster) for cluster in clusters):
        what = f"no cluster is called {pattern!r}"
        yield Complaint(key, what, nearest(pattern, clusters), severity="warning")
