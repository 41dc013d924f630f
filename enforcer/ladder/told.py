"""Who was told what: the ledger's notifications, written and read. Only what a channel's server accepted counts."""

from collections.abc import Collection, Mapping, Sequence
from hashlib import sha256
from typing import Any

import polars as pl

from analytics.measure import Cursor
from enforcer.book import rows
from enforcer.idleness import Notice
from enforcer.ladder.courier import Delivery
from enforcer.ladder.letter import OWNER, Owner, Sent
from quartermaster.clock import DAY_MS, HOUR_MS
from quartermaster.config.notify import NotifyPart
from sql.ledger import Ledger

_REMEMBERED_MS = 90 * DAY_MS  # a spell of idleness that is longer is warned of anew
_READER = "quartermaster enforce"
_NOTIFICATION = {
    "cluster": pl.String,
    "object_uid": pl.String,
    "workload_id": pl.Int64,
    "stage": pl.String,
    "sent_at": pl.Int64,
    "channel": pl.String,
    "addressee": pl.String,
    "accepted": pl.Boolean,
    "words": pl.String,
}
_READ = {"person_id": pl.Int64, "reader": pl.String, "what": pl.String, "read_at": pl.Int64}


def record(ledger: Ledger, deliveries: Sequence[Delivery], now_ms: int) -> None:
    """Write down what came of letters, and whose contact was read for them. Raises LedgerError.

    The same deliveries are written once, however often this is called with them.
    """
    if not deliveries:
        return
    told = [_row(each) for each in deliveries]
    reads = [
        {"person_id": each.letter.person_id, "reader": _READER, "what": "warning", "read_at": each.at_ms}
        for each in deliveries
        if each.letter.addressee == OWNER and each.letter.person_id is not None
    ]
    content = sha256(repr(told).encode()).hexdigest()
    frames = {
        "notifications": pl.DataFrame(told, schema=_NOTIFICATION),
        "people_reads": pl.DataFrame(reads, schema=_READ),
    }
    ledger.append(f"ladder/{deliveries[0].at_ms}/{content}", frames, recorded_at=now_ms)


def notified(cursor: Cursor, cluster: str, at_ms: int) -> Mapping[str, Sequence[Notice]]:
    """The warnings that were accepted for the owner or the team of each workload, by UID."""
    since = {"cluster": cluster, "since_ms": at_ms - _REMEMBERED_MS}
    found: dict[str, list[Notice]] = {}
    for row in rows(cursor, "notified", since).iter_rows(named=True):
        found.setdefault(row["uid"], []).append(Notice(row["stage"], row["at_ms"]))
    return found


def sent(cursor: Cursor, notify: NotifyPart, at_ms: int) -> tuple[Sent, ...]:
    """What the channels carried in the last hour, or since a retry ago, of all clusters."""
    since = {"since_ms": at_ms - max(HOUR_MS, notify.retry_ms)}
    return tuple(
        Sent(
            (row["cluster"], row["uid"], row["stage"], row["channel"], row["addressee"]),
            row["at_ms"],
            row["accepted"],
        )
        for row in rows(cursor, "letters", since).iter_rows(named=True)
    )


def owners(cursor: Cursor, cluster: str, uids: Collection[str]) -> Mapping[str, Owner]:
    """Whose these workloads are, by UID; those that the ledger does not know are left out."""
    given = {"cluster": cluster, "uids": sorted(uids)}
    return {
        row["uid"]: Owner(row["workload_id"], row["person_id"], row["contact"])
        for row in rows(cursor, "owners", given).iter_rows(named=True)
    }


def _row(each: Delivery) -> dict[str, Any]:
    letter = each.letter
    return {
        "cluster": letter.cluster,
        "object_uid": letter.uid,
        "workload_id": letter.workload_id,
        "stage": letter.stage,
        "sent_at": each.at_ms,
        "channel": letter.channel,
        "addressee": letter.addressee,
        "accepted": each.accepted,
        "words": each.words,
    }
