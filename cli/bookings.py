"""`quartermaster bookings`: the bookings and offers that stand or come, and their cancelling."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from cli import output
from cli.asking import asker
from cli.book import as_value
from cli.choice import clusters
from cli.session import session
from quartermaster.clock import now_ms, to_iso
from quartermaster.errors import InputError

if TYPE_CHECKING:
    from enforcer.bookings import Booked


def bookings(
    context: typer.Context,
    *,
    cancelled: Annotated[
        str | None, typer.Option("--cancel", metavar="ID", help="End this one; the beginning of its id.")
    ] = None,
    reason: Annotated[str, typer.Option("--reason", help="Why it is cancelled.")] = "",
    cluster: Annotated[str | None, typer.Option("--cluster", help="Only this cluster's.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """List the bookings and offers that stand or come, or cancel one.

    One that stands ends now; one that has not begun is withdrawn. An offer that others have booked cannot be cancelled
    before what they booked.

    \b
    Examples:
      quartermaster bookings
      quartermaster bookings --cancel 3f8a07c2 --reason "it is done already"
    """
    from cli.days import shown
    from enforcer.bookings import cancel, standing, words
    from quartermaster.config.load import load_configuration
    from quartermaster.fairshare.explain import gpus
    from sql.configured import open_configured

    configuration = load_configuration(session(context).config_path(), os.environ)
    names, zone = clusters(configuration, cluster), configuration.business.time_zone
    at_ms = now_ms()
    with open_configured(configuration) as ledger:
        with ledger.reading() as cursor:
            found = standing(cursor, names, at_ms)
        if cancelled is not None:
            gone = _one(found, cancelled)
            ended_ms = cancel(ledger, gone, asker(configuration), reason, at_ms)
            if as_json:
                output.emit_json(as_value(gone) | {"to": to_iso(ended_ms), "cancelled": True})
            else:
                how = "has ended" if ended_ms == at_ms else "is withdrawn"
                output.say(f"It {how}: {words(gone)}.")
            return
    if as_json:
        output.emit_json([as_value(each) for each in found])
        return
    if not found:
        output.say("There is no booking and no offer that stands or comes.")
        return
    rows = [
        (
            each.name[:8],
            *(each.cluster, each.booking.pool, each.booking.team),
            f"{'−' if each.booking.offer else '+'}{gpus(each.booking.parts)}",
            *(shown(instant_ms, zone) for instant_ms in (each.booking.start_at, each.booking.end_at)),
            each.words,
        )
        for each in found
    ]
    columns = ["id", "cluster", "pool", "team", "guarantee", "from", "until", "why"]
    output.table(f"Bookings and offers ({zone})", columns, rows, right=["guarantee"])


def _one(found: "Sequence[Booked]", wanted: str) -> "Booked":
    fitting = [each for each in found if wanted and each.name.startswith(wanted.lower())]
    if not fitting:
        raise InputError(
            f"no booking or offer that stands or comes begins with {wanted!r}",
            "quartermaster bookings lists them",
        )
    if len(fitting) > 1:
        raise InputError(
            f"{wanted!r} is more than one: {', '.join(each.name for each in fitting)}", "write more of it"
        )
    return fitting[0]
