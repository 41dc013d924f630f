"""A look at a cluster for its first configuration: GPU models, namespaces with GPUs, dcgm-exporters."""

from collections.abc import Iterable, Iterator

from collector.kubernetes.nodes import read_node
from collector.kubernetes.pods import read_pod
from collector.kubernetes.settings import Settings
from collector.kubernetes.talk import Api
from collector.kubernetes.values import Json, mapping, objects, text, texts, whole
from quartermaster.config.draft import Exporters, Found

_PAGE = "500"
_EXPORTER, _PORT = "dcgm-exporter", 9400


def look(api: Api) -> Found:
    """What a cluster has. Raises Trouble."""
    settings = Settings("survey", telemetry=False)
    nodes, pods = (list(_all(api, f"/api/v1/{plural}")) for plural in ("nodes", "pods"))
    services = list(_all(api, "/api/v1/services"))
    return Found(
        frozenset(_models(nodes, settings)),
        frozenset(pod.namespace for pod in (read_pod(raw, settings) for raw in pods) if pod is not None),
        exporters(pods, services),
    )


def exporters(pods: Iterable[Json], services: Iterable[Json]) -> Exporters:
    """How dcgm-exporters are found: by a headless service's SRV records, which name every pod, else by their pods'
    present addresses."""
    names = tuple(sorted(_headless(services)))
    return Exporters(dns_srv=names) if names else Exporters(targets=tuple(sorted(_addresses(pods))))


def _models(nodes: Iterable[Json], settings: Settings) -> Iterator[str]:
    machines = (read_node(raw, settings) for raw in nodes)
    return (each.model for each in machines if each is not None and each.gpus and each.model)


def _headless(services: Iterable[Json]) -> Iterator[str]:
    for each in services:
        metadata, spec = mapping(each.get("metadata")), mapping(each.get("spec"))
        if spec.get("clusterIP") != "None" or not _is_exporter(metadata):
            continue
        for port in objects(spec.get("ports")):
            name, namespace = text(metadata.get("name")), text(metadata.get("namespace"))
            if text(port.get("name")):
                yield f"_{text(port.get('name'))}._tcp.{name}.{namespace}.svc"


def _addresses(pods: Iterable[Json]) -> Iterator[str]:
    for each in pods:
        address = text(mapping(each.get("status")).get("podIP"), 45)
        if address and _is_exporter(mapping(each.get("metadata"))):
            host = f"[{address}]" if ":" in address else address
            yield f"http://{host}:{_port(each)}/metrics"


def _port(pod: Json) -> int:
    """The port that is called metrics, else the exporter's own."""
    found = (
        whole(port.get("containerPort"))
        for container in objects(mapping(pod.get("spec")).get("containers"))
        for port in objects(container.get("ports"))
        if text(port.get("name")) in {"metrics", "http-metrics"}
    )
    return next(found, 0) or _PORT


def _is_exporter(metadata: Json) -> bool:
    labels = texts(metadata.get("labels"))
    return _EXPORTER in (labels.get("app.kubernetes.io/name") or labels.get("app") or "")


def _all(api: Api, path: str) -> Iterator[Json]:
    """Every object of a list, page by page. Raises Trouble."""
    more = ""
    while True:
        page = api.get(path, {"limit": _PAGE} | ({"continue": more} if more else {}))
        yield from objects(page.get("items"))
        more = text(mapping(page.get("metadata")).get("continue"), 10_000)
        if not more:
            return
