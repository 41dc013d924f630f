"""The sink against a real ledger that goes away and comes back: acknowledged once is there once, in order."""

import contextlib
import threading
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl
import pytest

from collector.batch import Batch, Opening, Span, commit
from collector.sink import WAITING_AT_MOST, Sink
from collector.spool import Spool
from quartermaster.errors import InputError, LedgerError
from quartermaster.records import Gap, LabelRef, Watermark
from sql.ledger import Ledger, frame, memory_ledger


@pytest.fixture(scope="module")
def shared() -> Generator[Ledger]:
    with memory_ledger() as opened:
        yield opened


@dataclass
class Place:
    """A ledger that can be away, or slow; and what the sink reported."""

    ledger: Ledger
    away_now: bool = False
    gate: threading.Event = field(default_factory=threading.Event)
    done: list[str] = field(default_factory=list)
    lost: int = 0
    complaints: list[str] = field(default_factory=list)
    tended: int = 0

    @contextlib.contextmanager
    def open(self) -> Generator[Ledger]:
        self.gate.wait(10)
        if self.away_now:
            raise LedgerError("it is away")
        yield self.ledger

    def committed(self, batch: Batch, seconds: float) -> None:
        assert seconds >= 0
        self.done.append(batch.key)

    def spooled(self, batch: Batch, dropped: int) -> None:
        assert batch.key
        self.lost += dropped

    def away(self, error: Exception) -> None:
        self.complaints.append(str(error))

    def damaged(self, error: InputError) -> None:
        self.complaints.append(str(error))

    def tend(self, ledger: Ledger) -> None:
        assert ledger is self.ledger
        self.tended += 1


@pytest.fixture
def place(shared: Ledger) -> Place:
    made = Place(shared)
    made.gate.set()
    return made


def batch(name: str, sequence: int, rows: int = 3) -> Batch:
    at = sequence * 1000
    samples = pl.DataFrame(
        {
            "cluster": [name] * rows,
            "series_id": range(rows),
            "sampled_at": [at] * rows,
            "source": ["dcgm"] * rows,
        }
    )
    marks = frame([Watermark(name, "dcgm", "telemetry", at + 1000)])
    return Batch(
        f"{name}/1/{sequence}",
        at,
        {"samples": samples, "watermarks": marks},
        (Span(name, "dcgm", at, at + 1000),),
    )


def until(condition: Callable[[], bool]) -> None:
    give_up = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < give_up, "it never came to pass"
        time.sleep(0.01)


def stored(ledger: Ledger, name: str) -> list[int]:
    rows = ledger.query(
        "select epoch_ms(sampled_at) as t from samples where cluster = ? order by t, series_id", [name]
    )
    return rows["t"].to_list()


@pytest.mark.patient
def test_batches_are_committed_in_order_and_the_ledger_is_tended(place: Place, tmp_path: Path) -> None:
    sink = Sink(Spool(tmp_path, 1 << 20), place.open, place, place.tend, tend_every_s=0.05)
    sink.start()
    for sequence in range(5):
        sink.submit(batch("a", sequence))
    until(lambda: place.tended > 0)
    assert sink.stop(10)
    assert place.done == [f"a/1/{sequence}" for sequence in range(5)]
    assert stored(place.ledger, "a") == [sequence * 1000 for sequence in range(5) for _ in range(3)]


@pytest.mark.patient
def test_while_the_ledger_is_away_batches_wait_and_are_there_once(place: Place, tmp_path: Path) -> None:
    place.away_now = True
    sink = Sink(Spool(tmp_path, 1 << 20), place.open, place, place.tend)
    sink.start()
    sink.submit(batch("b", 0))
    until(lambda: bool(place.complaints))
    for sequence in range(1, 20):
        sink.submit(batch("b", sequence))
    assert sink.waiting == 20
    assert sink.stop(10)
    # Half of what waits was committed after all, only the answer was lost: the same key again is harmless.
    commit(place.ledger, batch("b", 0))
    commit(place.ledger, batch("b", 1))
    place.away_now = False
    again = Sink(Spool(tmp_path, 1 << 20), place.open, place, place.tend)
    again.start()
    again.submit(batch("b", 20))
    until(lambda: again.waiting == 0)
    assert again.stop(10)
    assert place.done == [f"b/1/{sequence}" for sequence in range(21)]
    assert stored(place.ledger, "b") == [sequence * 1000 for sequence in range(21) for _ in range(3)]


@pytest.mark.patient
def test_a_ledger_that_hangs_fills_the_spool_not_the_memory(place: Place, tmp_path: Path) -> None:
    place.gate.clear()
    spool = Spool(tmp_path, 1 << 30)
    sink = Sink(spool, place.open, place, place.tend)
    sink.start()
    for sequence in range(40):
        sink.submit(batch("h", sequence))
    assert len(spool) == 40 - WAITING_AT_MOST
    place.gate.set()
    until(lambda: sink.waiting == 0)
    assert sink.stop(10)
    assert place.done == [f"h/1/{sequence}" for sequence in range(40)]


