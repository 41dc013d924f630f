"""Upkeep on each catalog: every row is there after each step, files become few, readers and writers go on."""

import contextlib
import os
import threading
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from quartermaster.clock import DAY_MS, HOUR_MS, now_ms
from quartermaster.errors import InputError
from sql import revision
from sql.ledger import Ledger, memory_ledger, open_ledger
from sql.people import erase
from sql.retention import Retention
from sql.state import state
from sql.upgrade import upgrade
from sql.upkeep import Pace, compact, inlined, mergeable
from tests.ledgers import lay_ledger, new_ledger, tend

T0 = 1_790_000_000_000


def batch_of(number: int, devices: int = 150, cluster: str = "c") -> dict[str, pl.DataFrame]:
    samples = pl.DataFrame(
        {
            "cluster": [cluster] * devices,
            "series_id": range(devices),
            "sampled_at": [T0 + number * 30_000] * devices,
            "power_dw": [(number * 31 + device) % 5000 for device in range(devices)],
        }
    )
    marks = {
        "cluster": [cluster],
        "source": ["dcgm"],
        "covers": ["telemetry"],
        "complete_until_at": [T0 + number * 30_000],
    }
    return {"samples": samples, "watermarks": pl.DataFrame(marks)}


def fill(ledger: Ledger, batches: int, *, first: int = 0, cluster: str = "c") -> None:
    for number in range(first, first + batches):
        ledger.append(f"{cluster}/1/{number}", batch_of(number, cluster=cluster))


def sums_of(ledger: Ledger) -> tuple[Any, ...]:
    return ledger.query(
        "select count(*), sum(power_dw), count(distinct (cluster, series_id, sampled_at)) from samples"
    ).row(0)


def files_of(ledger: Ledger) -> int:
    return int(ledger.query("select count(*) from ducklake_list_files('lake', 'samples')").item())


def files_on_disk(ledger: Ledger) -> int:
    return sum(1 for _ in ledger.catalog.data.rglob("*.parquet"))


@pytest.mark.patient
def test_small_files_become_few_and_no_row_changes(ledger: Ledger) -> None:
    fill(ledger, 12)
    before = sums_of(ledger)
    assert (files_of(ledger), inlined(ledger)["watermarks"]) == (12, 12)
    steps = tend(ledger, now_ms())
    assert {step.what for step in steps} >= {"merge"}
    assert files_of(ledger) < 8
    assert inlined(ledger)["watermarks"] == 12
    tend(ledger, now_ms(), everything=True)
    assert files_of(ledger) == 1
    assert inlined(ledger) == {}
    assert sums_of(ledger) == before
    assert ledger.query("select count(*) from watermarks").item() == 12
    assert not ledger.append("c/1/3", batch_of(3))


@pytest.mark.patient
def test_nothing_to_do_is_nothing_done() -> None:
    with memory_ledger() as ledger:
        tend(ledger, now_ms(), everything=True)
        before = ledger.query("select count(*) from ducklake_snapshots('lake')").item()
        assert [step for step in tend(ledger, now_ms(), everything=True) if step.things] == []
        assert ledger.query("select count(*) from ducklake_snapshots('lake')").item() == before


@pytest.mark.patient
def test_a_budget_ends_it() -> None:
    with memory_ledger() as ledger:
        fill(ledger, 30)
        assert len(compact(ledger, now_ms(), budget_s=0)) == 1


@pytest.mark.patient
def test_only_one_at_a_time(ledger: Ledger) -> None:
    fill(ledger, 9)
    with ledger.exclusive("upkeep"):
        assert compact(ledger, now_ms()) == []


def test_a_merge_takes_what_the_machine_can_do() -> None:
    pace = Pace()
    assert pace.files(100, 1000) == 14
    for _ in range(20):
        pace.learn(14, 14_000, 1.5)
    assert pace.files(100, 1000) == 2
    assert pace.bears(100_000) is False
    assert [pace.bears(100_000) for _ in range(20)][-1] is True
    for _ in range(40):
        pace.learn(2, 2000, 0.002)
    assert pace.files(100, 1000) > 30
    assert pace.files(5, 1000) == 5
    assert pace.bears(1000) is True
    assert Pace().bears(1_000_000) is False


def test_a_merge_in_passing_is_bounded_in_rows_however_fast_the_machine() -> None:
    fast = Pace(slowness=0.2)
    assert fast.files(100, 50_000) == 4
    assert fast.files(100, 50_000, most_rows=5_000_000) > 20
    assert fast.bears(100_000) is True
    assert fast.bears(100_001) is False


@pytest.mark.patient
def test_merging_goes_by_partition_and_size(ledger: Ledger) -> None:
    fill(ledger, 3)
    fill(ledger, 5, cluster="d")
    assert [(tier.table, tier.lower, tier.files) for tier in mergeable(ledger, 4)] == [("samples", 0, 5)]
    assert [tier.files for tier in mergeable(ledger, 2)] == [5, 3]


