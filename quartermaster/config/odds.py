"""What of a policy is at odds with itself, or with the teams and pools of the configuration."""

from collections.abc import Iterator

from quartermaster.config.model import Configuration
from quartermaster.config.problem import Complaint, Key, nearest
from quartermaster.team import glob_matches


def odds(configuration: Configuration) -> Iterator[Complaint]:
    """Contradictions (errors) and what is never reached (warnings)."""
    yield from _departments(configuration)
    yield from _rebalance(configuration)
    yield from _never_reached(configuration)
    yield from _nobody_to_act_on(configuration)
    yield from _experimental(configuration)
    yield from _lent_in_namespaces(configuration)
    if configuration.privacy.reports_name_people and configuration.privacy.pseudonyms:
        what = "with privacy.pseudonyms the ledger knows no names that a report could tell"
        yield Complaint(("privacy", "reports_name_people"), what, severity="warning")


def _departments(configuration: Configuration) -> Iterator[Complaint]:
    known = sorted({team.department for team in configuration.teams if team.department})
    first: dict[tuple[str, str], Key] = {}
    for index, each in enumerate(configuration.policy.departments):
        key: Key = ("policy", "departments", index)
        if each.department not in known:
            what = f"no team is of a department {each.department!r}"
            yield Complaint((*key, "department"), what, nearest(each.department, known))
        yield from _no_pool(configuration, key, each.pool)
        if (each.department, each.pool) in first:
            what = f"{each.department!r} is promised something in this pool already"
            yield Complaint(key, what, other=first[each.department, each.pool])
        first.setdefault((each.department, each.pool), key)


def _rebalance(configuration: Configuration) -> Iterator[Complaint]:
    first: dict[str, Key] = {}
    for index, bounds in enumerate(configuration.policy.rebalance):
        key: Key = ("policy", "rebalance", index)
        yield from _no_pool(configuration, key, bounds.pool)
        if bounds.pool in first:
            yield Complaint((*key, "pool"), "the pool has bounds already", other=first[bounds.pool])
        first.setdefault(bounds.pool, key)
        for number, promise in enumerate(configuration.guarantees):
            if promise.pool != bounds.pool:
                continue
            at: Key = ("guarantees", number, "gpus")
            if promise.guaranteed_parts > bounds.ceiling_parts:
                yield Complaint((*key, "ceiling"), f"{promise.team!r} is promised more than that", other=at)
            elif promise.guaranteed_parts < bounds.floor_parts:
                yield Complaint((*key, "floor"), f"{promise.team!r} is promised less than that", other=at)


def _never_reached(configuration: Configuration) -> Iterator[Complaint]:
    seen: dict[str, Key] = {}
    for index, rule in enumerate(configuration.policy.idle):
        key: Key = ("policy", "idle", index)
        before = [
            next((at for earlier, at in seen.items() if _covers(earlier, kind)), None) for kind in rule.kinds
        ]
        if all(at is not None for at in before):
            what = "this rule is never reached: those before it name all its kinds"
            yield Complaint(key, what, severity="warning", other=before[0])
        seen |= {kind: key for kind in rule.kinds if kind not in seen}


def _nobody_to_act_on(configuration: Configuration) -> Iterator[Complaint]:
    mode = configuration.policy.acting.mode
    if mode != "shadow" and all(cluster.kubernetes is None for cluster in configuration.clusters):
        what = f"{mode} needs a cluster with kubernetes: to do anything in"
        yield Complaint(("policy", "acting", "mode"), what, severity="warning")


def _experimental(configuration: Configuration) -> Iterator[Complaint]:
    acting = configuration.policy.acting
    for index, name in enumerate(acting.experimental):
        key: Key = ("policy", "acting", "experimental", index)
        if name in acting.experimental[:index]:
            yield Complaint(key, f"{name} stands there already")
        elif acting.lend:
            what = f"{name} is experimental: only its API was tried, never {name} itself"
            yield Complaint(key, what, severity="warning")
        else:
            what = f"without policy.acting.lend no quota is moved, and none of {name}"
            yield Complaint(key, what, severity="warning")


def _covers(pattern: str, other: str) -> bool:
    return pattern in {"*", other} or ("*" not in other and "?" not in other and glob_matches(pattern, other))


def _no_pool(configuration: Configuration, key: Key, name: str) -> Iterator[Complaint]:
    pools = [pool.name for pool in configuration.pools]
    if pools and name not in pools:
        yield Complaint((*key, "pool"), f"there is no pool {name!r}", nearest(name, pools))


def _lent_in_namespaces(configuration: Configuration) -> Iterator[Complaint]:
    for index, cluster in enumerate(configuration.clusters):
        key: Key = ("clusters", index, "kubernetes", "namespaces")
        if (
            configuration.policy.acting.lend
            and cluster.kubernetes is not None
            and cluster.kubernetes.namespaces
        ):
            what = "policy.acting.lend moves quotas of the whole cluster, which rights in namespaces do not allow"
            yield Complaint(key, what, other=("policy", "acting", "lend"))
