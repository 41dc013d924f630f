"""KEDA: which of its ScaledObjects scale an owner. Pure."""

from collections.abc import Iterable

from collector.kubernetes.owners import Reference
from collector.kubernetes.values import Json, mapping, text


def target_of(scaler: Json) -> Reference:
    """What a ScaledObject scales, in its own namespace; by name, without a UID. Defaults are KEDA's."""
    told = mapping(mapping(scaler.get("spec")).get("scaleTargetRef"))
    version, kind = text(told.get("apiVersion")), text(told.get("kind"))
    return Reference(version or "apps/v1", kind or "Deployment", text(told.get("name")), "")


def scaled_by(scalers: Iterable[Json], owner: Json) -> list[Json]:
    """Those of a namespace's ScaledObjects that scale this owner of it, by group, kind and name."""
    name = text(mapping(owner.get("metadata")).get("name"))
    mine = Reference(text(owner.get("apiVersion")), text(owner.get("kind")), name, "")
    return [each for each in scalers if _place(target_of(each)) == _place(mine)]


def _place(reference: Reference) -> tuple[str, str, str]:
    return reference.group, reference.kind, reference.name
