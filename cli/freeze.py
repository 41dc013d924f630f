"""`quartermaster freeze` and `thaw`: stop all acting at once, and let it go on."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli import output
from cli.asking import asker
from cli.choice import clusters
from cli.session import session
from quartermaster.clock import now_ms, to_iso
from quartermaster.errors import QuartermasterError

if TYPE_CHECKING:
    from analytics.asking.request import Kind
    from quartermaster.config.model import Configuration

Reason = Annotated[str, typer.Option("--reason", help="Why, for who finds it.")]
Cluster = Annotated[str | None, typer.Option("--cluster", help="Only this cluster.")]
AsJson = Annotated[bool, typer.Option("--json", help="For machines.")]


def freeze(
    context: typer.Context, *, reason: Reason = "", cluster: Cluster = None, as_json: AsJson = False
) -> None:
    """Freeze: from now on nothing is done to any cluster, until thaw. Plans are still made.

    It is seen before every single act. Without --cluster the file of policy.acting.freeze_file is made too, which
    works while the ledger does not answer. From within a cluster a ConfigMap does the same.

    \b
    Examples:
      quartermaster freeze --reason "the network is being worked on"
      quartermaster freeze --cluster main
      kubectl -n quartermaster create configmap quartermaster-freeze
    """
    from analytics.asking.request import Kind
    from enforcer.guard.switches import freeze_file
    from quartermaster.config.load import load_configuration

    configuration = load_configuration(session(context).config_path(), os.environ)
    names = clusters(configuration, cluster)
    file = freeze_file(configuration) if cluster is None else None
    trouble = None if file is None else _put(file, reason)
    try:
        at_ms = _ask(configuration, names, Kind.FREEZE, reason)
    except QuartermasterError as error:
        if file is not None and trouble is None:
            error.what = (
                f"{file} is there, which freezes all that look at it, but it is not recorded: {error.what}"
            )
        raise
    if as_json:
        output.emit_json({"frozen": names, "at": to_iso(at_ms), "file": None if file is None else str(file)})
    else:
        output.say(f"Frozen: nothing is done to {_listed(names)} from {to_iso(at_ms)} on.")
        output.say("quartermaster thaw ends it.")
    if trouble is not None:
        raise trouble


def thaw(
    context: typer.Context, *, reason: Reason = "", cluster: Cluster = None, as_json: AsJson = False
) -> None:
    """Thaw: acting goes on, where nothing else stops it.

    Without --cluster the file of policy.acting.freeze_file goes too. A ConfigMap in the cluster is left as it is.

    \b
    Examples:
      quartermaster thaw
      quartermaster thaw --cluster main
      kubectl -n quartermaster delete configmap quartermaster-freeze
    """
    from analytics.asking.request import Kind
    from enforcer.guard.switches import freeze_file, look_at_file
    from quartermaster.config.load import load_configuration

    configuration = load_configuration(session(context).config_path(), os.environ)
    names, file = clusters(configuration, cluster), freeze_file(configuration)
    at_ms = _ask(configuration, names, Kind.THAW, reason)
    if cluster is None:
        file.unlink(missing_ok=True)
    left = look_at_file(file)
    if as_json:
        still = None if left is None else left.words
        output.emit_json({"thawed": names, "at": to_iso(at_ms), "still": still})
        return
    output.say(f"Thawed: {_listed(names)}, from {to_iso(at_ms)} on.")
    if left is not None:
        output.say(f"Nothing is done all the same: {left.words}.")
    output.say("A ConfigMap quartermaster-freeze in a cluster stops it still, where there is one.")


def _put(file: Path, reason: str) -> QuartermasterError | None:
    """Make the file; what stands in one that is there stays. What went wrong, where something did."""
    try:
        with file.open("x", encoding="utf-8", errors="replace") as made:
            made.write(f"{' '.join(reason.split())}\n")
    except FileExistsError:
        return None
    except OSError as error:
        return QuartermasterError(
            f"{file} cannot be made: {error.strerror}", "see to its folder; the ledger has the freeze"
        )
    return None


def _ask(configuration: "Configuration", names: Sequence[str], kind: "Kind", reason: str) -> int:
    """Record the command for each cluster; as of when: after all that were given before, whatever a clock says."""
    from analytics.asking.request import Request, ask
    from enforcer.audit.requests import commands
    from sql.configured import open_configured

    with open_configured(configuration) as ledger:
        who, at_ms = asker(configuration), now_ms()
        with ledger.reading() as cursor:
            given = [each.asked_at_ms for name in names for each in commands(cursor, name, at_ms)]
        at_ms = max([at_ms, *(each + 1 for each in given)])
        for name in names:
            ask(ledger, Request(name, at_ms, who, kind, words=reason))
    return at_ms


def _listed(names: Sequence[str]) -> str:
    return f"cluster{'s' if len(names) > 1 else ''} {', '.join(names)}"
