"""The command `quartermaster`: its sub-commands, the options before them, and errors as two lines with a next step."""

import importlib
import importlib.util
import signal
import sys
from pathlib import Path
from typing import Annotated

import typer
import typer.rich_utils

from cli import output
from cli.session import Session
from quartermaster.errors import QuartermasterError

SINGLE = ("demo", "collect", "rollup", "report", "dashboard", "sql", "why", "status", "version")
GROUPS = ("ledger", "config", "person", "simulate")

app = typer.Typer(
    name="quartermaster",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def options(
    context: typer.Context,
    config: Annotated[Path | None, typer.Option("--config", "-c", help="The configuration's file.", envvar="QUARTERMASTER_CONFIG")] = None,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Who held which GPU, what it did, and what each team owes.

    \b
    Start here:
      quartermaster demo             a simulated cluster's week, from metrics to a bill
      quartermaster demo --keep      the same, and everything stays to be looked at
    """
    context.obj = Session(config=config, debug=debug)


for _name in SINGLE:
    if importlib.util.find_spec(f"cli.{_name}"):
        app.command(_name)(getattr(importlib.import_module(f"cli.{_name}"), _name))
for _name in GROUPS:
    if importlib.util.find_spec(f"cli.{_name}"):
        app.add_typer(importlib.import_module(f"cli.{_name}").app, name=_name)


def run() -> None:
    """The entry point: exit code 0, 1 for a failure, 2 for wrong usage, 130 after Ctrl-C, and errors' own codes."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")  # pyright: ignore[reportAttributeAccessIssue]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if output.plain():
        typer.rich_utils.COLOR_SYSTEM = None
        typer.rich_utils.FORCE_TERMINAL = None
    try:
        app()
    except QuartermasterError as error:
        if "--debug" in sys.argv:
            raise
        output.complain(error)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)
