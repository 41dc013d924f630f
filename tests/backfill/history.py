"""A Prometheus' history for a test: pages of a simulated cluster as the series that scraping them makes."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from bench import remotewrite
from collector.dcgm.metrics import NUMBER_BY_NAME
from collector.exposition.parse import Parser
from quartermaster.clock import MINUTE_MS
from simulator.scenario import demo
from simulator.simulation import ClusterSimulation

STALE = float(np.array([0x7FF0000000000002], np.uint64).view(np.float64)[0])  # Prometheus' staleness marker
METRICS = frozenset(NUMBER_BY_NAME)
Labels = Mapping[str, str]
Key = tuple[tuple[str, str], ...]


@dataclass
class Scraper:
    """What a Prometheus stores of pages: a series a line, and a staleness marker where a line is no more."""

    series: dict[Key, tuple[list[int], list[float]]] = field(default_factory=dict)
    _last: dict[object, set[Key]] = field(default_factory=dict)
    _parsers: dict[object, Parser] = field(default_factory=dict)

    def page(
        self, target: Labels, page: bytes | None, at_ms: int, *, honor_labels: bool = True, source: str = ""
    ) -> None:
        """A scrape of a target (its labels); None: it did not answer."""
        key = (source, tuple(sorted(target.items())))
        found: set[Key] = set()
        if page is not None:
            parser = self._parsers.setdefault(key, Parser())
            for sample in parser.parse(page).samples():
                if sample.name in METRICS:
                    labels = _with_target(sample.labels, target, honor_labels=honor_labels)
                    found.add(self.add({"__name__": sample.name, **labels}, at_ms, sample.value))
        for gone in self._last.get(key, set()) - found:
            self.add(dict(gone), at_ms, STALE)
        self._last[key] = found

    def add(self, labels: Labels, at_ms: int, value: float) -> Key:
        """A sample of one series."""
        key = tuple(sorted((name, text) for name, text in labels.items() if text))
        at, values = self.series.setdefault(key, ([], []))
        if not at or at[-1] < at_ms:
            at.append(at_ms)
            values.append(value)
        return key

    def send(self, url: str, step_ms: int = 30 * MINUTE_MS) -> None:
        """Write everything to a Prometheus, in order of time."""
        columns = {key: (np.array(at, np.int64), np.array(v)) for key, (at, v) in self.series.items()}
        first = min(int(at[0]) for at, _ in columns.values())
        last = max(int(at[-1]) for at, _ in columns.values())
        for from_ms in range(first, last + 1, step_ms):
            many = [
                remotewrite.series(dict(key), at[inside], values[inside])
                for key, (at, values) in columns.items()
                if (inside := (at >= from_ms) & (at < from_ms + step_ms)).any()
            ]
            if many:
                remotewrite.send(url, many)


def _with_target(labels: Labels, target: Labels, *, honor_labels: bool) -> dict[str, str]:
    """The labels as Prometheus stores them: with honor_labels the page's win, else they are `exported_…`."""
    if honor_labels:
        return {**target, **{name: text for name, text in labels.items() if text}}
    clash = {name for name in labels if name in target}
    return {
        **{f"exported_{name}" if name in clash else name: text for name, text in labels.items()},
        **target,
    }


def target(node: str, job: str = "dcgm-exporter") -> dict[str, str]:
    """The labels of an exporter as a ServiceMonitor gives them."""
    return {
        "job": job,
        "instance": f"{node}:9400",
        "namespace": "gpu-monitoring",
        "pod": f"dcgm-exporter-{node}",
        "container": "exporter",
    }


def bare(node: str, job: str = "dcgm-exporter") -> dict[str, str]:
    """The labels of an exporter as a plain scrape configuration gives them."""
    return {"job": job, "instance": f"{node}:9400"}


def simulated(seed: int, start_ms: int, labels: str = "") -> ClusterSimulation:
    """A small simulated cluster with a day of work."""
    simulation = demo(seed, start_ms, start_ms + 24 * 60 * MINUTE_MS, quick=True)
    if labels:
        simulation.speak("*", labels)
    return simulation


def live_through(
    simulation: ClusterSimulation,
    times_ms: Iterable[int],
    see: Callable[[str, bytes | None, int], None],
    nodes: Iterable[str] | None = None,
) -> None:
    """Let the cluster live, and show each node's page at each instant."""
    shown = tuple(nodes) if nodes is not None else tuple(simulation.nodes)
    for at_ms in times_ms:
        simulation.advance(at_ms)
        for node in shown:
            see(node, simulation.page(node, at_ms), at_ms)
