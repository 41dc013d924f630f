"""Declaring a configuration: what differs from the ledger becomes new versions from a stated instant, and
cuts."""

import itertools
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import polars as pl

from quartermaster.clock import to_iso
from quartermaster.config.model import Configuration
from quartermaster.timeline import BEGINNING_MS, Span, Wish, order, settle
from sql.closed import ClosedBooks, closed_books, refuse_closed
from sql.declared import CARDS, RULES, Kind, Row, wishes
from sql.ledger import Ledger
from sql.pricelists import RATES, PriceList, in_force, new_versions, price_lists, rate_rows

_NAMES = ("card", "signal", "team", "cluster_glob")
_BOOKKEEPING = ("start_at", "end_at", "revision", "recorded_at")
_Id = tuple[Any, ...]


@dataclass
class _Held:
    """What the ledger has of a kind: its spans by id, and the highest revision of each (id, start)."""

    spans: dict[_Id, list[Span[Row]]]
    revisions: dict[tuple[_Id, int], int]


@dataclass
class _Changes:
    """What a declaration appends, and how it is told."""

    closed: ClosedBooks
    rows: dict[str, list[Row]] = field(default_factory=lambda: defaultdict[str, list[Row]](list))
    cuts: dict[int, str] = field(default_factory=dict[int, str])
    said: list[str] = field(default_factory=list[str])


def declare(ledger: Ledger, configuration: Configuration, now_ms: int) -> list[str]:
    """Bring teams, rules, guarantees, floors, cards and prices in the ledger to what the configuration says.

    Gives a sentence for each change; declaring the same again changes nothing and gives none. What the
    file dates (`from`, `to`) holds as dated; a change without a date holds from `now_ms`, the first
    declaration of a kind for all the past; once a period is closed, it too holds from `now_ms`. Rows are only
    appended, all in one commit. Raises ConfigurationError, with the next instant that works, for what would change
    a closed period; LedgerError.
    """
    with ledger.exclusive("declare"):
        with ledger.reading() as cursor:
            changes = _Changes(closed_books(cursor))
        for kind, wished in wishes(configuration).items():
            _declare_kind(ledger, kind, wished, now_ms, changes)
        _end_moves(ledger, now_ms, changes)
        known = set(ledger.query("select epoch_ms(cut_at) as cut_at from cuts")["cut_at"])
        new_cuts = {cut_at: reason for cut_at, reason in changes.cuts.items() if cut_at not in known}
        changes.rows["cuts"] = [{"cut_at": cut_at, "reason": why} for cut_at, why in sorted(new_cuts.items())]
        if not any(changes.rows.values()):
            return []
        frames = {table: _frame(rows) for table, rows in changes.rows.items() if rows}
        ledger.append(f"declare/{now_ms}/{uuid4().hex}", frames, recorded_at=now_ms)
        return changes.said


def _declare_kind(
    ledger: Ledger, kind: Kind, wished: Sequence[Wish[Row]], now_ms: int, changes: _Changes
) -> None:
    held = _read(ledger, kind)
    lists = price_lists(ledger.query(RATES).to_dicts()) if kind is CARDS else {}
    if kind is CARDS:
        _put_prices(held, lists)
    else:
        wished = _put_positions(kind, wished, held, now_ms)
    grouped = _by_timeline(kind, wished)
    spans = _by_timeline(kind, list(itertools.chain.from_iterable(held.spans.values())))
    for timeline in {**spans, **grouped}:
        first = not held.spans if not kind.each_first else timeline not in spans
        first = first and not changes.closed.periods
        settled = settle(spans.get(timeline, []), grouped.get(timeline, []), now_ms, first=first)
        _compare(kind, spans.get(timeline, []), settled, held, changes)
        if kind is CARDS:
            _add_prices(settled, lists, changes)


def _read(ledger: Ledger, kind: Kind) -> _Held:
    ids = ", ".join(kind.ids)
    ours = "where source = 'configuration'" if kind.view in {"quotas", "cards"} else ""
    rows = ledger.query(f"from {kind.view} {ours} order by {ids}, start_at")
    last = ledger.query(
        f"select {ids}, start_at, max(revision) as revision from {kind.view}_versions group by all"  # noqa: S608
    )
    spans = defaultdict[_Id, list[Span[Row]]](list)
    for row in _in_ms(rows).to_dicts():
        content = {name: value for name, value in row.items() if name not in _BOOKKEEPING}
        spans[_id(kind, row)].append(Span(row["start_at"], row["end_at"], content))
    revisions = {(_id(kind, row), row["start_at"]): row["revision"] for row in _in_ms(last).to_dicts()}
    return _Held(dict(spans), revisions)