@pytest.mark.patient
def test_files_go_when_their_grace_is_over(ledger: Ledger) -> None:
    fill(ledger, 9)
    now = now_ms()
    tend(ledger, now, everything=True)
    assert files_on_disk(ledger) >= 10
    tend(ledger, now + 5 * HOUR_MS, everything=True)
    assert files_on_disk(ledger) >= 10
    tend(ledger, now + 7 * HOUR_MS, everything=True)
    assert files_on_disk(ledger) <= 3
    assert sums_of(ledger)[0] == 9 * 150


@pytest.mark.patient
def test_a_killed_writers_files_go_after_a_day(tmp_path: Path) -> None:
    with new_ledger(tmp_path) as ledger:
        fill(ledger, 1)
        orphan = ledger.catalog.data / "main" / "samples" / "left.parquet"
        orphan.write_bytes(b"PAR1")
        tend(ledger, now_ms(), everything=True)
        assert orphan.exists()
        tend(ledger, now_ms() + 2 * DAY_MS, everything=True)
        assert orphan.exists(), "a day by the machine's own clock has not passed"
        long_ago = time.time() - 2 * 86_400
        os.utime(orphan, (long_ago, long_ago))
        tend(ledger, now_ms(), everything=True)
        assert not orphan.exists()
        assert sums_of(ledger)[0] == 150


@pytest.mark.patient
def test_snapshots_are_forgotten_but_never_past_the_rollups_last(ledger: Ledger) -> None:
    fill(ledger, 6)
    last = int(ledger.query("select max(snapshot_id) from ducklake_snapshots('lake')").item())
    marks = pl.DataFrame({"cluster": ["c", "d"], "snapshot_id": [last, last - 2], "recorded_at": [5, 5]})
    ledger.append("mark/1/1", {"rollup_marks": marks})
    tend(ledger, now_ms() + 6 * DAY_MS, everything=True)
    assert ledger.query("select min(snapshot_id) from ducklake_snapshots('lake')").item() == 0
    tend(ledger, now_ms() + 8 * DAY_MS, everything=True)
    assert ledger.query("select min(snapshot_id) from ducklake_snapshots('lake')").item() == last - 2
    later = pl.DataFrame({"cluster": ["d"], "snapshot_id": [last], "recorded_at": [9]})
    ledger.append("mark/1/2", {"rollup_marks": later})
    tend(ledger, now_ms() + 8 * DAY_MS, everything=True)
    assert ledger.query("select min(snapshot_id) from ducklake_snapshots('lake')").item() == last
    new = f"ducklake_table_insertions('lake', 'main', 'samples', {last}, {last})"
    assert ledger.query(f"select count(*) from {new}").item() == 150
    assert sums_of(ledger)[0] == 900


@pytest.mark.patient
def test_old_samples_go_when_they_are_rolled_up(ledger: Ledger) -> None:
    fill(ledger, 2)
    fill(ledger, 2, first=3000)
    fill(ledger, 2, cluster="d")
    keep = Retention(tables_ms={"samples": DAY_MS})
    now = T0 + 3010 * 30_000
    tend(ledger, now, keep=keep)
    assert sums_of(ledger)[0] == 900
    rolled = pl.DataFrame({"cluster": ["c"], "snapshot_id": [1], "rolled_until_at": [now]})
    ledger.append("mark/1/1", {"rollup_marks": rolled})
    tend(ledger, now, keep=keep)
    assert ledger.query("select cluster, count(*) from samples group by 1 order by 1").rows() == [
        ("c", 300),
        ("d", 300),
    ]
    assert (
        ledger.query("select min(sampled_at) from samples where cluster = 'c'").item().timestamp() * 1000
        == T0 + 90_000_000
    )


def test_evidence_is_never_retired() -> None:
    with pytest.raises(InputError, match="rows of usage_hourly are kept"):
        Retention(tables_ms={"usage_hourly": DAY_MS})


@pytest.mark.patient
def test_deleted_rows_are_written_out_of_their_files(ledger: Ledger) -> None:
    ledger.append("c/1/1", batch_of(1, devices=400))
    ledger.write("a/1/1", lambda cursor: cursor.execute("delete from samples where series_id < 300") and None)
    steps = tend(ledger, now_ms(), everything=True)
    assert "rewrite" in {step.what for step in steps}
    assert sums_of(ledger)[0] == 100


