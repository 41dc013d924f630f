"""What finance asks of a report, as tables: cost centres, accounts, corrections."""

from collections.abc import Iterator
from decimal import Decimal

from analytics.reports.details import Books, CentreRow
from analytics.reports.figures import ZERO, Report
from analytics.reports.tables import Column, Kind, Row, Table, in_money, in_text


def finance(report: Report, books: Books) -> Iterator[Table]:
    """Cost centres, accounts and corrections."""
    centres = tuple(_centre(row) for row in books.centres)
    sums = tuple(
        sum((amount for row in centres if isinstance(amount := row[place], Decimal)), ZERO)
        for place in range(3, 8)
    )
    yield Table(
        "centres",
        "By cost centre",
        f"What each team owes, in {report.currency}",
        (
            *in_text("Cost centre", "Department", "Team"),
            *in_money(report.currency, "Base", "Shared", "Adjustments", "Corrections", "Owed"),
        ),
        centres if report.priced else (),
        ("All", None, None, *sums) if centres else None,
    )
    yield Table(
        "accounts",
        "By account",
        ties(report, books),
        (
            *in_text("Account", "Kind", "Of what", "Measure"),
            Column("Lines", Kind.COUNT),
            *in_money(report.currency, "Amount"),
        ),
        tuple(
            (row.account, row.kind, row.detail, row.measure, row.lines, row.amount) for row in books.accounts
        )
        if report.priced
        else (),
        ("All", None, None, None, sum(row.lines for row in books.accounts), books.total)
        if books.accounts
        else None,
    )
    some = f"The {len(books.corrections)} largest of {books.correction_count:,}"
    yield Table(
        "corrections",
        "Corrections",
        some if books.correction_count > len(books.corrections) else "Of days whose books are closed",
        (
            *in_text("Day", "Team", "Account", "Of what", "Corrects"),
            *in_money(report.currency, "Amount"),
        ),
        tuple(
            (
                row.day,
                row.team,
                row.account,
                row.detail,
                "" if row.corrects is None else str(row.corrects),
                row.amount,
            )
            for row in books.corrections
        ),
    )


def ties(report: Report, books: Books) -> str:
    """One sentence: how all lines together tie to what capacity cost."""
    told = f"Capacity cost {report.money(books.capacity)}, and all lines together come to {report.money(books.total)}"
    apart = books.total - books.capacity
    if not apart:
        return f"{told}: they tie, to the last millionth."
    return f"{told}; {report.money(apart)} of it are corrections and what is measured beside GPU time."


def _centre(row: CentreRow) -> Row:
    amounts = (row.base, row.shared, row.adjustments, row.corrections, row.owed)
    return (row.cost_centre or "none", row.department, row.team, *amounts)
