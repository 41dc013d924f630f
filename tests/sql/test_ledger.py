"""The ledger on each catalog: what is appended is read back, once for each key; what is wrong is said."""

import multiprocessing
import os
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from quartermaster.errors import InputError, LedgerBusyError, LedgerError, LedgerVersionError
from quartermaster.records import Gap, Node
from sql import ledger as ledger_module
from sql import revision
from sql.faults import understand, without_secrets
from sql.ledger import Cursor, Ledger, frame, memory_ledger, open_ledger
from sql.lock import file_lock, holder
from sql.upgrade import upgrade
from sql.writer import Writer, key
from tests.ledgers import lay_ledger, new_ledger

SPAWN = multiprocessing.get_context("spawn")


def cut_rows(count: int, reason: str = "price") -> pl.DataFrame:
    return pl.DataFrame({"cut_at": list(range(count)), "reason": [reason] * count})


def sample_rows(count: int) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "cluster": ["c"] * count,
            "series_id": [index % 7 for index in range(count)],
            "sampled_at": [1_790_000_000_000 + index * 1000 for index in range(count)],
            "source": ["dcgm"] * count,
            "power_dw": [index % 5000 for index in range(count)],
        }
    )


def count_of(ledger: Ledger, table: str) -> int:
    return int(ledger.query(f"select count(*) from {table}").item())


@pytest.mark.patient
def test_rows_are_read_back_as_they_were(ledger: Ledger) -> None:
    node = Node("c", "n1", 1_790_000_000_000, None, "training", "NVIDIA H100", 8)
    assert ledger.append("w/1/1", {"nodes_versions": [node]}, recorded_at=1_790_000_000_123)
    found = ledger.query(
        "select *, epoch_ms(start_at) as start_ms, epoch_ms(recorded_at) as recorded_ms from nodes"
    )
    row = found.to_dicts()[0]
    assert (row["node"], row["gpu_count"], row["schedulable"], row["end_at"]) == ("n1", 8, True, None)
    assert (row["start_ms"], row["recorded_ms"]) == (1_790_000_000_000, 1_790_000_000_123)


@pytest.mark.parametrize("rows", [3, 5000], ids=["inlined", "a file"])
@pytest.mark.patient
def test_a_key_sent_twice_is_there_once(ledger: Ledger, rows: int) -> None:
    assert not ledger.committed("w/1/1")
    assert ledger.append("w/1/1", {"samples": sample_rows(rows), "cuts": cut_rows(2)})
    assert not ledger.append("w/1/1", {"samples": sample_rows(rows), "cuts": cut_rows(2)})
    assert ledger.committed("w/1/1")
    assert (count_of(ledger, "samples"), count_of(ledger, "cuts")) == (rows, 2)


@pytest.mark.patient
def test_a_key_with_a_quote_in_it_is_text(ledger: Ledger) -> None:
    assert ledger.append("it's; drop table cuts/1/1", {"cuts": cut_rows(1)})
    assert not ledger.append("it's; drop table cuts/1/1", {"cuts": cut_rows(1)})


@pytest.mark.patient
def test_a_failing_write_leaves_nothing(ledger: Ledger) -> None:
    def half(cursor: Cursor) -> None:
        cursor.execute("insert into cuts (reason) values ('half')")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        ledger.write("w/1/1", half)
    assert count_of(ledger, "cuts") == 0
    assert ledger.append("w/1/1", {"cuts": cut_rows(1)})


@pytest.mark.patient
def test_a_write_that_loses_a_conflict_runs_again(ledger: Ledger) -> None:
    ledger.append("w/1/1", {"cuts": cut_rows(1)})
    tries: list[int] = []

    def replace(cursor: Cursor) -> None:
        tries.append(1)
        if len(tries) == 1:
            raise duckdb.TransactionException("Transaction conflict - attempting to delete from table")
        cursor.execute("delete from cuts")
        cursor.execute("insert into cuts (reason) values ('new')")

    assert ledger.write("w/1/2", replace)
    assert len(tries) == 2
    assert ledger.query("select reason from cuts").to_series().to_list() == ["new"]


@pytest.mark.patient
def test_a_conflict_that_does_not_end_is_told(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_module, "PATIENCE_S", 0.05)

    def lose(_cursor: Cursor) -> None:
        raise duckdb.TransactionException("database is locked")

    with pytest.raises(LedgerBusyError, match="all the time"):
        ledger.write("w/1/1", lose)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"cuts": pl.DataFrame({"cut_at": [1], "colour": ["red"]})}, "the table cuts has no column colour"),
        ({"cats": pl.DataFrame({"name": ["Tom"]})}, "the ledger has no table cats"),
        ({"cuts; drop table cuts": pl.DataFrame({"name": ["Tom"]})}, "is no table's name"),
        ({"samples": pl.DataFrame({"power_dw": ["many"]})}, "refused: Conversion Error"),
    ],
)
@pytest.mark.patient
def test_rows_that_do_not_fit_are_refused(rows: dict[str, pl.DataFrame], message: str) -> None:
    with memory_ledger() as ledger:
        with pytest.raises(LedgerError, match=message):
            ledger.append("w/1/1", rows)
        assert count_of(ledger, "cuts") == 0


