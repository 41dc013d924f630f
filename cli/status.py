"""`quartermaster status`: sources and their lag, coverage, the last roll-up, the ledger's health."""

import os
from dataclasses import asdict
from typing import Annotated

import typer

from cli import output
from cli.session import session
from quartermaster.clock import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS, now_ms, to_iso


def status(
    context: typer.Context, as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False
) -> None:
    """Say how things stand: sources, lag, coverage, the last roll-up, the ledger.

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
        stand = found(ledger, instant)
    if as_json:
        output.emit_json({"at_ms": instant, "ledger": str(configuration.ledger.path), **asdict(stand)})
        return
    last = f", the last of {to_iso(stand.last_sample_ms)}" if stand.last_sample_ms is not None else ""
    output.say(f"The ledger in {configuration.ledger.path} is in order (revision {stand.revision}).")
    output.say(
        f"{stand.samples} samples{last}; {stand.usage_rows} rows of usage, {stand.charges} of charges."
    )
    if stand.sources:
        columns = ["cluster", "source", "covers", "complete until", "lag", "open gaps"]
        rows = [
            (
                each.cluster,
                each.source,
                each.covers,
                _instant(each.complete_until_ms),
                _lag(each.lag_ms),
                each.open_gaps,
            )
            for each in stand.sources
        ]
        output.table("Sources", columns, rows, right=["lag", "open gaps"])
    else:
        output.say("No source has told anything yet: start quartermaster collect.")
    if stand.clusters:
        columns = ["cluster", "rolled up until", "lag", "capacity GPU-h", "held GPU-h", "coverage"]
        rolled = [
            (
                each.cluster,
                _instant(each.rolled_until_ms),
                _lag(each.lag_ms),
                f"{each.capacity_gpu_h:.1f}",
                f"{each.held_gpu_h:.1f}",
                "nothing held" if each.coverage is None else f"{each.coverage:.1%}",
            )
            for each in stand.clusters
        ]
        output.table("Roll-up (figures of the seven days before it)", columns, rolled, right=columns[2:])
    elif stand.sources:
        output.say("Nothing is rolled up yet: quartermaster rollup.")


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