@pytest.mark.patient
def test_neither_ledger_nor_disk_memory_stays_bounded_and_the_loss_is_a_gap(
    place: Place, tmp_path: Path
) -> None:
    place.away_now = True
    folder = tmp_path / "spool"
    spool = Spool(folder, 1 << 30)
    sink = Sink(spool, place.open, place, place.tend)
    folder.rmdir()
    sink.start()
    for sequence in range(40):
        sink.submit(batch("d", sequence))
    assert sink.waiting <= WAITING_AT_MOST
    folder.mkdir()
    place.away_now = False
    until(lambda: sink.waiting == 0)
    assert sink.stop(10)
    kept = set(stored(place.ledger, "d"))
    lost = place.ledger.query("select epoch_ms(start_at) as t, reason from gaps where cluster = 'd'")
    assert set(lost["t"]) | kept == {sequence * 1000 for sequence in range(40)}
    assert not set(lost["t"]) & kept
    assert set(lost["reason"]) == {"spool full"}


@pytest.mark.patient
def test_a_full_spool_drops_the_oldest_as_a_gap(place: Place, tmp_path: Path) -> None:
    place.away_now = True
    sink = Sink(Spool(tmp_path, 60_000), place.open, place, place.tend)
    sink.start()
    sink.submit(batch("f", 0, rows=3000))
    until(lambda: bool(place.complaints))
    for sequence in range(1, 12):
        sink.submit(batch("f", sequence, rows=3000))
    place.away_now = False
    until(lambda: sink.waiting == 0)
    assert sink.stop(10)
    lost = place.ledger.query("select epoch_ms(start_at) as t from gaps where cluster = 'f'")["t"].to_list()
    kept = sorted(set(stored(place.ledger, "f")))
    assert sorted(lost + kept) == [sequence * 1000 for sequence in range(12)]
    assert place.lost == len(lost) > 0
    assert max(lost) < min(kept)


def test_a_damaged_file_costs_itself(place: Place, tmp_path: Path) -> None:
    spool = Spool(tmp_path, 1 << 20)
    for sequence in range(3):
        spool.put(batch("x", sequence))
    (tmp_path / "0000000001-000000000001.arrow").write_bytes(b"rot")
    sink = Sink(Spool(tmp_path, 1 << 20), place.open, place, place.tend)
    sink.start()
    until(lambda: sink.waiting == 0)
    assert sink.stop(10)
    assert place.done == ["x/1/0", "x/1/2"]
    assert "damaged" in place.complaints[0]


def test_a_new_life_ends_what_the_last_left_open_and_records_the_time_between(shared: Ledger) -> None:
    left = Gap("o", 7, 5_000, None, "telemetry", "dcgm", "http://n1/metrics", "n1", "refused")
    targets = pl.DataFrame(
        [
            {
                "cluster": "o",
                "target_id": i,
                "start_at": 1_000,
                "source": "dcgm",
                "target": f"t{i}",
                "node": "",
                "interval_ms": 1000,
                "revision": 0,
            }
            for i in (1, 2)
        ]
    ).with_columns(end_at=pl.lit(None, pl.Int64))
    marks = frame([Watermark("o", "dcgm", "telemetry", 20_000)])
    labels = frame([LabelRef("o", 1, "vision", "train-0", "main", "", "")])
    frames = {
        "gaps_versions": frame([left]),
        "targets_versions": targets,
        "watermarks": marks,
        "label_refs": labels,
    }
    commit(shared, Batch("o/1/1", 0, frames))
    again = {
        "targets_versions": targets.filter(pl.col("target_id") == 1).with_columns(start_at=pl.lit(90_000)),
        "label_refs": labels,
    }
    commit(shared, Batch("o/2/1", 0, again, (), (Opening("o", "dcgm", 90_000, 30_000, [1]),)))
    gaps = shared.query(
        "select epoch_ms(start_at) as s, epoch_ms(end_at) as e, node, reason from gaps "
        "where cluster = 'o' order by s"
    )
    assert gaps.rows() == [(5_000, 90_000, "n1", "refused"), (20_000, 90_000, "", "collector down")]
    now = shared.query(
        "select target_id, epoch_ms(start_at) as s, epoch_ms(end_at) as e from targets "
        "where cluster = 'o' order by target_id"
    )
    assert now.rows() == [(1, 1_000, None), (2, 1_000, 90_000)]
    assert shared.query("select count(*) n from label_refs where cluster = 'o'")["n"].item() == 1
