"""Which resource serves a kind: asked of the server once, so that owners of any kind can be looked up."""

from dataclasses import dataclass, field
from urllib.parse import quote

from collector.kubernetes.owners import Reference
from collector.kubernetes.talk import METADATA, Api, Trouble
from collector.kubernetes.values import Json, mapping, objects, text

_DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
Place = tuple[str, bool]  # plural, namespaced


@dataclass
class Kinds:
    """The kinds that a server serves."""

    api: Api
    _places: dict[tuple[str, str, str], Place] = field(default_factory=dict[tuple[str, str, str], Place])
    _unknown: set[tuple[str, str, str]] = field(default_factory=set[tuple[str, str, str]])

    def metadata(self, owner: Reference, namespace: str) -> Json | None:
        """An owner's metadata alone; None where it is gone, may not be read, or is of a kind that nobody serves.

        Raises Trouble where the server is away.
        """
        place = self.place(owner)
        if place is None:
            return None
        plural, namespaced = place
        version = owner.api_version.rpartition("/")[2]
        base = f"/apis/{owner.group}/{version}" if owner.group else f"/api/{version}"
        path = f"{base}/namespaces/{namespace}/{plural}" if namespaced else f"{base}/{plural}"
        try:
            found = self.api.get(f"{path}/{quote(owner.name, safe='')}", accept=METADATA)
        except Trouble as trouble:
            if trouble.kind in {"forbidden", "absent", "invalid"}:
                return None
            raise
        return found if text(mapping(found.get("metadata")).get("uid")) == owner.uid else None

    def place(self, owner: Reference) -> Place | None:
        """Where owners of its kind are served; None where nobody serves them. Raises Trouble, as above."""
        key = (owner.group, owner.api_version.rpartition("/")[2], owner.kind)
        if key not in self._places and key not in self._unknown:
            self._discover()
        if key not in self._places:
            self._unknown.add(key)
        return self._places.get(key)

    def serves(self, group: str, version: str, kind: str) -> bool:
        """Whether such a kind is served. Raises Trouble, as above."""
        if not self._places:
            self._discover()
        return (group, version, kind) in self._places

    def _discover(self) -> None:
        for path in ("/api", "/apis"):
            for group in objects(self.api.get(path, accept=_DISCOVERY).get("items")):
                name = text(mapping(group.get("metadata")).get("name"))
                for version in objects(group.get("versions")):
                    for resource in objects(version.get("resources")):
                        kind = text(mapping(resource.get("responseKind")).get("kind"))
                        place = (text(resource.get("resource")), resource.get("scope") == "Namespaced")
                        self._places[name, text(version.get("version")), kind] = place
