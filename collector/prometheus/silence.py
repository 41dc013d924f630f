"""Silence: spans in which a node had no page, as gaps; pure. A page that is missing is a gap, never a zero."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from collector import gaps
from collector.prometheus.answer import Instants
from quartermaster.clock import DAY_MS
from quartermaster.ids import content_id
from quartermaster.records import Gap

SOURCE = "prometheus"
NO_SAMPLES = "no samples"
# Pages further apart than so many of their intervals have one missing between them.
_LATE = 1.75


@dataclass(frozen=True, slots=True)
class Pages:
    """A node's good pages in a span, in order, and frozen stretches: (last change, the next page that moved).

    `at_ms` may begin before the span: then the first of them in it is known to follow.
    """

    at_ms: Instants
    interval_ms: int
    stretches: tuple[tuple[int, int | None], ...] = ()


class Silence:
    """What is silent of one cluster, from span to span: a gap that reaches a span's end goes on in the next."""

    def __init__(self, cluster: str, target: str, known: Iterable[Gap] = ()) -> None:
        """`known` are the gaps that reach the end of what was read before."""
        self._cluster, self._target = cluster, target
        self._open = {gap.node: gap for gap in known}
        self._interval_ms: dict[str, int] = {}

    def span(self, pages: Mapping[str, Pages], from_ms: int, until_ms: int) -> list[Gap]:
        """The gaps of [from, until) to append: new ones, and those that go on or end."""
        told: list[Gap] = []
        for node in sorted(pages.keys() | self._open.keys()):
            seen = pages.get(node)
            told += (
                self._node(node, seen, from_ms, until_ms) if seen is not None else self._away(node, until_ms)
            )
        return told

    def forget(self) -> None:
        """What comes next does not follow on what was before."""
        self._open.clear()

    def _away(self, node: str, until_ms: int) -> list[Gap]:
        """No page at all: the gap goes on, for as long as a node outlives its last page."""
        gap = self._open[node]
        if until_ms - gap.start_at > DAY_MS:
            del self._open[node]
            return []
        return [self._reach(gap, until_ms)]

    def _node(self, node: str, seen: Pages, from_ms: int, until_ms: int) -> list[Gap]:
        told: list[Gap] = []
        before = self._open.pop(node, None)
        inside = seen.at_ms[seen.at_ms >= from_ms]
        if before is not None:
            # The page that ends it, or the span's end: `_reach` keeps it open then.
            ended_ms = int(inside[0]) if len(inside) else until_ms
            told.append(self._reach(before, ended_ms) if not len(inside) else _until(before, ended_ms))
        for start_ms, end_ms, why in self._holes(node, seen, from_ms, until_ms):
            if before is not None and start_ms <= max(before.start_at, from_ms):
                continue
            gap = self._gap(node, start_ms, end_ms, why)
            told.append(gap)
            if end_ms == until_ms:
                self._open[node] = gap
        return told

    def _holes(self, node: str, seen: Pages, from_ms: int, until_ms: int) -> list[tuple[int, int, str]]:
        interval_ms = seen.interval_ms or self._interval_ms.get(node, 0)
        self._interval_ms[node] = interval_ms
        found = [
            (start_ms, until_ms if end_ms is None else end_ms, gaps.FROZEN)
            for start_ms, end_ms in seen.stretches
            if end_ms is None or end_ms > from_ms
        ]
        if interval_ms:
            ends = np.append(seen.at_ms, until_ms)
            late = np.flatnonzero(np.diff(ends) > interval_ms * _LATE)
            for place in late.tolist():
                start_ms, end_ms = int(ends[place]) + interval_ms, int(ends[place + 1])
                within = any(start <= start_ms and end_ms <= end for start, end, _ in found)
                if end_ms > from_ms and not within:
                    found.append((start_ms, end_ms, NO_SAMPLES))
        return sorted(found)

    def _reach(self, gap: Gap, until_ms: int) -> Gap:
        longer = _until(gap, until_ms)
        self._open[gap.node] = longer
        return longer

    def _gap(self, node: str, start_ms: int, end_ms: int, reason: str) -> Gap:
        gap_id = content_id("gap", self._cluster, gaps.TELEMETRY, SOURCE, node, self._target, start_ms)
        return Gap(
            self._cluster, gap_id, start_ms, end_ms, gaps.TELEMETRY, SOURCE, self._target, node, reason
        )


def _until(gap: Gap, end_ms: int) -> Gap:
    return replace(gap, end_at=end_ms, revision=gap.revision + 1)
