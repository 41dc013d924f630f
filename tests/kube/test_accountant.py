"""The accountant reads a stream; the collector's picture, and usage in the ledger, are the same to the millisecond."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count
from random import Random
from typing import Any

import polars as pl
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from analytics.usage import roll_up
from collector.batch import Batch, Census, commit
from collector.kubernetes.picture import Picture
from collector.kubernetes.settings import SOURCE
from collector.kubernetes.stream import Event
from quartermaster.clock import HOUR_MS
from quartermaster.records import Watermark
from sql.checks import run
from sql.ledger import Ledger, frame, memory_ledger
from tests.depth import deep
from tests.kube.accountant import Accountant, Life, Line
from tests.kube.raws import T0, replaced
from tests.kube.replaying import into_ledger, lives_of, measured, picture_of, written
from tests.kube.streams import END_MS, streams
from tests.kube.walk import NAMES, Walk

# What is found with a ledger is not made smaller: that takes minutes. The streams are small.
UNSHRUNK = (Phase.explicit, Phase.reuse, Phase.generate)
_clusters = (f"stream-{number}" for number in count())


@pytest.fixture(scope="module")
def ledger() -> Iterator[Ledger]:
    with memory_ledger() as opened:
        yield opened


def accounted(lines: list[Line]) -> dict[str, Life]:
    return written(Accountant().read(lines))


@given(streams(), st.frozensets(st.integers(0, 80)))
def test_a_stream_gives_the_accountants_lives_in_any_batches(lines: list[Line], takes: frozenset[int]):
    assert lives_of(picture_of(lines, takes)) == accounted(lines)


@given(streams(), st.integers(0, 80))
def test_a_stream_of_which_a_part_comes_twice_gives_the_same(lines: list[Line], until: int):
    twice = [line for line in lines[:until] if line[2] not in {"BEGIN", "SYNCED"}]
    again = [*lines[:until], *twice, *lines[until:]]
    assert sure_apart(lives_of(picture_of(again))) == sure_apart(accounted(lines))


def sure_apart(lives: dict[str, Life]) -> dict[str, Life]:
    """Without until when it is sure: what was known of a node comes again with the replay."""
    return {uid: replace(life, sure_ms=None) for uid, life in lives.items()}


@settings(max_examples=deep(3, 2), phases=UNSHRUNK)
@given(st.lists(streams(), min_size=deep(4, 2), max_size=deep(4, 2)))
@pytest.mark.patient
def test_usage_of_a_stream_is_the_accountants_walk_to_the_millisecond(
    ledger: Ledger, found: list[list[Line]]
):
    """capacity = held + unallocated + unavailable + unobserved, each as the accountant has it, and each pod's own."""
    for lines in found:
        cluster = next(_clusters)
        told = picture_of(lines, frozenset({8}), cluster)
        into_ledger(ledger, cluster, told, END_MS)
        begun = told["authority_versions"][0].start_at
        span = (T0 // HOUR_MS * HOUR_MS, END_MS)
        walk = Walk(Accountant().read(lines), span, begun, [(begun, END_MS)])
        sums, held = measured(ledger, cluster, *span)
        assert sums == walk.sums
        assert sums["capacity"] == sum(
            sums[name] for name in ("held", "unallocated", "unavailable", "unobserved")
        )
        if not sums["overbooked"]:
            assert held == {name: pms for name, pms in walk.held.items() if pms}
    assert [(broken.check, broken.count) for broken in run(ledger)] == []


@settings(max_examples=deep(3, 2), phases=UNSHRUNK)
@given(streams(), st.randoms())
@pytest.mark.patient
def test_what_comes_late_and_in_any_order_gives_the_same_usage(
    ledger: Ledger, lines: list[Line], rng: Random
):
    """The rows of a stream in three batches, the hours rolled up after each: as all at once."""
    whole, late = next(_clusters), next(_clusters)
    into_ledger(ledger, whole, picture_of(lines, frozenset({8}), whole), END_MS + HOUR_MS)
    told = picture_of(lines, frozenset({8}), late)
    rows = [(table, row) for table, each in told.items() for row in each]
    rng.shuffle(rows)
    marks = [Watermark(late, SOURCE, "holders", END_MS + HOUR_MS)]
    for part in range(3):
        batch: dict[str, list[Any]] = {"watermarks": marks} if not part else {}
        for table, row in rows[part::3]:
            batch.setdefault(table, []).append(row)
        ledger.append(f"{late}/{part}", batch)
        roll_up(ledger, END_MS + HOUR_MS, "UTC", [late])
    roll_up(ledger, END_MS + HOUR_MS, "UTC", [whole])
    assert usage_of(ledger, late) == usage_of(ledger, whole) != []


def usage_of(ledger: Ledger, cluster: str) -> list[tuple[Any, ...]]:
    """What was rolled up, by hour, node and pod: ids are each cluster's own."""
    sums = ", ".join(f"sum({name}_pms) as {name}" for name in (*NAMES, "not_started", "estimated", "faulted"))
    query = f"""
        select u.row_start_at, u.node, a.pod, {sums}
        from usage_hourly as u left join allocations as a using (cluster, allocation_id)
        where u.cluster = ? group by all order by all
    """
    return ledger.query(query, [cluster]).rows()


@settings(max_examples=deep(3, 2), phases=UNSHRUNK)
@given(st.lists(st.tuples(streams(), st.integers(9, 60)), min_size=deep(3, 2), max_size=deep(3, 2)))
@pytest.mark.patient
def test_a_collector_that_is_killed_anywhere_tells_the_same(
    ledger: Ledger, found: list[tuple[list[Line], int]]
):
    """The next life lists what is there, and is sent all that follows: the ledger has what one life tells."""
    for lines, killed in found:
        whole, halved = next(_clusters), next(_clusters)
        told_in_lives(ledger, whole, [lines])
        told_in_lives(ledger, halved, [lines[:killed], [*listing(lines[:killed]), *lines[killed:]]])
        assert rows_of(ledger, halved) == rows_of(ledger, whole)


def told_in_lives(ledger: Ledger, cluster: str, lives: Sequence[list[Line]]) -> None:
    """Each part of a stream told by a collector of its own, with a census of what it found first."""
    for number, lines in enumerate(lives):
        picture = Picture(replaced(cluster=cluster))
        listed = max(index for index, line in enumerate(lines) if line[2] == "SYNCED" or index == 0)
        for line in lines[: listed + 1]:
            picture.apply(Event(*line))
        at_ms = lines[listed][0]
        census = Census(cluster, SOURCE, at_ms, picture.present(), {})
        commit(ledger, Batch(f"{cluster}/{number}/0", at_ms, frames(picture, at_ms), censuses=(census,)))
        for line in lines[listed + 1 :]:
            picture.apply(Event(*line))
        at_ms = lines[-1][0]
        commit(ledger, Batch(f"{cluster}/{number}/1", at_ms, frames(picture, at_ms)))


def frames(picture: Picture, at_ms: int) -> dict[str, pl.DataFrame]:
    return {table: frame(rows) for table, rows in picture.take(at_ms).items()}


def listing(lines: Sequence[Line]) -> list[Line]:
    """What a full list shows after a stream: the objects that are there, as they are."""
    there: dict[str, dict[str, Any]] = {
        kind: {} for kind in ("nodes", "resourceslices", "resourceclaims", "pods")
    }
    for _, kind, how, raw in lines:
        if how in {"BEGIN", "SYNCED"}:
            continue
        there[kind].pop(raw["metadata"]["name"], None)
        if how != "DELETED":
            there[kind][raw["metadata"]["name"]] = raw
    at_ms = lines[-1][0]
    found: list[Line] = []
    for kind, objects in there.items():
        found += [(at_ms, kind, "BEGIN", {}), *((at_ms, kind, "ADDED", raw) for raw in objects.values())]
        found.append((at_ms, kind, "SYNCED", {}))
    return found


def rows_of(ledger: Ledger, cluster: str) -> list[tuple[Any, ...]]:
    """Allocations with their devices."""
    query = """
        select a.pod, a.node, a.start_at, a.started_at, a.end_at, a.gpu_parts,
          list(h.parts || ' until ' || coalesce(h.end_at::varchar, '') order by h.parts) as held
        from allocations as a left join holdings as h on a.cluster = h.cluster and a.allocation_id = h.allocation_id
        where a.cluster = ? group by all order by a.pod
    """
    return ledger.query(query, [cluster]).rows()
