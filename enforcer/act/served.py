"""Where objects are: the paths of owners on a server, which may serve an older version of a kind."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import quote

from collector.kubernetes.values import objects
from enforcer.act.hands import Hands
from enforcer.act.way import INSTEAD, QUOTAS, WAYS, WITHOUT_A_WAY, Place, RunWay, Way, Ways


class NoWay(Exception):  # noqa: N818  it is always caught and acted on
    """A kind has no way down, or the server does not serve it: in words."""


@dataclass
class Served:
    """The kinds with a way, as one server serves them; asked for once each."""

    hands: Hands
    ways: Ways = field(default_factory=lambda: WAYS)
    namespaces: tuple[str, ...] = ()  # that may be looked through; none: all
    _versions: dict[str, str] = field(default_factory=dict[str, str])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def way(self, kind: str) -> Way:
        """How owners of the kind are stopped. Raises NoWay."""
        way = INSTEAD.get(kind) or self.ways.get(kind)
        if way is None:
            raise NoWay(WITHOUT_A_WAY.get(kind, f"no way is known to stop a {kind} and to start it again"))
        return way

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of all that is patched to stop something."""
        owners = (kind for kind, way in self.ways.items() if not isinstance(way, RunWay))
        return (*owners, *INSTEAD)

    def everywhere(self, place: Callable[[str], str]) -> tuple[str, ...]:
        """Where all that may be looked through is; `place` says it of a namespace, "" for all of them."""
        return tuple(map(place, self.namespaces)) if self.namespaces else (place(""),)

    def serves(self, kind: str) -> bool:
        """Whether the server knows the kind. Raises Silence where it does not say."""
        try:
            return bool(self._newest(kind, self.way(kind)))
        except NoWay:
            return False

    def collection(self, kind: str, namespace: str = "") -> str:
        """Where all objects of the kind are, of a namespace or of all. Raises NoWay, or Silence."""
        place = QUOTAS.get(kind) or self.way(kind)
        version = self._version(kind, place)
        base = f"/apis/{place.group}/{version}" if place.group else f"/api/{version}"
        return (
            f"{base}/namespaces/{quote(namespace, safe='')}/{place.plural}"
            if namespace
            else f"{base}/{place.plural}"
        )

    def path(self, kind: str, namespace: str, name: str) -> str:
        """Where an object is. Raises NoWay, or Silence where the server does not say."""
        return f"{self.collection(kind, namespace)}/{quote(name, safe='')}"

    def _version(self, kind: str, place: Place) -> str:
        return place.versions[0] if len(place.versions) == 1 else self._newest(kind, place)

    def _newest(self, kind: str, place: Place) -> str:
        with self._lock:
            known = self._versions.get(kind)
            if known is None:
                known = self._versions[kind] = self._ask(kind, place)
            return known

    def _ask(self, kind: str, place: Place) -> str:
        for version in place.versions:
            found = self.hands.look(f"/apis/{place.group}/{version}")
            if found and any(each.get("name") == place.plural for each in objects(found.get("resources"))):
                return version
        raise NoWay(f"the server serves no {kind} of {place.group}, in no version that is known")
