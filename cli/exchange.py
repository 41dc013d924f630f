"""`quartermaster prices fx` and `owed`: exchange rates fixed for a span, and what teams owe in one currency by them."""

import getpass
import os
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated

import typer

from cli import output
from cli.session import session
from quartermaster.clock import now_ms
from quartermaster.errors import InputError

if TYPE_CHECKING:
    from quartermaster.config.model import Configuration

AsJson = Annotated[bool, typer.Option("--json", help="For machines.")]


def fx(
    context: typer.Context,
    from_currency: Annotated[str | None, typer.Argument(help="One unit of this currency …")] = None,
    to_currency: Annotated[str | None, typer.Argument(help="… in this one …")] = None,
    rate: Annotated[str | None, typer.Argument(help="… is this much.")] = None,
    *,
    start: Annotated[str, typer.Option("--from", help="The first business day.")] = "",
    end: Annotated[str, typer.Option("--to", help="The first day without.")] = "",
    source: Annotated[str, typer.Option("--source", help="Where it was published.")] = "",
    author: Annotated[str | None, typer.Option("--author", help="Who records it; without it, you.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the exchange rates, or record one, fixed for its days. It is never changed.

    \b
    Examples:
      quartermaster prices fx
      quartermaster prices fx USD EUR 0.9215 --from 2026-11-01 \\
        --to 2026-12-01 --source ECB
    """
    from analytics.money.currency import Exchange, exchanges, record
    from quartermaster.config import units
    from sql.configured import open_configured

    configuration = _configuration(context)
    if from_currency is None:
        with open_configured(configuration, read_only=True) as ledger, ledger.reading() as cursor:
            known = exchanges(cursor)
        rows = [{name: getattr(each, name) for name in Exchange.__slots__} for each in known]
        if as_json:
            output.emit_json(rows)
        else:
            output.table("", list(Exchange.__slots__), [list(row.values()) for row in rows], right=["rate"])
        return
    if to_currency is None or rate is None or not start or not end:
        raise InputError(
            "a rate needs two currencies, a number and its days", "prices fx USD EUR 0.92 --from … --to …"
        )
    try:
        exchange = Exchange(
            units.currency(from_currency),
            units.currency(to_currency),
            units.price(rate),
            _day(start, configuration),
            _day(end, configuration),
            units.plain_text(source),
            units.plain_text(author if author is not None else getpass.getuser()),
        )
    except ValueError as error:
        raise InputError(f"this is no exchange rate: {error}", "write USD EUR 0.9215") from error
    with open_configured(configuration) as ledger:
        new = record(ledger, exchange, now_ms())
    if as_json:
        output.emit_json({"recorded": new})
    else:
        output.say("recorded" if new else "it is recorded already")


def owed(
    context: typer.Context,
    *,
    currency: Annotated[str, typer.Option("--in", help="In this currency.")],
    start: Annotated[str, typer.Option("--from", help="The first business day.")],
    end: Annotated[str, typer.Option("--to", help="The first day without.")],
    as_json: AsJson = False,
) -> None:
    """Say what each team owes for some days, in one currency, by the recorded exchange rates alone.

    \b
    Example:
      quartermaster prices owed --in EUR --from 2026-11-01 --to 2026-12-01
    """
    from analytics.business import days_between
    from analytics.money.currency import lay_charges_in
    from analytics.money.rates import money_sql
    from quartermaster.config import units
    from sql.configured import open_configured

    configuration = _configuration(context)
    time_zone = configuration.business.time_zone
    try:
        wanted = units.currency(currency)
    except ValueError as error:
        raise InputError(f"{currency!r} is no currency: {error}", "write EUR") from error
    first, after = _start_ms(start, configuration), _start_ms(end, configuration)
    days = days_between(first, after, time_zone)
    if not days:
        raise InputError(f"{end} is not after {start}", "--to is the first day without")
    with open_configured(configuration, read_only=True) as ledger, ledger.reading() as cursor:
        lay_charges_in(cursor, wanted, days[0].day, days[-1].day)
        rows = cursor.execute(money_sql("owed_in")).pl().to_dicts()
    if as_json:
        output.emit_json([row | {"currency": wanted} for row in rows])
        return
    output.table(
        f"owed from {days[0].day} to {days[-1].day}, in {wanted}",
        ["team", "amount", "charged in"],
        [
            (row["team"], f"{row['amount'].quantize(Decimal('0.01')):,}", ", ".join(row["charged_in"]))
            for row in rows
        ],
        right=["amount"],
    )


def _day(text: str, configuration: "Configuration") -> str:
    from analytics.business import business_day

    return business_day(text, configuration.business.time_zone).day


def _start_ms(text: str, configuration: "Configuration") -> int:
    from analytics.business import business_day

    return business_day(text, configuration.business.time_zone).start_ms


def _configuration(context: typer.Context) -> "Configuration":
    from quartermaster.config.load import load_configuration

    return load_configuration(session(context).config_path(), os.environ)
