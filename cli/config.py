"""`quartermaster config`: check the configuration, show where values come from, describe it to editors."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli import output
from cli.session import FILE, session
from quartermaster.errors import InputError

if TYPE_CHECKING:
    from quartermaster.config.load import Loaded

app = typer.Typer(no_args_is_help=True, help="Check, show and describe the configuration.")
AsJson = Annotated[bool, typer.Option("--json", help="For machines.")]

STARTER = """\
# Quartermaster's configuration. Only clusters is needed; docs/configuration.md has every key.
ledger:
  path: ledger                                      # a folder beside this file

business:
  time_zone: UTC                                    # whose midnights end a day: Europe/Berlin
  currency: EUR

clusters:
  - name: main
    dcgm:
      targets: ["http://127.0.0.1:9400/metrics"]    # one dcgm-exporter a node

# Who pays: the first rule that matches decides; what none matches is the team `unassigned`.
teams: []                                           # [{name: vision, department: research}]
team_rules: []                                      # [{team: vision, namespace: "vision-*"}]

# pools: [{name: training, models: ["*H100*"]}]
# guarantees: [{team: vision, pool: training, gpus: 16}]

rate_cards:
  - card: first
    prices: [{gpu_hour: "2.50"}]                    # of a whole GPU, held for an hour
"""


@app.command()
def check(context: typer.Context, as_json: AsJson = False) -> None:
    """Say all that is wrong with the configuration, with line, key and the nearest right name.

    Exit code 0: in order (warnings may be there); 3: errors.

    \b
    Examples:
      quartermaster config check
      quartermaster --config sites/berlin.yaml config check --json
    """
    from quartermaster.config.problem import dotted

    loaded = _load(context)
    if as_json:
        problems = [
            {
                "severity": problem.severity,
                "file": problem.file,
                "line": problem.place.line,
                "column": problem.place.column,
                "key": dotted(problem.key),
                "what": problem.what,
                "nearest": problem.nearest,
            }
            for problem in loaded.problems
        ]
        output.emit_json({"ok": loaded.configuration is not None, "problems": problems})
    else:
        for problem in loaded.problems:
            typer.echo(str(problem))
        errors = sum(problem.severity == "error" for problem in loaded.problems)
        warnings = len(loaded.problems) - errors
        outcome = (
            f"{_counted(errors, 'error')}, {_counted(warnings, 'warning')}" if loaded.problems else "in order"
        )
        typer.echo(f"{loaded.source.file}: {outcome}")
    if loaded.configuration is None:
        raise typer.Exit(3)


@app.command()
def show(context: typer.Context, as_json: AsJson = False) -> None:
    """Show every setting and where it comes from: a line, or the default. Secrets stay references.

    \b
    Examples:
      quartermaster config show
      quartermaster config show --json | jq '.[] | select(.where != "default")'
    """
    from dataclasses import asdict

    from quartermaster.config.explain import settings

    found = settings(_load(context, secrets=False))
    if as_json:
        output.emit_json([asdict(setting) for setting in found])
    else:
        output.table("", ["key", "value", "where"], [(each.key, each.value, each.where) for each in found])


@app.command()
def schema() -> None:
    """Print the JSON Schema of the file: editors complete and check with it.

    \b
    Example:
      quartermaster config schema > quartermaster.schema.json
    and as the first line of quartermaster.yaml:
      # yaml-language-server: $schema=quartermaster.schema.json
    """
    from quartermaster.config.explain import schema as described

    output.emit_json(described())


@app.command()
def init(path: Annotated[Path, typer.Argument(help="The file to write.")] = Path(FILE)) -> None:
    """Write a small commented configuration to start from; a file that is there is never overwritten.

    \b
    Examples:
      quartermaster config init
      quartermaster config init sites/berlin.yaml
    """
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(STARTER)
    except FileExistsError as error:
        raise InputError(f"{path} is there already", "name another, or quartermaster config check") from error
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}", "name another path") from error
    output.say(f"{path} is written; edit it, then: quartermaster config check")


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _load(context: typer.Context, *, secrets: bool = True) -> "Loaded":
    from quartermaster.config.load import check_configuration

    return check_configuration(session(context).config_path(), os.environ, secrets=secrets)
