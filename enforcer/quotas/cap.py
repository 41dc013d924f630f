"""Caps: quota objects that GPUs are promised by, as they are in the cluster, and as they were before we moved them."""

from collections.abc import Mapping
from dataclasses import dataclass

from collector.kubernetes.lent import Fields, before, is_lent, lent_of, same
from collector.kubernetes.quotas import field_of
from collector.kubernetes.settings import Settings
from collector.kubernetes.values import Json, mapping, objects, quantity, text

RESOURCE_QUOTA, CLUSTER_QUEUE = "ResourceQuota", "ClusterQueue"
NOMINAL, BORROWING, LENDING = "nominalQuota", "borrowingLimit", "lendingLimit"
_LONGEST_AMOUNT = 40


@dataclass(frozen=True, slots=True)
class Flavor:
    """What a ClusterQueue has of a GPU resource in one flavor; `key` is how its fields begin."""

    name: str
    resource: str

    def field(self, name: str) -> str:
        """The name of one of its fields."""
        return field_of(self.name, self.resource, name)


@dataclass(frozen=True, slots=True)
class Cap:
    """A ResourceQuota or a ClusterQueue. `fields` has its GPU quantities by name; None: absent.

    `written` are the same as its people wrote them, as far as the object itself says it. `moved` tells that its fields
    are as we left them; `marked` that our annotation is on it at all.
    """

    kind: str
    namespace: str
    name: str
    uid: str
    version: str
    fields: Fields
    written: Fields
    moved: bool = False
    marked: bool = False
    scoped: bool = False  # it speaks of some of its namespace's pods only
    flavors: tuple[Flavor, ...] = ()

    @property
    def source_object(self) -> str:
        """As the collector calls it; of a ClusterQueue without its flavor."""
        return f"{self.kind}/{self.namespace}/{self.name}" if self.namespace else f"{self.kind}/{self.name}"


def read_cap(raw: Json, kind: str, settings: Settings) -> Cap | None:
    """The object; None where it says nothing of GPUs, and carries nothing of ours."""
    metadata = mapping(raw.get("metadata"))
    flavors = () if kind == RESOURCE_QUOTA else _flavors(raw, settings)
    fields = _of_quota(raw, settings) if kind == RESOURCE_QUOTA else _of_queue(raw, flavors)
    marked = is_lent(raw)
    if not (fields or marked) or not text(metadata.get("uid")):
        return None
    lent, spec = lent_of(raw), mapping(raw.get("spec"))
    return Cap(
        kind,
        text(metadata.get("namespace")),
        text(metadata.get("name")),
        text(metadata.get("uid")),
        text(metadata.get("resourceVersion")),
        fields,
        {name: _amount(before(lent, name, value)) for name, value in fields.items()},
        moved=lent is not None and all(same(fields.get(name), value) for name, value in lent.after.items()),
        marked=marked,
        scoped=bool(spec.get("scopes") or spec.get("scopeSelector")),
        flavors=flavors,
    )


def whole_gpus(value: str | None) -> int | None:
    """A quantity as whole GPUs; None where it is none, or not whole."""
    amount = quantity(value)
    return int(amount) if amount is not None and amount >= 0 and amount.denominator == 1 else None


def places(raw: Json, cap: Cap) -> Mapping[str, tuple[str | int, ...]]:
    """Where each field stands in the object."""
    if cap.kind == RESOURCE_QUOTA:
        return {name: ("spec", "hard", name) for name in cap.fields}
    found: dict[str, tuple[str | int, ...]] = {}
    for at, group in enumerate(_listed(mapping(raw.get("spec")).get("resourceGroups"))):
        for among, flavor in enumerate(_listed(group.get("flavors"))):
            for place, resource in enumerate(_listed(flavor.get("resources"))):
                of = Flavor(text(flavor.get("name")), text(resource.get("name")))
                path = ("spec", "resourceGroups", at, "flavors", among, "resources", place)
                found |= {of.field(each): (*path, each) for each in (NOMINAL, BORROWING, LENDING)}
    return {name: found[name] for name in cap.fields if name in found}


def _of_quota(raw: Json, settings: Settings) -> Fields:
    hard = mapping(mapping(raw.get("spec")).get("hard"))
    keys = {f"requests.{name}" for name in settings.resources}
    keys |= {f"{name}.deviceclass.resource.k8s.io/devices" for name in settings.drivers}
    return {key: _amount(hard[key]) for key in sorted(keys & hard.keys())}


def _flavors(raw: Json, settings: Settings) -> tuple[Flavor, ...]:
    return tuple(
        Flavor(text(flavor.get("name")), text(resource.get("name")))
        for group in objects(mapping(raw.get("spec")).get("resourceGroups"))
        for flavor in objects(group.get("flavors"))
        for resource in objects(flavor.get("resources"))
        if text(resource.get("name")) in settings.resources
    )


def _of_queue(raw: Json, flavors: tuple[Flavor, ...]) -> Fields:
    fields: dict[str, str | None] = {}
    for group in objects(mapping(raw.get("spec")).get("resourceGroups")):
        for flavor in objects(group.get("flavors")):
            for resource in objects(flavor.get("resources")):
                of = Flavor(text(flavor.get("name")), text(resource.get("name")))
                if of in flavors:
                    fields |= {
                        of.field(each): _amount(resource.get(each)) for each in (NOMINAL, BORROWING, LENDING)
                    }
    return fields


def _amount(value: object) -> str | None:
    return str(value)[:_LONGEST_AMOUNT] if quantity(value) is not None else None


def _listed(value: object) -> list[Json]:
    return [mapping(each) for each in value] if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
