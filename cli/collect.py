"""`quartermaster collect`: telemetry from every exporter into the ledger, until it is told to stop."""

import os
from typing import TYPE_CHECKING, Annotated

import typer

from cli.session import FILE, session

if TYPE_CHECKING:
    from pathlib import Path


def collect(
    context: typer.Context,
    once: Annotated[bool, typer.Option("--once", help="One round of every target, then end.")] = False,
    nvml: Annotated[
        bool, typer.Option("--nvml", help="This host alone, through NVIDIA's library; needs no exporter.")
    ] = False,
    seconds: Annotated[str, typer.Option("--for", metavar="DURATION", help="End after 60s, 5m, 2h.")] = "",
) -> None:
    """Collect GPU telemetry into the ledger: runs until Ctrl-C or SIGTERM, which finish the batch.

    SIGHUP reads the configuration again; a broken file changes nothing. Its own metrics are at /metrics of
    `collector.listen`, its health at /healthz and /readyz.

    With --nvml and no configuration, one is written first, for this machine.

    \b
    Examples:
      quartermaster collect             until it is told to stop
      quartermaster collect --once      one round: does every target answer?
      quartermaster collect --for 10m   ten minutes
      quartermaster collect --nvml      this machine's GPUs, and who uses them
    """
    import signal

    # Whoever sends it wants a reload: before there is anything to reload it must not be the end.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)

    from collector.command import run
    from quartermaster.config.units import duration_ms
    from quartermaster.errors import InputError

    try:
        span_s = duration_ms(seconds) / 1000 if seconds else None
    except ValueError as error:
        raise InputError(f"--for {seconds}: {error}", "try --for 60s") from error
    file = _first_file(context) if nvml else session(context).config_path()
    raise typer.Exit(run(file, os.environ, once=once, span_s=span_s, only_host=nvml))


def _first_file(context: typer.Context) -> "Path":
    """The configuration's file; where there is none, one for this machine is written into the user's folder."""
    from pathlib import Path

    from cli import output
    from collector.nvml.configured import host_name
    from collector.nvml.fetch import Fetcher, Places
    from collector.nvml.first import need_library
    from quartermaster.config.first import first_configuration, write_first
    from quartermaster.errors import ConfigurationError

    try:
        return session(context).config_path()
    except ConfigurationError:
        if session(context).config is not None:
            raise
    need_library(Fetcher(Places(), timeout_ms=30_000))
    file = Path(typer.get_app_dir("quartermaster")) / FILE
    write_first(file, first_configuration(host_name(), os.environ, Path.home()))
    output.say(f"there was no configuration: {file} is written, for this machine")
    return file
