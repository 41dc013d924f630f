"""`quartermaster status`: sources, their lag and coverage, the last roll-up, the ledger's health."""

import os
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from cli import output
from cli.session import session
from cli.sources import asked
from quartermaster.clock import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS, now_ms, to_iso

if TYPE_CHECKING:
    from sql.status import RolledCluster, Source

# The exit code where a source of the configuration is behind.
BEHIND = 6


def status(
    context: typer.Context, as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False
) -> None:
    """Say how things stand: sources, lag, coverage, the last roll-up, the ledger.

    Exit code 0: every source of the configuration is heard; 6: one is behind, and marked !.

    Coverage is of the last 24 hours that are rolled up: known ÷ held for telemetry, observed ÷ capacity for who
    is believed about holders.

    \b
    Examples:
      quartermaster status
      quartermaster status --json
    """
    from quartermaster.config.load import load_configuration
    from sql.configured import open_configured
    from sql.status import status as found

    configuration = load_configuration(session(context).config_path(), os.environ)
    instant = now_ms()
    with open_configured(configuration, read_only=True) as ledger:
        stand = found(ledger, instant, asked(configuration))
    if as_json:
        output.emit_json({"at_ms": instant, "ledger": str(configuration.ledger.path), **asdict(stand)})
    else:
        last = f", the last of {to_iso(stand.last_sample_ms)}" if stand.last_sample_ms is not None else ""
        output.say(f"The ledger in {configuration.ledger.path} is in order (revision {stand.revision}).")
        output.say(
            f"{stand.samples} samples{last}; {stand.usage_rows} rows of usage, {stand.charges} of charges."
        )
        _print_sources(stand.sources)
        _print_clusters(stand.clusters, any_source=bool(stand.sources))
    if any(each.behind for each in stand.sources):
        raise typer.Exit(BEHIND)


def _print_sources(sources: "Sequence[Source]") -> None:
    if not sources:
        output.say("No source has told anything yet: start quartermaster collect.")
        return
    figures = ["lag", "watch lag", "coverage", "gaps"]
    rows = [
        (
            each.cluster,
            each.source,
            each.covers,
            f"{_instant(each.heard_ms)[-11:]}{' !' if each.behind else ''}",
            _lag(each.lag_ms),
            _lag(each.watch_lag_ms),
            "" if each.coverage is None else f"{each.coverage:.1%}",
            each.open_gaps,
        )
        for each in sources
    ]
    output.table("Sources", ["cluster", "source", "covers", "last heard", *figures], rows, right=figures)
    apart = {each.cluster: each.clock_ahead_ms for each in sources if each.clock_ahead_ms}
    for cluster, ahead_ms in apart.items():
        ahead = f"{abs(ahead_ms) / SECOND_MS:.1f} s {'ahead of' if ahead_ms > 0 else 'behind'}"
        output.say(f"The API server's clock of {cluster} is {ahead} the collector's: set them by NTP.")
    silent = [each for each in sources if each.behind]
    if silent:
        names = ", ".join(f"{each.source} of {each.cluster} ({each.covers})" for each in silent)
        output.say(f"Behind: {names}. Is quartermaster collect running? Its log says what it waits for.")


def _print_clusters(clusters: "Sequence[RolledCluster]", *, any_source: bool) -> None:
    if not clusters:
        if any_source:
            output.say("Nothing is rolled up yet: quartermaster rollup.")
        return
    columns = ["cluster", "rolled up until", "lag", "capacity GPU-h", "held GPU-h", "coverage"]
    rows = [
        (
            each.cluster,
            _instant(each.rolled_until_ms),
            _lag(each.lag_ms),
            f"{each.capacity_gpu_h:.1f}",
            f"{each.held_gpu_h:.1f}",
            "nothing held" if each.coverage is None else f"{each.coverage:.1%}",
        )
        for each in clusters
    ]
    output.table("Roll-up (figures of the seven days before it)", columns, rows, right=columns[2:])


def _instant(instant_ms: int | None) -> str:
    return "never" if instant_ms is None else to_iso(instant_ms)[:16].replace("T", " ")


def _lag(lag_ms: int | None) -> str:
    if lag_ms is None:
        return ""
    unit, name = next(
        (
            (unit, name)
            for unit, name in ((DAY_MS, "d"), (HOUR_MS, "h"), (MINUTE_MS, "min"))
            if lag_ms >= 2 * unit
        ),
        (SECOND_MS, "s"),
    )
    return f"{lag_ms // unit} {name}"
