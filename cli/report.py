"""`quartermaster report`: a week's bill, of all teams or one."""

import os
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli import output
from cli.session import session
from quartermaster.errors import InputError

if TYPE_CHECKING:
    from analytics.reports.figures import WeeklyReport


class Format(StrEnum):
    """In what form the bill is told."""

    table = "table"
    json = "json"
    csv = "csv"
    html = "html"


def report(
    context: typer.Context,
    *,
    week: Annotated[str | None, typer.Option("--week", "-w", help="ISO week, as 2026-W48.")] = None,
    team: Annotated[str | None, typer.Option("--team", "-t", help="Only this team's bill.")] = None,
    form: Annotated[Format, typer.Option("--format", "-f", help="In what form.")] = Format.table,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
    file: Annotated[Path | None, typer.Option("--output", "-o", help="Write into this file.")] = None,
) -> None:
    """Print a week's bill: who held what, what stood idle, what it cost, and what to do.

    Without --week it is the last complete week; where none is complete, the current one, provisional.

    \b
    Examples:
      quartermaster report                                the last complete week
      quartermaster report --week 2026-W48 --team vision  one team's bill
      quartermaster report --format html -o report.html   a page to send around
      quartermaster report --json | jq .by_team           docs/report.md
    """
    from analytics.reports.weekly import latest_week, weekly
    from quartermaster.clock import now_ms
    from quartermaster.config.load import load_configuration
    from sql.ledger import open_ledger

    configuration = load_configuration(session(context).config_path(), os.environ)
    time_zone = configuration.business.time_zone
    place = configuration.ledger
    with open_ledger(place.path, place.catalog.reveal(), read_only=True) as ledger:
        chosen = week or latest_week(ledger, time_zone)
        found = weekly(ledger, chosen, team, time_zone=time_zone, now_ms=now_ms())
    deliver(found, Format.json if as_json else form, file)


def deliver(found: "WeeklyReport", form: Format, file: Path | None) -> None:
    """Print the report in the form, or write it into the file. Raises InputError when that fails."""
    if form is Format.table and file is None:
        from cli.bill import show

        show(found)
        return
    text = _text(found, form)
    if file is None:
        typer.echo(text, nl=not text.endswith("\n"))
        return
    try:
        file.write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        raise InputError(
            f"{file}: it cannot be written: {error.strerror}", "name another with --output"
        ) from error
    typer.echo(f"{file}: the bill of {found.week}", err=True)


def _text(found: "WeeklyReport", form: Format) -> str:
    match form:
        case Format.json:
            from analytics.reports.document import to_document

            return output.json_text(to_document(found)) + "\n"
        case Format.csv:
            from analytics.reports.spreadsheet import to_csv

            return to_csv(found)
        case Format.html:
            from analytics.reports.html import render

            return render(found)
        case Format.table:
            from cli.bill import text

            return text(found)
