"""Growth: what an autoscaler may still bring to a pool, and what it has asked for that is not there yet; pure."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from collector.kubernetes.fleet import Fleet, Place, largest
from collector.kubernetes.settings import SOURCE, Settings
from collector.kubernetes.stream import GONE, Event
from collector.kubernetes.told import Versions
from collector.kubernetes.values import Json, instant_ms, mapping, objects, quantity, text, texts
from quartermaster.clock import MINUTE_MS
from quartermaster.ids import content_id
from quartermaster.parts import GPU_PARTS
from quartermaster.pool import pool_of
from quartermaster.records import Growth

# The cluster-autoscaler gives a node up that has not come for so long (--max-node-provision-time).
_GIVEN_UP_MS = 15 * MINUTE_MS
_MOST_GPUS = 10_000_000
KARPENTER_POOL = "karpenter.sh/nodepool"
# `pod triggered scale-up: [{gpu-group 1->3 (max: 8)}]`
_SCALED = re.compile(
    r"\{(?P<group>[^{}\s]{1,512}) (?P<from>\d{1,6})->(?P<to>\d{1,6}) \(max: (?P<most>\d{1,6})\)\}"
)


@dataclass(frozen=True, slots=True)
class NodePool:
    """Karpenter's NodePool: the most GPUs that it may have (None: no limit), and the labels of its nodes."""

    name: str
    limit_parts: int | None
    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class NodeClaim:
    """Karpenter's NodeClaim: a node that was asked for, with its GPUs, and whether it is there."""

    node_pool: str
    parts: int
    there: bool


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a pod asks of a node: its labels, and so many GPUs."""

    selector: tuple[tuple[str, str], ...]
    gpus: int


@dataclass(frozen=True, slots=True)
class ScaleUp:
    """What the cluster-autoscaler did for a pod: a group of so many nodes becomes larger, and may be so large."""

    group: str
    added: int
    most: int
    at_ms: int
    pool: str
    gpus_each: int
    nodes_before: int  # of the pool, when it was asked for


def read_node_pool(raw: Json, settings: Settings) -> NodePool | None:
    """A NodePool; None where it is none. Its limit is the one for GPUs: others may be for CPU or memory alone."""
    name, spec = text(mapping(raw.get("metadata")).get("name")), mapping(raw.get("spec"))
    if not name:
        return None
    limits = mapping(spec.get("limits"))
    told = [amount for key in settings.resources if (amount := _gpus(limits.get(key))) is not None]
    template = mapping(mapping(spec.get("template")).get("metadata"))
    return NodePool(name, max(told) * GPU_PARTS if told else None, texts(template.get("labels")))


def read_node_claim(raw: Json, settings: Settings) -> NodeClaim | None:
    """A NodeClaim; None for one without GPUs. It is there once it is Initialized: its node has its resources."""
    metadata, status = mapping(raw.get("metadata")), mapping(raw.get("status"))
    asked = mapping(mapping(mapping(raw.get("spec")).get("resources")).get("requests"))
    capacity = mapping(status.get("capacity")) or asked
    gpus = max((_gpus(capacity.get(key)) or 0 for key in settings.resources), default=0)
    conditions = {text(each.get("type")): each.get("status") for each in objects(status.get("conditions"))}
    if not gpus:
        return None
    there = conditions.get("Initialized") == "True"
    return NodeClaim(texts(metadata.get("labels")).get(KARPENTER_POOL, ""), gpus * GPU_PARTS, there)


def read_scale_ups(raw: Json) -> Iterator[tuple[str, int, int, int | None]]:
    """Of a TriggeredScaleUp: each group with how many nodes more, how many at most, and when."""
    times = (raw.get("lastTimestamp"), raw.get("eventTime"), raw.get("firstTimestamp"))
    at_ms = next((at for each in times if (at := instant_ms(each)) is not None), None)
    for found in _SCALED.finditer(text(raw.get("message")) or text(raw.get("note"))):
        yield found["group"], max(0, int(found["to"]) - int(found["from"])), int(found["most"]), at_ms


class Growths:
    """What every source says of growth, as records by pool and source object."""

    def __init__(self, settings: Settings, fleet: Fleet) -> None:
        self._settings, self._fleet = settings, fleet
        self.versions: Versions[Growth] = Versions()
        self._pools: dict[str, NodePool] = {}
        self._claims: dict[str, NodeClaim] = {}
        self._groups: dict[str, ScaleUp] = {}

    def node_pool(self, event: Event, key: str) -> None:
        """A NodePool was seen, or is gone."""
        read = read_node_pool(event.object, self._settings) if event.type != GONE else None
        self._pools.pop(key, None)
        if read is not None:
            self._pools[key] = read

    def node_claim(self, event: Event, key: str) -> None:
        """A NodeClaim was seen, or is gone."""
        read = read_node_claim(event.object, self._settings) if event.type != GONE else None
        self._claims.pop(key, None)
        if read is not None:
            self._claims[key] = read

    def scaled(self, event: Event, wanted: Wanted | None) -> None:
        """The cluster-autoscaler makes groups larger, for a pod that wants this: in the pool that it would be in."""
        where = self._fleet.candidates(wanted.selector) if wanted is not None else {}
        pool = largest(where, self._fleet.main_pool())
        place = self._fleet.places().get(pool, Place(0, 1))
        each = max(place.gpus_each, wanted.gpus if wanted is not None else 1)
        for group, added, most, at_ms in read_scale_ups(event.object):
            when_ms = min(at_ms or event.received_at, event.received_at)
            known = self._groups.get(group)
            if known is None or known.at_ms <= when_ms:
                self._groups[group] = ScaleUp(group, added, most, when_ms, pool, each, place.nodes)

    def settle(self, now_ms: int) -> list[Growth]:
        """What changed since the last time, from now on."""
        self.versions.settle({each.growth_id: each for each in self._records(now_ms)}, now_ms)
        return self.versions.drain()

    def _records(self, at_ms: int) -> Iterator[Growth]:
        for pool, most in self._settings.most_parts.items():
            yield self._record(pool, f"pools/{pool}", most, 0, at_ms)
        karpenters = self._fleet.pools_by_label(KARPENTER_POOL)
        for each in self._pools.values():
            claims = [claim for claim in self._claims.values() if claim.node_pool == each.name]
            if claims or each.limit_parts is not None or each.name in karpenters:
                labels = {**each.labels, KARPENTER_POOL: each.name}
                pool = karpenters.get(each.name) or pool_of(self._settings.pools, "", labels)
                coming = sum(claim.parts for claim in claims if not claim.there)
                yield self._record(pool, f"NodePool/{each.name}", each.limit_parts, coming, at_ms)
        places = self._fleet.places()
        for group in self._groups.values():
            came = max(0, places.get(group.pool, Place(0, 1)).nodes - group.nodes_before)
            waited = at_ms - group.at_ms < _GIVEN_UP_MS
            coming = max(0, group.added - came) * group.gpus_each * GPU_PARTS if waited else 0
            most = group.most * group.gpus_each * GPU_PARTS
            yield self._record(group.pool, f"NodeGroup/{group.group}", most, coming, at_ms)

    def _record(self, pool: str, source_object: str, most: int | None, coming: int, at_ms: int) -> Growth:
        return Growth(
            cluster=self._settings.cluster,
            growth_id=content_id("growth", self._settings.cluster, pool, source_object),
            start_at=at_ms,
            end_at=None,
            pool=pool,
            limit_parts=most,
            coming_parts=coming,
            source=SOURCE,
            source_object=source_object,
        )


def _gpus(value: object) -> int | None:
    amount = quantity(value)
    return int(amount) if amount is not None and 0 <= amount <= _MOST_GPUS else None
