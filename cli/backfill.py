"""`quartermaster backfill`: the history that a Prometheus has, into the ledger."""

import gc
import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from cli import output
from cli.session import session
from quartermaster.clock import MINUTE_MS, now_ms, to_iso, to_minute

if TYPE_CHECKING:
    from collector.prometheus.backfill import Progress
    from collector.prometheus.command import Backfilled
    from collector.prometheus.estimate import Estimate
    from quartermaster.config.model import Configuration
    from sql.ledger import Ledger

# What a Prometheus has of the last moments may not be all.
_SETTLED_MS = MINUTE_MS
_SAY_EVERY_S = 30.0


def backfill(
    context: typer.Context,
    *,
    cluster: Annotated[str, typer.Option("--cluster", help="The cluster.")],
    start: Annotated[
        str, typer.Option("--from", metavar="INSTANT", help="From when: 2026-11-01T00:00:00Z, or 30d ago.")
    ],
    end: Annotated[
        str, typer.Option("--to", metavar="INSTANT", help="Until when; empty: now, or where live data begin.")
    ] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what it would be.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Read a cluster's history from its Prometheus: what GPUs did, and who held them, before anybody collected.

    What the ledger has already is left out, so that it can be repeated, and goes on where it was ended.
    Then `quartermaster rollup` makes usage and charges of it.

    \b
    Examples:
      quartermaster backfill --cluster demo --from 30d --dry-run
      quartermaster backfill --cluster demo --from 30d
      quartermaster backfill --cluster demo --from 2026-11-01 --to 2026-11-15
    """
    from collector.prometheus.command import backfill_of
    from quartermaster.config.load import load_configuration
    from sql.ledger import open_ledger
    from sql.upgrade import upgrade

    configuration = load_configuration(session(context).config_path(), os.environ)
    now = now_ms()
    span = _span(start, end, now)
    catalog = configuration.ledger.catalog.reveal()
    gc.freeze()  # what was imported is no garbage, and need not be looked at again and again
    with backfill_of(configuration, cluster) as work:
        if dry_run:
            with _as_it_is(configuration) as ledger:
                _say_estimate(cluster, work.expect(ledger, span), as_json=as_json)
            return
        with open_ledger(configuration.ledger.path, catalog) as ledger:
            upgrade(ledger)
            began = time.monotonic()
            with _watched(cluster, span) as progress:
                done = work.run(ledger, span, now, progress)
            seconds = time.monotonic() - began
    if as_json:
        output.emit_json(_as_value(cluster, done, seconds))
    else:
        _say(cluster, done, seconds)
    if done.filled.partial:
        raise typer.Exit(1)


@contextmanager
def _as_it_is(configuration: "Configuration") -> "Generator[Ledger | None]":
    """The ledger to read from; None where there is none yet."""
    from sql.catalog import parse
    from sql.ledger import open_ledger

    catalog = configuration.ledger.catalog.reveal()
    if parse(configuration.ledger.path, catalog).is_missing:
        yield None
        return
    with open_ledger(configuration.ledger.path, catalog, read_only=True) as ledger:
        yield ledger


def _span(start: str, end: str, now: int) -> tuple[int, int]:
    """From and to as epoch milliseconds. Raises InputError."""
    from quartermaster.errors import InputError

    settled = now - _SETTLED_MS
    until_ms = min(_instant("--to", end, now), settled) if end else settled
    from_ms = _instant("--from", start, now)
    if from_ms >= until_ms:
        raise InputError(
            f"--from {to_iso(from_ms)} is not before --to {to_iso(until_ms)}",
            "name a span of the past; its last minute is left to the next time",
        )
    return from_ms, until_ms


def _instant(option: str, text: str, now: int) -> int:
    from quartermaster.config.units import duration_ms, instant_ms
    from quartermaster.errors import InputError

    hint = f"try {option} 2026-11-01T00:00:00Z, or 30d"
    try:
        at_ms = now - duration_ms(text)
    except ValueError:
        try:
            return instant_ms(text)
        except ValueError as error:
            raise InputError(f"{option} {text}: {error}", hint) from error
    if at_ms < instant_ms("2000-01-01"):
        raise InputError(f"{option} {text}: that is before the year 2000", hint)
    return at_ms


@contextmanager
def _watched(cluster: str, span: tuple[int, int]) -> "Generator[Progress]":
    """Show how far it is, and the time that is left: a bar on a terminal, else a line now and then."""
    began = said = time.monotonic()
    with output.progress() as bar:
        task = bar.add_task(f"reading {cluster}", total=float(span[1] - span[0]))

        def tell(at_ms: int, samples: int) -> None:
            nonlocal said
            now = time.monotonic()
            done = max(1, at_ms - span[0])
            left_s = (now - began) * (span[1] - at_ms) / done
            sentence = (
                f"reading {cluster}: {to_minute(at_ms)}, {samples:,} samples, "
                f"{samples / max(now - began, 0.001):,.0f}/s, {_duration(left_s)} left"
            )
            bar.update(task, completed=done, description=sentence)
            if bar.disable and now - said > _SAY_EVERY_S:
                said = now
                typer.echo(sentence, err=True)

        yield tell


def _say_estimate(cluster: str, expected: "Estimate", *, as_json: bool) -> None:
    if as_json:
        output.emit_json({"cluster": cluster, "estimate": _estimate_value(expected)})
        return
    if not expected.holes:
        output.say(f"{cluster}: the ledger has all of it already")
        return
    for start, end in expected.holes:
        output.say(f"{cluster}: {to_iso(start)} to {to_iso(end)} is missing")
    output.say(f"metrics: {', '.join(expected.metrics) or 'none of dcgm-exporter'}")
    output.say(
        f"about {expected.samples:,} samples of up to {expected.series:,} series at once, "
        f"{expected.bytes / 1e9:,.2f} GB of answers; about {_duration(expected.seconds)}"
    )


def _say(cluster: str, done: "Backfilled", seconds: float) -> None:
    filled = done.filled
    if not (filled.spans or filled.partial or done.told):
        output.say(f"{cluster}: the ledger has all of it already")
        return
    for start, end in filled.spans:
        output.say(f"{cluster}: read {to_iso(start)} to {to_iso(end)}")
    output.say(
        f"{filled.samples:,} samples in {filled.rows:,} rows, by {filled.questions:,} questions, "
        f"in {_duration(seconds)} ({filled.samples / max(seconds, 0.001):,.0f} samples/s)"
    )
    for told in done.told:
        allocations = told.records.get("allocations_versions", 0)
        output.say(
            f"held by {told.source}: {allocations:,} allocations, {to_iso(told.span[0])} to {to_iso(told.span[1])}"
        )
    for start, end, why in filled.partial:
        output.say(f"unknown, {to_iso(start)} to {to_iso(end)}: the server says that some is missing ({why})")
    if filled.partial:
        output.say("give the same command again when the server has all of it")
    else:
        output.say("next: quartermaster rollup")


def _as_value(cluster: str, done: "Backfilled", seconds: float) -> dict[str, object]:
    filled = done.filled
    return {
        "cluster": cluster,
        "estimate": _estimate_value(done.expected),
        "read": [{"from": to_iso(start), "to": to_iso(end)} for start, end in filled.spans],
        "samples": filled.samples,
        "rows": filled.rows,
        "questions": filled.questions,
        "seconds": round(seconds, 3),
        "told": [
            {
                "source": told.source,
                "from": to_iso(told.span[0]),
                "to": to_iso(told.span[1]),
                "records": told.records,
            }
            for told in done.told
        ],
        "partial": [
            {"from": to_iso(start), "to": to_iso(end), "why": why} for start, end, why in filled.partial
        ],
    }


def _estimate_value(expected: "Estimate") -> dict[str, object]:
    return {
        "missing": [{"from": to_iso(start), "to": to_iso(end)} for start, end in expected.holes],
        "metrics": list(expected.metrics),
        "series": expected.series,
        "samples": expected.samples,
        "bytes": expected.bytes,
        "seconds": round(expected.seconds, 1),
    }


def _duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds + 0.5), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"
