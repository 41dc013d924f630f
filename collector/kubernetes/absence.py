"""Absence: from when to when a cluster's objects were not observed, as gaps and watermarks; pure."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from collector.kubernetes.settings import SOURCE
from quartermaster.ids import content_id
from quartermaster.records import Gap, Watermark

FIRST, AWAY, MISSED = "no full picture yet", "away", "changes missed"


@dataclass(frozen=True, slots=True)
class Standing:
    """How the watches of one kind of knowledge stand: all before `complete_ms` is known (None: nothing yet).

    `relists` are spans in which changes were missed for good: a full list came only after them.
    """

    complete_ms: int | None
    relists: tuple[tuple[int, int], ...] = ()
    reason: str = ""


class Absence:
    """Gaps of one source's knowledge (`covers`: holders, quota) in one cluster."""

    def __init__(self, cluster: str, covers: str, start_ms: int, patience_ms: int) -> None:
        self._cluster, self._covers = cluster, covers
        self._start_ms, self._patience_ms = start_ms, patience_ms
        self._gap: Gap | None = None
        self._told_ms: int | None = None
        self._known = False

    def observe(self, now_ms: int, standing: Standing) -> tuple[list[Gap], list[Watermark]]:
        """What to tell now.

        A watch that only broke off is resumed and has missed nothing: while it is away the gap is open, and it
        is withdrawn when all that happened has been told.
        """
        told: list[Gap] = []
        complete_ms = standing.complete_ms
        known_ms = self._start_ms if complete_ms is None else complete_ms
        if complete_ms is not None and not self._known:
            self._known = True
            if self._gap is not None:
                told.append(self._close(complete_ms))
            elif complete_ms > self._start_ms:
                told.append(self._new(self._start_ms, complete_ms, FIRST))
        for lost_ms, found_ms in standing.relists:
            if self._gap is not None:
                told.append(self._close(max(found_ms, self._gap.start_at)))
            else:
                told.append(self._new(lost_ms, found_ms, MISSED))
        if now_ms - known_ms > self._patience_ms:
            if self._gap is None:
                reason = f"{AWAY}: {standing.reason}" if standing.reason else AWAY
                self._gap = self._new(known_ms, None, reason)
                told.append(self._gap)
            return told, self._watermark(now_ms)
        if self._gap is not None:
            told.append(self._close(self._gap.start_at))
        return told, self._watermark(complete_ms) if complete_ms is not None else []

    def _watermark(self, until_ms: int) -> list[Watermark]:
        if self._told_ms is not None and until_ms <= self._told_ms:
            return []
        self._told_ms = until_ms
        return [Watermark(self._cluster, SOURCE, self._covers, until_ms)]

    def _close(self, end_ms: int) -> Gap:
        if self._gap is None:
            raise AssertionError("only an open gap is closed")
        closed = replace(self._gap, end_at=end_ms, revision=self._gap.revision + 1)
        self._gap = None
        return closed

    def _new(self, start_ms: int, end_ms: int | None, reason: str) -> Gap:
        gap_id = content_id("gap", self._cluster, self._covers, SOURCE, "", "", start_ms)
        return Gap(self._cluster, gap_id, start_ms, end_ms, self._covers, SOURCE, "", "", reason[:300])


def standing_of(
    heard: Iterable[int | None], relists: Iterable[tuple[int, int]], troubles: Iterable[str]
) -> Standing:
    """How watches stand together: complete as far as the one that lags most."""
    times = list(heard)
    known = [at for at in times if at is not None]
    complete = min(known) if known and len(known) == len(times) else None
    return Standing(complete, tuple(sorted(relists)), "; ".join(sorted(set(troubles))))
