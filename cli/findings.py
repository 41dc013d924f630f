"""`quartermaster findings`: what somebody should know: idle, stalled, forgotten, starving, borrowed."""

import os
from collections.abc import Sequence
from dataclasses import asdict
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, cast

import typer

from cli import output
from cli.again import Every, Listen, again
from cli.choice import clusters
from cli.session import session
from quartermaster.clock import HOUR_MS, now_ms, to_iso, to_minute
from quartermaster.errors import InputError
from quartermaster.team import UNASSIGNED
from quartermaster.text import visible

if TYPE_CHECKING:
    from analytics.found import Found
    from quartermaster.config.model import Configuration


_MOST_PODS = 3


class About(StrEnum):
    """What findings are about."""

    workloads = "workloads"
    guarantees = "guarantees"


def findings(
    context: typer.Context,
    *,
    team: Annotated[str | None, typer.Option("--team", "-t", help="Only this team's.")] = None,
    cluster: Annotated[str | None, typer.Option("--cluster", help="Only this cluster.")] = None,
    about: Annotated[
        About | None, typer.Option("--about", help="Only those about workloads, or guarantees.")
    ] = None,
    at: Annotated[
        str | None,
        typer.Option("--at", help="As of an instant, such as 2026-11-24T12:00:00Z; nothing is noted."),
    ] = None,
    every: Every = "",
    listen: Listen = "",
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Look for what somebody should know: idle and stalled workloads, forgotten workspaces, idle guarantees.

    What is found now is noted in the ledger's findings, and ends there when it is found no more; nothing is noted
    where a source is more than an hour behind, because what nobody sees has not ended.

    \b
    Examples:
      quartermaster findings
      quartermaster findings --team vision --json
      quartermaster findings --at 2026-11-24T12:00:00Z
      quartermaster findings --every 10m    a service: what is found is noted
    """
    from cli.instants import instant as from_text
    from quartermaster.config.load import load_configuration

    file = session(context).config_path()
    if every:
        if at is not None:
            raise InputError("--every and --at do not go together", "nothing is noted as of the past")
        again("findings", every, listen, lambda: _noted(load_configuration(file, os.environ), cluster))
    configuration = load_configuration(file, os.environ)
    _must_be_known(team, configuration)
    instant = now_ms() if at is None else from_text(at)
    if instant > now_ms():
        raise InputError(f"--at {at}: that is in the future", "name an instant that the ledger has")
    found, behind = _look(configuration, cluster, instant, notes=at is None)
    shown = [
        each for each in found if (team is None or each.team == team) and (about is None or _is(each, about))
    ]
    if as_json:
        output.emit_json([asdict(each) | {"fit": each.fit} for each in shown])
    else:
        _print(shown, instant)
    for name, complete in behind.items():
        _tell_behind(name, complete)


def _noted(configuration: "Configuration", cluster: str | None) -> None:
    """One round of a service."""
    instant = now_ms()
    found, behind = _look(configuration, cluster, instant, notes=True)
    output.say(f"{to_minute(instant)}: {len(found)} findings")
    for name, complete in behind.items():
        _tell_behind(name, complete)


def _look(
    configuration: "Configuration", cluster: str | None, instant: int, *, notes: bool
) -> "tuple[list[Found], dict[str, int | None]]":
    """What is found, and noted where the sources are heard; and the clusters where they are behind."""
    from analytics.findings import find
    from analytics.noted import complete_until, note
    from sql.configured import open_configured

    found: list[Found] = []
    behind: dict[str, int | None] = {}
    with open_configured(configuration, read_only=not notes) as ledger:
        ledger.get_ready()
        for name in clusters(configuration, cluster):
            here = find(
                ledger,
                name,
                instant,
                settings=configuration.findings,
                policy=configuration.policy,
                time_zone=configuration.business.time_zone,
            )
            complete = complete_until(ledger, name)
            if complete is None or complete < instant - HOUR_MS:
                behind[name] = complete
            elif notes:
                note(ledger, name, here, instant)
            found += here
    return found, behind


def _tell_behind(cluster: str, complete: int | None) -> None:
    """On stderr, so that what a machine reads stays as it is."""
    if complete is None:
        typer.echo(
            f"{visible(cluster)}: no source has told anything yet; is quartermaster collect running?",
            err=True,
        )
        return
    hour = to_iso(complete)[:13] + ":00Z"
    typer.echo(
        f"{visible(cluster)}: its sources have told up to {to_minute(complete)} only; "
        f"as of the last hour that they know: quartermaster findings --at {hour}",
        err=True,
    )


def _must_be_known(team: str | None, configuration: "Configuration") -> None:
    names = [*(each.name for each in configuration.teams), UNASSIGNED]
    if team is not None and team not in names:
        raise InputError(f"there is no team {team!r}", f"the configuration has: {', '.join(names)}")


def _is(found: "Found", about: About) -> bool:
    return ("workload_id" in found.evidence) == (about is About.workloads)


def _print(found: "Sequence[Found]", at_ms: int) -> None:
    if not found:
        output.say(f"Nothing is found as of {to_minute(at_ms)}.")
        output.say("How far each source is: quartermaster status.")
        return
    named = {each.cluster for each in found}
    rows = [
        (
            each.kind.value,
            each.subject if len(named) == 1 else f"{each.subject} ({each.cluster})",
            each.team,
            to_iso(each.since_ms)[5:16].replace("T", " "),
            "" if each.cost is None else f"{each.cost:.2f} {each.currency}",
            _remark(each),
        )
        for each in found
    ]
    columns = ["what", "who", "team", "since", "so far", "remark"]
    output.table(f"Findings as of {to_minute(at_ms)}", columns, rows, right=["so far"])


def _remark(found: "Found") -> str:
    told = {name: str(figure) for name, figure in found.evidence.items()}
    if "workload_id" in told:
        return _about_workload(found, told["gpus"])
    if "waits_for_gpus" in told:
        return f"waits for {told['waits_for_gpus']} of its {told['guarantee_gpus']} GPUs"
    if "lender" in told:
        return f"{told['gpus']} GPUs" + (", and the lender waits" if found.evidence["lender_waits"] else "")
    if found.kind.value == "guarantee always used":
        return f"all of its {told['guarantee_gpus']} GPUs, all the time"
    return f"{told['idle_gpus']} of {told['guarantee_gpus']} GPUs neither used nor lent"


def _about_workload(found: "Found", gpus: str) -> str:
    if found.fit:
        return "beyond doubt"
    if found.evidence["reported_only"]:
        return "reported only"
    first, *more = (*found.doubts, "")
    others = f" (and {len(more) - 1} more)" if len(more) > 1 else ""
    if first:
        return f"not to act on: {first}{others}"
    if found.kind.value != "partly idle workload":
        return f"{gpus} GPUs"
    devices = cast("list[dict[str, object]]", found.evidence["devices"])
    pods = sorted({str(each["pod"]) for each in devices if each["idle_by"]})
    shown = ", ".join(pods[:_MOST_PODS]) + (
        f" and {len(pods) - _MOST_PODS} more" if len(pods) > _MOST_PODS else ""
    )
    return f"{found.evidence['idle_devices']} of its devices ({gpus} GPUs): {shown}"