@pytest.mark.parametrize("in_passing", [False, True], ids=["by the command", "in passing before"])
@pytest.mark.parametrize("many", [5, 300], ids=["in the catalog", "in a file"])
@pytest.mark.patient
def test_an_erased_name_is_in_no_file_when_its_snapshots_are_gone(
    tmp_path: Path, many: int, in_passing: bool
) -> None:
    def has_name(name: str) -> list[str]:
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        return [path.name for path in files if name.encode() in path.read_bytes()]

    names = [f"Tricia{number:03d}" for number in range(many)]
    people = pl.DataFrame({"person_id": range(many), "name": names})
    with new_ledger(tmp_path) as ledger:
        ledger.append("p/1/1", {"people": people})
    assert has_name(names[-1])
    with open_ledger(tmp_path) as ledger:
        for person in (0, many - 1):  # the first and the last, which the catalog's statistics name too
            erase(ledger, person, "reader", now_ms())
        ledger.append("p/1/3", {"cuts": pl.DataFrame({"reason": ["price"]})})
        later = now_ms() + 8 * DAY_MS
        if in_passing:
            tend(ledger, later)
        tend(ledger, later, everything=True)
    assert has_name(names[0]) == has_name(names[-1]) == []
    assert has_name(names[1])
    with open_ledger(tmp_path) as ledger:
        for number, name in enumerate(("", "Aaron", "Zoë", "\N{PILE OF POO}")):
            added = {"person_id": [many + number], "name": [name]}
            ledger.append(f"p/2/{number}", {"people": pl.DataFrame(added)})
            assert ledger.query("select person_id from people where name = $name", {"name": name}).item()
        left = ledger.query("select count(*), min(name), max(name) from people where name <> 'Tricia001'")
        assert left.row(0) == (many - 3 + 4, "", "\N{PILE OF POO}")


@pytest.mark.patient
def test_statistics_name_nobody_on_any_catalog(place: Any) -> None:
    people = pl.DataFrame({"person_id": range(300), "name": [f"Tricia{number:03d}" for number in range(300)]})
    bounds = (
        "select min_value, max_value from __ducklake_metadata_lake.ducklake_table_column_stats "
        "where max_value like 'Tricia%'"
    )
    with open_ledger(place.folder, place.catalog) as ledger:
        upgrade(ledger)
        ledger.append("p/1/1", {"people": people})
        assert ledger.query(bounds).row(0) == ("Tricia000", "Tricia299")
        erase(ledger, 299, "reader", now_ms())
        tend(ledger, now_ms() + 8 * DAY_MS, everything=True)
        assert ledger.query(bounds).is_empty()
        assert ledger.query("select count(*) from people where name > 'Tricia100'").item() == 198


@pytest.mark.patient
def test_readers_and_writers_go_on_meanwhile(place: Any) -> None:
    stop = threading.Event()
    seen: list[int] = []
    waits: list[float] = []

    def read() -> None:
        with open_ledger(place.folder, place.catalog, read_only=True) as reader:
            while not stop.is_set():
                seen.append(reader.query("select count(*) from samples").item())

    def write() -> None:
        with open_ledger(place.folder, place.catalog) as writer:
            for number in range(100, 115):
                begun = time.monotonic()
                writer.append(f"c/1/{number}", batch_of(number))
                waits.append(time.monotonic() - begun)

    with open_ledger(place.folder, place.catalog) as ledger:
        fill(ledger, 16)
        threads = [threading.Thread(target=read), threading.Thread(target=write)]
        for thread in threads:
            thread.start()
        steps = tend(ledger, now_ms(), everything=True)
        threads[1].join()
        stop.set()
        threads[0].join()
        assert sums_of(ledger) == sums_of(ledger)
        assert sums_of(ledger)[0] == sums_of(ledger)[2] == 31 * 150
    assert seen == sorted(seen)
    assert all(count % 150 == 0 for count in seen)
    assert any(step.what == "merge" for step in steps)


@pytest.mark.patient
def test_upkeep_waits_for_those_who_read(tmp_path: Path) -> None:
    with new_ledger(tmp_path) as ledger:
        fill(ledger, 9)
        with ledger.reading() as cursor:
            before = cursor.execute("select count(*) from samples").fetchone()
            assert compact(ledger, now_ms()) == []
            assert compact(ledger, now_ms(), everything=True, budget_s=0.2) == []
            assert cursor.execute("select count(*) from samples").fetchone() == before
        assert files_of(ledger) == 9
        tend(ledger, now_ms(), everything=True)
        assert files_of(ledger) == 1


@pytest.mark.patient
def test_the_state_tells_what_there_is(ledger: Ledger) -> None:
    fill(ledger, 3)
    now = state(ledger)
    tables = {table.table: table for table in now.tables}
    assert (tables["samples"].rows, tables["samples"].files) == (450, 3)
    assert (tables["watermarks"].rows, tables["watermarks"].inlined) == (3, 3)
    assert now.revision == now.newest_revision
    assert (now.small_files, now.last_author, now.writer_process) == (3, "quartermaster", None)
    assert now.size_bytes > 0
    unsafe = [warning for warning in now.warnings if "fsync" in warning]
    assert len(unsafe) == (1 if ledger.kind == "postgres" else 0)
    with contextlib.suppress(InputError):
        tend(ledger, now_ms(), everything=True)
    assert state(ledger).files_to_remove == 3


def test_who_opens_a_ledger_while_a_commit_hides_its_tables_looks_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lay_ledger(tmp_path)
    looks: list[str] = []
    current = revision.current

    def hidden_at_first(cursor: Any) -> str:
        looks.append(current(cursor) if looks else "")
        return looks[-1]

    monkeypatch.setattr(revision, "current", hidden_at_first)
    with open_ledger(tmp_path, read_only=True):
        assert looks == ["", revision.newest()]