def _compare(
    kind: Kind, before: Sequence[Span[Row]], after: Sequence[Span[Row]], held: _Held, changes: _Changes
) -> None:
    """Append what is new in `after`, withdraw what is no longer there, and say so."""
    old = {(_id(kind, span.content), span.start_at): span for span in before}
    new = {(_id(kind, span.content), span.start_at): span for span in after}
    for key in old.keys() | new.keys():
        was, now = old.get(key), new.get(key)
        if was == now:
            continue
        refuse_closed(changes.closed, _sentence(kind, was, now), was, now)
        span = now or Span(key[1], key[1], old[key].content)  # withdrawn: it ends where it begins
        row = {name: value for name, value in span.content.items() if name != "prices"}
        revision = held.revisions.get(key, -1) + 1
        row |= {"start_at": span.start_at, "end_at": span.end_at, "revision": revision}
        changes.rows[f"{kind.view}_versions"].append(row)
        sentence = _sentence(kind, was, now)
        changes.said.append(sentence)
        if kind.cuts:
            edges = {was.start_at, was.end_at} if was else set[int | None]()
            edges ^= {now.start_at, now.end_at} if now else set[int | None]()
            if was and now and was.content != now.content:
                edges |= {now.start_at, now.end_at}
            changes.cuts |= {edge: sentence for edge in edges if edge is not None and edge > BEGINNING_MS}
    changes.said.sort()


def _end_moves(ledger: Ledger, now_ms: int, changes: _Changes) -> None:
    """What was moved between a pool's guarantees ends where somebody declares another guarantee there."""
    pools = {(row["cluster"], row["pool"]) for row in changes.rows["quotas_versions"]}
    moves = ledger.query("from quotas where source = 'rebalance' and end_at is null")
    for row in _in_ms(moves.drop("recorded_at")).to_dicts():
        if (row["cluster"], row["pool"]) not in pools:
            continue
        ended = row | {"end_at": max(now_ms, row["start_at"]), "revision": row["revision"] + 1}
        changes.rows["quotas_versions"].append(ended)
        subject = f"guarantee {row['team']} in {row['pool']} of {row['cluster']}"
        changes.said.append(f"{subject}: what was moved ends at {to_iso(ended['end_at'])}")


def _sentence(kind: Kind, was: Span[Row] | None, now: Span[Row] | None) -> str:
    content = (now or was or Span(0, 0, {})).content
    name = next(content[name] for name in _NAMES if content.get(name))
    pool = f" in {content['pool']} of {content['cluster']}" if "pool" in content else ""
    subject = f"{kind.title} {name}{pool}"
    if now is None:
        return f"{subject}: withdrawn"
    start = "" if now.start_at == BEGINNING_MS else f" from {to_iso(now.start_at)}"
    end = "" if now.end_at is None else f" until {to_iso(now.end_at)}"
    if was is None:
        return f"{subject}: new{start}{end}"
    return (
        f"{subject}: changed{start}{end}"
        if was.content != now.content
        else f"{subject}: holds{start}{end or ', open'}"
    )


def _put_positions(kind: Kind, wished: Sequence[Wish[Row]], held: _Held, now_ms: int) -> list[Wish[Row]]:
    """Rules with their positions, for their order counts: what is there keeps its own where it can."""
    if kind is not RULES:
        return list(wished)
    last = {found: spans[-1] for found, spans in held.spans.items()}
    now = [last.get(_id(kind, wish.content)) for wish in wished]
    places = order(
        [
            span.content["position"] if span and (span.end_at is None or span.end_at > now_ms) else None
            for span in now
        ]
    )
    return [
        Wish(wish.start_at, wish.end_at, {**wish.content, "position": place})
        for wish, place in zip(wished, places, strict=True)
    ]


def _put_prices(held: _Held, lists: dict[str, list[PriceList]]) -> None:
    """Into each held card the prices that are in force where it begins, so that a changed price is a changed
    card."""
    for spans in held.spans.values():
        for span in spans:
            found = in_force(lists.get(span.content["card"], []), span.start_at)
            span.content["prices"] = found.lines if found else ()


def _add_prices(settled: Sequence[Span[Row]], lists: dict[str, list[PriceList]], changes: _Changes) -> None:
    for span in settled:
        card, author = span.content["card"], span.content["author"]
        for entry in new_versions(span, lists.get(card, [])):
            lists.setdefault(card, []).append(entry)
            changes.rows["rates"] += rate_rows(card, author, entry)


def _by_timeline(kind: Kind, items: Sequence[Any]) -> dict[_Id, list[Any]]:
    grouped = defaultdict[_Id, list[Any]](list)
    for item in items:
        grouped[() if kind.exclusive else _id(kind, item.content)].append(item)
    for timeline in grouped.values():
        timeline.sort(key=lambda item: -1 if item.start_at is None else item.start_at)
    return dict(grouped)


def _id(kind: Kind, row: Row) -> _Id:
    return tuple(row[name] for name in kind.ids)


def _in_ms(rows: pl.DataFrame) -> pl.DataFrame:
    instants = [name for name in ("start_at", "end_at") if name in rows.columns]
    return rows.with_columns(pl.col(name).dt.epoch("ms") for name in instants)


def _frame(rows: Sequence[Row]) -> pl.DataFrame:
    return pl.DataFrame(rows, infer_schema_length=None)
