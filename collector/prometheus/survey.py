"""A look at a Prometheus for a first configuration: GPU models, namespaces with GPUs, exporters."""

import re
from collections.abc import Iterable, Mapping

from collector.prometheus.connection import Connection
from quartermaster.config.draft import Exporters, Found
from quartermaster.config.units import is_web_address

_ASKED = 'group by (instance, modelName, namespace, exported_namespace, pod, exported_pod) ({__name__=~"%s"})'
_SIGNS = "DCGM_FI_DEV_GPU_UTIL|DCGM_FI_PROF_GR_ENGINE_ACTIVE|DCGM_FI_DEV_POWER_USAGE"
_INSTANCE = re.compile(r"[^\s/@?#]+:\d{1,5}")


def look(connection: Connection, now_ms: int) -> Found:
    """What it has of dcgm-exporter now. Raises TooMuch, Partial, SourceError."""
    return understood(labels for labels, _ in connection.instant(_ASKED % _SIGNS, now_ms))


def understood(series: Iterable[Mapping[str, str]]) -> Found:
    """The same of the labels of series. A pod's namespace is `exported_namespace` where scrapes have their own."""
    told = list(series)
    instances = {each.get("instance", "") for each in told}
    addresses = (f"http://{each}/metrics" for each in instances if _INSTANCE.fullmatch(each))
    return Found(
        frozenset(each["modelName"] for each in told if each.get("modelName")),
        frozenset(filter(None, map(_namespace, told))),
        Exporters(targets=tuple(sorted(filter(is_web_address, addresses)))),
    )


def _namespace(labels: Mapping[str, str]) -> str:
    if any("exported_" + name in labels for name in ("namespace", "pod")):
        return labels.get("exported_namespace", "")
    return labels.get("namespace", "") if labels.get("pod") else ""
