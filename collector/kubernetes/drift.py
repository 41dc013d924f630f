"""Drift: that an API server's clock and the collector's are apart, as a finding while it lasts; pure."""

import json
from dataclasses import replace

from quartermaster.clock import HOUR_MS, SECOND_MS
from quartermaster.ids import content_id
from quartermaster.records import Finding

CLOCKS_APART = "clocks apart"


class Drift:
    """One cluster's clocks. A finding is told when they part, once an hour while they are apart, and at the end."""

    def __init__(self, cluster: str) -> None:
        self._cluster = cluster
        self._told: Finding | None = None

    def observe(self, now_ms: int, apart_ms: int, bounds: tuple[int, int] | None) -> Finding | None:
        """What to tell now (None: nothing new), on our clock: the server's is `apart_ms` ahead, within the bounds."""
        was = self._told
        if not apart_ms:
            self._told = None
            ended = was is not None and was.end_at is not None and was.end_at < now_ms
            return (
                replace(was, end_at=now_ms, revision=was.revision + 1) if was is not None and ended else None
            )
        least, most = bounds or (apart_ms, apart_ms)
        evidence = json.dumps({"ahead_ms": apart_ms, "least_ms": least, "most_ms": most})
        if was is None:
            finding_id = content_id("finding", self._cluster, CLOCKS_APART, now_ms)
            span = (now_ms, now_ms + SECOND_MS)
            self._told = Finding(self._cluster, finding_id, *span, CLOCKS_APART, "api server", evidence)
            return self._told
        if was.end_at is not None and now_ms - was.end_at < HOUR_MS:
            return None
        self._told = replace(was, end_at=now_ms, evidence=evidence, revision=was.revision + 1)
        return self._told
