"""`quartermaster what-if`: the ledger's past once more under another policy, beside today's."""

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from cli import output
from cli.choice import clusters
from cli.past import span_of
from cli.session import session
from quartermaster.errors import InputError

_ROWS = (
    ("GPU-hours held", "held_gpu_hours"),
    ("  of them idle", "idle_gpu_hours"),
    ("  borrowed", "borrowed_gpu_hours"),
    ("  lent", "lent_gpu_hours"),
    ("own guarantee, waited for", "owed_gpu_hours"),
    ("hours waited, on average", "waited_mean_hours"),
    ("hours that 95 of 100 waited at most", "waited_95_hours"),
    ("still waiting at the end", "waiting_at_the_end"),
    ("reclaimed, because idle", "reclaimed"),
    ("  GPU-hours that gave", "reclaimed_gpu_hours"),
    ("preempted for owners", "preempted"),
    ("  GPU-hours of work lost", "lost_gpu_hours"),
)


def what_if(
    context: typer.Context,
    *,
    policy: Annotated[
        Path, typer.Option("--policy", "-p", help="Another configuration; its policy and guarantees count.")
    ],
    from_: Annotated[
        str | None, typer.Option("--from", help="From when on.", show_default="90 days before the end")
    ] = None,
    to: Annotated[
        str | None, typer.Option("--to", help="Until when.", show_default="as far as is rolled up")
    ] = None,
    cluster: Annotated[str | None, typer.Option("--cluster", help="Only this cluster.")] = None,
    chart: Annotated[
        Path | None, typer.Option("--chart", help="Draw it into this SVG file; of one cluster.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """What another policy would have made of the past: waiting, lending, preemptions, work lost, each team's part.

    Copy the configuration, change its policy or its guarantees, and compare. What was asked for is played again under
    both, and nothing is done. What that assumes stands below the tables.

    \b
    Examples:
      quartermaster what-if --policy new.yaml
      quartermaster what-if --policy new.yaml --from 2026-11-01 --json
      quartermaster what-if --policy new.yaml --chart what-if.svg
    """
    from enforcer.whatif.compared import compare
    from enforcer.whatif.history import read
    from enforcer.whatif.proposal import terms
    from quartermaster.config.load import load_configuration
    from sql.configured import open_configured

    today = load_configuration(session(context).config_path(), os.environ)
    new = load_configuration(policy, os.environ)
    names = clusters(today, cluster)
    if chart is not None and len(names) > 1:
        raise InputError("--chart draws one cluster", f"name one with --cluster: {', '.join(names)}")
    told: list[dict[str, Any]] = []
    with open_configured(today, read_only=True) as ledger:
        for name in names:
            span = span_of(ledger, name, from_, to)
            if span is None:
                raise InputError(f"{name}: nothing is rolled up yet", "quartermaster rollup does it")
            if span[0] == span[1]:
                raise InputError(f"{name}: the span is empty", "end it later than it begins")
            with ledger.reading() as cursor:
                history = read(cursor, name, *span)
            told.append(compare(history, name, terms(history, name, today, new)))
    if chart is not None:
        _draw(told[0], chart)
    if as_json:
        output.emit_json({"clusters": told})
        return
    for each in told:
        _show(each)
    output.say("What this assumes:")
    for sentence in told[0]["assumptions"]:
        output.say(f"- {sentence}")


def _draw(compared: dict[str, Any], chart: Path) -> None:
    from enforcer.whatif.chart import draw

    try:
        chart.write_text(draw(compared), encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"{chart}: it cannot be written: {error.strerror}", "name another with --chart"
        ) from error


def _show(told: dict[str, Any]) -> None:
    was, policies = told["as_it_was"], told["policies"]
    names = [each["policy"] for each in policies]
    output.say(
        f"{told['cluster']}, {told['from'][:16]}Z to {told['to'][:16]}Z: today's policy and the new one.",
        style="bold",
    )
    for each in policies:
        if not each["takes"]:
            output.say(
                f"Under the policy called {each['policy']} nothing is taken: policy.acting.mode is shadow."
            )
    if told["never_ran"]["workloads"]:
        never = told["never_ran"]
        output.say(
            f"{never['workloads']} workloads never ran and are left out; they asked for {never['gpus']}."
        )
    rows = [
        (title, was.get(figure, ""), *(each["all"][figure] for each in policies)) for title, figure in _ROWS
    ]
    output.table("All teams", ["", "as it was", *names], rows, right=["as it was", *names])
    output.say(f"Without machines and gangs {told['most_gpu_hours']} GPU-hours could be held at most.")
    columns = ["team", "policy", "share", "held", "borrowed", "lent", "waited", "preempted", "lost"]
    output.table("Each team", columns, [_row(*both) for both in _pairs(policies)], right=columns[2:])
    output.say(
        "share: of all that is held; held, borrowed, lent, lost: GPU-hours; waited: hours, on average."
    )


def _pairs(policies: list[dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    """Each team's figures under one policy after the other; both policies have the same teams but for new promises."""
    pairs = [(each["policy"], team) for each in policies for team in each["teams"]]
    return sorted(pairs, key=lambda pair: pair[1]["team"])


def _row(policy: str, team: dict[str, Any]) -> tuple[object, ...]:
    return (
        team["team"],
        policy,
        f"{team['share_permille'] / 10:.1f} %",
        *(team[name] for name in ("held_gpu_hours", "borrowed_gpu_hours", "lent_gpu_hours")),
        *(team[name] for name in ("waited_mean_hours", "preempted", "lost_gpu_hours")),
    )
