"""A batch: rows for several tables that are committed together, once, under one key; its form on disk."""

import io
import json
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any, cast

import polars as pl

from collector import gaps
from collector.telling import untold, untold_allocations, untold_versions
from quartermaster.errors import InputError
from sql.ledger import Cursor, Ledger, frame

SAMPLES = "samples"
_HEADER = ""
# Tables whose rows are told once: a collector that was started again tells them anew, and what is there
# stays as it is.
_TOLD_ONCE = {
    "label_refs": ("cluster", "label_ref"),
    "people": ("person_id",),
    "series_versions": ("cluster", "series_id"),
    "targets_versions": ("cluster", "target_id"),
    "nodes_versions": ("cluster", "node"),
    "devices_versions": ("cluster", "device_id"),
    "workloads_versions": ("cluster", "workload_id"),
    "allocations_versions": ("cluster", "allocation_id"),
    "holdings_versions": ("cluster", "holding_id"),
    "demand_versions": ("cluster", "demand_id"),
    "quotas_versions": ("cluster", "quota_id"),
    "growth_versions": ("cluster", "growth_id"),
    "authority_versions": ("cluster", "authority_id"),
}
# What is left of these ends with its allocation, which the batch itself may tell.
_LAST = {"holdings_versions"}
# Of these the first that is told stays; of all others each change is a version.
_FIRST_STAYS = {"label_refs", "people", "workloads_versions"}


@dataclass(frozen=True, slots=True)
class Span:
    """What a batch is of: a cluster's source from `start_ms` until `end_ms`."""

    cluster: str
    source: str
    start_ms: int
    end_ms: int


@dataclass(frozen=True, slots=True)
class Opening:
    """The beginning of a collector's life for one cluster: who is watched from `start_ms` on, how often."""

    cluster: str
    source: str
    start_ms: int
    interval_ms: int
    targets: Sequence[int]
    covers: str = gaps.TELEMETRY


@dataclass(frozen=True, slots=True)
class Census:
    """A source's first full picture of a cluster in a collector's life, at `at_ms`.

    What the ledger has open from an earlier life and is not `present` (ids by table) ended while nobody
    watched. `ends` are the latest instants for some: by the uid of the pod, or of its Job.
    """

    cluster: str
    source: str
    at_ms: int
    present: Mapping[str, Sequence[int] | Sequence[str]]
    ends: Mapping[str, int]


@dataclass(frozen=True)
class Batch:
    """Rows by table, to be committed under `key` (once, however often sent), and what they are of."""

    key: str
    recorded_at: int
    frames: Mapping[str, pl.DataFrame]
    spans: tuple[Span, ...] = ()
    openings: tuple[Opening, ...] = ()
    censuses: tuple[Census, ...] = ()

    def without_samples(self) -> "Batch":
        """What stays of a batch that is dropped: everything but its samples, and a gap for each span that
        it was of."""
        lost = [
            gaps.of_cluster(span.cluster, span.source, span.start_ms, span.end_ms, gaps.DROPPED)
            for span in self.spans
            if span.end_ms > span.start_ms
        ]
        kept = {table: rows for table, rows in self.frames.items() if table != SAMPLES}
        return replace(self, frames=joined(kept, {"gaps_versions": frame(lost)} if lost else {}), spans=())

    def after(self, older: "Batch") -> "Batch":
        """This batch with the rows of an older one before its own, under this one's key."""
        return replace(
            self,
            frames=joined(older.frames, self.frames),
            spans=older.spans + self.spans,
            openings=older.openings + self.openings,
            censuses=older.censuses + self.censuses,
        )


