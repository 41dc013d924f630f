"""Backends: what has to be known of a kind of quota object, so that it can be read, moved and put back."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol

from collector.kubernetes.lent import Fields
from collector.kubernetes.resources import Resource
from collector.kubernetes.settings import Settings
from collector.kubernetes.values import Json
from enforcer.act.effects import Operation, pointer
from enforcer.quotas.cap import Portion, Read


class Backend(Protocol):
    """A kind of quota object."""

    @property
    def watched(self) -> Resource:
        """Where its objects are; its kind is how they are called in the audit too."""
        ...

    def read(self, raw: Json, settings: Settings) -> Read:
        """What an object says of GPUs."""
        ...

    def operations(self, raw: Json, fields: Fields) -> Sequence[Operation]:
        """What makes these fields so on an object as it was read; the last tells afterwards that it was made."""
        ...


class Queues(Backend, Protocol):
    """A kind of queue, whose quotas follow bookings and offers."""

    def promised(self, portion: Portion, first: Fields) -> int | None:
        """The GPUs that a portion promises, by the fields as its people wrote them; None where it is left alone."""
        ...

    def followed(
        self, portion: Portion, first: Fields, plus: int, minus: int, ceiling: Fraction | None
    ) -> Fields:
        """A portion's fields with `plus` GPUs that are booked, and without `minus` that others have booked of it.

        No limit is raised above `ceiling`, which the queues above it have; None: they have none.
        """
        ...


def put(path: Sequence[str | int], value: object) -> Operation:
    """The operation after which a field has the value; None: it is not there."""
    where = pointer([str(each) for each in path])
    return Operation("remove", where) if value is None else Operation("add", where, value)
