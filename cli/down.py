"""`quartermaster down`: a cluster is left as if Quartermaster had never acted on it."""

import sys
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli import output
from cli.reach import Reach, reach, told
from quartermaster.errors import InputError

if TYPE_CHECKING:
    from enforcer.act.leader import Leader


def down(
    context: typer.Context,
    *,
    restore_all: Annotated[
        bool, typer.Option("--restore-all", help="Start again all that was stopped. It has to be said.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    cluster: Annotated[str | None, typer.Option("--cluster", help="In this cluster.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Leave a cluster as if Quartermaster had never acted: what is stopped starts again, our annotations and Lease go.

    An enforcer that runs has to be ended before. What your people wrote stays: exclude, keep-until, checkpoint-at and
    borrowable, and the ConfigMap that freezes. The ledger keeps its record.

    \b
    Examples:
      quartermaster down --restore-all
      quartermaster down --restore-all --cluster main --yes --json
    """
    if not restore_all:
        raise InputError("down starts all again that was stopped", "say so: quartermaster down --restore-all")
    if not yes and sys.stdin.isatty():
        typer.confirm(
            "Start again all that was stopped, and take our annotations and the Lease off?", abort=True
        )
    with reach(context, cluster) as within:
        done = _leave(within)
    whole = not (done["not_looked_through"] or done["not_taken_off"]) and all(
        row["result"] == "done" for row in done["workloads"]
    )
    if as_json:
        output.emit_json({"cluster": within.cluster} | done)
    else:
        _show(within.cluster, done, whole=whole)
    if not whole:
        raise typer.Exit(1)


def _leave(within: Reach) -> dict[str, Any]:
    from enforcer.act.carrying import Carriers, carrying, take_off
    from enforcer.act.leader import Leader, identity
    from enforcer.act.mark import STOPPED
    from enforcer.act.pods import EPOCH
    from enforcer.act.restore import Asked, restore, stopped_since
    from enforcer.ladder.onsite import WARNING

    leader = Leader(within.wire, within.configuration.policy.acting.namespace, identity())
    _have(leader)
    carriers = stopped_since(within.doing, 0, within.stopped())
    asked = Asked(within.cluster, within.person, "quartermaster down")
    rows = told(restore(within.doing, carriers.found, asked, within.recorded()))
    quotas, unseen = within.quotas_back(asked.words)  # the last, so that what ran on what was lent comes back
    rows += told(quotas)
    still = {row["workload"] for row in rows if row["result"] != "done"}
    ours = {STOPPED, WARNING, EPOCH}
    left = carrying(within.doing, ours)
    # What could not be started keeps its mark, which says what was there.
    left_found = tuple(each for each in left.found if each.title not in still)
    not_taken = take_off(within.doing, Carriers(left_found), ours)
    if still:
        leader.stop()
    else:
        leader.remove()
    return {
        "workloads": rows,
        "annotations_of": len(left_found) - len(not_taken),
        "not_taken_off": list(not_taken),
        "not_looked_through": sorted({*carriers.unseen, *left.unseen, *unseen}),
        "lease": "kept until all is started" if still else "removed",
    }


def _have(leader: "Leader") -> None:
    """Take the Lease, so that no enforcer acts meanwhile; that of one that ended in a crash ends by itself."""
    from enforcer.act.lease import DURATION_S

    end_s = time.monotonic() + DURATION_S + 2
    while not leader.epoch:
        leader.renew()
        if time.monotonic() > end_s:
            raise InputError(
                f"the Lease is not to be had: {leader.trouble}",
                "end the enforcer that has it, or see to the API server and the rights there, and try again",
            )
        if not leader.epoch:
            time.sleep(1)


def _show(cluster: str, done: dict[str, Any], *, whole: bool) -> None:
    if done["workloads"]:
        rows = [list(row.values()) for row in done["workloads"]]
        output.table("", ["workload", "result", "words"], rows)
    output.say(f"Annotations were taken off {done['annotations_of']} objects; the Lease is {done['lease']}.")
    for words in (*done["not_taken_off"], *done["not_looked_through"]):
        output.say(f"Not done: {words}")
    if whole:
        output.say(f"Cluster {cluster} is as if nothing had been done to it.")