def joined(first: Mapping[str, pl.DataFrame], second: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """The rows of both, by table; the first's stand before the second's."""
    return {
        table: pl.concat([rows[table] for rows in (first, second) if table in rows], how="diagonal_relaxed")
        for table in (*first, *(table for table in second if table not in first))
    }


def to_bytes(batch: Batch) -> bytes:
    """The batch as an Arrow IPC file of two columns: a table's name, and its rows as a file of their own."""
    header = {
        "key": batch.key,
        "recorded_at": batch.recorded_at,
        "spans": [asdict(span) for span in batch.spans],
        "openings": [asdict(opening) for opening in batch.openings],
        "censuses": [asdict(census) for census in batch.censuses],
    }
    parts = [(_HEADER, json.dumps(header).encode())]
    parts += [(table, _ipc(rows)) for table, rows in batch.frames.items()]
    return _ipc(
        pl.DataFrame(parts, schema={"table": pl.String, "rows": pl.Binary}, orient="row"), packed=False
    )


def from_bytes(content: bytes) -> Batch:
    """The batch that `to_bytes` wrote. Raises InputError for anything else."""
    try:
        outer = pl.read_ipc(io.BytesIO(content))
        parts = cast(
            dict[str, bytes], dict(zip(outer["table"].to_list(), outer["rows"].to_list(), strict=True))
        )
        header = cast(dict[str, Any], json.loads(parts.pop(_HEADER)))
        return Batch(
            header["key"],
            header["recorded_at"],
            {table: pl.read_ipc(io.BytesIO(rows)) for table, rows in parts.items()},
            tuple(Span(**span) for span in header["spans"]),
            tuple(Opening(**opening) for opening in header["openings"]),
            tuple(Census(**census) for census in header.get("censuses", ())),
        )
    except (pl.exceptions.PolarsError, OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"this is no batch: {error}", "the file is damaged; what it held is lost") from error


def _ipc(rows: pl.DataFrame, *, packed: bool = True) -> bytes:
    buffer = io.BytesIO()
    rows.write_ipc(buffer, compression="zstd" if packed else "uncompressed")
    return buffer.getvalue()


def commit(ledger: Ledger, batch: Batch, *, files: Sequence[Path] = ()) -> bool:
    """Commit the batch to the ledger, in one transaction; with `files` of samples (sql.samples), if there are any.
    False when its key is there already. Raises LedgerError."""

    def work(cursor: Cursor) -> None:
        for opening in batch.openings:
            _open(ledger, cursor, opening, batch.recorded_at)
        for census in batch.censuses:
            _count(ledger, cursor, census, census.present.keys() - _LAST, batch.recorded_at)
        for table, rows in batch.frames.items():
            told = _untold(cursor, table, rows) if table in _TOLD_ONCE else rows
            if told.height:
                ledger.insert(cursor, table, told, recorded_at=batch.recorded_at)
        if files:
            ledger.adopt(cursor, SAMPLES, files)
        for census in batch.censuses:
            _count(ledger, cursor, census, census.present.keys() & _LAST, batch.recorded_at)

    return ledger.write(batch.key, work, author="collector")


def _untold(cursor: Cursor, table: str, rows: pl.DataFrame) -> pl.DataFrame:
    key = _TOLD_ONCE[table]
    cursor.register("told", rows)
    try:
        known = cursor.sql(_query(f"known_{table.removesuffix('_versions')}")).pl()
    finally:
        cursor.unregister("told")
    if table == "allocations_versions":
        return untold_allocations(rows, known)
    return untold(rows, known, key) if table in _FIRST_STAYS else untold_versions(rows, known, key)


def _open(ledger: Ledger, cursor: Cursor, opening: Opening, recorded_at: int) -> None:
    """Close what an earlier life left open, and record the time in between, in which nobody looked."""
    who = {"cluster": opening.cluster, "source": opening.source, "start_ms": opening.start_ms}
    telemetry = opening.covers == gaps.TELEMETRY
    left = (("left_gaps", "gaps_versions"), *((("left_targets", "targets_versions"),) if telemetry else ()))
    for name, table in left:
        more = {"targets": list(opening.targets)} if name == "left_targets" else {"covers": opening.covers}
        rows = cursor.sql(_query(name), params=cast(Any, {**who, **more})).pl()
        if rows.height:
            ledger.insert(cursor, table, rows, recorded_at=recorded_at)
    parameters = {"cluster": opening.cluster, "source": opening.source, "covers": opening.covers}
    (last_ms,) = cast(tuple[int | None], cursor.execute(_query("complete_until"), parameters).fetchone())
    if last_ms is not None and opening.start_ms - last_ms > opening.interval_ms:
        who_down = (opening.cluster, opening.source, last_ms, opening.start_ms)
        down = gaps.of_cluster(*who_down, gaps.DOWN, covers=opening.covers)
        ledger.insert(cursor, "gaps_versions", frame([down]), recorded_at=recorded_at)


def _count(
    ledger: Ledger, cursor: Cursor, census: Census, tables: AbstractSet[str], recorded_at: int
) -> None:
    """End what an earlier life left open and the census does not find."""
    who: dict[str, Any] = {"cluster": census.cluster, "source": census.source}
    (seen_ms,) = cast(tuple[int | None], cursor.execute(_query("seen_until"), who).fetchone())
    bounds: dict[str, Any] = {"at_ms": census.at_ms, "seen_ms": seen_ms}
    bounds |= {"end_uids": list(census.ends), "ends_ms": list(census.ends.values())}
    for table in sorted(tables):
        query = _query(f"left_{table.removesuffix('_versions')}")
        given = {
            **who,
            **bounds,
            "present": list(census.present[table]),
            "nodes": list(census.present["nodes_versions"]),
        }
        rows = cursor.sql(query, params={key: given[key] for key in given if f"${key}" in query}).pl()
        if rows.height:
            ledger.insert(cursor, table, rows, recorded_at=recorded_at)


def _query(name: str) -> str:
    return (resources.files("sql") / "queries" / "collect" / f"{name}.sql").read_text(encoding="utf-8")
