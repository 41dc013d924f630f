"""`quartermaster plan`: a plan that is recorded, or of an instant: shown, explained, or compared with another."""

import os
from typing import TYPE_CHECKING, Annotated

import typer

from cli import output
from cli.planned import explain, named, read_plan
from cli.planned import show as show_plan
from cli.session import session
from quartermaster.errors import InputError

if TYPE_CHECKING:
    from cli.planned import Body

app = typer.Typer(
    no_args_is_help=True, help="Look at what the enforcer would do: show, explain, or compare plans."
)
Wanted = Annotated[
    str | None,
    typer.Argument(help="The beginning of its hash, or an instant.", show_default="the last recorded"),
]
Cluster = Annotated[str | None, typer.Option("--cluster", help="Only this cluster's.")]
AsJson = Annotated[bool, typer.Option("--json", help="For machines.")]


@app.command()
def show(
    context: typer.Context, plan: Wanted = None, *, cluster: Cluster = None, as_json: AsJson = False
) -> None:
    """Show a plan: what would happen to whom and why, each team before and after, what doing nothing costs.

    \b
    Examples:
      quartermaster plan show                     the last that was recorded
      quartermaster plan show 3f8a                the one whose hash begins so
      quartermaster plan show 2026-11-24T12:00Z   of an hour, made anew
    """
    found = _read(context, [plan], cluster)[0]
    if as_json:
        output.emit_json(found)
    else:
        show_plan(found)


@app.command(name="explain")
def explain_(
    context: typer.Context,
    workload: Annotated[str, typer.Argument(help="Its name, as namespace/name or alone, or its UID.")],
    plan: Wanted = None,
    *,
    cluster: Cluster = None,
    as_json: AsJson = False,
) -> None:
    """Say all that a plan has about one workload: what would be done to it and why, or why it is left alone.

    \b
    Examples:
      quartermaster plan explain vision/train
      quartermaster plan explain notebook-7 2026-11-24T12:00Z
    """
    found = _read(context, [plan], cluster)[0]
    said = explain(found, workload)
    if not said:
        names = named(found)
        raise InputError(
            f"the plan of {found['at']} says nothing about {workload!r}",
            f"it names: {', '.join(names[:8])}{' and others' if len(names) > 8 else ''}" if names else "",
        )
    if as_json:
        output.emit_json({"plan": found["hash"], "at": found["at"], "workload": workload, "said": said})
    else:
        for sentence in said:
            output.say(sentence)


@app.command()
def diff(
    context: typer.Context,
    first: Annotated[str, typer.Argument(help="The beginning of a hash, or an instant.")],
    second: Wanted = None,
    *,
    cluster: Cluster = None,
    as_json: AsJson = False,
) -> None:
    """Compare two plans: what the second would do and the first would not, and the other way round.

    \b
    Examples:
      quartermaster plan diff 3f8a                against the last recorded
      quartermaster plan diff 2026-11-24T12:00Z 2026-11-24T18:00Z
    """
    from enforcer.written import differ

    before, after = _read(context, [first, second], cluster)
    told = differ(before, after)
    if as_json:
        output.emit_json(
            {
                "first": {"hash": before["hash"], "at": before["at"]},
                "second": {"hash": after["hash"], "at": after["at"]},
                "more": told.more,
                "less": told.less,
                "same": told.same,
                "spared_more": told.spared_more,
                "spared_less": told.spared_less,
            }
        )
        return
    output.say(
        f"From plan {before['hash'][:12]} of {before['at']} to plan {after['hash'][:12]} of {after['at']}:"
    )
    lines = [("+", each) for each in told.more] + [("-", each) for each in told.less]
    rows = [
        (sign, each["act"], each["stage"], each["workload"], each["team"], each["frees_gpus"])
        for sign, each in lines
    ]
    if rows:
        output.table("", ["", "act", "stage", "who", "team", "frees"], rows, right=["frees"])
    output.say(
        f"{len(told.more)} more, {len(told.less)} fewer, {told.same} the same; of those left alone "
        f"{len(told.spared_more)} more, {len(told.spared_less)} fewer."
    )


def _read(context: typer.Context, wanted: list[str | None], cluster: str | None) -> "list[Body]":
    from quartermaster.config.load import load_configuration
    from sql.configured import open_configured

    configuration = load_configuration(session(context).config_path(), os.environ)
    with open_configured(configuration, read_only=True) as ledger:
        return [read_plan(ledger, configuration, each, cluster) for each in wanted]
