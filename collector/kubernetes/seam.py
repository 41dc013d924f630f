"""The seam between labels and Kubernetes: labels tell of all before it, Kubernetes of all after."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

from collector.attribution import SOURCE as LABELS
from collector.holders import HOLDERS, ReadLabels, read_before
from quartermaster.clock import MINUTE_MS
from quartermaster.ids import content_id
from quartermaster.pool import PoolRule
from quartermaster.records import Allocation, Finding, Holding, Watermark
from sql.ledger import Ledger

DISAGREE = "sources disagree"
HANDED_OVER = "kubernetes is believed"
# Telemetry that began so little before Kubernetes is no history; what labels say so much later is no mere delay.
SOON_MS = DELAY_MS = 10 * MINUTE_MS


@dataclass(frozen=True, slots=True)
class Both:
    """What labels and Kubernetes say of one pod before the seam: from when to when, and how many parts."""

    namespace: str
    pod: str
    node: str
    labels_start_ms: int | None
    labels_end_ms: int | None
    labels_parts: int | None
    kubernetes_start_ms: int | None
    kubernetes_end_ms: int | None
    kubernetes_parts: int | None


def join_labels(ledger: Ledger, cluster: str, pools: Sequence[PoolRule], now_ms: int) -> ReadLabels | None:
    """Read labels up to where Kubernetes is believed, once; end there what they hold open, and tell what differs.

    None where there is no such history, it is read, or telemetry is not complete up to there yet. Raises LedgerError.
    """
    with ledger.exclusive("labels"):
        (marks,) = _rows(ledger, "met/seam", cluster=cluster)
        seam_ms, first_ms, read_ms = marks["believed_ms"], marks["first_ms"], marks["read_ms"]
        if seam_ms is None or first_ms is None or (marks["complete_ms"] or 0) < seam_ms:
            return None
        if (read_ms is None and seam_ms - first_ms < SOON_MS) or (read_ms is not None and read_ms >= seam_ms):
            return None
        around = {"at_ms": seam_ms - SOON_MS, "soon_ms": 2 * SOON_MS}
        nodes = _rows(ledger, "backfill/seams", cluster=cluster, **around)
        ends = {row["node"]: row["start_ms"] for row in nodes if row["node"]} | {"": seam_ms}
        from_ms = first_ms if read_ms is None else read_ms
        counted = read_before(ledger, cluster, pools, (from_ms, seam_ms), ends=ends, now_ms=now_ms)
        told: dict[str, Sequence[object]] = {
            "allocations_versions": [
                replace(
                    each,
                    end_at=max(seam_ms, each.start_at),
                    end_evidence=HANDED_OVER,
                    revision=each.revision + 1,
                )
                for row in _rows(ledger, "met/open_by_labels", cluster=cluster)
                for each in (Allocation(**row),)
            ],
            "holdings_versions": [
                replace(each, end_at=max(seam_ms, each.start_at), revision=each.revision + 1)
                for row in _rows(ledger, "met/open_holdings_by_labels", cluster=cluster)
                for each in (Holding(**row),)
            ],
            "findings_versions": differences(
                cluster,
                seam_ms,
                [Both(**row) for row in _rows(ledger, "met/both", cluster=cluster, at_ms=seam_ms)],
            ),
            "watermarks": [Watermark(cluster, LABELS, HOLDERS, seam_ms)],
        }
        ledger.append(f"seam/{cluster}/{seam_ms}", told, recorded_at=now_ms)
        for table, rows in told.items():
            counted[table] = counted.get(table, 0) + len(rows)
        return ReadLabels(cluster, seam_ms, counted)


def differences(cluster: str, seam_ms: int, both: Iterable[Both]) -> list[Finding]:
    """Where the two do not agree: on whether a pod held at the seam, since when, until when, or how much.

    Labels see an interval's ends no finer than their pages, and late: less than ten minutes is no difference.
    """
    found: list[Finding] = []
    for each in both:
        starts = [at for at in (each.labels_start_ms, each.kubernetes_start_ms) if at is not None]
        if not _differ(each, seam_ms):
            continue
        subject = f"{each.namespace}/{each.pod}"
        evidence = {
            "node": each.node,
            "labels": _said(each.labels_start_ms, each.labels_end_ms, each.labels_parts),
            "kubernetes": _said(each.kubernetes_start_ms, each.kubernetes_end_ms, each.kubernetes_parts),
        }
        start_ms = min(starts)
        found.append(
            Finding(
                cluster=cluster,
                finding_id=content_id("finding", cluster, DISAGREE, subject, each.node, start_ms),
                start_at=start_ms,
                end_at=max(seam_ms, start_ms + 1),
                kind=DISAGREE,
                subject=subject,
                evidence=json.dumps(evidence, ensure_ascii=False),
            )
        )
    return found


def _differ(each: Both, seam_ms: int) -> bool:
    if each.labels_start_ms is None:
        return seam_ms - (each.kubernetes_start_ms or seam_ms) > DELAY_MS
    if each.kubernetes_start_ms is None:
        return seam_ms - each.labels_start_ms > DELAY_MS
    starts = abs(each.labels_start_ms - each.kubernetes_start_ms)
    ends = abs((each.labels_end_ms or seam_ms) - (each.kubernetes_end_ms or seam_ms))
    return max(starts, ends) > DELAY_MS or each.labels_parts != each.kubernetes_parts


def _said(start_ms: int | None, end_ms: int | None, parts: int | None) -> dict[str, int | None] | None:
    return None if start_ms is None else {"from_ms": start_ms, "until_ms": end_ms, "parts": parts}


def _rows(ledger: Ledger, name: str, **parameters: object) -> list[dict[str, Any]]:
    text = (files("sql") / "queries" / f"{name}.sql").read_text(encoding="utf-8")
    return ledger.query(text, parameters).to_dicts()
