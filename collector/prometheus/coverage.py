"""Coverage: which spans of a cluster's telemetry the ledger has already, and from where."""

from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from collector.prometheus.silence import SOURCE
from quartermaster.ids import content_id
from sql.ledger import Ledger

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Covered:
    """A span that is covered; by what was read from a Prometheus, or `live`. An end of None: it goes on."""

    source: str
    start_ms: int
    end_ms: int | None
    target_id: int | None = None
    revision: int | None = None


def covered(ledger: Ledger, cluster: str) -> list[Covered]:
    """What is covered of a cluster, in order. Raises LedgerError."""
    return [Covered(**row) for row in rows(ledger, "covered", cluster=cluster)]


def holes(known: Iterable[Covered], from_ms: int, until_ms: int) -> list[Span]:
    """The spans of [from, until) that nothing covers, in order."""
    found: list[Span] = []
    at_ms = from_ms
    for span in sorted(known, key=lambda span: span.start_ms):
        if span.start_ms > at_ms:
            found.append((at_ms, min(span.start_ms, until_ms)))
        at_ms = max(at_ms, until_ms if span.end_ms is None else span.end_ms)
        if at_ms >= until_ms:
            break
    if at_ms < until_ms:
        found.append((at_ms, until_ms))
    return [(start, end) for start, end in found if start < end]


@dataclass
class Reach:
    """How far a hole is filled: one version of the table `targets` that grows with each commit."""

    cluster: str
    target: str
    start_ms: int
    revision: int = -1

    @classmethod
    def at(cls, cluster: str, target: str, from_ms: int, known: Iterable[Covered]) -> "Reach":
        """One that goes on where an earlier one of the same server ended, or begins."""
        target_id = content_id("target", cluster, target)
        for span in known:
            if span.source == SOURCE and span.target_id == target_id and span.end_ms == from_ms:
                return cls(cluster, target, span.start_ms, span.revision or 0)
        return cls(cluster, target, from_ms)

    def until(self, end_ms: int, interval_ms: int) -> dict[str, object]:
        """The row that says that it reaches `end_ms` now."""
        self.revision += 1
        return {
            "cluster": self.cluster,
            "target_id": content_id("target", self.cluster, self.target),
            "start_at": self.start_ms,
            "end_at": end_ms,
            "source": SOURCE,
            "target": self.target,
            "node": "",
            "interval_ms": interval_ms,
            "revision": self.revision,
        }


def rows(ledger: Ledger, name: str, **parameters: object) -> list[dict[str, Any]]:
    """The rows of a named query of backfill's. Raises LedgerError."""
    text = (files("sql") / "queries" / "backfill" / f"{name}.sql").read_text(encoding="utf-8")
    return ledger.query(text, parameters).to_dicts()
