"""Kueue's ClusterQueues: a nominal quota for each flavor, and how much may be borrowed and lent of it."""

from collections.abc import Iterator, Sequence
from fractions import Fraction

from collector.kubernetes.lent import Fields
from collector.kubernetes.quotas import field_of
from collector.kubernetes.resources import KUEUE, Resource
from collector.kubernetes.settings import Settings
from collector.kubernetes.values import Json, mapping, quantity, text
from enforcer.act.effects import Operation
from enforcer.quotas.backend import put
from enforcer.quotas.cap import Portion, Read, amount, whole_gpus

CLUSTER_QUEUE = "ClusterQueue"
NOMINAL, BORROWING, LENDING = "nominalQuota", "borrowingLimit", "lendingLimit"
_Path = tuple[str | int, ...]


class Kueue:
    """The backend of ClusterQueues."""

    watched = Resource(
        CLUSTER_QUEUE,
        "clusterqueues",
        "kueue.x-k8s.io",
        KUEUE,
        optional=True,
        without="no ClusterQueue follows bookings",
    )

    def read(self, raw: Json, settings: Settings) -> Read:
        """Of each flavor with GPUs its quota and limits."""
        fields: dict[str, str | None] = {}
        portions: list[Portion] = []
        for flavor, name, resource, _ in _resources(raw):
            if name in settings.resources:
                portions.append(Portion(flavor, name, field_of(flavor, name, NOMINAL)))
                fields |= {
                    field_of(flavor, name, each): amount(resource.get(each))
                    for each in (NOMINAL, BORROWING, LENDING)
                }
        return Read(fields, tuple(portions))

    def operations(self, raw: Json, fields: Fields) -> Sequence[Operation]:
        """One for each field, in the lists as they were read."""
        where = {
            field_of(flavor, name, each): (*path, each)
            for flavor, name, _, path in _resources(raw)
            for each in (NOMINAL, BORROWING, LENDING)
        }
        return [put(where[name], value) for name, value in sorted(fields.items()) if name in where]

    def promised(self, portion: Portion, first: Fields) -> int | None:
        """The nominal quota."""
        return whole_gpus(first.get(portion.quota))

    def followed(
        self, portion: Portion, first: Fields, plus: int, minus: int, ceiling: Fraction | None
    ) -> Fields:
        """A queue may hold as much as before beside what is booked, and lends no more than what it has."""
        del ceiling  # no queue is above a ClusterQueue
        nominal = (whole_gpus(first.get(portion.quota)) or 0) + plus - minus
        limits = {each: field_of(portion.flavor, portion.resource, each) for each in (BORROWING, LENDING)}
        fields: dict[str, str | None] = {portion.quota: str(nominal)}
        borrowing = whole_gpus(first.get(limits[BORROWING]))
        if borrowing is not None:
            fields[limits[BORROWING]] = str(borrowing + minus)
        lending = quantity(first.get(limits[LENDING]))
        if lending is not None and lending > nominal:
            fields[limits[LENDING]] = str(nominal)
        return fields


def _resources(raw: Json) -> Iterator[tuple[str, str, Json, _Path]]:
    """Each flavor's resources: the flavor's name, the resource's, what stands there, and where."""
    for at, group in enumerate(_listed(mapping(raw.get("spec")).get("resourceGroups"))):
        for among, flavor in enumerate(_listed(group.get("flavors"))):
            for place, resource in enumerate(_listed(flavor.get("resources"))):
                path = ("spec", "resourceGroups", at, "flavors", among, "resources", place)
                yield text(flavor.get("name")), text(resource.get("name")), resource, path


def _listed(value: object) -> list[Json]:
    return [mapping(each) for each in value] if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
