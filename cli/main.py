"""The command `quartermaster`: its sub-commands, the options before them, errors as two lines."""

import inspect
import os
import re
import shlex
import signal
import sys
from collections.abc import Callable
from io import TextIOWrapper
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer
import typer.rich_utils

from cli import audit as audit_group
from cli import config as config_group
from cli import dispute as dispute_group
from cli import enforce as enforce_group
from cli import export as export_group
from cli import invoice as invoice_group
from cli import ledger as ledger_group
from cli import output
from cli import period as period_group
from cli import person as person_group
from cli import plan as plan_group
from cli import prices as prices_group
from cli import report as report_group
from cli import serve as serve_group
from cli import token as token_group
from cli.actions import actions
from cli.approve import approve
from cli.backfill import backfill
from cli.behind import of_group, with_options
from cli.book import book, offer
from cli.bookings import bookings
from cli.budgets import budgets
from cli.collect import collect
from cli.dashboard import dashboard
from cli.demo import demo
from cli.doctor import doctor
from cli.down import down
from cli.findings import findings
from cli.freeze import freeze, thaw
from cli.init import init
from cli.keep import keep
from cli.leash import hold_on
from cli.metrics import metrics, metrics_file
from cli.rebalance import rebalance
from cli.restore import restore
from cli.rollup import rollup
from cli.session import Session
from cli.simulate import app as simulate_group
from cli.sql import sql
from cli.status import status
from cli.up import up
from cli.version import version
from cli.what_if import what_if
from cli.why import why
from cli.won_back import won_back
from quartermaster.errors import InputError, QuartermasterError
from quartermaster.interrupt import was_interrupted

_NAME = "quartermaster"
app = typer.Typer(
    name=_NAME,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

_HALF = re.compile("[\ud800-\udfff]")  # of a character: a byte of the command line that is none of UTF-8
_told: list[int] = []  # the signal that told the process to end


def _tell(wanted: bool) -> None:
    if wanted:
        version()
        raise typer.Exit


@app.callback()
def options(
    context: typer.Context,
    *,
    config: Annotated[
        Path | None,
        typer.Option("--config", "-c", help="The configuration's file.", envvar="QUARTERMASTER_CONFIG"),
    ] = None,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    tell_version: Annotated[
        bool,
        typer.Option(
            "--version", "-V", help="The same as the command version.", callback=_tell, is_eager=True
        ),
    ] = False,
) -> None:
    """Who held which GPU, what it did, and what each team owes.

    \b
    Start here:
      quartermaster demo          a simulated cluster's week, to each team's bill
      quartermaster demo --keep   the same, and everything stays to be looked at
    """
    context.obj = Session(config=config, debug=debug)


for _command in (
    demo,
    init,
    collect,
    backfill,
    rollup,
    budgets,
    dashboard,
    sql,
    why,
    findings,
    status,
    doctor,
    up,
    book,
    offer,
    bookings,
    rebalance,
    what_if,
    actions,
    won_back,
    approve,
    freeze,
    thaw,
    keep,
    restore,
    down,
):
    app.command()(_command)
app.add_typer(simulate_group, name="simulate")
app.add_typer(report_group.app, name="report")
app.add_typer(enforce_group.app, name="enforce")
app.add_typer(plan_group.app, name="plan")
app.add_typer(audit_group.app, name="audit")
app.add_typer(export_group.app, name="export")
app.add_typer(ledger_group.app, name="ledger")
app.add_typer(serve_group.app, name="serve")
serve_group.app.command("metrics")(metrics)
export_group.app.command("metrics")(metrics_file)
app.add_typer(token_group.app, name="token")
app.add_typer(config_group.app, name="config")
app.add_typer(prices_group.app, name="prices")
app.add_typer(person_group.app, name="person")
app.add_typer(period_group.app, name="period")
app.add_typer(invoice_group.app, name="invoice")
app.add_typer(dispute_group.app, name="dispute")
app.command()(version)


def _finish(group: typer.Typer) -> None:
    """Every command takes --config and --debug, and its docstring's paragraphs are joined for the help, which
    breaks them where the terminal ends; what stands after a backspace stays in its lines."""
    for command in group.registered_commands:
        if command.callback is None:
            continue
        command.help = _paragraphs(command.callback)
        command.callback = with_options(command.callback)
    for inner in group.registered_groups:
        if inner.typer_instance is not None:
            own = inner.typer_instance.registered_callback
            if own is None or own.callback is None:
                inner.typer_instance.callback()(of_group)
            else:  # it does something by itself
                own.help = _paragraphs(own.callback)
                own.callback = with_options(own.callback)
            _finish(inner.typer_instance)


def _paragraphs(command: Callable[..., object]) -> str:
    paragraphs = (inspect.getdoc(command) or "").split("\n\n")
    return "\n\n".join(
        paragraph if paragraph.startswith("\b") else " ".join(paragraph.split()) for paragraph in paragraphs
    )


_finish(app)


def run() -> None:
    """The entry point. Exit codes: 0, 1 a failure, 2 wrong usage, 130 after Ctrl-C, and errors' own.

    A traceback is shown with --debug alone.
    """
    hold_on()
    _open_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors=output.SPELT)
    signal.signal(signal.SIGTERM, _end)
    if output.plain():
        typer.rich_utils.COLOR_SYSTEM = None
        typer.rich_utils.FORCE_TERMINAL = None
    try:
        app(prog_name=_NAME)
    except QuartermasterError as error:
        if "--debug" in sys.argv:
            raise
        output.complain(error)
        sys.exit(128 + signal.SIGINT if was_interrupted() else error.exit_code)
    except KeyboardInterrupt:  # while the commands are made: from then on Typer hears it
        sys.exit(128 + signal.SIGINT)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)
    except Exception as error:
        if "--debug" in sys.argv:
            raise
        # A library that is loaded when Ctrl-C comes may call it an error of its own, and say nothing of it.
        if _interrupted(error) or was_interrupted():
            sys.exit(128 + (_told.pop() if _told else signal.SIGINT))
        found = _unforeseen(error)
        output.complain(found)
        sys.exit(found.exit_code)


