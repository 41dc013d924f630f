"""`quartermaster approve`: a person lets a plan be carried out, for as long as the policy says."""

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from cli import output
from cli.asking import asker
from cli.choice import clusters
from cli.planned import show
from cli.session import session
from quartermaster.clock import now_ms, to_iso
from quartermaster.errors import InputError

if TYPE_CHECKING:
    from analytics.asking.approving import Recorded


def approve(
    context: typer.Context,
    plan: Annotated[
        str, typer.Argument(metavar="HASH", help="The beginning of the plan's hash, 8 signs or more.")
    ],
    *,
    reason: Annotated[str, typer.Option("--reason", help="Why, for who reads the record.")] = "",
    cluster: Annotated[str | None, typer.Option("--cluster", help="Only this cluster's.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For machines; it needs --yes.")] = False,
) -> None:
    """Approve a plan: what it says may be done, while it stands and for ten minutes, unless the policy says otherwise.

    The plan is shown first. The approval is of this plan alone: when an object that it touches changes, the plan is
    another, and nothing is done. Whatever the guard has against it, it has all the same: budgets, switches, reality.

    \b
    Examples:
      quartermaster plan show          the last that was recorded
      quartermaster approve 3f8a07c2
    """
    from analytics.asking.approving import check, find
    from analytics.asking.request import Kind, Request, ask
    from quartermaster.config.load import load_configuration
    from sql.configured import open_configured

    configuration = load_configuration(session(context).config_path(), os.environ)
    acting = configuration.policy.acting
    clusters(configuration, cluster)
    with open_configured(configuration) as ledger:
        with ledger.reading() as cursor:
            found = find(cursor, plan, cluster)
        check(found, acting, now_ms())
        _confirm(found, yes=yes, as_json=as_json)
        at_ms = now_ms()  # people read for a while
        with ledger.reading() as cursor:
            check(find(cursor, found.plan_hash, found.cluster), acting, at_ms)
        until_ms = at_ms + acting.approval_lasts_ms
        who = asker(configuration)
        ask(ledger, Request(found.cluster, at_ms, who, Kind.APPROVE, found.plan_hash, until_ms, reason))
    if as_json:
        output.emit_json(
            {
                "cluster": found.cluster,
                "plan": found.plan_hash,
                "approved_by": who,
                "approved_at": to_iso(at_ms),
                "until": to_iso(until_ms),
            }
        )
        return
    output.say(
        f"Plan {found.plan_hash[:12]} of cluster {found.cluster} is approved until {to_iso(until_ms)}. It is carried "
        "out as far as the guard lets it, if it still is the plan."
    )


def _confirm(found: "Recorded", *, yes: bool, as_json: bool) -> None:
    if not as_json:
        show(found.body)
    if yes:
        return
    if as_json or not sys.stdin.isatty():
        raise InputError(
            "a plan is approved by somebody who has seen it, and there is nobody to ask",
            "repeat it with --yes",
        )
    typer.confirm(f"Approve plan {found.plan_hash[:12]} of cluster {found.cluster}?", abort=True)
