"""A cluster's Prometheus: whether it answers, has dcgm-exporter's metrics, and by which clock."""

from collections.abc import Iterator

from cli.checkup.line import Line, clock_line, ok, warning
from collector.kubernetes.clocks import APART_MS
from collector.prometheus.connection import Connection
from collector.prometheus.refusal import Partial, TooMuch
from quartermaster.clock import now_ms
from quartermaster.config.clusters import ClusterPart
from quartermaster.config.prometheus import PrometheusPart
from quartermaster.errors import SourceError

_SIGNS = "DCGM_FI_DEV_GPU_UTIL|DCGM_FI_PROF_GR_ENGINE_ACTIVE|DCGM_FI_DEV_POWER_USAGE"


def prometheus(part: ClusterPart, settings: PrometheusPart) -> Iterator[Line]:
    """What it answers. Raises SourceError where it does not, ConfigurationError for unusable secrets."""
    subject = f"Prometheus of {part.name}"
    labels = "".join(f',{each.name}="{_escaped(each.value)}"' for each in settings.match)
    connection = Connection(settings, sleep=lambda _: None)
    try:
        series = connection.instant(f'count({{__name__=~"{_SIGNS}"{labels}}})', now_ms())
    except (Partial, TooMuch) as error:
        raise SourceError(
            f"{connection.url}: it does not answer as a whole: {error}", "see to the server's own troubles"
        ) from error
    finally:
        connection.close()
    yield ok(subject, f"{connection.url} answers")
    yield from clock_line(subject, connection.url, connection.clock.bounds(), APART_MS)
    if series and series[0][1] > 0:
        yield ok(subject, f"it has {series[0][1]:.0f} series of dcgm-exporter now")
        return
    yield warning(
        subject,
        "it has no series of dcgm-exporter now",
        "see whether it scrapes dcgm-exporter, and whether `match` names labels that they have",
    )


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
