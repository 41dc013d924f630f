"""`quartermaster budgets`: what teams mean to spend, what they have spent, and where that will end."""

import os
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli import output
from cli.session import session
from quartermaster.clock import now_ms

if TYPE_CHECKING:
    from analytics.money.budgets import Burn


def budgets(
    context: typer.Context,
    *,
    period: Annotated[
        str | None, typer.Option("--period", "-p", help="As 2026-11; without it, the present one.")
    ] = None,
    team: Annotated[str | None, typer.Option("--team", "-t", help="Only this team's.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Show each team's budget in a period: spent, the end that the last weeks point to, and the alerts reached.

    The end is a forecast: the mean of each weekday over four weeks. Its interval is as wide as the largest miss that
    the same would have made in the last eight weeks. Budgets stand in the configuration; quartermaster rollup records
    each alert once.

    \b
    Examples:
      quartermaster budgets
      quartermaster budgets --period 2026-11 --team vision --json
    """
    from analytics.money.budgets import burn_down
    from analytics.money.periods import calendar_of, standing
    from quartermaster.config.load import load_configuration
    from sql.configured import open_configured

    configuration = load_configuration(session(context).config_path(), os.environ)
    calendar, at_ms = calendar_of(configuration.business), now_ms()
    with open_configured(configuration, read_only=True) as ledger, ledger.reading() as cursor:
        chosen = calendar.at(at_ms) if period is None else standing(cursor, calendar, period).period
        found = [each for each in burn_down(cursor, chosen, at_ms) if team in {None, each.team}]
    if as_json:
        output.emit_json([_value(each) for each in found])
        return
    if not found:
        output.say(f"no team has a budget in {chosen.period}: budgets in the configuration give it one")
        return
    rows = [
        (
            each.team,
            _amount(each.budget),
            _amount(each.spent),
            f"{each.spent * 100 / each.budget:.0f} %",
            _amount(each.end),
            "not known yet" if each.low is None else f"{_amount(each.low)} – {_amount(each.high)}",
            ", ".join(f"{Decimal(permille) / 10:f} %" for permille in each.reached),
        )
        for each in found
    ]
    done = f"{found[0].days_done} of {found[0].days} days"
    columns = ["team", "budget", "spent", "", "end", "between", "reached"]
    title = f"Budgets in {chosen.period}, {found[0].currency}, {done}"
    output.table(title, columns, rows, right=["budget", "spent", "", "end", "between"])


def _amount(amount: Decimal | None) -> str:
    return "" if amount is None else f"{amount:,.2f}"


def _value(each: "Burn") -> dict[str, Any]:
    return {
        "period": each.period.period,
        "team": each.team,
        "budget": each.budget,
        "currency": each.currency,
        "spent": each.spent,
        "days_done": each.days_done,
        "days": each.days,
        "end": each.end,
        "low": each.low,
        "high": each.high,
        "replays": each.replays,
        "alerts_permille": list(each.alerts),
        "reached_permille": list(each.reached),
    }
