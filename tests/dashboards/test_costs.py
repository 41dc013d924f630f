"""The Costs page: a period's books, a line explained, disputes; of the reader's teams alone."""

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest

from analytics.money.calendar import Calendar
from analytics.money.disputes import raise_dispute
from analytics.scope import ALL, Scope
from analytics.views import costs_tables
from analytics.views.costs import Costs, costs, explained, periods
from dashboards import access
from dashboards.data import costs as data
from quartermaster.clock import from_iso
from quartermaster.config.accounts import AccountsPart
from quartermaster.errors import InputError
from sql.ledger import Ledger, open_ledger
from tests.dashboards.apptest import run, words

NOW = from_iso("2026-11-29T01:00:00Z")
CALENDAR = Calendar()
OWN = Scope(frozenset({"vision", "speech"}))


@pytest.fixture(scope="module")
def configuration(a_ledger_of_a_week: Callable[..., Path]) -> Path:
    """The week's ledger, where vision and search each dispute a line."""
    path = a_ledger_of_a_week()
    with open_ledger(path.parent / "ledger") as ledger:
        for team in ("vision", "search"):
            line = a_line(ledger, f"team = '{team}'")
            raise_dispute(ledger, line, Decimal(1), f"{team} doubts it", actor="a", now_ms=NOW)
    return path


def a_line(ledger: Ledger, where: str) -> int:
    return ledger.query(f"select min(charge_id) from charges where {where}").item()


def books(path: Path, scope: Scope = ALL) -> Costs:
    with open_ledger(path.parent / "ledger", read_only=True) as ledger:
        return costs(ledger, scope, "2026-11", CALENDAR, now_ms=NOW)


def test_the_periods_are_those_with_something_in_them(
    a_ledger_of_a_week: Callable[..., Path], configuration: Path
) -> None:
    with open_ledger(configuration.parent / "ledger", read_only=True) as ledger:
        assert periods(ledger, CALENDAR) == ("2026-11",)
    with open_ledger(a_ledger_of_a_week(usage=False).parent / "ledger", read_only=True) as ledger:
        assert periods(ledger, CALENDAR) == ()


def test_the_statement_is_all_lines_of_cost(configuration: Path) -> None:
    with open_ledger(configuration.parent / "ledger", read_only=True) as ledger:
        whole = ledger.query("select sum(amount) from charges").item()
        largest = ledger.query("select max(amount) from charges").item()
    found = books(configuration)
    (accounts,) = (table for table in costs_tables.statement(found) if table.key == "accounts")
    assert accounts.total is not None
    assert accounts.total[-1] == whole
    assert found.lines[0].amount == largest
    assert costs_tables.cards(found, "UTC")[0].value.replace("\u00a0", " ") == f"{whole:,.0f} EUR"
    assert costs_tables.cards(found, "UTC")[-1].value == "Open"


def test_a_reader_s_books_are_of_their_teams(configuration: Path) -> None:
    found = books(configuration, OWN)
    assert found.report.books is None
    assert {line.team for line in found.lines} == {"vision", "speech"}
    assert {each.team for each in found.disputes} == {"vision"}
    (table,) = costs_tables.statement(found)
    assert {row[0] for row in table.rows} == {"vision", "speech"}
    assert {each.team for each in books(configuration).disputes} == {"vision", "search"}


def test_a_line_is_explained_to_those_whose_it_is(configuration: Path) -> None:
    with open_ledger(configuration.parent / "ledger", read_only=True) as ledger:
        mine, other = (a_line(ledger, f"team = '{team}'") for team in ("vision", "search"))
        nobodys = a_line(ledger, "team is null")
        assert explained(ledger, OWN, str(mine), "UTC")[0].startswith(f"Line {mine}: ")
        assert explained(ledger, ALL, f" {nobodys} ", "UTC")[0].startswith(f"Line {nobodys}: ")
        for hidden in (other, nobodys, 1):
            with pytest.raises(InputError) as refused:
                explained(ledger, OWN, str(hidden), "UTC")
            assert str(refused.value) == f"there is no line of cost {hidden}"
        for text in ("-1", "1; drop table charges", "٣", "9" * 30, ""):
            with pytest.raises(InputError, match="no number"):
                explained(ledger, ALL, text, "UTC")


def test_focus_is_for_who_sees_everything(configuration: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(access.CONFIGURATION, str(configuration))
    where = access.place()
    with pytest.raises(InputError, match="of all teams"):
        data.focus(where, OWN, "2026-11", CALENDAR, AccountsPart())
    lines = data.focus(where, ALL, "2026-11", CALENDAR, AccountsPart()).decode().splitlines()
    assert "BilledCost" in lines[0]
    assert len(lines) > 100


def test_prices_in_words(configuration: Path) -> None:
    (row,) = costs_tables.prices(books(configuration), "UTC").rows
    assert row[:5] == ("*", "everywhere", "2026", (Decimal("3.10"),), "EUR a GPU-hour")


def test_the_page(configuration: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = words(run(configuration, monkeypatch, "costs"))
    assert "Cost of capacity" in text
    assert "vision doubts it" in text
    assert "By cost centre" in " ".join(
        block.value for block in run(configuration, monkeypatch, "costs").header
    )


def test_without_prices_and_without_usage_the_page_says_so(
    a_ledger_of_a_week: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = words(run(a_ledger_of_a_week(prices=False), monkeypatch, "costs"))
    assert "No rate card was in force" in text
    assert "EUR" not in text
    assert "No finished hour yet" in words(run(a_ledger_of_a_week(usage=False), monkeypatch, "costs"))
