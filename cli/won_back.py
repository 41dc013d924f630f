"""`quartermaster won-back`: what was taken, and how many GPU-hours others had of it."""

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli import output
from cli.choice import acted_on
from cli.instants import instant
from cli.session import session
from quartermaster.clock import DAY_MS, now_ms, to_iso
from quartermaster.text import visible

if TYPE_CHECKING:
    from analytics.wonback import Stop

_SHOWN = 50


def won_back(
    context: typer.Context,
    *,
    since: Annotated[
        str | None,
        typer.Option(
            "--since", help="An instant, such as 2026-11-24T12:00Z.", show_default="thirty days ago"
        ),
    ] = None,
    cluster: Annotated[str | None, typer.Option("--cluster", help="Only this cluster's.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Show each workload that was stopped, until when, and the GPU-hours that others held on its GPUs since.

    Whose they were is known once the hours are rolled up.

    \b
    Examples:
      quartermaster won-back
      quartermaster won-back --since 2026-11-01 --json
    """
    from analytics.wonback import METHOD, by_team
    from analytics.wonback import won_back as count
    from quartermaster.config.load import load_configuration
    from sql.configured import open_configured

    configuration = load_configuration(session(context).config_path(), os.environ)
    until_ms = now_ms() + 1  # what was done in this very millisecond counts
    since_ms = until_ms - 30 * DAY_MS if since is None else instant(since)
    stops: list[Stop] = []
    with open_configured(configuration, read_only=True) as ledger, ledger.reading() as cursor:
        for name in acted_on(ledger, configuration, cluster):
            stops += count(cursor, since_ms, until_ms, name)
    teams = [{"team": team, "gpu_hours": _hours(pms)} for team, pms in by_team(stops).items()]
    whole = _hours(sum(each.given_pms for each in stops))
    if as_json:
        output.emit_json(
            {
                "from": to_iso(since_ms),
                "to": to_iso(until_ms),
                "gpu_hours": whole,
                "teams": teams,
                "workloads": [_value(each) for each in stops],
                "method": METHOD,
            }
        )
        return
    if not stops:
        output.say(f"Nothing was taken since {to_iso(since_ms)[:16]}Z.")
        return
    columns = ["workload", "team", "why", "stopped", "until", "GPU-hours"]
    output.table("Taken", columns, [_row(each) for each in stops[-_SHOWN:]], right=["GPU-hours"])
    if len(stops) > _SHOWN:
        output.say(f"The last {_SHOWN} of {len(stops)} are shown; --json has all.")
    given = [[visible(each["team"] or "not known yet"), each["gpu_hours"]] for each in teams]
    output.table("Given to", ["team", "GPU-hours"], given, right=["GPU-hours"])
    output.say(f"Won back since {to_iso(since_ms)[:16]}Z: {whole} GPU-hours. {METHOD}")


def _value(stop: "Stop") -> dict[str, Any]:
    return {
        "cluster": stop.cluster,
        "workload": _title(stop),
        "team": stop.team,
        "pool": stop.pool,
        "cause": stop.cause,
        "stopped": to_iso(stop.stopped_ms),
        "started_again": None if stop.back_ms is None else to_iso(stop.back_ms),
        "gpu_hours": _hours(stop.given_pms),
        "given_to": [{"team": each.team, "gpu_hours": _hours(each.pms)} for each in stop.given],
    }


def _row(stop: "Stop") -> list[str]:
    back = "stopped still" if stop.back_ms is None else _short(stop.back_ms)
    told = (_title(stop), stop.team, stop.cause)
    return [*map(visible, told), _short(stop.stopped_ms), back, _hours(stop.given_pms)]


def _short(at_ms: int) -> str:
    return to_iso(at_ms)[5:16].replace("T", " ")


def _title(stop: "Stop") -> str:
    return f"{stop.kind}/{stop.namespace}/{stop.name}"


def _hours(pms: int) -> str:
    from analytics.reports.figures import Amount

    return f"{Amount(pms).gpu_hours:.2f}"
