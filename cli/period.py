"""`quartermaster period`: the periods of the books, closing them, verifying them, opening them again."""

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli import output
from cli.session import session
from quartermaster.clock import now_ms, to_iso, to_minute
from quartermaster.errors import InputError

if TYPE_CHECKING:
    from analytics.money.periods import Standing
    from analytics.money.ready import Terms
    from analytics.money.verified import Verdict
    from quartermaster.config.model import Configuration

app = typer.Typer(no_args_is_help=True, help="The books' periods: list, close, verify, open again.")
AsJson = Annotated[bool, typer.Option("--json", help="For machines.")]
Name = Annotated[
    str, typer.Argument(metavar="PERIOD", help="As 2026-11, or FY2026-P11 of a fiscal calendar.")
]
Actor = Annotated[
    str | None,
    typer.Option(
        "--as", metavar="NAME", help="Who does it; without it, the pseudonym of who runs the command."
    ),
]
Reason = Annotated[str, typer.Option("--reason", help="Why, in words; it is kept.")]


@app.command("list")
def list_periods(context: typer.Context, *, as_json: AsJson = False) -> None:
    """List the periods that have lines of cost, and how far their books are.

    \b
    Examples:
      quartermaster period list
      quartermaster period list --json | jq '.[] | select(.state == "closed")'
    """
    from analytics.money.periods import calendar_of, standings
    from sql.configured import open_configured

    configuration = _configuration(context)
    with open_configured(configuration, read_only=True) as ledger, ledger.reading() as cursor:
        found = standings(cursor, calendar_of(configuration.business), now_ms())
    if as_json:
        output.emit_json([_value(each) for each in found])
        return
    rows = [
        (
            each.period.period,
            each.period.start_day,
            each.period.days[-1].day,
            each.state.value,
            each.number,
            (each.sha256 or "")[:8],
            _remark(each),
        )
        for each in found
    ]
    columns = ["period", "first day", "last day", "state", "number", "hash", ""]
    output.table(f"Periods ({configuration.business.time_zone})", columns, rows, right=["number"])


@app.command("close")
def close_period(
    context: typer.Context,
    name: Name,
    *,
    at_once: Annotated[
        bool, typer.Option("--now", help="Do not wait for the end of business.grace.")
    ] = False,
    actor: Actor = None,
    second: Annotated[
        str,
        typer.Option("--second", metavar="NAME", help="Who confirms it, where business.two_persons asks."),
    ] = "",
    reason: Reason = "",
    as_json: AsJson = False,
) -> None:
    """Close a period's books: numbered, hashed, written out, and never changed again.

    Before the end of business.grace the period is set closing: late data and invoices are waited for. A closed period
    is written out again, the same bytes. All usage up to its end must be written, and every earlier period closed.

    \b
    Examples:
      quartermaster period close 2026-11
      quartermaster period close 2026-11 --now --as anna --second bert
      python3 docs/verify.py books/2026-11/7     checks it without Quartermaster
    """
    from analytics.money.close import close, folder_of
    from analytics.money.periods import State
    from sql.configured import open_configured

    configuration = _configuration(context)
    terms = _terms(configuration, actor, reason, second=second, at_once=at_once)
    with open_configured(configuration) as ledger:
        found = close(ledger, name, terms)
    if as_json:
        output.emit_json(_value(found))
        return
    if found.state == State.CLOSING:
        output.say(
            f"{name} is closing: late data and invoices are waited for until {to_minute(found.closes_ms or 0)} UTC; "
            "close it after that, or now with --now"
        )
        return
    folder = folder_of(configuration.business.books, name, found.number or 0)
    output.say(f"{name} is closed with number {found.number}: {folder}")
    output.say(f"SHA-256 of its manifest: {found.sha256}")


@app.command("open")
def open_period(
    context: typer.Context, name: Name, *, actor: Actor = None, reason: Reason = "", as_json: AsJson = False
) -> None:
    """Take a closing period back to open: its grace begins anew when it is closed.

    \b
    Examples:
      quartermaster period open 2026-11 --reason "the invoice is not there yet"
    """
    from analytics.money.close import stop_closing
    from sql.configured import open_configured

    configuration = _configuration(context)
    with open_configured(configuration) as ledger:
        found = stop_closing(ledger, name, _terms(configuration, actor, reason))
    _tell(found, f"{name} is open", as_json=as_json)


