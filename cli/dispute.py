"""`quartermaster dispute`: a line of cost that a team disputes, and what is decided."""

import os
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli import output
from cli.session import session
from quartermaster.clock import now_ms, to_iso
from quartermaster.errors import InputError

if TYPE_CHECKING:
    from analytics.money.disputes import Dispute
    from quartermaster.config.model import Configuration

app = typer.Typer(no_args_is_help=True, help="Lines of cost that teams dispute, and what is decided.")
AsJson = Annotated[bool, typer.Option("--json", help="For machines.")]
Reason = Annotated[str, typer.Option("--reason", help="Why, in words; it is kept.")]
Actor = Annotated[
    str | None,
    typer.Option(
        "--as", metavar="NAME", help="Who does it; without it, the pseudonym of who runs the command."
    ),
]


@app.command("raise")
def raise_one(
    context: typer.Context,
    charge_id: Annotated[int, typer.Argument(help="The line's charge_id.")],
    *,
    amount: Annotated[
        str | None, typer.Option("--amount", help="How much of it; without it, all that is left.")
    ] = None,
    reason: Reason = "",
    actor: Actor = None,
    as_json: AsJson = False,
) -> None:
    """Dispute a line of cost, of an open or a closed period.

    \b
    Examples:
      quartermaster dispute raise 46116860184273 --reason "in repair"
      quartermaster dispute raise 46116860184273 --amount 12 --reason "not ours"
    """
    from analytics.money.disputes import raise_dispute
    from cli.asking import asker
    from sql.configured import open_configured

    configuration = _configuration(context)
    wanted = None if amount is None else _amount(amount)
    with open_configured(configuration) as ledger:
        found = raise_dispute(
            ledger, charge_id, wanted, reason, actor=actor or asker(configuration), now_ms=now_ms()
        )
    if as_json:
        output.emit_json(_value(found, now_ms()))
    else:
        output.say(f"dispute {found.dispute_id}: {found.team} disputes {found.amount} {found.currency}")


@app.command("decide")
def decide(
    context: typer.Context,
    dispute_id: Annotated[int, typer.Argument(help="The dispute, as quartermaster dispute list shows it.")],
    *,
    credit: Annotated[
        str, typer.Option("--credit", metavar="AMOUNT", help="How much is credited; 0 refuses it; or all.")
    ],
    reason: Reason = "",
    actor: Actor = None,
    as_json: AsJson = False,
) -> None:
    """Decide a dispute. A credit is a line of today, in the open period, that names the disputed line.

    \b
    Examples:
      quartermaster dispute decide 1234 --credit all --reason "it was in repair"
      quartermaster dispute decide 1234 --credit 0 --reason "the pod held it"
    """
    from analytics.money.disputes import decide_dispute, disputes
    from cli.asking import asker
    from sql.configured import open_configured

    configuration = _configuration(context)
    with open_configured(configuration) as ledger:
        if credit == "all":
            with ledger.reading() as cursor:
                amounts = {each.dispute_id: each.amount for each in disputes(cursor)}
            granted = amounts.get(dispute_id, Decimal(0))
        else:
            granted = _amount(credit)
        found = decide_dispute(
            ledger,
            dispute_id,
            granted,
            reason,
            actor=actor or asker(configuration),
            time_zone=configuration.business.time_zone,
            now_ms=now_ms(),
        )
    if as_json:
        output.emit_json(_value(found, now_ms()))
    else:
        output.say(f"dispute {dispute_id} is {found.state}: {found.credited} {found.currency} are credited")


@app.command("list")
def list_all(
    context: typer.Context,
    *,
    undecided: Annotated[bool, typer.Option("--open", help="Only those that are not decided.")] = False,
    as_json: AsJson = False,
) -> None:
    """List disputes by age, the oldest first.

    \b
    Examples:
      quartermaster dispute list --open
    """
    from analytics.money.disputes import RAISED, disputes
    from sql.configured import open_configured

    at_ms = now_ms()
    with open_configured(_configuration(context), read_only=True) as ledger, ledger.reading() as cursor:
        found = [each for each in disputes(cursor) if not undecided or each.state == RAISED]
    if as_json:
        output.emit_json([_value(each, at_ms) for each in found])
        return
    columns = ["dispute", "days", "team", "disputed", "state", "credited", "why"]
    rows = [
        (
            each.dispute_id,
            each.age_days(at_ms),
            each.team,
            f"{each.amount:,.2f} {each.currency}",
            each.state,
            "" if each.credited is None else f"{each.credited:,.2f}",
            each.words.replace("\n", " – "),
        )
        for each in found
    ]
    output.table("Disputes", columns, rows, right=["days", "disputed", "credited"])


def _configuration(context: typer.Context) -> "Configuration":
    from quartermaster.config.load import load_configuration

    return load_configuration(session(context).config_path(), os.environ)


def _amount(text: str) -> Decimal:
    try:
        found = Decimal(text)
    except InvalidOperation as error:
        raise InputError(f"{text!r} is no amount", "write it as 12.50") from error
    if not found.is_finite():
        raise InputError(f"{text!r} is no amount", "write it as 12.50")
    return found


def _value(found: "Dispute", at_ms: int) -> dict[str, Any]:
    return {
        "dispute_id": found.dispute_id,
        "charge_id": found.charge_id,
        "cluster": found.cluster,
        "business_day": found.business_day,
        "team": found.team,
        "amount": found.amount,
        "currency": found.currency,
        "state": found.state,
        "words": found.words,
        "credited": found.credited,
        "credit_id": found.credit_id,
        "raised_at": to_iso(found.raised_ms),
        "age_days": found.age_days(at_ms),
        "actor": found.actor,
    }
