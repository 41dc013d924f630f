"""A report as tables: one a question, the same rows for HTML, PDF and spreadsheets.

Cells are values with a kind; `shown` turns them into words. Money stands in cents: in a table with a total they are
shared out by largest remainder, so that a column adds up to its total, to the cent.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from enum import StrEnum

from analytics.money.statement import CENT, to_cents
from analytics.reports import legible
from analytics.reports.figures import Amount
from analytics.reports.summary import hours, price, share
from quartermaster.parts import GPU_PARTS


class Kind(StrEnum):
    """What a column's cells are."""

    TEXT = "text"  # a name
    WORDS = "words"  # a sentence
    HOURS = "hours"  # int, part-milliseconds: shown as GPU-hours
    MONEY = "money"  # Decimal
    SHARE = "share"  # (part, whole), both int
    COUNT = "count"  # int
    GPUS = "gpus"  # int, parts
    PRICES = "prices"  # a tuple of Decimal, a GPU-hour


@dataclass(frozen=True, slots=True)
class Column:
    """A column: what it is called, and what its cells are, in which unit. Paper leaves some out."""

    label: str
    kind: Kind
    unit: str = ""
    on_paper: bool = True

    @property
    def heading(self) -> str:
        """What it is called, with its unit."""
        return f"{self.label}, {self.unit}" if self.unit else self.label

    @property
    def is_number(self) -> bool:
        """Whether its cells stand to the right."""
        return self.kind not in {Kind.TEXT, Kind.WORDS}


Cell = str | int | Decimal | tuple[int, int] | tuple[Decimal, ...] | None
Row = tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows that answer one question. `total` is the last row, with None where a column has none."""

    key: str
    title: str
    note: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    total: Row | None = None
    empty: str = ""  # what is said where there are no rows

    @property
    def in_cents(self) -> "Table":
        """The same with money in whole cents."""
        rows = [list(row) for row in self.rows]
        total = None if self.total is None else list(self.total)
        for place, column in enumerate(self.columns):
            if column.kind is not Kind.MONEY:
                continue
            amounts: dict[str, Decimal] = {}
            for at, row in enumerate(rows):
                cell = row[place]
                if isinstance(cell, Decimal):
                    amounts[f"{at:09d}"] = cell
            cents = _cents(amounts, summed=total is not None and total[place] is not None)
            for at, amount in cents.items():
                rows[int(at)][place] = amount
            if total is not None and isinstance(total[place], Decimal):
                total[place] = sum(cents.values(), Decimal("0.00"))
        return Table(
            self.key,
            self.title,
            self.note,
            self.columns,
            tuple(map(tuple, rows)),
            None if total is None else tuple(total),
            self.empty,
        )


def in_hours(*labels: str) -> list[Column]:
    """Columns of GPU-hours."""
    return [Column(label, Kind.HOURS) for label in labels]


def in_money(currency: str, *labels: str) -> list[Column]:
    """Columns of money; none where there is no currency."""
    return [Column(label, Kind.MONEY, currency) for label in labels] if currency else []


def in_text(*labels: str) -> list[Column]:
    """Columns of names."""
    return [Column(label, Kind.TEXT) for label in labels]


def _cents(amounts: dict[str, Decimal], *, summed: bool) -> dict[str, Decimal]:
    if summed:
        return to_cents(amounts)
    return {at: amount.quantize(CENT, ROUND_HALF_UP) for at, amount in amounts.items()}


def words(kind: Kind, cell: Cell) -> str:
    """A cell as people read it. Money is given in cents already."""
    if cell is None:
        return "–"
    if isinstance(cell, str):
        return legible.name(cell) if kind is Kind.TEXT else legible.sentence(cell)
    if isinstance(cell, tuple):
        return _of_several(kind, cell)
    if kind is Kind.MONEY:
        return f"{cell:,.2f}".replace("-", "−")
    return {Kind.HOURS: _hours, Kind.GPUS: gpus}.get(kind, "{:,}".format)(int(cell))


def _of_several(kind: Kind, cell: tuple[int, int] | tuple[Decimal, ...]) -> str:
    if kind is Kind.SHARE:
        part, whole = cell
        return share(part, whole)
    return ", ".join(price(Decimal(each)) for each in cell) or "–"


def _hours(pms: int) -> str:
    return hours(Amount(pms))


def gpus(parts: int) -> str:
    """GPUs for the eye: `24`, `0.5`."""
    return f"{parts / GPU_PARTS:,.2f}".rstrip("0").rstrip(".")


def shown(table: Table) -> tuple[Sequence[Sequence[str]], Sequence[str] | None]:
    """The rows and the total in words."""
    cents = table.in_cents
    kinds = [column.kind for column in table.columns]
    told = [[words(kind, cell) for kind, cell in zip(kinds, row, strict=True)] for row in cents.rows]
    if cents.total is None:
        return told, None
    total = ["" if cell is None else words(kind, cell) for kind, cell in zip(kinds, cents.total, strict=True)]
    return told, total
