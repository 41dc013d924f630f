"""A quarter, closed month by month: a brute-force accountant and the script agree, and the bytes are the same."""

from collections.abc import Generator
from fractions import Fraction
from pathlib import Path

import pytest

from analytics.money.periods import standings
from analytics.money.verified import verify
from quartermaster.clock import from_iso
from sql.checks import run as run_checks
from sql.ledger import Ledger, memory_ledger
from tests.books.quarter import INVOICE, Quarter, brute_force
from tests.books.test_verify import by_hand

pytestmark = pytest.mark.patient
CLOSINGS = ("2026-10/1", "2026-11/2", "2026-10/3", "2026-12/4")


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the quarter's closings are written out."""
    return tmp_path_factory.mktemp("books")


@pytest.fixture(scope="module")
def quarter(books: Path) -> Generator[Quarter]:
    """The quarter, lived."""
    with memory_ledger() as ledger:
        found = Quarter(ledger, books)
        found.live()
        yield found


def owed(ledger: Ledger) -> dict[tuple[str, str], Fraction]:
    """What each team owes in each currency, over all periods."""
    rows = ledger.query(
        "select team, currency, sum(amount) as amount from charges where account = 'team' group by all"
    )
    return {(team, currency): Fraction(amount) for team, currency, amount in rows.iter_rows()}


def test_the_accountant_agrees_to_the_cent(quarter: Quarter) -> None:
    found, expected = owed(quarter.ledger), brute_force()
    assert found.keys() == expected.keys()
    assert {key: abs(found[key] - expected[key]) < Fraction(1, 100) for key in found} == dict.fromkeys(
        found, True
    )


def test_november_ties_to_its_invoice(quarter: Quarter) -> None:
    rows = quarter.ledger.query(
        "select sum(amount) as amount from charges where business_day between '2026-11-01' and '2026-11-30' "
        "and kind <> 'correction'"
    )
    assert Fraction(rows.item()) == INVOICE


def test_what_happened_is_all_there(quarter: Quarter) -> None:
    states = quarter.ledger.query(
        "select period, state, number, replaces from periods_versions order by recorded_at, revision"
    )
    assert states.rows() == [
        ("2026-10", "closed", 1, None),
        ("2026-11", "closed", 2, None),
        ("2026-10", "open", None, 1),
        ("2026-10", "closed", 3, 1),
        ("2026-12", "closed", 4, None),
    ]
    booked = quarter.ledger.query(
        "select distinct business_day from charges where kind = 'correction' order by business_day"
    ).to_series()
    assert booked.to_list() == ["2026-11-10", "2026-11-12", "2026-11-20", "2026-12-08", "2026-12-09"]
    left = quarter.ledger.query(
        "select sum(c.amount) as amount from corrections as k join charges as c using (cluster, charge_id)"
    ).item()
    assert left == 0  # what was corrected was taken back when October was opened again
    assert quarter.ledger.query("from usage_late").is_empty()


def test_every_closing_is_as_it_was_and_the_ten_lines_say_so(quarter: Quarter, books: Path) -> None:
    with quarter.ledger.reading() as cursor:
        found = verify(cursor, standings(cursor, quarter.calendar, from_iso("2027-01-08T00:00:00Z")), books)
    assert [(each.period, each.number, each.amiss) for each in found] == [
        ("2026-10", 3, ()),
        ("2026-11", 2, ()),
        ("2026-12", 4, ()),
    ]
    hashes = {f"{each.period}/{each.number}": each.sha256 for each in found}
    for name in CLOSINGS:
        said = by_hand(books / name)
        assert said.returncode == 0, said.stdout
        assert hashes.get(name, said.stdout.split()[0]) == said.stdout.split()[0]


def test_no_rule_is_broken(quarter: Quarter) -> None:
    assert run_checks(quarter.ledger) == []


def test_lived_again_it_is_the_same_bytes(quarter: Quarter, books: Path, tmp_path: Path) -> None:
    with memory_ledger() as ledger:
        Quarter(ledger, tmp_path).live()
    for name in CLOSINGS:
        first = {file.name: file.read_bytes() for file in (books / name).iterdir()}
        again = {file.name: file.read_bytes() for file in (tmp_path / name).iterdir()}
        assert first == again, name
