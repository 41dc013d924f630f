"""The whole of a backfill: what is missing, how much it is, reading it, and telling who held what."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property

from collector.attribution import SOURCE as LABELS
from collector.kubernetes.configured import settings_of
from collector.kubernetes.settings import Settings
from collector.prometheus.backfill import Asked, Filled, Progress, Work
from collector.prometheus.connection import Connection
from collector.prometheus.coverage import Span, covered, holes
from collector.prometheus.estimate import Estimate, estimate
from collector.prometheus.holders import SOON_MS, Told, tell_by_labels, untold
from collector.prometheus.kubestate import StateTelling
from collector.prometheus.objects import LabelNames
from collector.prometheus.refusal import Partial, TooMuch
from collector.prometheus.states import StateReader
from quartermaster.config.clusters import ClusterPart, KubernetesPart
from quartermaster.config.model import Configuration
from quartermaster.errors import ConfigurationError, InputError, SourceError
from sql.ledger import Ledger


@dataclass
class Backfilled:
    """What a backfill did: what it read, and the spans of which it told who held what."""

    expected: Estimate
    filled: Filled
    told: list[Told] = field(default_factory=list[Told])


class Backfill:
    """A backfill of one cluster. Raises ConfigurationError where it has no Prometheus."""

    def __init__(self, part: ClusterPart, configuration: Configuration, connection: Connection) -> None:
        settings = part.prometheus
        if settings is None:
            raise _no_prometheus(part.name)
        self._cluster = part.name
        self._connection = connection
        self._asked = Asked(
            part.name, {label.name: label.value for label in settings.match}, settings.node_label
        )
        self._part, self._configuration = part, configuration

    @cached_property
    def _settings(self) -> Settings:
        """What understanding Kubernetes' objects needs, also where Kubernetes itself is not asked."""
        kubernetes = self._part.kubernetes or KubernetesPart()
        return settings_of(self._part.model_copy(update={"kubernetes": kubernetes}), self._configuration)

    def expect(self, ledger: Ledger | None, span: Span) -> Estimate:
        """What is missing in a span, and how much it is; all of it without a ledger. Raises SourceError."""
        known = [] if ledger is None else covered(ledger, self._cluster)
        try:
            return estimate(self._connection, self._asked.match, holes(known, *span))
        except (Partial, TooMuch) as error:
            raise SourceError(
                f"{self._connection.url}: it does not answer as a whole: {error}",
                "see to the server's own troubles, then give the same command again",
            ) from error

    def run(self, ledger: Ledger, span: Span, now_ms: int, progress: Progress) -> Backfilled:
        """Fill what is missing in a span, and tell who held what. What was committed stays, whatever comes.

        Raises SourceError, LedgerError; LedgerBusyError while another backfill works.
        """
        with ledger.exclusive("backfill"):
            expected = self.expect(ledger, span)
            try:
                asked = replace(self._asked, from_start=self._has_states(span))
                if expected.holes and not (expected.metrics or asked.from_start):
                    raise self._nothing()
                work = Work(ledger, self._connection, asked, now_ms, progress)
                work.fill(expected)
            except (Partial, TooMuch) as error:
                raise SourceError(
                    f"{self._connection.url}: it does not answer as a whole: {error}",
                    "see to the server's own troubles, then give the same command again",
                ) from error
            done = Backfilled(expected, work.filled)
            for hole in untold(ledger, self._cluster):
                done.told += self._tell(ledger, hole, now_ms)
            return done

    def _has_states(self, span: Span) -> bool:
        """Whether kube-state-metrics is there, and believed."""
        if self._part.holders == LABELS:
            return False
        return StateReader(self._connection, self._asked.match, LabelNames(self._settings)).there(span)

    def _nothing(self) -> SourceError:
        which = (
            f" with {', '.join(f'{k}={v!r}' for k, v in self._asked.match.items())}"
            if self._asked.match
            else ""
        )
        return SourceError(
            f"{self._connection.url}: it has no metrics of dcgm-exporter{which} in that span",
            "see whether it scrapes dcgm-exporter, keeps metrics for so long, and `match` names labels that they have",
        )

    def _tell(self, ledger: Ledger, span: Span, now_ms: int) -> list[Told]:
        """Tell who held what in a span: by kube-state-metrics from when it is there, by labels before."""
        states = None
        if self._part.holders != LABELS:
            names = LabelNames(self._settings)
            states = StateReader(self._connection, self._asked.match, names).read(span)
        if states is None or not len(states.scrapes_ms):
            return [tell_by_labels(ledger, self._cluster, self._settings.pools, span, now_ms)]
        told: list[Told] = []
        first_ms = int(states.scrapes_ms[0])
        if first_ms - span[0] > SOON_MS:
            before = (span[0], first_ms)
            told.append(tell_by_labels(ledger, self._cluster, self._settings.pools, before, now_ms))
            span = (first_ms, span[1])
        telling = StateTelling(ledger, self._settings, states, span, self._connection.url)
        told.append(telling.tell(now_ms))
        return told


@contextmanager
def backfill_of(configuration: Configuration, cluster: str) -> Generator[Backfill]:
    """A backfill of a cluster of the configuration. Raises InputError, ConfigurationError."""
    parts = {part.name: part for part in configuration.clusters}
    if cluster not in parts:
        raise InputError(f"there is no cluster {cluster!r}", f"the configuration has {', '.join(parts)}")
    settings = parts[cluster].prometheus
    if settings is None:
        raise _no_prometheus(cluster)
    connection = Connection(settings)
    try:
        yield Backfill(parts[cluster], configuration, connection)
    finally:
        connection.close()


def _no_prometheus(cluster: str) -> ConfigurationError:
    return ConfigurationError(
        f"the cluster {cluster} has no Prometheus",
        "add to its part of the configuration: prometheus: {url: http://prometheus:9090}",
    )