@app.command("reopen")
def reopen_period(
    context: typer.Context, name: Name, *, actor: Actor = None, reason: Reason = "", as_json: AsJson = False
) -> None:
    """Open a closed period again, for a reason that is kept; closed again, it has a new number that names the old.

    Its lines are made anew from all that is known, and what was booked later as its corrections is taken back.

    \b
    Examples:
      quartermaster period reopen 2026-11 --reason "a wrong price"
    """
    from analytics.money.charges import charge
    from analytics.money.close import reopen
    from analytics.money.corrections import correct
    from sql.configured import open_configured

    configuration = _configuration(context)
    terms = _terms(configuration, actor, reason)
    with open_configured(configuration) as ledger:
        found = reopen(ledger, name, terms)
        time_zone = configuration.business.time_zone
        charge(ledger, terms.now_ms, time_zone, [day.day for day in found.period.days])
        taken_back = correct(ledger, terms.now_ms, time_zone)
    text = f"{name} is open again; {taken_back.lines} corrections of it are taken back"
    _tell(found, text, as_json=as_json)


@app.command("verify")
def verify_periods(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(metavar="[PERIOD]", help="Only this one.")] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Say whether closed periods are still what was closed: in the ledger and in the folder. Exit code 1 when not.

    \b
    Examples:
      quartermaster period verify
      quartermaster period verify 2026-11 --json
    """
    from analytics.money.periods import calendar_of, standing, standings
    from analytics.money.verified import verify
    from sql.configured import open_configured

    configuration = _configuration(context)
    calendar = calendar_of(configuration.business)
    with open_configured(configuration, read_only=True) as ledger, ledger.reading() as cursor:
        chosen = standings(cursor, calendar, now_ms()) if name is None else [standing(cursor, calendar, name)]
        found = verify(cursor, chosen, configuration.business.books)
    if name is not None and not found:
        raise InputError(f"{name} is not closed", "quartermaster period list says what is")
    if as_json:
        output.emit_json([_verdict(each) for each in found])
    elif not found:
        output.say("no period is closed")
    else:
        for each in found:
            said = "; ".join(each.amiss) or "as it was closed"
            where = "" if each.folder is None else f" ({each.folder})"
            output.say(f"{each.period}, number {each.number}{where}: {said}")
    raise typer.Exit(1 if any(each.amiss for each in found) else 0)


def _configuration(context: typer.Context) -> "Configuration":
    from quartermaster.config.load import load_configuration

    return load_configuration(session(context).config_path(), os.environ)


def _terms(
    configuration: "Configuration", actor: str | None, reason: str, *, second: str = "", at_once: bool = False
) -> "Terms":
    from analytics.money.periods import calendar_of
    from analytics.money.ready import Terms
    from cli.asking import asker

    business = configuration.business
    if business.two_persons and actor is None:
        raise InputError(
            "business.two_persons asks who does it, by the name that rate cards give their author",
            "say it with --as",
        )
    return Terms(
        calendar_of(business),
        now_ms(),
        actor or asker(configuration),
        clusters=[cluster.name for cluster in configuration.clusters],
        grace_ms=business.grace_ms,
        books=business.books,
        two_persons=business.two_persons,
        second=second,
        reason=reason,
        at_once=at_once,
    )


def _tell(found: "Standing", text: str, *, as_json: bool) -> None:
    if as_json:
        output.emit_json(_value(found))
    else:
        output.say(text)


def _remark(found: "Standing") -> str:
    if found.closes_ms is not None and found.state.value == "closing":
        return f"waits until {to_minute(found.closes_ms)} UTC"
    return "" if found.replaces is None else f"replaces number {found.replaces}"


def _value(found: "Standing") -> dict[str, Any]:
    return {
        "period": found.period.period,
        "start_day": found.period.start_day,
        "end_day": found.period.end_day,
        "state": found.state.value,
        "number": found.number,
        "replaces": found.replaces,
        "sha256": found.sha256,
        "closes_at": None if found.closes_ms is None else to_iso(found.closes_ms),
        "actor": found.actor,
        "second": found.second,
        "reason": found.reason,
        "told_at": None if found.told_ms is None else to_iso(found.told_ms),
    }


def _verdict(found: "Verdict") -> dict[str, Any]:
    return {
        "period": found.period,
        "number": found.number,
        "sha256": found.sha256,
        "folder": None if found.folder is None else str(found.folder),
        "amiss": list(found.amiss),
    }
