"""A backup is the ledger at one snapshot, whatever is written meanwhile; a restore proves it whole."""

import json
import threading
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from quartermaster.clock import now_ms
from quartermaster.errors import InputError, LedgerError
from sql.backup import backup, read_manifest, restore, verify
from sql.ledger import Ledger, memory_ledger, open_ledger
from tests.ledgers import new_ledger, tend


def rows_of(number: int) -> dict[str, pl.DataFrame]:
    samples = pl.DataFrame(
        {"cluster": ["c"] * 150, "series_id": range(150), "sampled_at": [number * 1000] * 150}
    )
    return {"samples": samples, "cuts": pl.DataFrame({"cut_at": [number], "reason": ["price"]})}


def counts_of(ledger: Ledger) -> tuple[int, int]:
    return ledger.query("select (select count(*) from samples), (select count(*) from cuts)").row(0)


@pytest.fixture
def elsewhere(request: pytest.FixtureRequest, place: Any, tmp_path: Path) -> tuple[Path, str]:
    """An empty place on a catalog of the same kind."""
    if place.catalog == "sqlite":
        return tmp_path / "restored", "sqlite"
    return tmp_path / "restored", f"postgres:{request.getfixturevalue('postgres_server').database()}"


@pytest.mark.patient
def test_what_was_backed_up_comes_back(place: Any, elsewhere: tuple[Path, str], tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    with open_ledger(place.folder, place.catalog) as ledger:
        for number in range(9):
            ledger.append(f"w/1/{number}", rows_of(number))
        tend(ledger, now_ms())
        ledger.write(
            "w/1/delete", lambda cursor: cursor.execute("delete from samples where series_id = 0") and None
        )
        made = backup(
            ledger, tmp_path / "backup", now_ms(), progress=lambda done, total: told.append((done, total))
        )
        ledger.append("w/1/after", rows_of(99))
    assert made.rows["samples"] == 9 * 149
    assert told[-1][0] == told[-1][1]
    assert restore(tmp_path / "backup", *elsewhere) == made
    with open_ledger(*elsewhere) as ledger:
        assert counts_of(ledger) == (9 * 149, 9)
        assert ledger.committed("w/1/3")
        assert ledger.append("w/1/after", rows_of(99))
        tend(ledger, now_ms(), everything=True)
        assert counts_of(ledger) == (9 * 149 + 150, 10)
    with pytest.raises(InputError, match="there is a ledger in"):
        restore(tmp_path / "backup", *elsewhere)


@pytest.mark.patient
def test_writers_go_on_while_it_is_made(place: Any, elsewhere: tuple[Path, str], tmp_path: Path) -> None:
    def write() -> None:
        with open_ledger(place.folder, place.catalog) as ledger:
            for number in range(12):
                ledger.append(f"w/1/{number}", rows_of(number))

    thread = threading.Thread(target=write)
    thread.start()
    with open_ledger(place.folder, place.catalog) as ledger:
        made = backup(ledger, tmp_path / "backup", now_ms())
    thread.join()
    assert made.rows["samples"] == 150 * made.rows["cuts"]
    restore(tmp_path / "backup", *elsewhere)
    with open_ledger(place.folder, place.catalog) as ledger:
        assert counts_of(ledger) == (1800, 12)


@pytest.fixture
def made_backup(tmp_path: Path) -> Path:
    with new_ledger(tmp_path / "ledger") as ledger:
        ledger.append("w/1/1", rows_of(1))
        backup(ledger, tmp_path / "backup", now_ms())
    return tmp_path / "backup"


def test_a_damaged_backup_is_refused(made_backup: Path, tmp_path: Path) -> None:
    verify(made_backup)
    file = next((made_backup / "data").rglob("*.parquet"))
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    with pytest.raises(LedgerError, match="is damaged: data/"):
        restore(made_backup, tmp_path / "restored", "sqlite")
    assert not (tmp_path / "restored").exists()


def test_a_backup_without_its_end_is_none(made_backup: Path, tmp_path: Path) -> None:
    (made_backup / "manifest.json").unlink()
    with pytest.raises(InputError, match="is no whole backup"):
        restore(made_backup, tmp_path / "restored", "sqlite")
    with pytest.raises(InputError, match="is no whole backup"):
        read_manifest(tmp_path)


@pytest.mark.parametrize("path", ["../outside", "data/../../outside"])
@pytest.mark.patient
def test_a_backup_cannot_write_elsewhere(made_backup: Path, path: str) -> None:
    told = json.loads((made_backup / "manifest.json").read_text())
    told["pieces"][0]["path"] = path
    (made_backup / "manifest.json").write_text(json.dumps(told))
    with pytest.raises(InputError):
        read_manifest(made_backup)


@pytest.mark.patient
def test_a_backup_of_another_kind_or_into_a_used_folder(made_backup: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is of a ledger on sqlite, not memory"):
        restore(made_backup, tmp_path / "restored", "memory")
    with open_ledger(tmp_path / "ledger") as ledger, pytest.raises(InputError, match="is not empty"):
        backup(ledger, made_backup, now_ms())
    with memory_ledger() as ledger, pytest.raises(InputError, match="in memory"):
        backup(ledger, tmp_path / "new", now_ms())
