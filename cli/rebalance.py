"""`quartermaster rebalance`: what might be moved between guarantees, by the last weeks' use; moved, and moved back."""

import os
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli import output
from cli.asking import asker
from cli.choice import clusters
from cli.session import session
from quartermaster.clock import now_ms
from quartermaster.errors import InputError

if TYPE_CHECKING:
    from enforcer.moved import Known
    from enforcer.rebalance import Proposal
    from quartermaster.config.model import Configuration
    from quartermaster.config.policy import RebalancePart
    from sql.ledger import Ledger


def rebalance(
    context: typer.Context,
    *,
    applied: Annotated[bool, typer.Option("--apply", help="Move it, from now on.")] = False,
    undone: Annotated[bool, typer.Option("--undo", help="Move back what was moved last.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    pool: Annotated[str | None, typer.Option("--pool", help="Only this pool.")] = None,
    cluster: Annotated[str | None, typer.Option("--cluster", help="Only this cluster.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Propose guarantees that would fit the last weeks' use better, within policy.rebalance's bounds.

    The total of a pool stays as it is. Nothing is moved before somebody says so with --apply; up to
    `without_approval` nobody is asked. What was moved stands until --undo, or until the configuration declares other
    guarantees in the pool.

    \b
    Examples:
      quartermaster rebalance
      quartermaster rebalance --apply --pool h100
      quartermaster rebalance --undo --pool h100
    """
    from enforcer.moved import known
    from quartermaster.config.load import load_configuration
    from sql.configured import open_configured

    if applied and undone:
        raise InputError("--apply moves and --undo moves back", "give one of them")
    configuration = load_configuration(session(context).config_path(), os.environ)
    names, bounds, at_ms = clusters(configuration, cluster), _bounds(configuration, pool), now_ms()
    with open_configured(configuration) as ledger:
        if undone:
            _undo(ledger, configuration, names, bounds, at_ms, yes=yes, as_json=as_json)
            return
        with ledger.reading() as cursor:
            told = [(name, each, known(cursor, name, each, at_ms)) for name in names for each in bounds]
        found = [(name, each, seen, seen.proposal(each)) for name, each, seen in told]
        if not as_json:
            for name, each, seen, proposal in found:
                _show(name, each, seen, proposal)
        if applied:
            _apply(
                ledger,
                configuration,
                [(n, b, p) for n, b, _, p in found if p],
                at_ms,
                yes=yes,
                as_json=as_json,
            )
        if as_json:
            output.emit_json(
                [_as_value(*each) | {"applied": applied and each[3] is not None} for each in found]
            )


def _bounds(configuration: "Configuration", pool: str | None) -> "list[RebalancePart]":
    found = [each for each in configuration.policy.rebalance if pool in {None, each.pool}]
    if not found:
        where = "for any pool" if pool is None else f"for pool {pool!r}"
        raise InputError(f"policy.rebalance has no bounds {where}", "state them in the configuration")
    return found


def _apply(
    ledger: "Ledger",
    configuration: "Configuration",
    found: "list[tuple[str, RebalancePart, Proposal]]",
    at_ms: int,
    *,
    yes: bool,
    as_json: bool,
) -> None:
    from enforcer.moved import apply

    if any(proposal.needs_approval for _, _, proposal in found):
        _ask("Move these guarantees?", yes=yes, as_json=as_json)
    for name, bounds, proposal in found:
        apply(ledger, name, bounds, proposal, asked_by=asker(configuration), at_ms=at_ms)
        if not as_json:
            output.say(
                f"It is moved in pool {bounds.pool} of cluster {name}. quartermaster rebalance --undo moves it back."
            )


def _undo(
    ledger: "Ledger",
    configuration: "Configuration",
    names: list[str],
    bounds: "list[RebalancePart]",
    at_ms: int,
    *,
    yes: bool,
    as_json: bool,
) -> None:
    from enforcer.moved import undo
    from enforcer.written import amount
    from quartermaster.fairshare.explain import gpus

    _ask("Move back what was moved last in each pool?", yes=yes, as_json=as_json)
    rows = [
        (name, each.pool, team, -parts)
        for name in names
        for each in bounds
        for team, parts in undo(ledger, name, each.pool, asker(configuration), at_ms).items()
    ]
    if as_json:
        output.emit_json(
            [{"cluster": n, "pool": p, "team": t, "gpus": amount(parts)} for n, p, t, parts in rows]
        )
    elif rows:
        output.table(
            "Moved back", ["cluster", "pool", "team", "guarantee"], [(*r[:3], gpus(r[3])) for r in rows]
        )
    else:
        output.say("Nothing that was moved stands.")


def _ask(question: str, *, yes: bool, as_json: bool) -> None:
    if yes:
        return
    if as_json or not sys.stdin.isatty():
        raise InputError(
            "guarantees are moved by somebody who has seen it, and there is nobody to ask",
            "repeat it with --yes",
        )
    typer.confirm(question, abort=True)


def _show(cluster: str, bounds: "RebalancePart", seen: "Known", proposal: "Proposal | None") -> None:
    from enforcer.moved import FEWEST_HOURS
    from quartermaster.fairshare.explain import gpus

    where = f"pool {bounds.pool} of cluster {cluster}"
    if seen.hours < FEWEST_HOURS:
        output.say(
            f"{seen.hours} hours are rolled up for {where}, and a week is needed: nothing is proposed."
        )
    elif proposal is None:
        output.say(f"Nothing is to be moved in {where}.")
    else:
        rows = [
            (each.team, gpus(each.before_parts), gpus(each.after_parts), each.why) for each in proposal.moves
        ]
        output.table(
            f"Guarantees in {where}", ["team", "now", "proposed", "why"], rows, right=["now", "proposed"]
        )
        output.say(proposal.words())


def _as_value(
    cluster: str, bounds: "RebalancePart", seen: "Known", proposal: "Proposal | None"
) -> dict[str, Any]:
    from enforcer.written import amount

    value: dict[str, Any] = {"cluster": cluster, "pool": bounds.pool, "hours": seen.hours, "moves": []}
    if proposal is None:
        return value
    return value | {
        "moves": [
            {
                "team": each.team,
                "gpus": amount(each.before_parts),
                "proposed_gpus": amount(each.after_parts),
                "why": each.why,
            }
            for each in proposal.moves
        ],
        "moved_gpus": amount(proposal.moved_parts),
        "covered_gpus": amount(proposal.covered_before_parts),
        "covered_after_gpus": amount(proposal.covered_after_parts),
        "needs_approval": proposal.needs_approval,
    }
