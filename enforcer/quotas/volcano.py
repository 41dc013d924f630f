"""Volcano's Queues: for each resource what a queue deserves, what is kept free for it, and what it may hold at most.

Its webhook wants guarantee ≤ deserved ≤ capability, no more deserved by the queues under one than by it, and no
capability above that of a queue above.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction

from collector.kubernetes.lent import Fields
from collector.kubernetes.quotas import CAPABILITY, DESERVED, GUARANTEE, volcano_field
from collector.kubernetes.resources import Resource
from collector.kubernetes.settings import Settings
from collector.kubernetes.values import Json, mapping, quantity, text
from enforcer.act.effects import Operation, pointer
from enforcer.quotas.backend import put
from enforcer.quotas.cap import Portion, Read, amount, raised, whole_gpus

VOLCANO_QUEUE = "Queue.scheduling.volcano.sh"
_ROOT = "root"  # what every queue is under that names no other; it bounds none
_PLACES = {
    DESERVED: ("spec", "deserved"),
    CAPABILITY: ("spec", "capability"),
    GUARANTEE: ("spec", "guarantee", "resource"),
}


class Volcano:
    """The backend of Volcano's Queues."""

    watched = Resource(
        VOLCANO_QUEUE,
        "queues",
        "scheduling.volcano.sh",
        ("v1beta1",),
        optional=True,
        without="no queue of Volcano follows bookings",
    )

    def read(self, raw: Json, settings: Settings) -> Read:
        """Of each GPU resource what is deserved, guaranteed and the most; and the queue above it."""
        told = {part: _inside(raw, path) for part, path in _PLACES.items()}
        resources = [each for each in settings.resources if any(each in told[part] for part in _PLACES)]
        fields = {
            volcano_field(part, each): amount(told[part].get(each)) for each in resources for part in _PLACES
        }
        above = text(mapping(raw.get("spec")).get("parent"))
        return Read(
            fields,
            tuple(
                Portion(each, each, volcano_field(DESERVED, each), volcano_field(CAPABILITY, each))
                for each in resources
            ),
            "" if above == _ROOT else above,
        )

    def operations(self, raw: Json, fields: Fields) -> Sequence[Operation]:
        """The resource's fields as they were seen, and as they are to be."""
        return [
            *self._seen(raw, fields),
            *(put(_path(name), value) for name, value in sorted(fields.items())),
        ]

    def promised(self, portion: Portion, first: Fields) -> int | None:
        """What is deserved."""
        return whole_gpus(first.get(portion.quota))

    def followed(
        self, portion: Portion, first: Fields, plus: int, minus: int, ceiling: Fraction | None
    ) -> Fields:
        """A capability is by what is booked higher; what is kept free for the queue is never raised."""
        deserved = (whole_gpus(first.get(portion.quota)) or 0) + plus - minus
        fields: dict[str, str | None] = {portion.quota: str(deserved)}
        capability = quantity(first.get(portion.limit))
        if capability is not None:
            fields[portion.limit] = raised(capability, plus, ceiling)
        guarantee = volcano_field(GUARANTEE, portion.resource)
        kept = quantity(first.get(guarantee))
        if kept is not None and kept > deserved:
            fields[guarantee] = str(deserved)
        return fields

    def _seen(self, raw: Json, fields: Fields) -> Iterator[Operation]:
        for resource in sorted({name.partition("/")[2] for name in fields}):
            for part, path in _PLACES.items():
                there = _inside(raw, path)
                if resource in there:
                    yield Operation("test", pointer(_path(volcano_field(part, resource))), there[resource])


def _path(name: str) -> tuple[str, ...]:
    part, _, resource = name.partition("/")
    return *_PLACES[part], resource


def _inside(raw: Json, path: Sequence[str]) -> Json:
    inside = raw
    for name in path:
        inside = mapping(inside.get(name))
    return inside
