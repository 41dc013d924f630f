"""Promises: what Kubernetes' own objects promise, each as a team's promise in a pool, over time."""

from collections.abc import Callable, Iterator, Mapping

from collector.kubernetes.fleet import Fleet, largest
from collector.kubernetes.quotas import (
    Promise,
    read_cluster_queue,
    read_cohort,
    read_flavor,
    read_kai_queue,
    read_resource_quota,
    read_volcano_queue,
)
from collector.kubernetes.settings import SOURCE, Settings
from collector.kubernetes.stream import GONE, Event
from collector.kubernetes.told import Versions
from quartermaster.ids import content_id
from quartermaster.records import Quota
from quartermaster.team import UNASSIGNED, team_of

QUOTA_KINDS = {
    "resourcequotas": read_resource_quota,
    "clusterqueues": read_cluster_queue,
    "cohorts": read_cohort,
    "kai_queues": read_kai_queue,
    "volcano_queues": read_volcano_queue,
}


class Promises:
    """All objects that promise, and what was told of them."""

    def __init__(self, settings: Settings, fleet: Fleet) -> None:
        self._settings, self._fleet = settings, fleet
        self._promises: dict[str, list[Promise]] = {}
        self._flavors: dict[str, tuple[tuple[str, str], ...]] = {}
        self.versions: Versions[Quota] = Versions()

    def promise(self, event: Event, key: str) -> None:
        """An object that promises was seen, or is gone."""
        gone = event.type == GONE
        told = [] if gone else QUOTA_KINDS[event.kind](event.object, self._settings)
        self._promises[f"{event.kind}/{key}"] = told

    def flavor(self, event: Event, key: str) -> None:
        """A ResourceFlavor was seen, or is gone."""
        if event.type == GONE:
            self._flavors.pop(key, None)
        else:
            self._flavors[key] = read_flavor(event.object)

    def settle(self, now_ms: int) -> list[Quota]:
        """What changed since the last time, from now on."""
        found = records(self._promises, self._pool_of, now_ms, self._settings)
        self.versions.settle({each.quota_id: each for each in found}, now_ms)
        return self.versions.drain()

    def _pool_of(self, flavor: str) -> str:
        """The pool of a flavor: the one with its name, else that of the nodes whose labels it has, else the largest."""
        main = self._fleet.main_pool()
        if flavor in {rule.name for rule in self._settings.pools}:
            return flavor
        return (
            largest(self._fleet.candidates(self._flavors[flavor]), main) if flavor in self._flavors else main
        )


def records(
    promises: Mapping[str, list[Promise]], pool_of: Callable[[str], str], at_ms: int, settings: Settings
) -> Iterator[Quota]:
    """The promises of all objects (by kind and key) as records, by team and pool; `pool_of` a flavor, or "" for none.

    What the configuration promises itself counts alone: the object's guarantee is then told as 0, with its
    limit, so that nothing is promised twice. For the same reason a queue above others promises what theirs leave.
    """
    below: dict[tuple[str, str, str], int] = {}
    for key, theirs in promises.items():
        for each in theirs:
            place = (_system(key), each.above, each.flavor)
            below[place] = below.get(place, 0) + each.guaranteed_parts
    for key, theirs in promises.items():
        for each in theirs:
            left = each.guaranteed_parts - below.get((_system(key), each.source_object, each.flavor), 0)
            team, pool = whose(each, pool_of, at_ms, settings)
            counted = (team, pool) not in settings.promised
            source_object = f"{each.source_object}/{each.flavor}" if each.flavor else each.source_object
            yield Quota(
                cluster=settings.cluster,
                quota_id=content_id("quota", settings.cluster, pool, team, source_object),
                start_at=at_ms,
                end_at=None,
                team=team,
                pool=pool,
                guaranteed_parts=max(0, left) if counted else 0,
                limit_parts=each.limit_parts,
                weight=each.weight,
                source=SOURCE,
                source_object=source_object,
            )


def whose(each: Promise, pool_of: Callable[[str], str], at_ms: int, settings: Settings) -> tuple[str, str]:
    """Team and pool: as the configuration maps the object, else by its name, its namespace's rules, its flavor."""
    if each.source_object in settings.quota_of:
        return settings.quota_of[each.source_object]
    team = each.subject if each.subject in settings.teams else UNASSIGNED
    if each.source_object.startswith("ResourceQuota/"):
        team = team_of(settings.rules, at_ms, cluster=settings.cluster, namespace=each.subject, labels={})
    return team, pool_of(each.flavor)


def _system(key: str) -> str:
    return key.partition("/")[0]
