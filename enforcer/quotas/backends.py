"""Backends by the kinds of their objects, and objects read by them."""

from collections.abc import Collection, Mapping

from collector.kubernetes.lent import before, is_lent, lent_of, same
from collector.kubernetes.settings import Settings
from collector.kubernetes.values import Json, mapping, text
from enforcer.quotas.backend import Backend, Queues
from enforcer.quotas.cap import Cap, amount
from enforcer.quotas.kai import KAI_QUEUE, Kai
from enforcer.quotas.kueue import CLUSTER_QUEUE, Kueue
from enforcer.quotas.native import RESOURCE_QUOTA, Native
from enforcer.quotas.volcano import VOLCANO_QUEUE, Volcano
from quartermaster.config.acting import Experimental

QUEUES: Mapping[str, Queues] = {CLUSTER_QUEUE: Kueue(), KAI_QUEUE: Kai(), VOLCANO_QUEUE: Volcano()}
BACKENDS: Mapping[str, Backend] = {RESOURCE_QUOTA: Native(), **QUEUES}
_ONLY_IF_NAMED: Mapping[str, Experimental] = {KAI_QUEUE: "kai", VOLCANO_QUEUE: "volcano"}


def kinds_moved(experimental: Collection[Experimental]) -> tuple[str, ...]:
    """The kinds of objects that are moved, with those experimental ones that the policy names."""
    return tuple(each for each in BACKENDS if _ONLY_IF_NAMED.get(each) in {None, *experimental})


def read_cap(raw: Json, kind: str, settings: Settings) -> Cap | None:
    """The object; None where it says nothing of GPUs, and carries nothing of ours."""
    metadata, read = mapping(raw.get("metadata")), BACKENDS[kind].read(raw, settings)
    marked = is_lent(raw)
    if not (read.fields or marked) or not text(metadata.get("uid")):
        return None
    lent = lent_of(raw)
    return Cap(
        kind,
        text(metadata.get("namespace")),
        text(metadata.get("name")),
        text(metadata.get("uid")),
        text(metadata.get("resourceVersion")),
        read,
        {name: amount(before(lent, name, value)) for name, value in read.fields.items()},
        moved=lent is not None
        and all(same(read.fields.get(name), value) for name, value in lent.after.items()),
        marked=marked,
    )
