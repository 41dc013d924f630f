"""`quartermaster restore`: what was stopped is started again, as it was."""

from typing import Annotated

import typer

from cli import output
from cli.planned import instant
from cli.reach import reach, told
from quartermaster.errors import InputError


def restore(
    context: typer.Context,
    workload: Annotated[str | None, typer.Argument(help="Kind/namespace/name.")] = None,
    *,
    everything: Annotated[bool, typer.Option("--all", help="All that was stopped.")] = False,
    since: Annotated[
        str | None,
        typer.Option("--since", help="Of all, those that were stopped since, such as 2026-11-24T12:00Z."),
    ] = None,
    reason: Annotated[str, typer.Option("--reason", help="Why, for who reads the record.")] = "",
    cluster: Annotated[str | None, typer.Option("--cluster", help="In this cluster.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Start again what Quartermaster stopped or held back, as it was before, and say so in the audit.

    With --all, quotas that it moved are as their people wrote them again, too.

    It is done at once, also while everything is frozen. What a process had in memory is gone. Where somebody else has
    started a workload since, only the mark on it is taken off.

    \b
    Examples:
      quartermaster restore Notebook/lab/drafts
      quartermaster restore --all --since 2026-11-24T12:00Z
    """
    from enforcer.act.restore import Asked, named, stopped_since
    from enforcer.act.restore import restore as put_back

    if (workload is None) is not everything:
        raise InputError("one workload is restored, or all that were stopped", "name one, or give --all")
    if since is not None and not everything:
        raise InputError("--since goes with --all", "leave it away")
    since_ms = 0 if since is None else instant(since)
    with reach(context, cluster) as within:
        unseen: tuple[str, ...] = ()
        if workload is None:
            carriers = stopped_since(within.doing, since_ms, within.stopped())
            wanted, unseen = carriers.found, carriers.unseen
        else:
            wanted = (named(within.doing, workload, within.stopped()),)
        done = put_back(within.doing, wanted, Asked(within.cluster, within.person, reason), within.recorded())
        rows = told(done)
        if workload is None:
            quotas, not_seen = within.quotas_back(reason, since_ms)
            rows, unseen = rows + told(quotas), (*unseen, *not_seen)
    if as_json:
        output.emit_json({"cluster": within.cluster, "workloads": rows, "not_looked_through": unseen})
    else:
        if rows:
            output.table("", ["workload", "result", "words"], [list(row.values()) for row in rows])
        else:
            output.say(f"Nothing in cluster {within.cluster} is stopped by Quartermaster.")
        for words in unseen:
            output.say(f"Not looked through: {words}")
    if unseen or any(row["result"] != "done" for row in rows):
        raise typer.Exit(1)
