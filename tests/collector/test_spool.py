"""The spool: what is in it outlives the process, in order, once; when full, the oldest is a gap."""

from pathlib import Path
from unittest import mock

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.batch import Batch, Opening, Span, from_bytes, to_bytes
from collector.identity import only_collector
from collector.spool import Spool
from quartermaster.errors import InputError
from quartermaster.records import Watermark
from sql.ledger import frame


def batch(sequence: int, rows: int = 2000) -> Batch:
    start = sequence * 30_000
    noise = [(sequence * 7919 + i * 104_729) % 100_003 for i in range(rows)]
    samples = pl.DataFrame({"cluster": ["c"] * rows, "series_id": noise, "sampled_at": [start] * rows})
    return Batch(
        f"w/1/{sequence}",
        start,
        {"samples": samples, "watermarks": frame([Watermark("c", "dcgm", "telemetry", start + 30_000)])},
        (Span("c", "dcgm", start, start + 30_000),),
    )


def same(one: Batch, other: Batch) -> bool:
    return one.frames.keys() == other.frames.keys() and all(
        one.frames[t].equals(other.frames[t]) for t in one.frames
    )


def test_a_batch_is_the_same_after_the_disk() -> None:
    given_batch = Batch(
        "w/3/9", 7, batch(9).frames, batch(9).spans, (Opening("c", "dcgm", 5, 30_000, [1, 2]),)
    )
    read = from_bytes(to_bytes(given_batch))
    assert same(read, given_batch)
    assert (read.key, read.recorded_at, read.spans, read.openings) == (
        "w/3/9",
        7,
        given_batch.spans,
        given_batch.openings,
    )


def test_it_outlives_the_process_in_order(tmp_path: Path) -> None:
    spool = Spool(tmp_path, 1 << 30)
    for sequence in (1, 2, 10, 100_000):
        spool.put(batch(sequence))
    (tmp_path / "0000000001-000000000011.part").write_bytes(b"half")
    again = Spool(tmp_path, 1 << 30)
    assert again.bytes_used == spool.bytes_used > 0
    keys = []
    while (oldest := again.oldest()) is not None:
        keys.append(oldest.key)
        assert same(oldest, batch(int(oldest.key.split("/")[2])))
        again.remove(oldest.key)
    assert keys == ["w/1/1", "w/1/2", "w/1/10", "w/1/100000"]
    assert not list(tmp_path.iterdir())


def spans_of(spool: Spool) -> tuple[set[int], list[tuple[int, int]], set[int]]:
    """The rounds whose samples wait, the gaps that wait, and the watermarks."""
    sampled, lost, marks = set(), [], set()
    while (oldest := spool.oldest()) is not None:
        if "samples" in oldest.frames:
            sampled |= set(oldest.frames["samples"]["sampled_at"].unique())
        if "gaps_versions" in oldest.frames:
            assert set(oldest.frames["gaps_versions"]["reason"]) == {"spool full"}
            lost += oldest.frames["gaps_versions"].select("start_at", "end_at").rows()
        marks |= set(oldest.frames["watermarks"]["complete_until_at"])
        spool.remove(oldest.key)
    return sampled, lost, marks


@given(rounds=st.integers(1, 40), fits=st.integers(3, 8))
@pytest.mark.patient
def test_when_it_is_full_the_oldest_become_gaps(
    rounds: int, fits: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    one = len(to_bytes(batch(5)))
    limit = one * fits + one // 2
    spool = Spool(tmp_path_factory.mktemp("spool"), limit)
    dropped = 0
    for sequence in range(rounds):
        with mock.patch("os.fsync"):
            dropped += spool.put(batch(sequence)).dropped
        assert spool.bytes_used <= limit
    sampled, lost, marks = spans_of(spool)
    gone = {start for start, end in lost if end == start + 30_000}
    assert gone | sampled == {sequence * 30_000 for sequence in range(rounds)}, "each round waits or is a gap"
    assert not gone & sampled
    assert len(gone) == dropped
    assert not sampled or not gone or max(gone) < min(sampled), "the oldest are dropped first"
    assert marks == {(sequence + 1) * 30_000 for sequence in range(rounds)}, (
        "a written gap advances the watermark"
    )


def test_a_damaged_file_is_set_aside_and_named(tmp_path: Path) -> None:
    spool = Spool(tmp_path, 1 << 30)
    spool.put(batch(1))
    spool.put(batch(2))
    (tmp_path / "0000000001-000000000001.arrow").write_bytes(b"rot")
    with pytest.raises(InputError, match=r"000000000001\.damaged"):
        spool.oldest()
    following = spool.oldest()
    assert following is not None
    assert following.key == "w/1/2"


def assert_taken(folder: Path) -> None:
    with pytest.raises(InputError, match="another collector"), only_collector(folder):
        pass


def test_one_live_process_a_spool_and_a_new_epoch_each_start(tmp_path: Path) -> None:
    with only_collector(tmp_path) as first:
        assert_taken(tmp_path)
    with only_collector(tmp_path) as second:
        assert (second.name, second.epoch) == (first.name, first.epoch + 1)
        assert second.next_key() != first.next_key()
    (tmp_path / "identity.json").write_text("{")
    with pytest.raises(InputError, match="damaged"), only_collector(tmp_path):
        pass
