"""A row of the audit: a deed in its place in the chain, its canonical text, and its hash. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from hashlib import sha256
from typing import Any, NamedTuple

import orjson
import polars as pl

from enforcer.audit.deed import Deed, Phase
from quartermaster.errors import InputError
from quartermaster.text import storable

LONGEST_TEXT, LONGEST_WORDS, LONGEST_FIELDS = 1_000, 2_000, 65_536
_OF_DEED = {"told_at": "at_ms", "group_number": "group"}  # columns that are called otherwise there
SCHEMA = {
    "cluster": pl.String,
    "number": pl.Int64,
    "row_hash": pl.String,
    "previous_hash": pl.String,
    "told_at": pl.Int64,
    "phase": pl.String,
    "act": pl.String,
    "plan_hash": pl.String,
    "position": pl.Int64,
    "group_number": pl.Int64,
    "kind": pl.String,
    "namespace": pl.String,
    "name": pl.String,
    "object_uid": pl.String,
    "object_version": pl.String,
    "team": pl.String,
    "pool": pl.String,
    "for_uid": pl.String,
    "frees_parts": pl.Int64,
    "cause": pl.String,
    "before": pl.String,
    "after": pl.String,
    "epoch": pl.Int64,
    "actor": pl.String,
    "result": pl.String,
    "words": pl.String,
    "intent": pl.String,
    "request_id": pl.Int64,
}
_DEED = tuple(name for name in SCHEMA if name not in {"number", "row_hash", "previous_hash"})
Row = Mapping[str, Any]


class Head(NamedTuple):
    """Where a chain ends: its last row's number and hash; 0 and "" where nothing is written yet."""

    number: int
    row_hash: str

    @property
    def text(self) -> str:
        """`12:9f86d0…`, as it stands on the Lease."""
        return f"{self.number}:{self.row_hash}"


def hash_of(row: Row) -> str:
    """SHA-256 of the row's columns as JSON: UTF-8, keys in order, no spaces; `told_at` in microseconds since 1970.

    `row_hash` is no part of it, nor is `recorded_at`.
    """
    told = {name: row[name] for name in SCHEMA if name != "row_hash"}
    return sha256(orjson.dumps(told, option=orjson.OPT_SORT_KEYS)).hexdigest()


def chained(deeds: Iterable[Deed], head: Head) -> list[dict[str, Any]]:
    """The rows of deeds that follow on the head; `told_at` in microseconds."""
    rows: list[dict[str, Any]] = []
    for number, deed in enumerate(deeds, head.number + 1):
        row = {"number": number, "previous_hash": head.row_hash} | _columns(deed)
        row["row_hash"] = hash_of(row)
        rows.append(row)
        head = Head(number, row["row_hash"])
    return rows


def key_of(deeds: Iterable[Deed]) -> str:
    """A hash of what the deeds tell, wherever in a chain they stand."""
    return sha256(orjson.dumps([_columns(deed) for deed in deeds], option=orjson.OPT_SORT_KEYS)).hexdigest()


def cleaned(deed: Deed) -> Deed:
    """The deed as every catalog can hold it: unfit signs replaced, long text cut.

    Raises InputError where the fields before or after are too much to be recorded, as half of them restores nothing.
    """
    changed: dict[str, str] = {}
    for each in fields(deed):
        value = getattr(deed, each.name)
        if not isinstance(value, str) or isinstance(value, Phase):
            continue
        text = storable(value)
        if each.name in {"before", "after"}:
            if len(text) > LONGEST_FIELDS:
                raise InputError(
                    f"{deed.kind} {deed.namespace}/{deed.name}"[:300]
                    + f": its fields {each.name} the change take {len(text):,} characters",
                    f"the audit takes {LONGEST_FIELDS:,}; what cannot be recorded is not changed",
                )
        else:
            text = storable(value, LONGEST_WORDS if each.name == "words" else LONGEST_TEXT)
        changed[each.name] = text
    return replace(deed, **changed)


def deed_of(row: Row) -> Deed:
    """The deed of a row; `told_at` in microseconds. Raises ValueError for a phase that there is not."""
    told: dict[str, Any] = {_OF_DEED.get(name, name): row[name] for name in _DEED}
    told |= {"at_ms": row["told_at"] // 1000, "phase": Phase(row["phase"])}
    return Deed(**told)


def frame(rows: Iterable[Row]) -> pl.DataFrame:
    """Rows for the ledger, which takes milliseconds."""
    return pl.DataFrame([{**row, "told_at": row["told_at"] // 1000} for row in rows], schema=SCHEMA)


def _columns(deed: Deed) -> dict[str, Any]:
    told = {name: getattr(deed, _OF_DEED.get(name, name)) for name in _DEED}
    return told | {"told_at": deed.at_ms * 1000, "phase": deed.phase.value}
