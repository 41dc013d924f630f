"""FOCUS: a span's lines of cost as rows of the FinOps Open Cost and Usage Specification, a few days at a time."""

from collections.abc import Iterator
from importlib.resources import files
from typing import Literal

import polars as pl

from analytics.finance.span import Span, lay_days
from quartermaster.config.accounts import AccountsPart
from sql.ledger import Ledger

Version = Literal["1.2", "1.3"]
VERSIONS: tuple[Version, ...] = ("1.2", "1.3")

STEP_DAYS = 8  # of one frame: a month is four, and what it takes does not grow with the span
SINCE_1_3 = (
    *("ServiceProviderName", "HostProviderName", "AllocatedMethodId", "AllocatedMethodDetails"),
    *("AllocatedResourceId", "AllocatedResourceName", "AllocatedTags"),
)


def focus_frames(
    ledger: Ledger, span: Span, accounts: AccountsPart, version: Version = "1.2"
) -> Iterator[pl.DataFrame]:
    """The rows, a frame for every few business days, in a fixed order, all of one state of the ledger.

    Columns are named as FOCUS names them, ours begin with `x_`. Costs and quantities are decimals. The sum of
    BilledCost is the cost of the pools: what teams owe, and what nobody bears.
    """
    with ledger.reading() as cursor:
        lay_days(cursor, span)
        bounds = {"first_day": span.first_day, "end_day": span.end_day}
        for name in ("workloads", "originals"):
            cursor.execute(f"create temp table export_{name} as {focus_sql(name)}", bounds)
        for name in ("accounts", "invoices"):
            cursor.execute(f"create temp table export_{name} as {focus_sql(name)}")
        query = focus_sql("rows")
        names = {"provider": accounts.provider, "fleet_account": accounts.fleet}
        for first_day, end_day in span.steps(STEP_DAYS):
            frame = cursor.execute(query, {"first_day": first_day, "end_day": end_day, **names}).pl()
            frame = frame.rename({name: column_id(name) for name in frame.columns})
            yield frame if version == "1.3" else frame.drop(SINCE_1_3)


def column_id(name: str) -> str:
    """How FOCUS writes a column's name: billed_cost is BilledCost, our own x_charge_id is x_ChargeId."""
    prefix = "x_" if name.startswith("x_") else ""
    return prefix + "".join(part.capitalize() for part in name.removeprefix("x_").split("_"))


def focus_sql(name: str) -> str:
    """The text of sql/queries/focus/<name>.sql."""
    return (files("sql") / "queries" / "focus" / f"{name}.sql").read_text(encoding="utf-8")
