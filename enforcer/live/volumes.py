"""Volumes: on which nodes a pod's claims for volumes can be met."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from collector.kubernetes.values import Json, mapping, text
from enforcer.live.asked import read_terms
from enforcer.live.selector import words
from enforcer.shape import Need

Terms = tuple[tuple[Need, ...], ...]
_MOST_TERMS = 64
NOT_BOUND = "a volume that is not there yet"
NOT_READ = "a volume whose nodes are not understood"


@dataclass(frozen=True, slots=True)
class Claimed:
    """A PersistentVolumeClaim: its volume, once it is bound; `single`: of one pod at a time."""

    volume: str
    single: bool


@dataclass(frozen=True, slots=True)
class Volume:
    """A PersistentVolume: the nodes that reach it, as terms of which any is enough; () for all, None for unknown."""

    terms: Terms | None


def read_claimed(raw: Json) -> Claimed:
    """A PersistentVolumeClaim."""
    spec = mapping(raw.get("spec"))
    bound = mapping(raw.get("status")).get("phase") == "Bound"
    single = "ReadWriteOncePod" in words(spec.get("accessModes"))
    return Claimed(text(spec.get("volumeName")) if bound else "", single)


def read_volume(raw: Json) -> Volume:
    """A PersistentVolume."""
    required = mapping(mapping(raw.get("spec")).get("nodeAffinity")).get("required")
    return Volume(() if required is None else read_terms(mapping(required).get("nodeSelectorTerms")))


def reached(
    names: Iterable[str],
    namespace: str,
    claims: Mapping[str, Claimed],
    volumes: Mapping[str, Volume],
    asked: Terms,
) -> tuple[Terms, str]:
    """The pod's own node affinity together with where its volumes are, and why that cannot be told, or ""."""
    terms: Terms = asked
    for name in names:
        claimed = claims.get(f"{namespace}/{name}")
        volume = volumes.get(claimed.volume) if claimed is not None else None
        if claimed is None or volume is None:
            return asked, NOT_BOUND
        if volume.terms is None or claimed.single:
            return asked, NOT_READ
        if volume.terms:
            terms = tuple(one + other for one in terms for other in volume.terms) if terms else volume.terms
        if len(terms) > _MOST_TERMS:
            return asked, NOT_READ
    return terms, ""
