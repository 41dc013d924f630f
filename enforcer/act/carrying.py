"""What on a cluster carries annotations of ours: owners of every kind that has a way, and pods."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import quote

from collector.kubernetes.owners import Reference
from collector.kubernetes.values import Json, mapping, objects, text
from enforcer.act.doing import Doing
from enforcer.act.effects import How, Operation, Patch, pointer
from enforcer.act.grip import workload_of
from enforcer.act.hands import pod_path
from enforcer.act.served import NoWay
from enforcer.act.wire import Silence

POD = "Pod"
_PAGE = "500"


@dataclass(frozen=True, slots=True)
class Carrier:
    """An object, its kind, and where it is."""

    kind: str
    path: str
    object: Json
    workload: Reference  # that it stands for

    @property
    def title(self) -> str:
        """`Kind/namespace/name` of the workload."""
        namespace = text(mapping(self.object.get("metadata")).get("namespace"))
        return f"{self.workload.kind}/{namespace}/{self.workload.name}"


@dataclass(frozen=True, slots=True)
class Carriers:
    """Those that were found, and for each kind that could not be looked through why not."""

    found: tuple[Carrier, ...]
    unseen: tuple[str, ...] = ()


def carrying(doing: Doing, keys: Collection[str], kinds: Collection[str] = ()) -> Carriers:
    """All objects of these kinds (none named: owners and pods) with any of these annotations, wherever it may look."""
    kinds = kinds or (*doing.served.kinds, POD)
    looked = doing.crew.each(lambda kind: _of_kind(doing, kind, keys), kinds)
    return Carriers(
        tuple(each for found, _ in looked for each in found), tuple(words for _, words in looked if words)
    )


def take_off(doing: Doing, carriers: Carriers, keys: Collection[str]) -> tuple[str, ...]:
    """Take these annotations off; for each object of which they could not be taken why not."""
    told = doing.crew.each(lambda each: _off(doing, each, keys), carriers.found)
    return tuple(words for words in told if words)


def _of_kind(doing: Doing, kind: str, keys: Collection[str]) -> tuple[list[Carrier], str]:
    found: list[Carrier] = []
    try:
        for page in _pages(doing, _places(doing, kind)):
            for each in objects(page.get("items")):
                metadata = mapping(each.get("metadata"))
                if not keys & mapping(metadata.get("annotations")).keys():
                    continue
                namespace, name = text(metadata.get("namespace")), text(metadata.get("name"))
                path = pod_path(namespace, name) if kind == POD else doing.served.path(kind, namespace, name)
                found.append(Carrier(kind, path, each, workload_of(doing.served, kind, each)))
    except NoWay:
        return [], ""  # the server does not know the kind
    except Silence as silence:
        return found, f"{kind}: {silence}"
    return found, ""


def _places(doing: Doing, kind: str) -> tuple[str, ...]:
    served = doing.served
    if kind == POD:
        return served.everywhere(lambda each: f"/api/v1/namespaces/{each}/pods" if each else "/api/v1/pods")
    return served.everywhere(lambda each: served.collection(kind, each))


def _pages(doing: Doing, places: Iterable[str]) -> Iterator[Json]:
    for base in places:
        page = doing.hands.look(f"{base}?limit={_PAGE}")
        while page is not None:
            yield page
            token = text(mapping(page.get("metadata")).get("continue"), 16_384)
            more = f"{base}?limit={_PAGE}&continue={quote(token, safe='')}"
            page = doing.hands.look(more) if token else None


def _off(doing: Doing, carrier: Carrier, keys: Collection[str]) -> str:
    metadata = mapping(carrier.object.get("metadata"))
    for key in sorted(keys & mapping(metadata.get("annotations")).keys()):
        off = Operation("remove", pointer(("metadata", "annotations", key)))
        came = doing.hands.do(Patch(carrier.path, text(metadata.get("uid")), "", (off,), off), lambda: "")
        if came.how not in {How.HAPPENED, How.GONE}:
            return f"{carrier.title}: {came.words}"
    return ""
