"""What each part must be allowed on a cluster, as the code itself has it; pure."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from collector.kubernetes.resources import RESOURCES, Resource
from enforcer.act.way import RunWay, ways_of
from enforcer.live.resources import needed, watched_in
from quartermaster.config.acting import ActingPart

COLLECTOR, ENFORCER = "the collector", "the enforcer"


@dataclass(frozen=True)
class Right:
    """A verb on a resource that a part needs; `without` is what is lost else, `needed` whether that is all of it."""

    part: str
    verb: str
    group: str
    resource: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    without: str = ""
    needed: bool = True

    @property
    def words(self) -> str:
        """`list pods.group/eviction in namespace`."""
        plural = f"{self.resource}.{self.group}" if self.group else self.resource
        below = f"/{self.subresource}" if self.subresource else ""
        return f"{self.verb} {plural}{below}" + (f" in {self.namespace}" if self.namespace else "")

    @property
    def review(self) -> dict[str, object]:
        """The SelfSubjectAccessReview that asks for it."""
        told = {
            "verb": self.verb,
            "group": self.group,
            "resource": self.resource,
            "subresource": self.subresource,
            "namespace": self.namespace,
            "name": self.name,
        }
        return {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": {key: value for key, value in told.items() if value}},
        }


def collectors(groups: Iterable[str]) -> Iterator[Right]:
    """What the collector reads, of the API groups that are served."""
    yield from _read(COLLECTOR, RESOURCES, set(groups), lambda each: bool(each.covers))


def planners(groups: Iterable[str], namespaces: tuple[str, ...]) -> Iterator[Right]:
    """What the enforcer reads to plan by the cluster itself; in namespaces that agreed, in these alone."""
    yield from _read(ENFORCER, watched_in(namespaces), set(groups), needed)


def actors(groups: Iterable[str], namespaces: tuple[str, ...], acting: ActingPart) -> Iterator[Right]:
    """What the enforcer does: owners stopped and started, pods evicted, its Lease, the kill switch looked at."""
    served, home = set(groups), acting.namespace
    for namespace in namespaces or ("",):
        for kind, way in sorted(ways_of(acting.kinds).items()):
            if way.group in served:
                lost = f"no {kind} is stopped"
                verb = "get" if isinstance(way, RunWay) else "patch"  # of it a run is stopped
                yield Right(ENFORCER, verb, way.group, way.plural, namespace, without=lost, needed=False)
        yield Right(ENFORCER, "patch", "", "pods", namespace, without="no pod is evicted")
        yield Right(
            ENFORCER, "create", "", "pods", namespace, subresource="eviction", without="no pod is evicted"
        )
        yield Right(
            ENFORCER, "create", "", "events", namespace, without="no Event warns its owner", needed=False
        )
        if acting.lend:
            lost = "no quota is raised"
            yield Right(ENFORCER, "patch", "", "resourcequotas", namespace, without=lost, needed=False)
    lease = "quartermaster-enforcer"
    group = "coordination.k8s.io"
    yield Right(ENFORCER, "create", group, "leases", home, without="nothing is done: nobody can lead")
    for verb in ("get", "update"):
        yield Right(ENFORCER, verb, group, "leases", home, lease, without="nothing is done: nobody can lead")
    freeze = "quartermaster-freeze"
    yield Right(
        ENFORCER, "get", "", "configmaps", home, freeze, without="nothing is done: the switch is not seen"
    )


def _read(
    part: str, resources: Iterable[Resource], served: set[str], needs: Callable[[Resource], bool]
) -> Iterator[Right]:
    seen: set[tuple[str, str, str]] = set()
    for each in resources:
        key = (each.group, each.plural, each.namespace)
        if key in seen or each.group not in served:
            continue
        seen.add(key)
        for verb in ("list", "watch"):
            yield Right(
                part, verb, each.group, each.plural, each.namespace, without=each.without, needed=needs(each)
            )