def test_records_become_frames() -> None:
    gap = Gap("c", 1, 0, None, "telemetry", "dcgm", "t", "n", "refused")
    assert frame([gap, gap]).shape == (2, 10)
    assert frame([]).is_empty()
    with pytest.raises(InputError, match="no records of one kind"):
        frame([gap, Node("c", "n", 0, None, "p", "m", 8)])
    with pytest.raises(InputError, match="no records"):
        frame(["text"])


@pytest.mark.parametrize("bad", ["", "ä", "line\nbreak", "x" * 301])
@pytest.mark.patient
def test_a_key_that_cannot_travel_is_refused(bad: str) -> None:
    with memory_ledger() as ledger, pytest.raises(InputError, match="no idempotency key"):
        ledger.append(bad, {"cuts": cut_rows(1)})


def test_a_writer_numbers_its_batches() -> None:
    writer = Writer("collector-1", 1_790_000_000_000)
    assert [writer.next_key(), writer.next_key()] == [
        "collector-1/1790000000000/1",
        "collector-1/1790000000000/2",
    ]
    assert key("a", 1, 2) == "a/1/2"
    with pytest.raises(InputError, match="no writer's name"):
        Writer("a/b", 1)


# opening ----------------------------------------------------------------------------------------------------


def test_a_missing_ledger_is_not_made_by_a_reader(empty_place: Any) -> None:
    with (
        pytest.raises(LedgerError) as told,
        open_ledger(empty_place.folder, empty_place.catalog, read_only=True),
    ):
        pass
    assert told.value.hint
    assert not empty_place.folder.exists()


def test_a_missing_ledger_is_not_made_by_a_writer_that_needs_one(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="there is no ledger"), open_ledger(tmp_path / "typo", make=False):
        pass
    assert not (tmp_path / "typo").exists()
    (tmp_path / "catalog.sqlite").touch()
    for read_only in (False, True):
        with (
            pytest.raises(LedgerError, match="there is no ledger"),
            open_ledger(tmp_path, make=False, read_only=read_only),
        ):
            pass


@pytest.mark.parametrize(
    ("version", "message"),
    [("0000", "unknown to this program"), ("9999", "unknown to this program"), ("", "is empty")],
)
@pytest.mark.patient
def test_another_revision_is_told(place: Any, version: str, message: str) -> None:
    with open_ledger(place.folder, place.catalog) as ledger:
        set_revision(ledger, version)
    with (
        pytest.raises(LedgerVersionError, match=message),
        open_ledger(place.folder, place.catalog, read_only=True),
    ):
        pass


