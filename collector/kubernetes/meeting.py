"""Telemetry meets Kubernetes: devices by the pages that name them, and which of them each pod has, by its labels.

Where the API names a pod's devices itself, labels name none; where they say otherwise, that is a finding.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

from collector.attribution import SOURCE as LABELS
from collector.holders import HOLDERS, ReadLabels
from collector.kubernetes.instances import Instance, numbered
from collector.kubernetes.seam import DELAY_MS, DISAGREE
from collector.kubernetes.settings import SOURCE
from collector.kubernetes.sickness import Ward, diagnosed
from collector.presence import Fleet, Sighting, presence
from quartermaster.clock import HOUR_MS
from quartermaster.ids import content_id
from quartermaster.parts import GPU_PARTS
from quartermaster.records import Device, Finding, Holding, Watermark
from sql.ledger import Ledger

DEVICES = "devices"
_SPAN_MS = 6 * HOUR_MS


@dataclass(frozen=True, slots=True)
class Meeting:
    """A device whose samples name an allocation's pod, and what else is known of that allocation's devices."""

    allocation_id: int
    device_id: int
    device_parts: int
    first_ms: int
    last_ms: int
    pod: str
    gpu_parts: int
    start_ms: int
    end_ms: int | None
    known_ids: tuple[int, ...]
    by_api: bool


def named_by_labels(cluster: str, met: Iterable[Meeting]) -> tuple[list[Holding], list[Finding]]:
    """Holdings of allocations that nobody named devices for, and disagreements with those that the API named.

    Devices are named only where together they are what the pod asked for: of a whole GPU each its own parts, of
    a shared one what was asked of it.
    """
    by_allocation: dict[int, list[Meeting]] = {}
    for each in met:
        by_allocation.setdefault(each.allocation_id, []).append(each)
    holdings: list[Holding] = []
    findings: list[Finding] = []
    for theirs in by_allocation.values():
        first = theirs[0]
        if not first.known_ids:
            holdings += _holdings(cluster, theirs)
        elif first.by_api:
            findings += _disagreements(cluster, theirs)
    return holdings, findings


def _holdings(cluster: str, theirs: Sequence[Meeting]) -> list[Holding]:
    wanted = theirs[0].gpu_parts
    each_parts = wanted // len(theirs)
    if sum(each.device_parts for each in theirs) == wanted:
        parts = {each.device_id: each.device_parts for each in theirs}
    elif (
        wanted % GPU_PARTS and wanted % len(theirs) == 0 and all(each_parts <= m.device_parts for m in theirs)
    ):
        parts = {each.device_id: each_parts for each in theirs}
    else:
        return []
    return [
        Holding(
            cluster=cluster,
            holding_id=content_id("holding", cluster, each.allocation_id, each.device_id),
            start_at=each.start_ms,
            end_at=each.end_ms,
            allocation_id=each.allocation_id,
            device_id=each.device_id,
            parts=parts[each.device_id],
            evidence="label",
        )
        for each in theirs
    ]


def _disagreements(cluster: str, theirs: Sequence[Meeting]) -> list[Finding]:
    other = [
        each
        for each in theirs
        if each.device_id not in each.known_ids and each.last_ms - each.first_ms > DELAY_MS
    ]
    return [
        Finding(
            cluster=cluster,
            finding_id=content_id("finding", cluster, DISAGREE, each.allocation_id, each.device_id),
            start_at=each.first_ms,
            end_at=each.last_ms,
            kind=DISAGREE,
            subject=each.pod,
            evidence=json.dumps(
                {"labels": each.device_id, "kubernetes": sorted(each.known_ids)}, ensure_ascii=False
            ),
        )
        for each in other
    ]


def strangers(cluster: str, named: Iterable[Mapping[str, Any]]) -> list[Finding]:
    """Pods that labels name on devices while Kubernetes does not have them there, longer than a label may linger."""
    found: list[Finding] = []
    for row in named:
        device = row["gpu_uuid"] + (f"/{row['gi_id']}" if row["gi_id"] else "")
        subject = f"{row['namespace']}/{row['pod']}"
        if row["last_ms"] - row["first_ms"] > DELAY_MS:
            finding_id = content_id("finding", cluster, DISAGREE, subject, device)
            evidence = json.dumps({"labels": device, "kubernetes": None}, ensure_ascii=False)
            span = (row["first_ms"], row["last_ms"])
            found.append(Finding(cluster, finding_id, *span, DISAGREE, subject, evidence))
    return found


def followed(ledger: Ledger, cluster: str, found: Iterable[Finding]) -> list[Finding]:
    """The findings, each the next version of the one that it goes on from, where there is one."""
    known: dict[int, dict[str, Any]] = {}
    for row in _rows(ledger, "met/findings", cluster=cluster):
        known[row["finding_id"]] = row
    told: list[Finding] = []
    for each in found:
        was = known.get(each.finding_id)
        if was is None or was["end_ms"] + 2 * DELAY_MS < each.start_at:
            told.append(each)
        elif each.end_at is not None and was["end_ms"] < each.end_at:
            told.append(replace(each, start_at=was["start_ms"], revision=was["revision"] + 1))
    return told


def meet(ledger: Ledger, cluster: str, now_ms: int) -> ReadLabels | None:
    """Append what samples since the last time say of a Kubernetes cluster's devices; None when nothing is new.

    Reads up to where both telemetry and holders are complete. One process at a time. Raises LedgerError.
    """
    with ledger.exclusive("labels"):
        (marks,) = _rows(ledger, "met/marks", cluster=cluster)
        from_ms = marks["first_ms"] if marks["read_ms"] is None else marks["read_ms"]
        if marks["complete_ms"] is None or from_ms is None or marks["complete_ms"] <= from_ms:
            return None
        counted: dict[str, int] = {}
        while from_ms < marks["complete_ms"]:
            until_ms = min(marks["complete_ms"], from_ms + _SPAN_MS)
            devices = _devices(ledger, cluster, from_ms, until_ms)
            key = f"devices/{cluster}/{from_ms}-{until_ms}"
            ledger.append(f"{key}/found", {"devices_versions": devices}, recorded_at=now_ms)
            records = _named(ledger, cluster, from_ms, until_ms)
            if marks["labels_ms"] is not None:  # they are not read any more: nobody waits for them
                records["watermarks"] = [
                    *records["watermarks"],
                    Watermark(cluster, LABELS, HOLDERS, until_ms),
                ]
            ledger.append(key, records, recorded_at=now_ms)
            for told in (records, {"devices_versions": devices}):
                for table, rows in told.items():
                    counted[table] = counted.get(table, 0) + len(rows)
            from_ms = until_ms
        return ReadLabels(cluster, from_ms, counted)


def _devices(ledger: Ledger, cluster: str, from_ms: int, until_ms: int) -> list[Device]:
    """What pages say of devices beyond what is known; a GPU that DRA tells of is left to it."""
    of_dra: dict[str, list[Device]] = {}
    known: dict[str, list[Device]] = {}
    told: list[Device] = []
    for row in _rows(ledger, "met/known_devices", cluster=cluster):
        ended_ms = row.pop("node_ended_ms")
        device = Device(**row)
        if device.evidence == "dra":
            of_dra.setdefault(device.gpu_uuid, []).append(device)
        elif ended_ms is not None:
            end_ms = max(ended_ms, device.start_at)
            told.append(replace(device, end_at=end_ms, revision=device.revision + 1))
        else:
            known.setdefault(device.node, []).append(device)
    span = {"source": "dcgm", "from_ms": from_ms, "until_ms": until_ms}
    seen: dict[str, list[Sighting]] = {}
    for row in _rows(ledger, "labels/sightings", cluster=cluster, **span):
        node = row.pop("node")
        if row["gpu_uuid"] not in of_dra:
            seen.setdefault(node, []).append(Sighting(**row))
    for node, sightings in sorted(seen.items()):
        fleet = Fleet((), tuple(known.get(node, ())))
        told += presence(cluster, node, sightings, fleet, lambda model: model).devices
    if any(device.kind == "mig" for theirs in of_dra.values() for device in theirs):
        rows = _rows(ledger, "met/instances", cluster=cluster, from_ms=from_ms, until_ms=until_ms)
        every = [device for theirs in of_dra.values() for device in theirs]
        told += numbered(every, [_instance(row) for row in rows])
    return told


def _instance(row: Mapping[str, Any]) -> Instance:
    return Instance(row["gpu_uuid"], row["gi_id"], row["profile"], tuple(row["device_ids"]))


def _named(ledger: Ledger, cluster: str, from_ms: int, until_ms: int) -> dict[str, Sequence[object]]:
    known = _rows(ledger, "met/known_devices", cluster=cluster)
    parts = {row["device_id"]: row["parts"] for row in known}
    places = {(row["gpu_uuid"], row["gi_id"]): row["device_id"] for row in known}
    met: list[Meeting] = []
    span = {"from_ms": from_ms - 2 * DELAY_MS, "until_ms": until_ms}  # a difference that began a while ago
    for row in _rows(ledger, "met/labels", cluster=cluster, **span):
        device = places.get((row["gpu_uuid"], row["gi_id"]))
        if device is not None:
            met.append(_meeting(row, device, parts))
    holdings, findings = named_by_labels(cluster, met)
    findings += strangers(cluster, _rows(ledger, "met/strangers", cluster=cluster, **span))
    ended = [Holding(**row) for row in _rows(ledger, "met/ended", cluster=cluster)]
    return {
        "devices_versions": _sick(ledger, cluster, known, span),
        "holdings_versions": [*holdings, *ended],
        "findings_versions": followed(ledger, cluster, findings),
        "watermarks": [Watermark(cluster, SOURCE, DEVICES, until_ms)],
    }


def _sick(
    ledger: Ledger, cluster: str, known: Iterable[Mapping[str, Any]], span: Mapping[str, int]
) -> list[Device]:
    """Which GPUs are those that allocatable lacks, where pages name the GPUs."""
    wards = [Ward(**row) for row in _rows(ledger, "met/sick", cluster=cluster)]
    if not wards:
        return []
    devices = [Device(**{name: row[name] for name in row if name != "node_ended_ms"}) for row in known]
    xids = {row["gpu_uuid"]: row["xid_ms"] for row in _rows(ledger, "met/xids", cluster=cluster, **span)}
    return list(diagnosed(devices, wards, xids))


def _meeting(row: Mapping[str, Any], device: int, parts: Mapping[int, int]) -> Meeting:
    return Meeting(
        allocation_id=row["allocation_id"],
        device_id=device,
        device_parts=parts[device],
        first_ms=row["first_ms"],
        last_ms=row["last_ms"],
        pod=f"{row['namespace']}/{row['pod']}",
        gpu_parts=row["gpu_parts"],
        start_ms=row["start_ms"],
        end_ms=row["end_ms"],
        known_ids=tuple(row["known_ids"]),
        by_api=row["known_rank"] < 2,
    )


def _rows(ledger: Ledger, name: str, **parameters: object) -> list[dict[str, Any]]:
    text = (files("sql") / "queries" / f"{name}.sql").read_text(encoding="utf-8")
    return ledger.query(text, parameters).to_dicts()
