"""`quartermaster sql`: ask the ledger, read only; one question, a named one, or a prompt with history."""

import csv
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from cli import output
from cli.session import session
from quartermaster.errors import InputError, QuartermasterError
from quartermaster.text import visible_lines

if TYPE_CHECKING:
    from quartermaster.config.model import Configuration
    from sql.door import Answer, Limits

Form = Literal["table", "csv", "json"]
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def sql(  # noqa: PLR0917
    context: typer.Context,
    query: Annotated[
        str | None, typer.Argument(help="One SELECT; - reads it from stdin.", show_default=False)
    ] = None,
    name: Annotated[str | None, typer.Option("--name", "-n", help="Ask a question that has a name.")] = None,
    list_all: Annotated[bool, typer.Option("--list", help="List the questions that have a name.")] = False,
    form: Annotated[Form, typer.Option("--format", "-f", help="How the answer is printed.")] = "table",
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
    rows: Annotated[int, typer.Option(min=1, max=1_000_000, help="How many rows at most.")] = 1_000,
    seconds: Annotated[int, typer.Option(min=1, max=3600, help="How long it may take.")] = 30,
    memory_mib: Annotated[int, typer.Option(min=128, help="How much memory it may take, in MiB.")] = 1024,
) -> None:
    """Ask the ledger: one SELECT over its tables and views, read only; without one, a prompt.

    \b
    Examples:
      quartermaster sql --list
      quartermaster sql --name idle-by-team
      quartermaster sql "select team, sum(held_pms) from usage_daily group by 1"
      quartermaster sql --format csv --name top-costs > costs.csv
    """
    from sql.door import Limits
    from sql.questions import question, questions

    form = "json" if as_json else form
    if list_all:
        entries = [(entry.name, entry.about) for entry in questions()]
        if form == "json":
            output.emit_json([{"name": entry, "about": about} for entry, about in entries])
        else:
            output.table("", ["name", "what it answers"], entries)
        return
    if name is not None and query is not None:
        raise InputError("a question by name and one in words are two", "leave one out")
    text = question(name).query if name is not None else sys.stdin.read() if query == "-" else query
    configuration = _configuration(context)
    limits = Limits(seconds=seconds, memory_mib=memory_mib, rows=rows)
    if text is not None:
        _print(_ask(configuration, text, limits), form)
    elif sys.stdin.isatty():
        _converse(configuration, limits, form)
    else:
        _print(_ask(configuration, sys.stdin.read(), limits), form)


def history_file() -> Path:
    """Where the prompt's history is kept: the user's XDG state folder."""
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(state) / "quartermaster" / "sql_history"


def csv_text(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """The rows as CSV that a spreadsheet never computes: what looks like a formula gets a quote before it."""
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\n")
    writer.writerow([_harmless(column) for column in columns])
    writer.writerows([_harmless(cell) for cell in row] for row in rows)
    return sink.getvalue()


def _harmless(cell: object) -> object:
    if cell is None:
        return ""
    if isinstance(cell, (int, float)) or type(cell).__name__ == "Decimal":
        return cell
    text = _cell(cell)
    shown = visible_lines(text)
    return f"'{shown}" if text.startswith(_FORMULA_STARTS) else shown


def _cell(value: object) -> str:
    from datetime import datetime

    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds")
    return str(value)


def _configuration(context: typer.Context) -> "Configuration":
    from quartermaster.config.load import load_configuration

    return load_configuration(session(context).config_path(), os.environ)


def _ask(configuration: "Configuration", text: str, limits: "Limits") -> "Answer":
    from sql.door import ask

    return ask(configuration.ledger.path, configuration.ledger.catalog.reveal(), text, limits)


def _print(answer: "Answer", form: Form) -> None:
    if form == "csv":
        typer.echo(csv_text(answer.columns, answer.rows), nl=False)
    elif form == "json":
        output.emit_json([dict(zip(answer.columns, map(_plain, row), strict=True)) for row in answer.rows])
    else:
        figures = [
            column
            for index, column in enumerate(answer.columns)
            if any(
                isinstance(row[index], (int, float)) or type(row[index]).__name__ == "Decimal"
                for row in answer.rows
            )
        ]
        shown = [["" if cell is None else _cell(cell) for cell in row] for row in answer.rows]
        output.table("", answer.columns, shown, right=figures)
    if answer.more:
        typer.echo(f"… there are more than these {len(answer.rows)} rows; ask for more with --rows", err=True)


def _plain(value: object) -> object:
    from datetime import date, datetime
    from decimal import Decimal

    if value is None or isinstance(value, str | int | float | bool | Decimal | date | datetime):
        return value
    if isinstance(value, list):
        return [_plain(entry) for entry in cast(list[object], value)]
    if isinstance(value, dict):
        return {str(name): _plain(entry) for name, entry in cast(dict[object, object], value).items()}
    return str(value)


def _converse(configuration: "Configuration", limits: "Limits", form: Form) -> None:
    """The prompt: a query ends with a semicolon or an empty line; Ctrl-D leaves."""
    from prompt_toolkit import PromptSession
    from prompt_toolkit.history import FileHistory, InMemoryHistory

    from sql.questions import questions

    file = history_file()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch(mode=0o600)
        history = FileHistory(str(file))
    except OSError:
        history = InMemoryHistory()
    typer.echo("One SELECT, ended with a semicolon; show tables; .list, .name <question>; Ctrl-D leaves.")
    prompt: PromptSession[str] = PromptSession(history=history)
    while True:
        try:
            line = prompt.prompt("quartermaster> ")
            while line.strip() and not line.strip().startswith(".") and not line.rstrip().endswith(";"):
                more = prompt.prompt("           ...> ")
                if not more.strip():
                    break
                line = f"{line}\n{more}"
        except KeyboardInterrupt:
            continue
        except EOFError:
            return
        if not line.strip():
            continue
        if line.strip() == ".list":
            output.table(
                "", ["name", "what it answers"], [(entry.name, entry.about) for entry in questions()]
            )
            continue
        try:
            _print(_ask(configuration, _text(line), limits), form)
        except QuartermasterError as error:
            output.complain(error)
        except KeyboardInterrupt:
            typer.echo("stopped", err=True)


def _text(line: str) -> str:
    from sql.questions import question

    return (
        question(line.strip().removeprefix(".name").strip()).query
        if line.strip().startswith(".name")
        else line
    )