def test_an_older_revision_says_to_upgrade(place: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(revision, "known", lambda: ["0001", "0002"])
    monkeypatch.setattr(revision, "newest", lambda: "0002")
    with (
        pytest.raises(LedgerVersionError, match="is at revision 0001, this program at 0002") as told,
        open_ledger(place.folder, place.catalog, read_only=True),
    ):
        pass
    assert "ledger upgrade" in told.value.hint
    with open_ledger(place.folder, place.catalog) as ledger, pytest.raises(LedgerVersionError, match="0002"):
        ledger.append("w/1/1", {"cuts": cut_rows(1)})


def test_a_newer_ledger_is_not_written(place: Any) -> None:
    with open_ledger(place.folder, place.catalog) as ledger:
        set_revision(ledger, "9999")
    with pytest.raises(LedgerVersionError, match="unknown"), open_ledger(place.folder, place.catalog):
        pass


def test_a_query_for_what_a_newer_revision_has_says_so(place: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_ledger(place.folder, place.catalog) as ledger:
        with pytest.raises(duckdb.CatalogException):
            ledger.query("select * from not_there")
        monkeypatch.setattr(revision, "newest", lambda: "0002")
        with pytest.raises(LedgerVersionError):
            ledger.query("select * from not_there")


def set_revision(ledger: Ledger, version: str) -> None:
    def change(cursor: Cursor) -> None:
        cursor.execute("delete from alembic_version")
        if version:
            cursor.execute("insert into alembic_version (version_num) values (?)", [version])

    ledger.write(f"test/1/{version or 'none'}", change)


@pytest.mark.parametrize("catalog", ["mysql", "sqlite:file", "postgres", "postgres:"])
def test_a_catalog_that_there_is_not(tmp_path: Path, catalog: str) -> None:
    with pytest.raises(LedgerError, match="is no catalog"), open_ledger(tmp_path, catalog):
        pass


def test_a_folder_with_a_hostile_name(tmp_path: Path) -> None:
    folder = tmp_path / "it's [a] *ledger? ü; --"
    with new_ledger(folder) as ledger:
        ledger.append("w/1/1", {"samples": sample_rows(500)})
    moved = folder.rename(tmp_path / "moved")
    with open_ledger(moved, read_only=True) as ledger:
        assert count_of(ledger, "samples") == 500


def test_a_file_that_is_no_catalog(tmp_path: Path) -> None:
    (tmp_path / "catalog.sqlite").write_text(
        "this is not a database, and long enough to be looked at as one" * 20
    )
    with pytest.raises(LedgerError, match="damaged") as told, open_ledger(tmp_path):
        pass
    assert "restore" in told.value.hint


def test_a_read_only_opening_does_not_write(place: Any) -> None:
    with open_ledger(place.folder, place.catalog, read_only=True) as ledger:
        with pytest.raises(LedgerError):
            ledger.append("w/1/1", {"cuts": cut_rows(1)})
        assert count_of(ledger, "cuts") == 0


# Root as any other user: bound by what files permit. Another user might not be let into the checkout at all.
BOUND = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search")
READ_ONLY_FOLDER = """
import sys
from pathlib import Path
import polars
from quartermaster.errors import LedgerError
from sql.ledger import open_ledger
try:
    with open_ledger(Path(sys.argv[1]), read_only=sys.argv[2] == "read") as ledger:
        ledger.append("w/1/1", {"cuts": polars.DataFrame({"reason": ["x"]})})
except LedgerError as error:
    print(error.what, "|", error.hint)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another user")
@pytest.mark.parametrize("how", ["read", "write"])
@pytest.mark.patient
def test_a_folder_that_may_not_be_written(tmp_path: Path, how: str) -> None:
    place = tmp_path / "ledger"
    lay_ledger(place)
    for path in [place, *place.rglob("*")]:
        os.chown(path, 65534, 65534)
    told = subprocess.run(
        [*BOUND, sys.executable, "-c", READ_ONLY_FOLDER, place, how],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "may not be written" in told.stdout, told.stdout + told.stderr
    assert "let the user write" in told.stdout
    with open_ledger(place, read_only=True) as ledger:
        assert count_of(ledger, "cuts") == 0


# locks ------------------------------------------------------------------------------------------------------


def hold(folder: Path, catalog: str, name: str, held: Any, go_on: Any) -> None:
    with open_ledger(folder, catalog) as ledger, ledger.exclusive(name):
        held.set()
        go_on.wait(30)


@pytest.mark.patient
def test_an_exclusive_lock_is_alone_until_its_holder_dies(place: Any) -> None:
    held, go_on = SPAWN.Event(), SPAWN.Event()
    process = SPAWN.Process(target=hold, args=(place.folder, place.catalog, "roll-up", held, go_on))
    process.start()
    try:
        assert held.wait(30)
        with open_ledger(place.folder, place.catalog) as ledger:
            with pytest.raises(LedgerBusyError, match="has"), ledger.exclusive("roll-up", wait_s=0.2):
                pass
            with ledger.exclusive("books", wait_s=1):
                assert ledger.append("w/1/1", {"cuts": cut_rows(1)})
            process.kill()
            with ledger.exclusive("roll-up", wait_s=10):
                pass
    finally:
        process.kill()
        process.join()


@pytest.mark.patient
def test_a_lock_with_a_wrong_name(tmp_path: Path) -> None:
    with memory_ledger() as ledger:
        for name in ("write", "../up", "Roll up", ""):
            with pytest.raises(InputError, match="no lock's name"), ledger.exclusive(name):
                pass


def test_a_lock_waited_for_is_taken_when_it_is_free(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    order: list[str] = []

    def second() -> None:
        with file_lock(path):
            order.append("second")

    with file_lock(path):
        assert holder(path) == os.getpid()
        thread = threading.Thread(target=second)
        thread.start()
        time.sleep(0.1)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]
    assert holder(path) is None


def test_a_lock_given_up_is_let_go(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    with (
        file_lock(path),
        pytest.raises(LedgerBusyError, match=str(os.getpid())),
        file_lock(path, wait_s=0.05),
    ):
        pass
    with file_lock(path, wait_s=2):
        pass


def test_who_does_not_wait_for_a_lock_is_never_handed_it(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    for _ in range(50):
        with file_lock(path), pytest.raises(LedgerBusyError), file_lock(path, wait_s=0):
            pass
        assert holder(path) is None
        with file_lock(path, wait_s=0):
            pass


@pytest.mark.patient
def test_threads_share_a_ledger(ledger: Ledger) -> None:
    def write(number: int) -> None:
        for batch in range(5):
            ledger.append(f"w{number}/1/{batch}", {"cuts": cut_rows(3), "samples": sample_rows(200)})

    threads = [threading.Thread(target=write, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (count_of(ledger, "cuts"), count_of(ledger, "samples")) == (45, 3000)


# PostgreSQL -------------------------------------------------------------------------------------------------


@pytest.mark.postgres
def test_a_password_is_never_told(tmp_path: Path) -> None:
    address = "host=/nowhere user=postgres password=geheim dbname=x"
    with pytest.raises(LedgerError) as told, open_ledger(tmp_path, f"postgres:{address}"):
        pass
    assert "geheim" not in told.value.what + told.value.hint
    assert "does not answer" in told.value.what


@pytest.mark.postgres
def test_postgres_goes_away_and_comes_back(place_on_own_server: Any) -> None:
    server, folder, catalog = place_on_own_server
    with open_ledger(folder, catalog) as ledger:
        upgrade(ledger)
        assert ledger.append("w/1/1", {"cuts": cut_rows(1)})
        server.stop()
        timer = threading.Timer(0.5, server.start)
        timer.start()
        assert ledger.append("w/1/2", {"cuts": cut_rows(1)})
        timer.join()
        assert not ledger.append("w/1/2", {"cuts": cut_rows(1)})
        assert count_of(ledger, "cuts") == 2


@pytest.mark.postgres
def test_postgres_that_stays_away_is_told(place_on_own_server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    server, folder, catalog = place_on_own_server
    with open_ledger(folder, catalog) as ledger:
        upgrade(ledger)
        ledger.append("w/1/1", {"cuts": cut_rows(1)})
        server.stop()
        monkeypatch.setattr(ledger_module, "PATIENCE_S", 0.3)
        with pytest.raises(LedgerError, match="does not answer"):
            ledger.append("w/1/2", {"cuts": cut_rows(1)})
        with pytest.raises(LedgerError, match="does not answer"):
            ledger.query("select * from cuts")
        server.start()
        assert ledger.append("w/1/2", {"cuts": cut_rows(1)})
        assert count_of(ledger, "cuts") == 2


# faults -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "transient", "told"),
    [
        (duckdb.IOException('Could not write file "/x": No space left on device'), False, "is full"),
        (duckdb.TransactionException("Failed to commit: database or disk is full"), False, "is full"),
        (OSError(28, "No space left on device"), False, "is full"),
        (OSError(30, "Read-only file system"), False, "may not be written"),
        (OSError(2, "No such file or directory"), False, "is missing"),
        (duckdb.IOException('Cannot open file "/x.parquet": No such file or directory'), False, "is missing"),
        (duckdb.IOException("attempt to write a readonly database"), False, "may not be written"),
        (
            duckdb.Error("Failed to commit:\n disk I/O error"),
            False,
            "fails: Failed to commit: disk I/O error",
        ),
        (OSError(5, "Input/output error"), False, "fails"),
        (
            duckdb.TransactionException("Transaction conflict - attempting to insert into table"),
            True,
            "others write",
        ),
        (duckdb.Error("Failed to commit: database is locked"), True, "others write"),
        (
            duckdb.IOException("Failed to query most recent snapshot: Connection refused"),
            True,
            "does not answer",
        ),
        (duckdb.Error("server closed the connection unexpectedly"), True, "does not answer"),
        (duckdb.BinderException("Binder Error: no such column"), False, "refused"),
        (duckdb.Error(""), False, "no reason given"),
    ],
)
def test_errors_are_understood(error: duckdb.Error | OSError, transient: bool, told: str) -> None:
    fault = understand(error, "ledger", "writing")
    assert fault.transient is transient
    assert told in fault.error.what
    assert fault.error.hint


def test_secrets_are_masked() -> None:
    assert without_secrets("host=x password=a'b dbname=y") == "host=x password=***'b dbname=y"
    assert without_secrets(r"password='it\'s' x") == "password=*** x"
    assert without_secrets("PASSWORD = abc") == "PASSWORD = ***"


@dataclass(frozen=True)
class NoRecord:
    """Only here to have a dataclass with a field that no table has."""

    colour: str


@pytest.mark.patient
def test_a_record_of_another_table_is_refused() -> None:
    with memory_ledger() as ledger, pytest.raises(LedgerError, match="no column colour"):
        ledger.append("w/1/1", {"cuts": [NoRecord("red")]})
