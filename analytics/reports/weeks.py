"""Which weeks a reader may choose from."""

from importlib.resources import files

from sql.ledger import Ledger


def weeks(ledger: Ledger) -> tuple[str, ...]:
    """The ISO weeks with usage, newest first; empty before the first hour is rolled up."""
    query = (files("sql") / "queries" / "report" / "weeks.sql").read_text(encoding="utf-8")
    return tuple(ledger.query(query)["week"].to_list())
