"""A proposal: the terms of today's configuration and of another, for the same past."""

from collections.abc import Iterator
from dataclasses import replace
from zoneinfo import ZoneInfo

from enforcer.act.way import ways_of
from enforcer.candidates import Rules
from enforcer.shape import Shape
from enforcer.snapshot import FOREVER_MS, Pod, Promise, Snapshot, Workload
from enforcer.ways import way_down
from enforcer.whatif.asked import Asked
from enforcer.whatif.history import History
from enforcer.whatif.terms import Terms
from quartermaster.config.model import Configuration
from quartermaster.config.policy import PolicyPart
from quartermaster.config.teams import GuaranteePart
from quartermaster.team import glob_matches

TODAY, NEW = "today", "new"


def terms(history: History, cluster: str, today: Configuration, new: Configuration) -> tuple[Terms, Terms]:
    """Today's and the new ones. Promises that a configuration does not make (a queue system's) stand in both."""
    asked, at_ms = history.past.asked, history.past.until_ms - 1
    promises = {(each.team, each.pool): each for each in history.promises}
    if new.guarantees != today.guarantees:
        for guarantee in _in_force(today, cluster, at_ms):
            key = guarantee.team, guarantee.pool
            if key in promises:
                promises[key] = replace(promises[key], guaranteed_parts=0, limit_parts=None, weight=1)
        departments = {each.name: each.department for each in new.teams}
        for each in _in_force(new, cluster, at_ms):
            key = each.team, each.pool
            before = promises.get(key) or Promise(*key, 0, department=departments.get(each.team, ""))
            promises[key] = replace(
                before,
                guaranteed_parts=before.guaranteed_parts + each.guaranteed_parts,
                limit_parts=each.limit_parts,
                weight=each.weight,
            )
    return (
        _terms(TODAY, today, history.promises, asked),
        _terms(NEW, new, tuple(promises.values()), asked),
    )


def _terms(
    name: str, configuration: Configuration, promises: tuple[Promise, ...], asked: tuple[Asked, ...]
) -> Terms:
    untouchable = frozenset(_untouchable(configuration.policy, asked))
    return Terms(
        name, configuration.policy, ZoneInfo(configuration.business.time_zone), promises, untouchable
    )


def _in_force(configuration: Configuration, cluster: str, at_ms: int) -> Iterator[GuaranteePart]:
    for each in configuration.guarantees:
        begun = each.start_at is None or each.start_at <= at_ms
        if begun and (each.end_at is None or at_ms < each.end_at) and glob_matches(each.cluster, cluster):
            yield each


def _untouchable(policy: PolicyPart, asked: tuple[Asked, ...]) -> Iterator[str]:
    """Those that the planner takes from nobody: protected, without a way back, opted out for ever."""
    rules, ways = Rules(Snapshot("", 0, 0, ()), policy), ways_of(policy.acting.kinds)
    pod = Pod("", "", "", "", Shape(()), 0, 0)
    for each in asked:
        workload = Workload(
            each.uid,
            each.kind,
            each.namespace,
            each.name,
            each.team,
            each.pool,
            (pod,),
            priority=each.priority,
            labels=each.labels,
            way_down=way_down(ways, each.kind),
        )
        if rules.untouchable(workload) is not None or each.spared_until_ms == FOREVER_MS:
            yield each.uid
