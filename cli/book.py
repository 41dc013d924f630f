"""`quartermaster book` and `offer`: more is promised to a team for a while, or less."""

import os
from typing import TYPE_CHECKING, Annotated

import typer

from cli import output
from cli.asking import asker
from cli.choice import clusters
from cli.session import session
from quartermaster.clock import now_ms, to_iso
from quartermaster.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from enforcer.bookings import Booked
    from quartermaster.config.model import Configuration

Team = Annotated[str, typer.Argument(help="The team.")]
Gpus = Annotated[str, typer.Argument(help="How many GPUs: 64, 0.5.")]
Pool = Annotated[str, typer.Option("--pool", help="In this pool.")]
From = Annotated[str, typer.Option("--from", help="From when on: now, fri, 2026-12-03, or an instant.")]
To = Annotated[str, typer.Option("--to", help="Until this day begins: fri, 2026-12-14; or an instant.")]
Cluster = Annotated[str | None, typer.Option("--cluster", help="In this cluster.")]
Reason = Annotated[str, typer.Option("--reason", help="Why, for who reads the record.")]
AsJson = Annotated[bool, typer.Option("--json", help="For machines.")]


def book(
    context: typer.Context,
    team: Team,
    gpus: Gpus,
    *,
    pool: Pool,
    start: From = "now",
    end: To,
    cluster: Cluster = None,
    reason: Reason = "",
    as_json: AsJson = False,
) -> None:
    """Book GPUs for a team: its guarantee is that much higher for a while.

    Refused where the pool would be promised more than its nodes have. A day is its midnight in the business's time
    zone, so --to is the first day without. The same booked again is there once.

    \b
    Examples:
      quartermaster book vision 64 --pool h100 --from 2026-12-03 --to 2026-12-14
      quartermaster book vision 8 --pool h100 --to fri --reason "a deadline"
    """
    _write(
        context,
        (team, gpus, pool),
        (start, end),
        cluster=cluster,
        reason=reason,
        offer=False,
        as_json=as_json,
    )


def offer(
    context: typer.Context,
    team: Team,
    gpus: Gpus,
    *,
    pool: Pool,
    start: From = "now",
    end: To,
    cluster: Cluster = None,
    reason: Reason = "",
    as_json: AsJson = False,
) -> None:
    """Offer a team's GPUs: its guarantee is that much lower for a while, and others may book or borrow them.

    Refused where the team is promised less than it offers. The same offered again is there once.

    \b
    Examples:
      quartermaster offer speech 16 --pool h100 --to fri
      quartermaster offer speech 16 --pool h100 --from 2026-12-03 --to 2026-12-05
    """
    _write(
        context, (team, gpus, pool), (start, end), cluster=cluster, reason=reason, offer=True, as_json=as_json
    )


def as_value(each: "Booked") -> dict[str, object]:
    """The same for machines."""
    from enforcer.written import amount

    return {
        "id": each.name,
        "cluster": each.cluster,
        "kind": "offer" if each.booking.offer else "booking",
        "team": each.booking.team,
        "pool": each.booking.pool,
        "gpus": amount(each.booking.parts),
        "from": to_iso(each.booking.start_at),
        "to": to_iso(each.booking.end_at),
        "asked_by": each.asked_by,
        "reason": each.words,
    }


def _write(
    context: typer.Context,
    what: tuple[str, str, str],
    span: tuple[str, str],
    *,
    cluster: str | None,
    reason: str,
    offer: bool,
    as_json: bool,
) -> None:
    from cli.days import day_or_instant, shown
    from enforcer.booking import Booking
    from enforcer.bookings import pools, wish, words, write
    from quartermaster.config.load import load_configuration
    from sql.configured import open_configured

    configuration = load_configuration(session(context).config_path(), os.environ)
    name = _one_cluster(configuration, cluster)
    team, gpus, pool = what
    parts, zone = _parts(gpus), configuration.business.time_zone
    _known("team", team, [each.name for each in configuration.teams])
    with open_configured(configuration) as ledger:
        at_ms = now_ms()
        start_ms, end_ms = (day_or_instant(each, zone, at_ms) for each in span)
        with ledger.reading() as cursor:
            there = pools(cursor, name, at_ms)
        _known("pool", pool, {*there, *(each.name for each in configuration.pools)})
        wished = wish(name, Booking(team, pool, parts, start_ms, end_ms, offer), asker(configuration), reason)
        found = write(ledger, wished, at_ms)
    if as_json:
        output.emit_json(as_value(found) | {"new": found is wished})
        return
    there_already = "" if found is wished else "It is there already: "
    begins, ends = (shown(each, zone) for each in (found.booking.start_at, found.booking.end_at))
    output.say(f"{there_already}{words(found)}, from {begins} until {ends} ({zone}).")
    output.say(f"quartermaster bookings --cancel {found.name} ends it.")


def _one_cluster(configuration: "Configuration", wanted: str | None) -> str:
    names = clusters(configuration, wanted)
    if len(names) > 1:
        raise InputError("there is more than one cluster", f"name one with --cluster: {', '.join(names)}")
    return names[0]


def _parts(gpus: str) -> int:
    from quartermaster.config.units import gpu_parts

    try:
        parts = gpu_parts(gpus)
    except ValueError as error:
        raise InputError(f"{gpus!r}: {error}", "write it as 64") from error
    if not parts:
        raise InputError("it is about no GPUs", "write how many, such as 64")
    return parts


def _known(what: str, name: str, known: "Iterable[str]") -> None:
    from quartermaster.config.problem import nearest

    names = sorted(known)
    if name in names:
        return
    near = nearest(name, names)
    raise InputError(
        f"there is no {what} {name!r}" + (f" (did you mean {near}?)" if near else ""),
        f"there {'is' if len(names) == 1 else 'are'}: {', '.join(names)}"
        if names
        else f"the configuration names no {what}",
    )
