"""Caps: quota objects that GPUs are promised by, as they are in the cluster, and as they were before we moved them."""

from dataclasses import dataclass
from fractions import Fraction

from collector.kubernetes.lent import Fields
from collector.kubernetes.values import quantity

_LONGEST_AMOUNT = 40


@dataclass(frozen=True, slots=True)
class Portion:
    """What a queue has of one kind of GPUs: the names of the fields that promise and bound it."""

    flavor: str  # as the collector calls it; "" where the queue has but one
    resource: str
    quota: str
    limit: str = ""  # where a queue under it may have no more than it


@dataclass(frozen=True, slots=True)
class Read:
    """What a backend reads of its object. `fields` has its GPU quantities by name; None: absent."""

    fields: Fields
    portions: tuple[Portion, ...] = ()
    above: str = ""  # the queue whose quota this one's is a part of
    least_gpus: int = 0  # its quota is not to be lowered under it
    scoped: bool = False  # it speaks of some of its namespace's pods only


@dataclass(frozen=True, slots=True)
class Cap:
    """A quota object.

    `written` are its fields as its people wrote them, as far as the object itself says it. `moved` tells that they are
    as we left them; `marked` that our annotation is on it at all.
    """

    kind: str  # as `enforcer.quotas.backends` calls it
    namespace: str
    name: str
    uid: str
    version: str
    read: Read
    written: Fields
    moved: bool = False
    marked: bool = False

    @property
    def fields(self) -> Fields:
        """Its GPU quantities by name; None: absent."""
        return self.read.fields

    @property
    def promising(self) -> frozenset[str]:
        """The fields that promise GPUs, unlike those that bound something."""
        return frozenset(each.quota for each in self.read.portions) or frozenset(self.fields)

    @property
    def source_object(self) -> str:
        """As the collector calls it, without its flavor."""
        kind = self.kind.partition(".")[0]
        return f"{kind}/{self.namespace}/{self.name}" if self.namespace else f"{kind}/{self.name}"


def amount(value: object) -> str | None:
    """A quantity as it is written; None for what is none."""
    return str(value)[:_LONGEST_AMOUNT] if quantity(value) is not None else None


def whole_gpus(value: str | None) -> int | None:
    """A quantity as whole GPUs; None where it is none, or not whole."""
    told = quantity(value)
    return int(told) if told is not None and told >= 0 and told.denominator == 1 else None


def as_written(gpus: Fraction) -> str:
    """An amount as a quantity."""
    return str(int(gpus)) if gpus.denominator == 1 else str(float(gpus))


def raised(limit: Fraction, plus: int, ceiling: Fraction | None) -> str:
    """A limit by so many GPUs higher, not above `ceiling` (None: there is none), and never lower than it was."""
    return as_written(limit + plus if ceiling is None else max(limit, min(limit + plus, ceiling)))
