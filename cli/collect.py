"""`quartermaster collect`: telemetry from every exporter into the ledger, until it is told to stop."""

from typing import Annotated

import typer

from cli.session import session


def collect(
    context: typer.Context,
    once: Annotated[bool, typer.Option("--once", help="One round of every target, then end.")] = False,
    seconds: Annotated[str, typer.Option("--for", metavar="DURATION", help="End after 60s, 5m, 2h.")] = "",
) -> None:
    """Collect GPU telemetry into the ledger: runs until Ctrl-C or SIGTERM, which finish the batch.

    SIGHUP reads the configuration again; a broken file changes nothing. Its own metrics are at /metrics of
    `collector.listen`, its health at /healthz and /readyz.

    \b
    Examples:
      quartermaster collect             until it is told to stop
      quartermaster collect --once      one round: does every target answer?
      quartermaster collect --for 10m   ten minutes
    """
    import os
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
    raise typer.Exit(run(session(context).config_path(), os.environ, once=once, span_s=span_s))
