"""ResourceQuotas: Kubernetes' own, a cap on what a namespace's pods may ask for together."""

from collections.abc import Sequence

from collector.kubernetes.lent import Fields
from collector.kubernetes.resources import Resource
from collector.kubernetes.settings import Settings
from collector.kubernetes.values import Json, mapping
from enforcer.act.effects import Operation
from enforcer.quotas.backend import put
from enforcer.quotas.cap import Read, amount

RESOURCE_QUOTA = "ResourceQuota"


class Native:
    """The backend of ResourceQuotas (`enforcer.quotas.lending` says when they are raised)."""

    watched = Resource(RESOURCE_QUOTA, "resourcequotas", without="no ResourceQuota is raised")

    def read(self, raw: Json, settings: Settings) -> Read:
        """Its GPUs, as extended resources and as device classes."""
        spec = mapping(raw.get("spec"))
        hard = mapping(spec.get("hard"))
        keys = {f"requests.{name}" for name in settings.resources}
        keys |= {f"{name}.deviceclass.resource.k8s.io/devices" for name in settings.drivers}
        fields = {key: amount(hard[key]) for key in sorted(keys & hard.keys())}
        return Read(fields, scoped=bool(spec.get("scopes") or spec.get("scopeSelector")))

    def operations(self, raw: Json, fields: Fields) -> Sequence[Operation]:
        """One for each field."""
        del raw
        return [put(("spec", "hard", name), value) for name, value in sorted(fields.items())]
