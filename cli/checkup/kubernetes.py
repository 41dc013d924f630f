"""A cluster's API server: whether it answers, by which clock, and what it lets each part do."""

from collections.abc import Iterable, Iterator

from cli.checkup.line import Line, clock_line, ok, trouble, warning
from cli.checkup.rights import ENFORCER, Right, actors, collectors, planners
from collector.kubernetes.clocks import APART_MS
from collector.kubernetes.settings import SOURCE
from collector.kubernetes.talk import Api, Trouble, client_of
from collector.kubernetes.values import mapping, objects, text
from enforcer.act.wire import Silence, Wire
from quartermaster.config.clusters import ClusterPart, KubernetesPart
from quartermaster.config.model import Configuration
from quartermaster.errors import SourceError
from quartermaster.text import visible

_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


def kubernetes(
    part: ClusterPart, settings: KubernetesPart, configuration: Configuration, of: str = ""
) -> Iterator[Line]:
    """What it answers, and allows to all parts or to the one (`of`) whose account this is.

    Raises ConfigurationError, SourceError where it does not answer.
    """
    subject = f"Kubernetes of {part.name}"
    client = client_of(settings, part.name, 2)
    api, wire = Api(client), Wire(client)
    try:
        version = text(api.get("/version").get("gitVersion"), 40)
        groups = {"", *_groups(api)}
        yield ok(subject, f"its API server answers: {visible(version) or 'a version that it does not say'}")
        yield from clock_line(subject, "API server", api.clock.bounds(), APART_MS)
        acting = configuration.policy.acting
        wanted = list(collectors(groups)) if part.holders == SOURCE else []
        if acting.mode != "shadow":
            wanted += [*planners(groups, settings.namespaces), *actors(groups, settings.namespaces, acting)]
        yield from _allowed(subject, wire, [each for each in wanted if of in {"", each.part}])
    except (Trouble, Silence) as error:
        raise SourceError(
            f"{part.name}: its API server does not answer as it should: {visible(str(error))}",
            "see to its address, its certificate and the credentials: clusters.kubernetes, kubectl version",
        ) from error
    finally:
        api.close()


def _groups(api: Api) -> Iterable[str]:
    """The names of the API groups that are served. Raises Trouble."""
    return [text(each.get("name")) for each in objects(api.get("/apis").get("groups"))]


def _allowed(subject: str, wire: Wire, wanted: Iterable[Right]) -> Iterator[Line]:
    """A line for what is refused, and one a part for what is allowed. Raises Silence."""
    granted: dict[str, int] = {}
    for right in wanted:
        reply = wire.send("POST", _REVIEWS, right.review)
        if mapping(reply.body.get("status")).get("allowed") is True:
            granted[right.part] = granted.get(right.part, 0) + 1
            continue
        say = trouble if right.needed else warning
        role = "enforcer-*.yaml" if right.part == ENFORCER else "collector.yaml"
        yield say(
            subject,
            f"{right.part} may not {right.words}: {right.without}",
            f"give its account the role of deploy/rbac/{role}",
        )
    for part, count in granted.items():
        yield ok(subject, f"{part} has {count} rights that it needs, as this account")
