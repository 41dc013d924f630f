"""`quartermaster actions`: what was done, refused, and undone, as the audit has it."""

import os
from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli import output
from cli.choice import acted_on
from cli.instants import instant
from cli.session import session
from quartermaster.clock import DAY_MS, now_ms, to_iso, to_minute

if TYPE_CHECKING:
    from enforcer.audit.carried import Carried

_SHOWN = 50
_DONE = {"stop": "stopped", "hold": "held back", "start": "started", "warn": "warned", "restore": "restored"}


class Came(StrEnum):
    """What may have come of something."""

    DONE = "done"
    NO_EFFECT = "no-effect"
    FAILED = "failed"
    ABANDONED = "abandoned"
    UNDONE = "undone"
    OPEN = "open"
    REFUSED = "refused"
    ANSWERED = "answered"


def actions(
    context: typer.Context,
    *,
    since: Annotated[
        str | None,
        typer.Option("--since", help="An instant, such as 2026-11-24T12:00Z.", show_default="a day ago"),
    ] = None,
    team: Annotated[str | None, typer.Option("--team", "-t", help="Only this team's.")] = None,
    workload: Annotated[
        str | None, typer.Option("--workload", help="Only its: Kind/namespace/name, a part, or its UID.")
    ] = None,
    only: Annotated[
        list[Came] | None, typer.Option("--only", help="Only what came out so; may be repeated.")
    ] = None,
    cluster: Annotated[str | None, typer.Option("--cluster", help="Only this cluster's.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Show what was done to whom and what came of it, what was refused and why, and what people were answered.

    What is `open` is under way, or was cut short: the enforcer finishes or abandons it when it starts again.

    \b
    Examples:
      quartermaster actions
      quartermaster actions --team vision --only done --only undone
      quartermaster actions --workload Notebook/lab/drafts --since 2026-11-01
    """
    from enforcer.audit.carried import carried
    from enforcer.audit.deed import Phase
    from quartermaster.config.load import load_configuration
    from sql.configured import open_configured

    configuration = load_configuration(session(context).config_path(), os.environ)
    since_ms = now_ms() - DAY_MS if since is None else instant(since)
    phases = [Phase.INTENT, Phase.REFUSED, Phase.ANSWERED]
    found: list[Carried] = []
    with open_configured(configuration, read_only=True) as ledger, ledger.reading() as cursor:
        for name in acted_on(ledger, configuration, cluster):
            found += carried(cursor, name, since_ms, phases=phases)
    shown = [
        each
        for each in sorted(found, key=lambda each: each.deed.at_ms)
        if (team is None or each.deed.team == team)
        and (workload is None or _names(each, workload))
        and (not only or _came(each) in only)
    ]
    if as_json:
        output.emit_json([as_value(each) for each in shown])
    else:
        _print(shown, since_ms)


def as_value(each: "Carried") -> dict[str, Any]:
    """A row of the audit and what came of it, for machines."""
    from enforcer.written import amount

    deed = each.deed
    return {
        "cluster": deed.cluster,
        "number": each.number,
        "row_hash": each.row_hash,
        "at": to_iso(deed.at_ms),
        "act": deed.act,
        "came": _came(each).value,
        "reason": deed.result,
        "seen_at": None if each.seen_at_ms is None else to_iso(each.seen_at_ms),
        "workload": _title(each),
        "kind": deed.kind,
        "namespace": deed.namespace,
        "name": deed.name,
        "uid": deed.object_uid,
        "team": deed.team,
        "pool": deed.pool,
        "gpus": amount(deed.frees_parts),
        "for": deed.for_uid,
        "cause": deed.cause,
        "plan": deed.plan_hash,
        "group": deed.group,
        "epoch": deed.epoch,
        "actor": deed.actor,
        "request": deed.request_id,
        "before": deed.before,
        "after": deed.after,
        "words": each.words or deed.words,
    }


def _print(shown: "Sequence[Carried]", since_ms: int) -> None:
    since = to_minute(since_ms)
    if not shown:
        output.say(f"Nothing was done, refused or answered since {since}.")
        return
    several = len({each.deed.cluster for each in shown}) > 1
    rows = [_row(each, several=several) for each in shown[-_SHOWN:]]
    columns = ["when", "what", "who", "team", "GPUs", "what came of it"]
    output.table(f"Since {since} UTC", columns, rows, right=["GPUs"])
    if len(shown) > _SHOWN:
        output.say(f"{len(shown) - _SHOWN:,} more before these: --json has them, --since and --only choose.")


def _row(each: "Carried", *, several: bool) -> tuple[str, ...]:
    from enforcer.written import amount

    deed, came = each.deed, _came(each)
    who = _title(each) + (f" ({deed.cluster})" if several else "")
    what = _DONE.get(deed.act, deed.act)
    if came is Came.REFUSED:
        told = f"refused: {deed.words or deed.result}"
    elif came is Came.ANSWERED:
        told = f"answered: {deed.words or deed.result}"
    elif came is Came.OPEN:
        told = "open: under way, or cut short"
    else:
        told = ": ".join(part for part in (came.value.replace("-", " "), each.words) if part)
    frees = amount(deed.frees_parts) if deed.frees_parts else ""
    return to_iso(deed.at_ms)[5:19].replace("T", " "), what, who, deed.team, frees, told


def _came(each: "Carried") -> Came:
    if each.deed.phase != "intent":
        return Came(each.deed.phase.value)
    return Came((each.result or Came.OPEN).replace(" ", "-"))


def _title(each: "Carried") -> str:
    deed = each.deed
    return f"{deed.kind}/{deed.namespace}/{deed.name}" if deed.name else ""


def _names(each: "Carried", wanted: str) -> bool:
    deed = each.deed
    return wanted in {deed.object_uid, deed.name, f"{deed.namespace}/{deed.name}", _title(each)}
