"""`quartermaster enforce`: what would be done, in shadow: plans are made and recorded, and nothing is done."""

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli import output
from cli.acting import carry_out
from cli.again import Listen, again
from cli.choice import clusters
from cli.past import replayed, span_of
from cli.planned import as_value, instant, plan_at, refuse, ruling, show
from cli.regrets import METHOD, figures, of_replay, print_regret
from cli.session import session
from quartermaster.clock import now_ms
from quartermaster.errors import InputError
from quartermaster.interrupt import Patience

if TYPE_CHECKING:
    from enforcer.freshness import Refusal
    from quartermaster.config.model import Configuration

app = typer.Typer(invoke_without_command=True)
_EVERY = "10s"


@app.callback()
def enforce(
    context: typer.Context,
    *,
    once: Annotated[bool, typer.Option("--once", help="One plan, now; also without any option.")] = False,
    watch: Annotated[bool, typer.Option("--watch", help="A plan every ten seconds, until Ctrl-C.")] = False,
    at: Annotated[
        str | None,
        typer.Option(
            "--at", help="As of an hour in the past, such as 2026-11-24T12:00Z; nothing is recorded."
        ),
    ] = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Do what a person approves; policy.acting.mode allows it.")
    ] = False,
    act: Annotated[
        bool, typer.Option("--act", help="Do it, within the policy's limits; policy.acting.mode allows it.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="With --act: do not ask.")] = False,
    cluster: Annotated[str | None, typer.Option("--cluster", help="Only this cluster.")] = None,
    listen: Listen = "",
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Plan what would be taken from whom and why, in shadow: the plan is recorded, and nothing is done.

    Where the ledger is not fresh, or too little in it is known, there is no plan, and it says why.

    With --plan or --act the cluster itself is watched, plans are made whenever something changes, and what the guard
    lets through is done, until Ctrl-C. --act shows how often it would have been wrong, and asks.

    \b
    Examples:
      quartermaster enforce                          one plan, now
      quartermaster enforce --watch                  one every ten seconds
      quartermaster enforce --at 2026-11-24T12:00Z   the plan of that hour
      quartermaster enforce regret                   how often it would be wrong
      quartermaster enforce --plan                   do what is approved
      quartermaster enforce --act                    do it
    """
    if context.invoked_subcommand is not None:
        return
    if listen and not watch:
        raise InputError("--listen goes with --watch", "with --plan or --act it is policy.acting.listen")
    if sum((once, watch, at is not None)) > 1:
        raise InputError("--once, --watch and --at do not go together", "give one of them")
    configuration = _configuration(context)
    names = clusters(configuration, cluster)
    if plan or act:
        if plan and act:
            raise InputError("--plan and --act do not go together", "--plan asks people, --act does not")
        if at is not None:
            raise InputError("nothing can be done in the past", "leave --at away, or --plan and --act")
        carry_out(configuration, names, "act" if act else "plan", once=once, assured=yes, as_json=as_json)
    elif at is not None:
        _as_of(configuration, names, instant(at), as_json=as_json)
    elif watch:
        _watch(configuration, names, listen, as_json=as_json)
    else:
        _once(configuration, names, as_json=as_json)


@app.command()
def regret(
    context: typer.Context,
    *,
    recorded: Annotated[
        bool,
        typer.Option("--recorded", help="Of the plans that are recorded, instead of the past made anew."),
    ] = False,
    from_: Annotated[
        str | None, typer.Option("--from", help="From when on.", show_default="90 days before the end")
    ] = None,
    to: Annotated[
        str | None, typer.Option("--to", help="Until when.", show_default="as far as is rolled up")
    ] = None,
    step: Annotated[int, typer.Option("--step", min=1, max=24, help="Hours from plan to plan.")] = 1,
    cluster: Annotated[str | None, typer.Option("--cluster", help="Only this cluster.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """How often taking would have been wrong: of those it would have taken, how many computed again?

    The planner is run over the ledger's past, hour by hour, and each would-be victim is watched for 2, 8 and 24
    hours. Unknown is an answer of its own.

    \b
    Examples:
      quartermaster enforce regret
      quartermaster enforce regret --from 2026-11-01 --to 2026-11-15 --json
      quartermaster enforce regret --recorded
    """
    from analytics import regret as regrets
    from sql.configured import open_configured

    if recorded and (from_ is not None or to is not None or step != 1):
        raise InputError("--recorded takes no span and no step", "leave them away")
    configuration = _configuration(context)
    told: list[dict[str, Any]] = []
    with open_configured(configuration, read_only=True) as ledger:
        for name in clusters(configuration, cluster):
            if recorded:
                with ledger.reading() as cursor:
                    watched = regrets.watch(cursor, regrets.recorded(cursor, name))
                told.append({"cluster": name, "recorded": True} | figures(watched))
                continue
            span = span_of(ledger, name, from_, to)
            if span is None:
                told.append({"cluster": name, "recorded": False, "plans": 0} | figures([]))
                continue
            done, watched = replayed(configuration, ledger, name, span, step)
            told.append({"cluster": name, "recorded": False} | of_replay(done) | figures(watched))
    if as_json:
        output.emit_json({"method": METHOD, "clusters": told})
        return
    for each in told:
        print_regret(each)
    output.say(METHOD)


def _configuration(context: typer.Context) -> "Configuration":
    from quartermaster.config.load import load_configuration

    return load_configuration(session(context).config_path(), os.environ)


def _once(configuration: "Configuration", names: list[str], *, as_json: bool) -> None:
    from enforcer.freshness import Refusal
    from enforcer.shadow import cycle
    from enforcer.written import write
    from sql.configured import open_configured

    values: list[object] = []
    with open_configured(configuration) as ledger:
        for name in names:
            made, recorded = cycle(ledger, name, now_ms(), ruling(configuration))
            if isinstance(made, Refusal):
                values.append(as_value(made))
                if not as_json:
                    refuse(made)
                continue
            body = write(made.plan)
            values.append(body | {"recorded": recorded})
            if not as_json:
                show(body)
                output.say(
                    "It is recorded."
                    if recorded
                    else "The last one recorded has the same actions: it is that."
                )
    if as_json:
        output.emit_json(values)


def _watch(configuration: "Configuration", names: list[str], listen: str, *, as_json: bool) -> None:
    """Plan again and again; what is shown is what is new: a plan that was recorded, or another reason for none."""
    from enforcer.freshness import Refusal, words
    from enforcer.shadow import cycle
    from enforcer.written import write
    from sql.configured import open_configured

    kinds: dict[str, tuple[str, ...]] = {}
    with open_configured(configuration) as ledger:

        def look() -> None:
            for name in names:
                with Patience():  # Ctrl-C waits for the end of a plan, not for the next one
                    made, recorded = cycle(ledger, name, now_ms(), ruling(configuration))
                if not isinstance(made, Refusal):
                    kinds.pop(name, None)
                    if recorded and as_json:
                        output.emit_json(write(made.plan))
                    elif recorded:
                        show(write(made.plan))
                elif _kind(made) != kinds.get(name):
                    kinds[name] = _kind(made)
                    if as_json:
                        output.emit_json(as_value(made))
                    else:
                        output.say(words(made))

        again("enforcer", _EVERY, listen, look)


def _kind(refusal: "Refusal") -> tuple[str, ...]:
    """Which reasons, whatever their figures."""
    return tuple("".join(sign for sign in each if not sign.isdigit()) for each in refusal.reasons)


def _as_of(configuration: "Configuration", names: list[str], at_ms: int, *, as_json: bool) -> None:
    from enforcer.freshness import Refusal
    from sql.configured import open_configured

    values: list[object] = []
    with open_configured(configuration, read_only=True) as ledger:
        for name in names:
            made = plan_at(ledger, name, at_ms, ruling(configuration))
            values.append(as_value(made) if isinstance(made, Refusal) else made)
            if isinstance(made, Refusal) and not as_json:
                refuse(made)
            elif not isinstance(made, Refusal) and not as_json:
                show(made)
    if as_json:
        output.emit_json(values)
