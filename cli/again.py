"""Doing something again and again until one is told to end: what goes wrong in a round is told, and ends nothing."""

import time
from collections.abc import Callable
from typing import Annotated

import typer

from cli import output
from quartermaster.errors import ConfigurationError, InputError, LedgerError, QuartermasterError, SourceError
from quartermaster.interrupt import obey

Every = Annotated[
    str, typer.Option("--every", metavar="DURATION", help="Again so often (5m), until Ctrl-C or SIGTERM.")
]
Listen = Annotated[
    str,
    typer.Option(
        "--listen", metavar="HOST:PORT", help="Tell /metrics and /healthz there.", show_default="nowhere"
    ),
]
_STEP_S = 0.5


def again(part: str, every: str, listen: str, work: Callable[[], object]) -> None:
    """The work at once, and again so long after the beginning of the last.

    Raises InputError, and what `work` raises but LedgerError and SourceError: those may pass, as a
    ConfigurationError may after the first round.
    """
    from cli.pulse import Pulse, told

    every_s = seconds_of(every)
    pulse = Pulse(part, patience_s=3 * every_s + 600)
    passing: tuple[type[QuartermasterError], ...] = (LedgerError, SourceError)
    with told(pulse, listen):
        while True:
            began = time.monotonic()
            good = _tried(work, passing)
            passing = (LedgerError, SourceError, ConfigurationError)
            pulse.beat(time.monotonic() - began, good=good)
            wait_until(began + every_s)


def wait_until(until_s: float) -> None:
    """Sleep until an instant of time.monotonic; Ctrl-C that a library swallowed ends it."""
    while (left_s := until_s - time.monotonic()) > 0:
        obey()
        time.sleep(min(_STEP_S, left_s))


def seconds_of(every: str) -> float:
    """`5m` in seconds. Raises InputError."""
    from quartermaster.config.units import duration_ms

    try:
        return duration_ms(every) / 1000
    except ValueError as error:
        raise InputError(f"--every {every}: {error}", "try --every 5m") from error


def _tried(work: Callable[[], object], passing: tuple[type[QuartermasterError], ...]) -> bool:
    try:
        work()
    except passing as error:
        output.complain(error)
        return False
    return True
