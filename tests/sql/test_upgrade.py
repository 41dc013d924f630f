"""Revisions: up from nothing and from each earlier one, all or nothing with the views, one at a time."""

import multiprocessing
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from quartermaster.errors import LedgerError
from sql import revision
from sql.ledger import Ledger, memory_ledger, open_ledger
from sql.upgrade import upgrade

SPAWN = multiprocessing.get_context("spawn")
SECOND = '''"""A second revision, for the tests."""
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.get_bind().exec_driver_sql("alter table cuts add column author varchar")
    op.get_bind().exec_driver_sql("create table second (a bigint)")
    {then}
'''


@pytest.fixture
def second_revision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """A program that knows a second revision; `then` is its last line."""

    def make(then: str) -> Path:
        folder = tmp_path / "migrations"
        shutil.copytree(revision.MIGRATIONS, folder, ignore=shutil.ignore_patterns("__pycache__"))
        (folder / "versions" / "0002_second.py").write_text(SECOND.format(then=then))
        monkeypatch.setattr(revision, "MIGRATIONS", folder)
        return folder

    return make


def names_of(ledger: Ledger) -> set[str]:
    found = ledger.query("select table_name from information_schema.tables where table_catalog = 'lake'")
    return set(found.to_series())


@pytest.mark.patient
def test_up_from_nothing_and_then_there_is_nothing_to_do(ledger: Ledger) -> None:
    assert ledger.revision() == revision.newest()
    assert {"samples", "usage_hourly", "nodes", "charges"} <= names_of(ledger)
    before = ledger.query("select count(*) from ducklake_snapshots('lake')").item()
    assert upgrade(ledger) is False
    assert ledger.query("select count(*) from ducklake_snapshots('lake')").item() == before


@pytest.mark.parametrize("earlier", revision.known())
@pytest.mark.patient
def test_up_from_each_earlier_revision(tmp_path: Path, earlier: str) -> None:
    with open_ledger(tmp_path) as ledger:
        upgrade(ledger, earlier)
        assert ledger.revision() == earlier
        upgrade(ledger)
        assert ledger.revision() == revision.newest()
        for view in revision.view_texts():
            ledger.query(f"select * from {view}")


def test_the_newest_revision_is_alembics_head() -> None:
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(revision.MIGRATIONS))
    assert ScriptDirectory.from_config(config).get_current_head() == revision.newest()


@pytest.mark.patient
def test_every_table_of_the_first_revision_has_its_layout(ledger: Ledger) -> None:
    options = dict(ledger.query("select option_name, value from ducklake_options('lake')").iter_rows())
    assert (options["parquet_compression"], options["parquet_compression_level"]) == ("zstd", "3")
    ledger.append(
        "w/1/1",
        {
            "samples": pl.DataFrame(
                {"cluster": ["c"] * 300, "series_id": range(300), "sampled_at": [1_798_765_200_000] * 300}
            )
        },
    )
    file = ledger.query("select data_file from ducklake_list_files('lake', 'samples')").item()
    assert "cluster=c/year=2027/month=1/" in file


@pytest.mark.patient
def test_a_second_revision_keeps_what_is_there(ledger: Ledger, second_revision: Any) -> None:
    ledger.append("w/1/1", {"cuts": pl.DataFrame({"reason": ["price"]})})
    folder = second_revision("pass")
    assert upgrade(ledger, migrations=folder)
    assert ledger.revision() == "0002"
    ledger.append("w/1/2", {"cuts": pl.DataFrame({"reason": ["rule"], "author": ["finance"]})})
    assert ledger.query("select reason, author from cuts order by reason").rows() == [
        ("price", None),
        ("rule", "finance"),
    ]


@pytest.mark.patient
def test_a_failing_revision_leaves_nothing_behind(ledger: Ledger, second_revision: Any) -> None:
    folder = second_revision('op.get_bind().exec_driver_sql("select * from not_there")')
    with pytest.raises(LedgerError, match="upgrading"):
        upgrade(ledger, migrations=folder)
    assert ledger.revision() == "0001"
    assert "second" not in names_of(ledger)
    assert "author" not in ledger.columns("cuts")


def upgrade_there(folder: Path, catalog: str, done: Any) -> None:
    with open_ledger(folder, catalog) as ledger:
        done.put(upgrade(ledger))


@pytest.mark.patient
def test_two_at_once_one_waits(empty_place: Any) -> None:
    done = SPAWN.Queue()
    processes = [
        SPAWN.Process(target=upgrade_there, args=(empty_place.folder, empty_place.catalog, done))
        for _ in range(3)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(120)
        assert process.exitcode == 0
    assert sorted(done.get(timeout=60) for _ in processes) == [False, False, True]
    with open_ledger(empty_place.folder, empty_place.catalog, read_only=True) as ledger:
        assert ledger.revision() == revision.newest()


# views ------------------------------------------------------------------------------------------------------


def test_views_stand_after_those_that_they_read(tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text("-- from z (a comment)\nselect * from c join b using (x)")
    (tmp_path / "b.sql").write_text("select 1 as x")
    (tmp_path / "c.sql").write_text("select x\nfrom\n  b")
    assert list(revision.view_texts(tmp_path)) == ["b", "c", "a"]
    (tmp_path / "b.sql").write_text("select * from a")
    with pytest.raises(LedgerError, match=r"in a circle: .*a"):
        revision.view_texts(tmp_path)


@pytest.mark.patient
def test_a_changed_view_is_laid_anew_and_a_dropped_one_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    with memory_ledger() as ledger:
        texts = revision.view_texts()
        monkeypatch.setattr(revision, "view_texts", lambda: texts | {"extra": "select 1 as one"})
        assert upgrade(ledger)
        assert ledger.query("select one from extra").item() == 1
        monkeypatch.setattr(revision, "view_texts", lambda: texts)
        assert upgrade(ledger)
        assert "extra" not in names_of(ledger)
        assert not upgrade(ledger)


@pytest.mark.patient
def test_the_last_version_is_shown_and_a_withdrawn_one_is_not(ledger: Ledger) -> None:
    versions = pl.DataFrame(
        {
            "cluster": ["c"] * 6,
            "allocation_id": [1, 1, 2, 2, 3, 3],
            "start_at": [1000] * 6,
            "end_at": [None, 5000, None, 1000, 2000, 3000],
            "revision": [0, 1, 0, 1, 7, 7],
            "recorded_at": [9, 8, 1, 2, 5, 5],
        }
    )
    ledger.append("w/1/1", {"allocations_versions": versions.sample(fraction=1, shuffle=True)})
    found = ledger.query(
        "select allocation_id, epoch_ms(end_at) as end_at from allocations order by allocation_id"
    )
    assert found.rows() == [(1, 5000), (3, 3000)]
