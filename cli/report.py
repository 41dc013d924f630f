"""`quartermaster report`: a week's or month's bill, of all teams, a department or one; and sending it."""

import getpass
import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.explain import explain
from cli.send import send
from cli.session import session
from quartermaster.errors import InputError

if TYPE_CHECKING:
    from analytics.reports.audience import Audience
    from analytics.reports.figures import Report


app = typer.Typer(invoke_without_command=True)


class Format(StrEnum):
    """In what form the bill is told."""

    table = "table"
    json = "json"
    csv = "csv"
    html = "html"
    pdf = "pdf"
    xlsx = "xlsx"


@app.callback()
def report(
    context: typer.Context,
    *,
    week: Annotated[str | None, typer.Option("--week", "-w", help="ISO week, as 2026-W48.")] = None,
    month: Annotated[str | None, typer.Option("--month", "-m", help="Calendar month, as 2026-11.")] = None,
    period: Annotated[
        str | None,
        typer.Option(
            "--period", "-p", help="Period of the books, as 2026-11, or FY2026-P11 of a fiscal calendar."
        ),
    ] = None,
    audience: Annotated[
        str | None,
        typer.Option("--audience", "-a", help="managers, finance, 'team NAME' or 'department NAME'."),
    ] = None,
    team: Annotated[
        str | None, typer.Option("--team", "-t", help="The same as --audience 'team NAME'.")
    ] = None,
    form: Annotated[Format, typer.Option("--format", "-f", help="In what form.")] = Format.table,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
    file: Annotated[Path | None, typer.Option("--output", "-o", help="Write into this file.")] = None,
) -> None:
    """Print a week's, month's or period's bill: who held what, what stood idle, what it cost, and what to do.

    Without --week, --month and --period it is the last complete week; where none is complete, the current one,
    provisional. A closed period's bill names its number and hash, a team's its statement.
    Finance reads cost centres, accounts and corrections beside it.

    \b
    Examples:
      quartermaster report                              the last complete week
      quartermaster report -w 2026-W48 --team vision    one team's bill
      quartermaster report -m 2026-11 -a finance        a month, as finance reads it
      quartermaster report -p FY2026-P11 -t vision      a fiscal period
      quartermaster report -f pdf -o report.pdf         a page to send around
      quartermaster report --json | jq .by_team         docs/report.md
      quartermaster report send --once                  send what is due
    """
    if context.invoked_subcommand is not None:
        return
    from analytics.money.periods import calendar_of
    from analytics.reports import made
    from analytics.reports.persons import with_persons
    from analytics.reports.span import month as of_month
    from analytics.reports.span import of_period, span_of
    from analytics.reports.weekly import latest
    from quartermaster.clock import now_ms
    from quartermaster.config.load import load_configuration
    from sql.ledger import open_ledger

    if sum(each is not None for each in (week, month, period)) > 1:
        raise InputError("--week, --month and --period are spans each", "name one of them")
    reader = _reader(audience, team)
    configuration = load_configuration(session(context).config_path(), os.environ)
    time_zone = configuration.business.time_zone
    place = configuration.ledger
    names_people = configuration.privacy.reports_name_people
    with open_ledger(place.path, place.catalog.reveal(), read_only=not names_people) as ledger:
        if period is not None:
            span = of_period(period, calendar_of(configuration.business))
        elif month is not None:
            span = of_month(month, time_zone)
        else:
            span = latest(ledger, "week", time_zone) if week is None else span_of(week, time_zone)
        found = made.report(ledger, span, reader, time_zone=time_zone, now_ms=now_ms())
        if names_people:
            (found,) = with_persons(ledger, [found], getpass.getuser(), now_ms())
    deliver(found, Format.json if as_json else form, file)


def _reader(audience: str | None, team: str | None) -> "Audience":
    from analytics.reports import audience as readers

    if audience and team:
        raise InputError("--audience and --team name two audiences", "name one of them")
    return readers.parse(audience) if audience else readers.team(team)


def deliver(found: "Report", form: Format, file: Path | None) -> None:
    """Print the report in the form, or write it into the file. Raises InputError when that fails."""
    if form is Format.table and file is None:
        from cli.bill import show

        show(found)
        return
    content = _content(found, form)
    if file is None:
        if form in {Format.pdf, Format.xlsx} and sys.stdout.isatty():
            raise InputError(
                f"{form.value} is not for a terminal", f"name a file: --output report.{form.value}"
            )
        typer.echo(content, nl=False)
        return
    from analytics.finance.written import whole_file

    with whole_file(file) as sink:
        sink.write(content)
    typer.echo(f"{file}: the bill of {found.span}", err=True)


def _content(found: "Report", form: Format) -> bytes:
    if form is Format.table:
        from cli.bill import text

        return text(found).encode()
    from analytics.reports.forms import Form, written

    return written(found, Form(form.value))


app.command()(send)
app.command()(explain)
