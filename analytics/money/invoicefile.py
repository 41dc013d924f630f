"""A supplier's file: rows of CSV or Parquet, in our own columns or FOCUS's, understood as the lines of an invoice."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path

import polars as pl

from analytics.business import zone
from analytics.money.invoices import InvoiceLine
from quartermaster.clock import from_iso, to_datetime
from quartermaster.errors import InputError

_OWN = {"model", "amount"}
_FOCUS = {"BilledCost", "BillingCurrency", "ChargePeriodStart"}
_MOST_BYTES = 2**30
Row = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Reading:
    """How to read it: what stands where the file says nothing, and which of the supplier's names is which model."""

    time_zone: str
    currency: str
    cluster: str = ""
    models: Mapping[str, str] | None = None  # SkuId of FOCUS, or its ResourceId's type: our model


@dataclass(frozen=True, slots=True)
class Understood:
    """The lines of GPUs, and what of the file is none."""

    lines: tuple[InvoiceLine, ...]
    left_out: int  # rows of FOCUS that are taxes, or of no model that was named
    left_out_amount: Decimal


def read_file(file: Path) -> Sequence[Row]:
    """The rows of a file of CSV (UTF-8) or Parquet. Raises InputError where it is neither, or cannot be read."""
    try:
        if file.stat().st_size > _MOST_BYTES:
            raise InputError(f"{file}: it is larger than 1 GiB", "import it in parts")
        if file.suffix.lower() == ".parquet":
            return pl.read_parquet(file).to_dicts()
        return _of_csv(file.read_text(encoding="utf-8-sig"), file)
    except OSError as error:
        raise InputError(f"{file}: it cannot be read: {error.strerror}", "name another") from error
    except (UnicodeDecodeError, csv.Error, pl.exceptions.PolarsError) as error:
        raise InputError(f"{file}: it is neither CSV in UTF-8 nor Parquet", "export it again") from error


def _of_csv(text: str, file: Path) -> Sequence[Row]:
    table = csv.DictReader(io.StringIO(text, newline=""))
    columns = list(table.fieldnames or ())
    if doubled := sorted({name for name in columns if columns.count(name) > 1}):
        raise InputError(f"{file}: it has two columns {doubled[0]!r}", "leave one of them out")
    rows: list[Row] = []
    for number, row in enumerate(table, 2):
        if None in row:
            raise InputError(
                f"{file}: row {number} has more than the {len(columns)} columns of its first row "
                f"({', '.join(columns)})",
                "separate by commas, and write an amount as 1234.56",
            )
        rows.append(row)
    return rows


def understand(rows: Sequence[Row], reading: Reading) -> Understood:
    """The rows as lines of an invoice. Raises InputError, with the row's number, for what cannot be understood."""
    if not rows:
        raise InputError("the file has no row below its first", "export it again")
    columns = set(rows[0])
    if columns >= _FOCUS:
        return _of_focus(rows, reading)
    if columns >= _OWN:
        return Understood(
            tuple(_own(row, number, reading) for number, row in enumerate(rows, 2)), 0, Decimal(0)
        )
    raise InputError(
        f"the file has the columns {', '.join(sorted(columns))}",
        "it needs model and amount (cluster, day, currency as well), or FOCUS's BilledCost, BillingCurrency and "
        "ChargePeriodStart",
    )


def _own(row: Row, number: int, reading: Reading) -> InvoiceLine:
    return InvoiceLine(
        _need(_text(row, "cluster") or reading.cluster, "cluster", number, "name it with --cluster"),
        _need(_text(row, "model"), "model", number, "write the GPU's model as the ledger names it"),
        _text(row, "day") or None,
        _amount(_text(row, "amount"), number),
        _text(row, "currency") or reading.currency,
    )


def _of_focus(rows: Sequence[Row], reading: Reading) -> Understood:
    lines: list[InvoiceLine] = []
    left_out, left_amount = 0, Decimal(0)
    where, models = zone(reading.time_zone), reading.models or {}
    for number, row in enumerate(rows, 2):
        amount = _amount(_text(row, "BilledCost"), number)
        model = _text(row, "x_Model") or models.get(_text(row, "SkuId"), "")
        if not model or _text(row, "ChargeCategory") == "Tax":
            left_out, left_amount = left_out + 1, left_amount + amount
            continue
        day = to_datetime(_instant(row["ChargePeriodStart"], number)).astimezone(where).date().isoformat()
        cluster = _text(row, "x_Cluster") or reading.cluster
        lines.append(
            InvoiceLine(
                _need(cluster, "x_Cluster", number, "name it with --cluster"),
                model,
                day,
                amount,
                _text(row, "BillingCurrency"),
            )
        )
    if not lines:
        skus = ", ".join(sorted({_text(row, "SkuId") for row in rows})[:8])
        raise InputError(
            f"no row of the file is of a GPU model that was named; its SkuId are {skus}",
            "name them with --sku SKU=MODEL",
        )
    return Understood(tuple(lines), left_out, left_amount)


def _text(row: Row, name: str) -> str:
    value = row.get(name)
    return "" if value is None else str(value).strip()


def _need(text: str, column: str, number: int, hint: str) -> str:
    if not text:
        raise InputError(f"row {number} has no {column}", hint)
    return text


def _amount(text: str, number: int) -> Decimal:
    try:
        found = Decimal(text)
    except InvalidOperation as error:
        raise InputError(f"row {number}: {text!r} is no amount", "write it as 1234.56") from error
    if not found.is_finite():
        raise InputError(f"row {number}: {text!r} is no amount", "write it as 1234.56")
    return found


def _instant(value: object, number: int) -> int:
    try:
        return from_iso(
            value.isoformat() if isinstance(value, datetime) else str(value).replace("Z", "+00:00")
        )
    except ValueError as error:
        raise InputError(
            f"row {number}: {value!r} is no instant", "write it as 2026-11-01T00:00:00Z"
        ) from error
