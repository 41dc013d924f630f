"""`quartermaster serve metrics` and `export metrics`: each team's cost and GPUs for Prometheus and Grafana."""

import os
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli import output
from cli.session import session

if TYPE_CHECKING:
    from prometheus_client.core import GaugeMetricFamily

Teams = Annotated[
    int,
    typer.Option("--teams", min=1, max=10_000, help="Teams with series of their own; the rest are summed."),
]


def metrics(
    context: typer.Context,
    *,
    listen: Annotated[
        str, typer.Option(help="Address and port; port 0 takes a free one.")
    ] = "127.0.0.1:9502",
    teams: Teams = 200,
) -> None:
    """Answer Prometheus: each team's cost, budget, and GPUs held, idle, borrowed and lent.

    Until Ctrl-C or SIGTERM, at /metrics. Only this machine reaches it, unless you name an address: whoever reaches it
    reads every team's cost. Recording rules and a Grafana dashboard are in deploy/prometheus.

    \b
    Examples:
      quartermaster serve metrics
      quartermaster serve metrics --listen 10.0.0.7:9502
    """
    from analytics.finance.metrics_page import serve_page

    with serve_page(_reader(context, teams), listen) as address:
        output.say(f"Listening on {address}")
        threading.Event().wait()


def metrics_file(
    context: typer.Context,
    *,
    file: Annotated[Path, typer.Option("--output", "-o", help="Write into this file.", show_default=False)],
    teams: Teams = 200,
) -> None:
    """Write the metrics of serve metrics once, for node_exporter's textfile collector.

    \b
    Example:
      quartermaster export metrics -o /var/lib/node_exporter/quartermaster.prom
    """
    from analytics.finance.metrics_page import write_page

    write_page(_reader(context, teams), file)
    output.say(f"{file}: written")


def _reader(context: typer.Context, teams: int) -> "Callable[[], Iterable[GaugeMetricFamily]]":
    from analytics.finance.metrics import families, read_facts
    from analytics.money.periods import calendar_of
    from quartermaster.clock import now_ms
    from quartermaster.config.load import load_configuration
    from sql.configured import open_configured

    configuration = load_configuration(session(context).config_path(), os.environ)
    calendar = calendar_of(configuration.business)

    def read() -> "Iterable[GaugeMetricFamily]":
        with open_configured(configuration, read_only=True) as ledger:
            return families(read_facts(ledger, calendar, now_ms()), teams)

    return read
