"""KAI's Queues: numbers of GPUs, whatever their resource is, in a tree of queues.

−1 is unlimited, and what is not set is 0: a `limit` that is not set stops the queue. So the whole of `gpu` is written.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import ceil

from collector.kubernetes.lent import Fields
from collector.kubernetes.quotas import KAI_LIMIT, KAI_QUOTA, KAI_WEIGHT
from collector.kubernetes.resources import Resource
from collector.kubernetes.settings import Settings
from collector.kubernetes.values import Json, mapping, quantity, text
from enforcer.act.effects import Operation, pointer
from enforcer.quotas.backend import put
from enforcer.quotas.cap import Portion, Read, amount, as_written, raised, whole_gpus

KAI_QUEUE = "Queue.scheduling.run.ai"
_GPU = ("spec", "resources", "gpu")
_FIELDS = (KAI_QUOTA, KAI_LIMIT, KAI_WEIGHT)
_RESOURCE = "nvidia.com/gpu"  # as its status names GPUs


class Kai:
    """The backend of KAI's Queues."""

    watched = Resource(
        KAI_QUEUE,
        "queues",
        "scheduling.run.ai",
        ("v2",),
        optional=True,
        without="no queue of KAI follows bookings",
    )

    def read(self, raw: Json, settings: Settings) -> Read:
        """Its GPUs, the queue above it, and how many its non-preemptible work holds: KAI takes none of that back."""
        del settings
        spec, gpu = mapping(raw.get("spec")), _gpu(raw)
        if not gpu:
            return Read({})
        fixed = quantity(mapping(mapping(raw.get("status")).get("allocatedNonPreemptible")).get(_RESOURCE))
        return Read(
            {each: amount(gpu.get(_name(each))) for each in _FIELDS},
            (Portion("", "gpu", KAI_QUOTA, KAI_LIMIT),),
            text(spec.get("parentQueue")),
            max(0, ceil(fixed or 0)),
        )

    def operations(self, raw: Json, fields: Fields) -> Sequence[Operation]:
        """`gpu` as it was seen, and as a whole as it is to be: nothing of it is left to what another writes."""
        gpu = _gpu(raw)
        whole = gpu | {_name(name): _number(value) for name, value in fields.items()}
        there = {name: value for name, value in whole.items() if value is not None}
        return [Operation("test", pointer(_GPU), gpu), put(_GPU, there)]

    def promised(self, portion: Portion, first: Fields) -> int | None:
        """The quota, unless it is unlimited or not stated, or a limit under it holds the queue back on purpose."""
        gpus, limit = whole_gpus(first.get(portion.quota)), quantity(first.get(portion.limit)) or 0
        return gpus if gpus is not None and (limit < 0 or limit >= gpus) else None

    def followed(
        self, portion: Portion, first: Fields, plus: int, minus: int, ceiling: Fraction | None
    ) -> Fields:
        """All fields, also one that was not set: a limit by what is booked higher, the weight as it is."""
        quota, limit = (
            whole_gpus(first.get(portion.quota)) or 0,
            quantity(first.get(portion.limit)) or Fraction(),
        )
        return {
            portion.quota: str(quota + plus - minus),
            portion.limit: as_written(limit) if limit < 0 else raised(limit, plus, ceiling),
            KAI_WEIGHT: first.get(KAI_WEIGHT) or "0",
        }


def _gpu(raw: Json) -> Json:
    return mapping(mapping(mapping(raw.get("spec")).get("resources")).get("gpu"))


def _name(field: str) -> str:
    return field.rpartition("/")[2]


def _number(value: str | None) -> int | float | None:
    told = quantity(value)
    if told is None:
        return None
    return int(told) if told.denominator == 1 else float(told)
