"""Gaps: which spans of a target were not observed, and why; pure. A missing page is a gap, never a zero.

A gap begins at the first visit that failed and ends at the next good page. While it lasts its end is open;
each further
reason and the end are versions of the same gap, with the same id and a higher revision.
"""

from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from collector.targets import Target
from quartermaster.ids import content_id
from quartermaster.records import Gap

TELEMETRY = "telemetry"
REASONS_KEPT = 4

# What a target's own answer does not tell by itself; the fetch's reasons (timeout, refused, status 500 …)
# come beside them.
NOT_AN_EXPORTER = "not an exporter"
HALF_PAGE = "half page"
NOT_UNDERSTOOD = "not understood"
FROZEN = "frozen"
CLOCK_JUMPED = "clock jumped"
OVERLAPPED = "overlapped"
DROPPED = "spool full"
DOWN = "collector down"


@dataclass(frozen=True, slots=True)
class OpenGap:
    """A gap that has not ended: of which nodes, since when, why, and how many versions of it were told
    before."""

    start_ms: int
    reasons: tuple[str, ...]
    nodes: tuple[str, ...]
    revision: int = 0


@dataclass(frozen=True, slots=True)
class Watch:
    """What is known of one target: the nodes its last good page spoke of, and its open gap."""

    target: Target
    source: str
    nodes: tuple[str, ...] = ()
    gap: OpenGap | None = None
    covers: str = TELEMETRY

    def named_nodes(self) -> tuple[str, ...]:
        """Whose observation is missing when the page is: the page's nodes, the configured one, else the
        address's host.

        Never the empty name, which would silence the whole cluster.
        """
        return self.nodes or (self.target.node or urlsplit(self.target.url).hostname or self.target.name,)


Told = tuple[Watch, tuple[Gap, ...]]


def observed(watch: Watch, at_ms: int, nodes: tuple[str, ...]) -> Told:
    """A good page of these nodes came: an open gap ends here."""
    seen = watch if watch.nodes == nodes and watch.gap is None else replace(watch, nodes=nodes, gap=None)
    return seen, ended(watch, at_ms)


def missed(watch: Watch, at_ms: int, reason: str, since_ms: int | None = None) -> Told:
    """A visit gave nothing: a gap begins at `since_ms` (else now), or the open one gets one more reason."""
    start_ms = at_ms if since_ms is None else min(since_ms, at_ms)
    if watch.gap is None:
        gap = OpenGap(start_ms, (reason,), watch.named_nodes())
        return replace(watch, gap=gap), _versions(watch, gap, None)
    before: tuple[Gap, ...] = ()
    if start_ms < watch.gap.start_ms and reason not in watch.gap.reasons:
        before = _versions(watch, OpenGap(start_ms, (reason,), watch.gap.nodes), watch.gap.start_ms)
    if reason in watch.gap.reasons or len(watch.gap.reasons) >= REASONS_KEPT:
        return watch, before
    gap = replace(watch.gap, reasons=(*watch.gap.reasons, reason), revision=watch.gap.revision + 1)
    return replace(watch, gap=gap), before + _versions(watch, gap, None)


def ended(watch: Watch, at_ms: int) -> tuple[Gap, ...]:
    """The last version of the open gap, ended now: at a good page, or because nobody watches the target any
    more."""
    if watch.gap is None:
        return ()
    return _versions(
        watch, replace(watch.gap, revision=watch.gap.revision + 1), max(at_ms, watch.gap.start_ms)
    )


def of_cluster(
    cluster: str, source: str, start_ms: int, end_ms: int, reason: str, *, covers: str = TELEMETRY
) -> Gap:
    """A span in which nothing of the cluster was observed."""
    return _gap(cluster, source, ("", ""), (start_ms, end_ms), reason, covers=covers)


@dataclass(frozen=True, slots=True)
class Clocks:
    """Both clocks at one moment, in milliseconds: the wall's (since the epoch) and the one that never
    jumps."""

    wall_ms: int
    monotonic_ms: int


def jumped(before: Clocks, now: Clocks, tolerance_ms: int = 1000) -> tuple[int, int] | None:
    """The span that a jump of the wall clock leaves unknown, None when it did not jump.

    Forward, or after the machine slept: from where the wall would be to where it is. Backward: the time that
    it tells twice, from where it is to where it was.
    """
    expected_ms = before.wall_ms + now.monotonic_ms - before.monotonic_ms
    if abs(now.wall_ms - expected_ms) <= tolerance_ms:
        return None
    return (expected_ms, now.wall_ms) if now.wall_ms > expected_ms else (now.wall_ms, expected_ms)


def _versions(watch: Watch, gap: OpenGap, end_ms: int | None) -> tuple[Gap, ...]:
    target, span, reason = watch.target, (gap.start_ms, end_ms), ", ".join(gap.reasons)
    return tuple(
        replace(
            _gap(target.cluster, watch.source, (target.name, node), span, reason, covers=watch.covers),
            revision=gap.revision,
        )
        for node in gap.nodes
    )


def _gap(
    cluster: str,
    source: str,
    who: tuple[str, str],
    span: tuple[int, int | None],
    reason: str,
    *,
    covers: str = TELEMETRY,
) -> Gap:
    (target, node), (start_ms, end_ms) = who, span
    gap_id = content_id("gap", cluster, covers, source, node, target, start_ms)
    return Gap(cluster, gap_id, start_ms, end_ms, covers, source, target, node, reason)
