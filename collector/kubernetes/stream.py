"""What a cluster's streams bring, as values: the seam between talking to an API server and understanding it."""

from dataclasses import dataclass, field
from typing import Any

from collector.kubernetes.values import Json

ADDED, MODIFIED, GONE, BOOKMARK = "ADDED", "MODIFIED", "DELETED", "BOOKMARK"
BEGIN, SYNCED = "BEGIN", "SYNCED"
OWNERS = "owners"


@dataclass(frozen=True, slots=True)
class Event:
    """What a stream brought at `received_at` (epoch ms): ADDED, MODIFIED, DELETED with the object; BOOKMARK.

    BEGIN and SYNCED stand around a full list: what was known and does not stand between them is gone. Of kind
    `owners` are objects that were asked for: ADDED with their metadata, DELETED where there is none to be had.
    `within` is the namespace that a list is of; "" for one of all.
    """

    received_at: int
    kind: str  # the resource, such as `pods`
    type: str
    object: Json = field(default_factory=dict[str, Any])
    within: str = ""
