"""What of a warning is seen on the cluster itself: an annotation on the owner, and an Event beside it. Pure."""

import json
from hashlib import sha256
from typing import Any
from urllib.parse import quote

from enforcer.act.effects import Create, Patch, annotate
from enforcer.ladder.message import Message
from enforcer.ladder.rung import Rung
from quartermaster.clock import to_datetime, to_iso

WARNING = "quartermaster/warning"
_REASON = "QuartermasterWarning"
_COMPONENT = "quartermaster"


def annotation(rung: Rung, path: str, seen: dict[str, Any], at_ms: int) -> Patch:
    """The patch that puts `quartermaster/warning` on the owner, as `seen` at `path` of the API server."""
    value = {"stage": rung.stage, "at": to_iso(at_ms), "idle_since": to_iso(rung.found.since_ms)}
    return annotate(path, seen, WARNING, json.dumps(value))


def event(rung: Rung, message: Message, seen: dict[str, Any], at_ms: int) -> Create:
    """The Event that `kubectl describe` shows with the owner. Its name is of the spell of idleness and the stage, so
    that the API server refuses it a second time."""
    workload = rung.workload
    spell = f"{rung.cluster} {workload.uid} {rung.stage} {rung.found.since_ms}"
    at = to_datetime(at_ms).strftime("%Y-%m-%dT%H:%M:%SZ")
    body = {
        "metadata": {
            "name": f"quartermaster.{sha256(spell.encode()).hexdigest()[:32]}",
            "namespace": workload.namespace,
        },
        "involvedObject": {
            "apiVersion": str(seen.get("apiVersion", "")),
            "kind": workload.kind,
            "namespace": workload.namespace,
            "name": workload.name,
            "uid": workload.uid,
        },
        "reason": _REASON,
        "type": "Warning",
        "message": message.brief,
        "firstTimestamp": at,
        "lastTimestamp": at,
        "count": 1,
        "source": {"component": _COMPONENT},
    }
    return Create(f"/api/v1/namespaces/{quote(workload.namespace, safe='')}/events", body)
