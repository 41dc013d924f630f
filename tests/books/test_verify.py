"""Verifying: the ledger and the folder are what was closed; the script that needs no Quartermaster says the same."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest

from analytics.money.close import close
from analytics.money.periods import standings
from analytics.money.ready import Terms
from analytics.money.verified import Verdict, verify
from sql.ledger import Cursor
from tests.books.late import tell
from tests.books.test_close import TERMS
from tests.money.books import Books

SCRIPT = Path(__file__).parents[2] / "docs" / "verify.py"


def by_hand(folder: Path) -> subprocess.CompletedProcess[str]:
    """The ten lines, in an interpreter that sees neither this project nor a package."""
    command = [sys.executable, "-I", "-S", str(SCRIPT), str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd="/")


def verdict(books: Books, terms: Terms) -> Verdict:
    with books.ledger.reading() as cursor:
        (found,) = verify(cursor, standings(cursor, terms.calendar, terms.now_ms), terms.books)
    return found


def change(books: Books, statement: str) -> None:
    def work(cursor: Cursor) -> None:
        cursor.execute(statement)

    books.store.write(f"change/{uuid4().hex}", work)


@pytest.fixture
def terms(october: Books, tmp_path: Path) -> Terms:
    """October is closed and written out."""
    found = replace(TERMS, books=tmp_path)
    close(october.ledger, "2026-10", found)
    return found


@pytest.mark.patient
def test_all_is_as_it_was_closed(october: Books, terms: Terms, tmp_path: Path) -> None:
    found = verdict(october, terms)
    assert (found.period, found.number, found.amiss) == ("2026-10", 1, ())
    said = by_hand(tmp_path / "2026-10" / "1")
    assert said.returncode == 0, said.stderr
    assert said.stdout.split()[0] == found.sha256
    assert "lines: 32.000000 statements: 32.000000" in said.stdout
    tell(october, "2026-10-01T00:00:00Z", 1, "vision", 1)  # late data leaves it as it was
    assert verdict(october, terms).amiss == ()


def test_the_script_has_ten_lines_beside_what_it_imports() -> None:
    code = [line for line in SCRIPT.read_text(encoding="utf-8").splitlines() if line.strip()]
    assert len([line for line in code if not line.startswith(('"""', "from "))]) <= 10


@pytest.mark.patient
def test_a_file_that_was_changed_is_named(october: Books, terms: Terms, tmp_path: Path) -> None:
    folder = tmp_path / "2026-10" / "1"
    for name in ("lines.parquet", "sums.json", "statements.json", "manifest.json"):
        file = folder / name
        whole = file.read_bytes()
        file.write_bytes(whole.replace(b"vision", b"speech") + b" ")
        found, said = verdict(october, terms), by_hand(folder)
        assert [name in one for one in found.amiss] == [True]
        if name == "manifest.json":
            assert said.stdout.split()[0] != found.sha256
        else:
            assert said.returncode == 1
        file.write_bytes(whole)


@pytest.mark.patient
def test_rows_and_statements_that_were_changed_are_named(october: Books, terms: Terms) -> None:
    change(
        october,
        "update charges set amount = amount + 1 where team = 'vision' and business_day = '2026-10-01'",
    )
    assert verdict(october, terms).amiss == (
        "lines: 6 rows are not the 6 rows that were closed",
        "its statements are not what its lines add up to",
    )


@pytest.mark.patient
def test_a_manifest_that_was_changed_is_named(october: Books, terms: Terms) -> None:
    change(october, "update periods_versions set manifest = replace(manifest, '32.00', '31.00')")
    assert verdict(october, replace(terms, books=None)).amiss == (
        "its manifest in the ledger is not the one that was hashed",
    )
