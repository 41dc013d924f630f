"""Scalers: KEDA's ScaledObjects, by which the owners that they scale are stopped."""

from dataclasses import dataclass

from collector.kubernetes.owners import Reference
from collector.kubernetes.values import Json, mapping, text
from enforcer.act.keda import target_of
from enforcer.act.way import SCALED
from enforcer.live.alike import Alike
from enforcer.live.owners import Known, read_owner

Place = tuple[str, str, str, str]  # namespace, group, kind, name


@dataclass(frozen=True, slots=True)
class Scaler:
    """What is kept of one."""

    known: Known
    target: Reference  # by name, without a UID

    @property
    def place(self) -> Place:
        """Where what it scales is."""
        return place_of(self.target, self.known.namespace)


def place_of(owner: Reference, namespace: str) -> Place:
    """Where an owner is."""
    return namespace, owner.group, owner.kind, owner.name


def read_scaler(raw: Json, alike: Alike) -> Scaler:
    """A ScaledObject."""
    metadata = mapping(raw.get("metadata"))
    name, uid = text(metadata.get("name")), text(metadata.get("uid"))
    # Objects of a list do not say what they are.
    return Scaler(read_owner(raw, Reference("keda.sh/v1alpha1", SCALED, name, uid), alike), target_of(raw))
