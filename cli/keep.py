"""`quartermaster keep`: people ask for time for an idle workload of theirs, as far as the policy lets them."""

import os
from typing import TYPE_CHECKING, Annotated

import typer

from cli import output
from cli.asking import asker
from cli.choice import clusters
from cli.session import session
from quartermaster.clock import now_ms, to_iso, to_minute
from quartermaster.config.units import duration_ms
from quartermaster.errors import InputError

if TYPE_CHECKING:
    from enforcer.ladder.subject import Subject

_SHOWN = 5


def keep(
    context: typer.Context,
    span: Annotated[str, typer.Argument(help="For how long from now on: 90m, 4h, 1d.")],
    workload: Annotated[str, typer.Argument(help="Kind/namespace/name, namespace/name, or its UID.")],
    *,
    reason: Annotated[str, typer.Option("--reason", help="Why, for who reads the record.")] = "",
    cluster: Annotated[str | None, typer.Option("--cluster", help="In this cluster.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Keep an idle workload: nobody is warned of it and it is not taken for its idleness until then.

    The policy bounds it: `keep_at_most` past the instant at which it would be taken, however often you ask. An owner
    who waits for its guarantee may still get its GPUs. What computes needs no keeping.

    \b
    Examples:
      quartermaster keep 4h Notebook/lab/drafts
      quartermaster keep 1d lab/drafts --cluster main --reason "still needed"
    """
    from analytics.asking.request import Kind, Request, ask
    from enforcer.ladder.subject import find, limit
    from quartermaster.config.load import load_configuration
    from sql.configured import open_configured

    configuration = load_configuration(session(context).config_path(), os.environ)
    span_ms = _duration(span)
    with open_configured(configuration) as ledger:
        at_ms = now_ms()
        with ledger.reading() as cursor:
            subject = _one(find(cursor, clusters(configuration, cluster), workload), workload)
            most_ms = limit(cursor, subject, configuration.policy, at_ms)
        until_ms = at_ms + span_ms
        most_ms = _within(subject, most_ms, at_ms, until_ms)
        who = asker(configuration)
        ask(ledger, Request(subject.cluster, at_ms, who, Kind.KEEP, subject.uid, until_ms, reason))
    if as_json:
        output.emit_json(
            {
                "cluster": subject.cluster,
                "workload": subject.title,
                "uid": subject.uid,
                "until": to_iso(until_ms),
                "at_most_until": to_iso(most_ms),
            }
        )
        return
    output.say(f"{subject.title} of cluster {subject.cluster} is kept until {_when(until_ms)}.")
    output.say(f"It can be kept until {_when(most_ms)} at most. Then its warnings go on where they stood.")


def _duration(text: str) -> int:
    try:
        return duration_ms(text)
    except ValueError as error:
        raise InputError(f"{text!r} is no duration: {error}", "write it as 4h") from error


def _one(found: "list[Subject]", wanted: str) -> "Subject":
    if not found:
        raise InputError(
            f"the ledger knows no workload {wanted!r} that holds GPUs now",
            "write Kind/namespace/name, or its UID; a new one is known as soon as it was collected",
        )
    if len(found) > 1:
        named = "; ".join(
            f"{each.title} of cluster {each.cluster}, UID {each.uid}" for each in found[:_SHOWN]
        )
        raise InputError(
            f"{wanted!r} is more than one: {named}",
            "write its kind, its UID, or name the cluster with --cluster",
        )
    return found[0]


def _within(subject: "Subject", most_ms: int | None, at_ms: int, until_ms: int) -> int:
    """The policy's bound; what is beyond it is refused, as less than was asked for would be a surprise later."""
    if most_ms is None:
        raise InputError(
            f"{subject.title} needs no keeping: workloads of its kind are reported only", "nothing is taken"
        )
    if until_ms <= most_ms:
        return most_ms
    left_min = (most_ms - at_ms) // 60_000
    raise InputError(
        f"{subject.title} can be kept until {_when(most_ms)} at most, and not until {_when(until_ms)}",
        f"keep_at_most in policy: idle: bounds it; ask for {left_min}m"
        if left_min > 0
        else "let it compute, or end it",
    )


def _when(at_ms: int) -> str:
    return f"{to_minute(at_ms)} UTC"
