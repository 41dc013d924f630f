"""`quartermaster sql`: ask the ledger, read only; one question, a named one, or a prompt with history."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cli import output
from cli.session import session
from quartermaster.errors import InputError, QuartermasterError

if TYPE_CHECKING:
    from quartermaster.config.model import Configuration
    from sql.door import Answer, Bound, Limits

Form = Literal["table", "csv", "json"]


def sql(  # noqa: PLR0917
    context: typer.Context,
    query: Annotated[
        str | None, typer.Argument(help="One SELECT; - reads it from stdin.", show_default=False)
    ] = None,
    name: Annotated[str | None, typer.Option("--name", "-n", help="Ask a question that has a name.")] = None,
    param: Annotated[
        list[str] | None,
        typer.Option("--param", "-p", help="A parameter as name=value; any number.", show_default=False),
    ] = None,
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
      quartermaster sql --name idle-cost --param from=2026-11-23
      quartermaster sql "from reporting.usage_by_day select sum(held_gpu_h)"
      quartermaster sql 'from reporting.teams where team = $t' --param t=vision
      quartermaster sql --format csv --name top-costs > costs.csv
    """
    from sql.door import Limits
    from sql.questions import loose, question

    form = "json" if as_json else form
    if list_all:
        _list(form)
        return
    if name is not None and query is not None:
        raise InputError("a question by name and one in words are two", "leave one out")
    given = _given(param or [])
    if name is not None:
        asked = question(name)
        text, parameters = asked.query, asked.bound(given)
    else:
        text, parameters = sys.stdin.read() if query == "-" else query, loose(given)
    configuration = _configuration(context)
    limits = Limits(seconds=seconds, memory_mib=memory_mib, rows=rows)
    if text is not None:
        _print(_ask(configuration, text, limits, parameters), form)
    elif sys.stdin.isatty():
        _converse(configuration, limits, form)
    else:
        _print(_ask(configuration, sys.stdin.read(), limits, parameters), form)


def _list(form: Form) -> None:
    from sql.questions import questions

    if form == "json":
        output.emit_json(
            [
                {
                    "name": entry.name,
                    "about": entry.about,
                    "parameters": [
                        {
                            "name": p.name,
                            "type": p.type,
                            "required": p.required,
                            "default": p.default,
                            "about": p.about,
                        }
                        for p in entry.parameters
                    ],
                }
                for entry in questions()
            ]
        )
        return
    rows = [
        (entry.name, entry.about, " ".join(p.name + "!" * p.required for p in entry.parameters))
        for entry in questions()
    ]
    output.table("", ["name", "what it answers", "parameters (!: needed)"], rows)


def _given(texts: Sequence[str]) -> dict[str, str]:
    """`name=value` texts by name. Raises InputError for one that is none, and a name that comes twice."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (equals and name.isidentifier()):
            raise InputError(f"{text!r} is no parameter", "write --param name=value")
        if name in found:
            raise InputError(f"the parameter {name} is given twice", "leave one out")
        found[name] = value
    return found


def history_file() -> Path:
    """Where the prompt's history is kept: the user's XDG state folder."""
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(state) / "quartermaster" / "sql_history"


def _configuration(context: typer.Context) -> "Configuration":
    from quartermaster.config.load import load_configuration

    return load_configuration(session(context).config_path(), os.environ)


def _ask(
    configuration: "Configuration",
    text: str,
    limits: "Limits",
    parameters: "Mapping[str, Bound] | None" = None,
) -> "Answer":
    from sql.door import ask

    place = configuration.ledger
    return ask(place.path, place.catalog.reveal(), text, limits, parameters=parameters)


def _print(answer: "Answer", form: Form) -> None:
    from sql.answers import cell_text, csv_text, plain

    if form == "csv":
        typer.echo(csv_text(answer.columns, answer.rows), nl=False)
    elif form == "json":
        output.emit_json([dict(zip(answer.columns, map(plain, row), strict=True)) for row in answer.rows])
    else:
        figures = [
            column
            for index, column in enumerate(answer.columns)
            if any(
                isinstance(row[index], (int, float)) or type(row[index]).__name__ == "Decimal"
                for row in answer.rows
            )
        ]
        shown = [["" if cell is None else cell_text(cell) for cell in row] for row in answer.rows]
        output.table("", answer.columns, shown, right=figures)
    if answer.more:
        typer.echo(f"… there are more than these {len(answer.rows)} rows; ask for more with --rows", err=True)


def _converse(configuration: "Configuration", limits: "Limits", form: Form) -> None:
    """The prompt: a query ends with a semicolon or an empty line; Ctrl-D leaves."""
    from prompt_toolkit import PromptSession
    from prompt_toolkit.history import FileHistory, InMemoryHistory

    file = history_file()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch(mode=0o600)
        history = FileHistory(str(file))
    except OSError:
        history = InMemoryHistory()
    typer.echo(
        "One SELECT, ended with a semicolon; show tables; .list, .name <question> [name=value]; Ctrl-D leaves."
    )
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
            _list("table")
            continue
        try:
            text, parameters = _asked(line)
            _print(_ask(configuration, text, limits, parameters), form)
        except QuartermasterError as error:
            output.complain(error)
        except KeyboardInterrupt:
            typer.echo("stopped", err=True)


def _asked(line: str) -> "tuple[str, dict[str, Bound]]":
    """A line of the prompt: SQL, or `.name question name=value …`."""
    from sql.questions import question

    if not line.strip().startswith(".name"):
        return line, {}
    name, *texts = line.strip().removeprefix(".name").split() or [""]
    asked = question(name)
    return asked.query, asked.bound(_given(texts))
