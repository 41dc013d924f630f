"""`quartermaster why`: one sentence from any number, with the rows behind it."""

import os
from dataclasses import asdict
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from cli import output
from cli.session import session
from quartermaster.clock import now_ms
from quartermaster.errors import InputError

if TYPE_CHECKING:
    from analytics.sources import Claim, Telling
    from analytics.why import Why
    from sql.ledger import Ledger


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
    by_source: Annotated[
        bool, typer.Option("--sources", help="Of a pod: from which facts its intervals were made.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Say in one sentence what a team, a pod or a GPU was told for a day, and show the rows behind it.

    Without --day it is the last day on which there is usage.

    \b
    Examples:
      quartermaster why vision                        a team
      quartermaster why vision/train-0                a pod
      quartermaster why node-7/3 --day 2026-11-24     a GPU
      quartermaster why vision/train-0 --sources      from which facts
    """
    from analytics.why import why as explain
    from quartermaster.config.load import load_configuration
    from sql.configured import open_configured

    if by_source and kind not in {None, Kind.pod}:
        raise InputError(
            f"--sources tells of a pod, not of a {kind.value if kind else ''}", "leave --kind out"
        )
    configuration = load_configuration(session(context).config_path(), os.environ)
    time_zone = configuration.business.time_zone
    with open_configured(configuration, read_only=True) as ledger:
        if by_source:
            _tell_sources(ledger, name, time_zone, day=day, cluster=cluster, as_json=as_json)
            return
        found = explain(
            ledger, name, time_zone, day=day, kind=None if kind is None else kind.value, cluster=cluster
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


def _tell_sources(
    ledger: "Ledger", name: str, time_zone: str, *, day: str | None, cluster: str | None, as_json: bool
) -> None:
    from analytics.sources import sources

    subject, claims = sources(ledger, name, time_zone, now_ms(), day=day, cluster=cluster)
    if as_json:
        output.emit_json(
            {
                "kind": subject.kind,
                "cluster": subject.cluster,
                "id": subject.id,
                "claims": [asdict(claim) for claim in claims],
            }
        )
        return
    for claim in claims:
        _print_claim(claim)


def _print_claim(claim: "Claim") -> None:
    from analytics.sources import instant

    output.say(claim.sentence)
    output.say("")
    told = [
        (
            f"{each.revision}{'*' if each.in_force else ''}",
            instant(each.recorded_ms),
            each.source,
            _telling(each),
        )
        for each in claim.tellings
    ]
    output.table("Told (* in force; the source's own times, UTC)", ["version", "told", "by", "what"], told)
    named = [
        (
            each.place or each.device_id,
            f"{each.evidence}{'*' if each.counts else ''}",
            each.parts,
            instant(each.recorded_ms),
            f"{instant(each.start_ms)} to {'now' if each.end_ms is None else instant(each.end_ms)}",
        )
        for each in claim.devices
    ]
    if named:
        output.table("Devices (* counts)", ["GPU", "evidence", "parts", "told", "span"], named)
    _print_spans("Believed", [(s.source, f"rank {s.rank}", s.start_ms, s.end_ms) for s in claim.believed])
    _print_spans(
        "Not observed",
        [(f"{g.covers} by {g.source}", f"{g.node} {g.reason}", g.start_ms, g.end_ms) for g in claim.gaps],
    )
    _print_spans(
        "Sources disagree",
        [("labels", f"say {d.labels_say}", d.start_ms, d.end_ms) for d in claim.disagreements],
    )
    output.say("")


def _telling(each: "Telling") -> str:
    from analytics.sources import instant

    if each.withdraws:
        return "withdraws it"
    parts = [f"bound {instant(each.bound_ms)}"]
    if each.started_ms is not None:
        parts.append(f"started {instant(each.started_ms)}")
    if each.ended_ms is not None:
        parts.append(f"ended {instant(each.ended_ms)} ({each.evidence or 'its end'})")
    if each.sure_from_ms > each.bound_ms:
        parts.append(f"estimated up to {instant(each.sure_from_ms)}")
    if each.sure_until_ms is not None and each.sure_until_ms != each.ended_ms:
        parts.append(f"estimated from {instant(each.sure_until_ms)} on")
    return ", ".join(parts)


def _print_spans(title: str, spans: list[tuple[str, str, int, int | None]]) -> None:
    from analytics.sources import instant

    if spans:
        rows = [
            (who, what, instant(start_ms), "" if end_ms is None else instant(end_ms))
            for who, what, start_ms, end_ms in spans
        ]
        output.table(title, ["who", "what", "from", "to"], rows)