def _open_streams() -> None:
    """A standard stream that came closed leads nowhere: its number must not go to the next file opened, which
    may be the ledger's."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) < 3:
        pass
    os.close(descriptor)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115 - to the end


def _interrupted(error: BaseException | None) -> bool:
    """Whether a signal is behind the error: some libraries wrap it, and DuckDB says it in words of its own."""
    while error is not None and not isinstance(error, KeyboardInterrupt | SystemExit):
        if isinstance(error, RuntimeError) and str(error) == "Query interrupted":
            return True
        error = error.__cause__ or error.__context__
    return error is not None


def _unforeseen(error: Exception) -> QuartermasterError:
    """What nobody turned into words before it came here: an argument that is no text, the system's trouble, or a fault
    of ours."""
    again = f"{_NAME} --debug {shlex.join(sys.argv[1:])}"
    if isinstance(error, OSError) and error.strerror:
        about = f"{error.filename}: " if error.filename else ""
        return QuartermasterError(
            f"{about}{error.strerror}", f"see to the disk, the folder and its rights; {again} shows where"
        )
    unfit = next((each for each in sys.argv[1:] if _HALF.search(each)), None)
    if unfit is not None:
        return InputError(f"{unfit!r} is not UTF-8", "write it in UTF-8")
    return QuartermasterError(
        f"{type(error).__name__}: {' '.join(str(error).split())}",
        f"this is a fault of Quartermaster: please report what {again} prints",
    )


def _end(signal_number: int, frame: FrameType | None) -> None:
    """Leave as a terminated process does, but through every `finally`."""
    _told.append(signal_number)
    sys.exit(128 + signal_number)
