"""`quartermaster why`: one sentence from any number, with the rows behind it."""

import os
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from cli import output
from cli.session import session

if TYPE_CHECKING:
    from analytics.why import Why


class Kind(StrEnum):
    """What a number may be about."""

    team = "team"
    pod = "pod"
    gpu = "gpu"


def why(
    context: typer.Context,
    name: Annotated[
        str, typer.Argument(help="A team, a pod (also namespace/pod), a GPU (its UUID, or node/index).")
    ],
    *,
    day: Annotated[str | None, typer.Option("--day", "-d", help="The business day, as 2026-11-24.")] = None,
    kind: Annotated[
        Kind | None, typer.Option("--kind", "-k", help="Where a name is of several kinds.")
    ] = None,
    cluster: Annotated[
        str | None, typer.Option("--cluster", help="Where a name is in several clusters.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Say in one sentence what a team, a pod or a GPU was told for a day, and show the rows behind it.

    Without --day it is the last day on which there is usage.

    \b
    Examples:
      quartermaster why vision                        a team
      quartermaster why vision/train-0                a pod
      quartermaster why node-7/3 --day 2026-11-24     a GPU
    """
    from analytics.why import why as explain
    from quartermaster.config.load import load_configuration
    from sql.ledger import open_ledger

    configuration = load_configuration(session(context).config_path(), os.environ)
    place = configuration.ledger
    with open_ledger(place.path, place.catalog.reveal(), read_only=True) as ledger:
        found = explain(
            ledger,
            name,
            configuration.business.time_zone,
            day=day,
            kind=None if kind is None else kind.value,
            cluster=cluster,
        )
    if as_json:
        output.emit_json(_as_value(found))
        return
    output.say(found.sentence)
    output.say("")
    _print_rows(found)


def _print_rows(found: "Why") -> None:
    from analytics.why import gpu_hours

    figures = ["held", "computing", "idle", "unknown", "borrowed"]
    rows = [
        (
            row["pod"] or "(nobody)",
            row["node"] if row["device_index"] is None else f"{row['node']}/{row['device_index']}",
            *(gpu_hours(row[f"{figure}_pms"]) for figure in figures),
        )
        for row in found.rows.iter_rows(named=True)
    ]
    output.table("GPU-hours", ["pod", "GPU", *figures], rows, right=figures)


def _as_value(found: "Why") -> dict[str, object]:
    return {
        "kind": found.subject.kind,
        "cluster": found.subject.cluster,
        "id": found.subject.id,
        "day": found.day,
        "sentence": found.sentence,
        "rows": found.rows.to_dicts(),
    }
