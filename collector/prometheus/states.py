"""Reading what kube-state-metrics said of a span: which pods held GPUs, what the nodes were, when it was silent."""

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from collector.kubernetes.owners import Reference
from collector.prometheus.answer import Floats, Instants, labels_of
from collector.prometheus.chunks import matchers, range_of
from collector.prometheus.connection import Connection
from collector.prometheus.coverage import Span
from collector.prometheus.objects import (
    ALLOCATABLE,
    CAPACITY,
    GPU_RESOURCES,
    READY,
    UNSCHEDULABLE,
    LabelNames,
    Labels,
    PodStory,
    earliest,
    own,
    owner_of,
)
from collector.prometheus.refusal import Partial, TooMuch
from quartermaster.clock import HOUR_MS, MINUTE_MS, SECOND_MS
from quartermaster.errors import SourceError

SOURCE = "kube-state-metrics"
# So much is asked for at once; halved where a server refuses.
_SPAN_MS = 6 * HOUR_MS
# Scrapes further apart than so many of their intervals have one missing between them.
_LATE = 1.75
REQUESTS, INIT_REQUESTS = "kube_pod_container_resource_requests", "kube_pod_init_container_resource_requests"
_GPUS = f'resource=~"{GPU_RESOURCES}"'


@dataclass
class States:
    """What was said, over a span.

    pods       by uid
    nodes      by name: (instant, fact, value), each time that a fact changed, in no order
    shown_ms   by name of the node: the last scrape that showed it
    owners     of (namespace, kind, name)
    """

    pods: dict[str, PodStory] = field(default_factory=dict[str, PodStory])
    nodes: dict[str, list[tuple[int, str, float]]] = field(
        default_factory=dict[str, list[tuple[int, str, float]]]
    )
    shown_ms: dict[str, int] = field(default_factory=dict[str, int])
    node_labels: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    owners: dict[tuple[str, str, str], Reference] = field(
        default_factory=dict[tuple[str, str, str], Reference]
    )
    scrapes_ms: Instants = field(default_factory=lambda: np.array([], np.int64))

    @property
    def interval_ms(self) -> int:
        """The usual time between two scrapes; 0 where there are too few to tell."""
        return int(np.median(np.diff(self.scrapes_ms))) if len(self.scrapes_ms) > 4 else 0

    def silences(self, until_ms: int) -> list[Span]:
        """The spans without a scrape, from the first scrape to `until_ms`."""
        if not len(self.scrapes_ms) or not self.interval_ms:
            return []
        ends = np.append(self.scrapes_ms, until_ms)
        late = np.flatnonzero(np.diff(ends) > self.interval_ms * _LATE)
        return [(int(ends[at]) + self.interval_ms, int(ends[at + 1])) for at in late.tolist()]

    def gone_ms(self, story: PodStory, until_ms: int) -> int | None:
        """The first scrape at which a pod was not there any more; None where it was there to the end."""
        after = story.last_ms + max(self.interval_ms // 2, 1)
        later = self.scrapes_ms[(self.scrapes_ms >= after) & (self.scrapes_ms < until_ms)]
        if len(later) and until_ms - story.last_ms > self.interval_ms * _LATE:
            return int(later[0])
        return None


class StateReader:
    """Reads the states of one cluster, span by span."""

    def __init__(self, connection: Connection, match: Mapping[str, str], names: LabelNames) -> None:
        self._connection = connection
        self._match = matchers(match)
        self._names = names
        self._states = States()
        self._scrapes: list[Instants] = []

    def there(self, span: Span) -> bool:
        """Whether anything was said of nodes with GPUs in a span. Raises SourceError, Partial, TooMuch."""
        return bool(self._connection.label_values("node", self._chosen(CAPACITY, _GPUS), *span))

    def read(self, span: Span) -> States:
        """What was said in a span. Raises SourceError, also where the server has only a part of it."""
        try:
            if not self.there(span):
                return self._states
        except (Partial, TooMuch) as error:
            raise _unreadable(self._connection.url, error) from error
        at_ms, length_ms = span[0], _SPAN_MS
        while at_ms < span[1]:
            until_ms = min(span[1], at_ms + length_ms)
            try:
                self._part(at_ms, until_ms)
            except TooMuch as refused:
                length_ms //= 2
                if length_ms < MINUTE_MS:
                    raise _unreadable(self._connection.url, refused) from refused
                continue
            except Partial as partial:
                raise _unreadable(self._connection.url, partial) from partial
            at_ms = until_ms
        if self._scrapes:
            self._states.scrapes_ms = np.unique(np.concatenate(self._scrapes))
        return self._states

    def _part(self, from_ms: int, until_ms: int) -> None:
        span = (from_ms, until_ms)
        for metric in (REQUESTS, INIT_REQUESTS):
            for labels, at_ms, values in self._series(metric, _GPUS, span):
                self._request(labels, at_ms, values[-1], init=metric == INIT_REQUESTS)
        for metric, more in (
            (CAPACITY, _GPUS),
            (ALLOCATABLE, _GPUS),
            (UNSCHEDULABLE, ""),
            (READY, 'condition="Ready",status="true"'),
        ):
            for labels, at_ms, values in self._series(metric, more, span):
                self._fact(metric, labels, at_ms, values)
        for metric, more, read in self._facts():
            for labels, value in self._last(metric, more, span, ours=True):
                story = self._states.pods.get(own(labels, "uid")[0])
                if story is not None:
                    read(story, labels, value)
        self._phases(span)
        for metric, kind, named in (
            ("kube_replicaset_owner", "ReplicaSet", "replicaset"),
            ("kube_job_owner", "Job", "job_name"),
        ):
            for labels, _ in self._last(metric, "", span):
                self._above(kind, named, labels)
        for labels, _ in self._last("kube_node_labels", "", span):
            node = own(labels, "node")[0]
            self._states.node_labels.setdefault(node, {}).update(self._names.read(labels))

    def _facts(self) -> Iterator[tuple[str, str, Callable[[PodStory, Labels, float], None]]]:
        """What is constant while a pod is there: the metric, which of its series, what it says."""
        yield "kube_pod_owner", "", _owner
        yield "kube_pod_labels", "", self._labels
        for metric, name in (
            ("kube_pod_created", "created_ms"),
            ("kube_pod_status_scheduled_time", "bound_ms"),
            ("kube_pod_start_time", "seen_by_kubelet_ms"),
            ("kube_pod_completion_time", "completed_ms"),
        ):
            yield metric, "", _time(name)
        yield "kube_pod_container_state_started", "", _started
        yield REQUESTS, 'resource=~"cpu|memory"', _more

    def _last(
        self, metric: str, more: str, span: Span, *, ours: bool = False, function: str = "last_over_time"
    ) -> list[tuple[Labels, float]]:
        """The last value of each series in a span, of samples that are in it; `ours`: of pods with GPUs alone."""
        window = f"[{span[1] - span[0]}ms]"
        asked = f"{function}({self._chosen(metric, more)}{window})"
        if ours:
            having = [
                f"group by (uid) (last_over_time({self._chosen(each, _GPUS)}{window}))"
                for each in (REQUESTS, INIT_REQUESTS)
            ]
            asked = f"{asked} and on (uid) ({having[0]} or {having[1]})"
        return self._connection.instant(asked, span[1] - 1)

    def _chosen(self, metric: str, more: str) -> str:
        return f"{metric}{{{f'{more}{self._match}'.lstrip(',')}}}"

    def _series(
        self, metric: str, more: str, span: Span
    ) -> Iterator[tuple[dict[str, str], Instants, Floats]]:
        """The labels, instants and values of each series in a span."""
        answer = self._connection.range(*range_of(self._chosen(metric, more), *span))
        for head, (first, last) in zip(answer.heads, itertools.pairwise(answer.starts.tolist()), strict=True):
            inside = answer.at_ms[first:last] >= span[0]
            at_ms, values = answer.at_ms[first:last][inside], answer.values[first:last][inside]
            if len(at_ms):
                yield labels_of(head), at_ms, values

    def _request(self, labels: Labels, at_ms: Instants, value: float, *, init: bool) -> None:
        uid, namespace, name, node = own(labels, "uid", "namespace", "pod", "node")
        if not uid:
            return
        self._scrapes.append(at_ms)
        first_ms, last_ms = int(at_ms[0]), int(at_ms[-1])
        story = self._states.pods.get(uid)
        if story is None:
            story = self._states.pods[uid] = PodStory(uid, namespace, name, node, first_ms, last_ms)
        story.first_ms, story.last_ms = min(story.first_ms, first_ms), max(story.last_ms, last_ms)
        story.node = node or story.node
        story.request(labels, value, init=init)

    def _fact(self, metric: str, labels: Labels, at_ms: Instants, values: Floats) -> None:
        """What is said of a node, at each scrape at which it is something else than before."""
        node = own(labels, "node")[0]
        if metric == CAPACITY:
            self._scrapes.append(at_ms)
            self._states.shown_ms[node] = max(int(at_ms[-1]), self._states.shown_ms.get(node, 0))
        fact = f"{metric}/{labels['resource']}" if labels.get("resource") else metric
        changed = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]])).tolist()
        theirs = self._states.nodes.setdefault(node, [])
        theirs += [(int(at_ms[place]), fact, float(values[place])) for place in changed]

    def _labels(self, story: PodStory, labels: Labels, value: float) -> None:
        del value
        story.labels.update(self._names.read(labels))

    def _phases(self, span: Span) -> None:
        """When a phase turned terminal, of the pods whose completion is not told."""
        more = 'phase=~"Failed|Succeeded"'
        ended = self._last("kube_pod_status_phase", more, span, ours=True, function="max_over_time")
        for uid in sorted({own(labels, "uid")[0] for labels, value in ended if value == 1}):
            story = self._states.pods.get(uid)
            if story is None:
                continue
            story.over = True
            if story.completed_ms is not None or story.phase_ended_ms is not None:
                continue
            mine = f"{more}{matchers({'uid': uid})}"
            for _, at_ms, values in self._series("kube_pod_status_phase", mine, span):
                story.phase_ended_ms = earliest((story.phase_ended_ms, *at_ms[values == 1].tolist()))

    def _above(self, kind: str, named: str, labels: Labels) -> None:
        above = owner_of(labels.get("owner_kind", ""), labels.get("owner_name", ""))
        if above is not None:
            namespace, name = own(labels, "namespace", named)
            self._states.owners[namespace, kind, name] = above


def _owner(story: PodStory, labels: Labels, value: float) -> None:
    del value
    if labels.get("owner_is_controller", "true") == "true":
        story.owner = owner_of(labels.get("owner_kind", ""), labels.get("owner_name", ""))


def _more(story: PodStory, labels: Labels, value: float) -> None:
    story.request(labels, value, init=False)


def _started(story: PodStory, labels: Labels, value: float) -> None:
    del labels
    story.started_ms = earliest((story.started_ms, _ms(value)))


def _time(name: str) -> Callable[[PodStory, Labels, float], None]:
    def read(story: PodStory, labels: Labels, value: float) -> None:
        del labels
        setattr(story, name, _ms(value))

    return read


def _ms(seconds: float) -> int | None:
    return int(seconds * SECOND_MS) if 0 < seconds < 1e11 else None


def _unreadable(url: str, error: Exception) -> SourceError:
    return SourceError(
        f"{url}: what kube-state-metrics said is not to be had as a whole: {error}",
        "see to the server, then give the same command again: telemetry that was read is kept",
    )
