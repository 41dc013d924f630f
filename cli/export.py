"""`quartermaster export …`: files for finance and for other tools: FOCUS, general-ledger entries, plain Parquet."""

import os
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli import output
from cli.session import session
from quartermaster.errors import InputError

if TYPE_CHECKING:
    from analytics.finance.span import Span
    from quartermaster.config.model import Configuration
    from sql.ledger import Ledger

app = typer.Typer(no_args_is_help=True, help="Write files for finance and for other tools.")
Period = Annotated[
    str | None, typer.Option("--period", "-p", help="A period of the books, as 2026-11 or FY2026-P11.")
]
From = Annotated[str | None, typer.Option("--from", help="The first business day, as 2026-11-23.")]
To = Annotated[str | None, typer.Option("--to", help="The last business day.")]
Out = Annotated[Path, typer.Option("--output", "-o", help="Write into this file.", show_default=False)]
Json = Annotated[bool, typer.Option("--json", help="Tell what was written for machines.")]


class Focus(StrEnum):
    """The version of the specification."""

    v1_2 = "1.2"
    v1_3 = "1.3"


@app.command()
def focus(
    context: typer.Context,
    *,
    file: Out,
    period: Period = None,
    first: From = None,
    last: To = None,
    version: Annotated[Focus, typer.Option("--focus", help="Which version of FOCUS.")] = Focus.v1_2,
    as_json: Json = False,
) -> None:
    """Write lines of cost as FOCUS rows, CSV or Parquet by the file's ending.

    A row for each line; the rows add up to the cost of the pools. Until its books are closed a period's rows may still
    change. docs/focus.md tells each column.

    \b
    Examples:
      quartermaster export focus --period 2026-11 -o november.csv
      quartermaster export focus --from 2026-11-23 --to 2026-11-29 -o week.parquet
      quartermaster export focus --period 2026-11 --focus 1.3 -o november.parquet
    """
    from analytics.finance.focus import focus_frames
    from analytics.finance.written import writer_for
    from sql.configured import open_configured

    configuration = _configuration(context)
    write = writer_for(file)
    with open_configured(configuration, read_only=True) as ledger:
        span, name = _span(configuration, ledger, period, first, last)
        frames = focus_frames(ledger, span, configuration.business.accounts, version.value)
        rows = write(frames, file)
    _tell(file, rows, f"FOCUS {version.value} of {name}", as_json=as_json)


@app.command("general-ledger")
def general_ledger(
    context: typer.Context,
    *,
    file: Out,
    period: Period = None,
    first: From = None,
    last: To = None,
    as_json: Json = False,
) -> None:
    """Write a journal as CSV: each cost centre debited, the fleet credited, in cents that balance.

    The accounts' names are business.accounts in the configuration. A team's entries add up to its statement.

    \b
    Example:
      quartermaster export general-ledger --period 2026-11 -o journal.csv
    """
    from analytics.finance.general_ledger import entries, journal, read_sums
    from analytics.finance.written import writer_for
    from sql.configured import open_configured

    configuration = _configuration(context)
    write = writer_for(file)
    with open_configured(configuration, read_only=True) as ledger:
        span, name = _span(configuration, ledger, period, first, last)
        found = entries(read_sums(ledger, span), span, configuration.business.accounts)
    rows = write([journal(found)], file)
    _tell(file, rows, f"journal of {name}", as_json=as_json)


@app.command()
def parquet(
    context: typer.Context,
    *,
    month: Annotated[
        str, typer.Option("--month", "-m", help="A calendar month, as 2026-11.", show_default=False)
    ],
    folder: Annotated[Path, typer.Option("--to", help="Write into this folder.", show_default=False)],
    as_json: Json = False,
) -> None:
    """Write a month of usage, charges, quota and lending as plain Parquet, for Spark, Trino or pandas.

    A folder a table, partitioned by month; manifest-<month>.json names the files, their rows and hashes. The columns
    are those of the stable views (docs/sql.md), so that they are not renamed.

    \b
    Example:
      quartermaster export parquet --month 2026-11 --to /srv/lake/gpus
    """
    from analytics.finance.months import export_month
    from analytics.finance.span import span_of
    from analytics.money.calendar import Calendar
    from sql.configured import open_configured

    configuration = _configuration(context)
    time_zone = configuration.business.time_zone
    span = span_of(Calendar(time_zone).named(month))
    with open_configured(configuration, read_only=True) as ledger:
        pieces = export_month(ledger, span, folder, time_zone)
    if as_json:
        output.emit_json(
            [{"table": each.table, "file": str(folder / each.file), "rows": each.rows} for each in pieces]
        )
    else:
        output.table(
            f"{span.name} in {folder}",
            ["table", "rows", "file"],
            [(each.table, f"{each.rows:,}", each.file) for each in pieces],
            right=["rows"],
        )


def _tell(file: Path, rows: int, what: str, *, as_json: bool) -> None:
    if as_json:
        output.emit_json({"file": str(file), "rows": rows, "what": what})
    else:
        output.say(f"{file}: {what}, {rows:,} rows")


def _configuration(context: typer.Context) -> "Configuration":
    from quartermaster.config.load import load_configuration

    return load_configuration(session(context).config_path(), os.environ)


def _span(
    configuration: "Configuration", ledger: "Ledger", period: str | None, first: str | None, last: str | None
) -> "tuple[Span, str]":
    """The span, and how a message names it: of a period with the state of its books."""
    from analytics.finance.span import span_between, span_of
    from analytics.money.periods import calendar_of, standing

    calendar = calendar_of(configuration.business)
    if period is not None and first is None and last is None:
        with ledger.reading() as cursor:
            found = standing(cursor, calendar, period)
        return span_of(found.period), f"{period} ({found.state.value})"
    if period is None and first is not None and last is not None:
        span = span_between(first, last, calendar)
        return span, span.name
    raise InputError("which days?", "name a --period, or both --from and --to")
