"""`quartermaster prices true-cost`: what a GPU-hour of one's own cluster costs, with the arithmetic."""

from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Annotated

import typer

from cli import output
from quartermaster.errors import InputError

if TYPE_CHECKING:
    from analytics.money.truecost import Line


def true_cost(
    *,
    gpus: Annotated[str, typer.Option("--gpus", help="How many GPUs it has.")],
    purchase: Annotated[str, typer.Option("--purchase", help="What all of it cost to buy.")],
    years: Annotated[str, typer.Option("--years", help="Over how many years it is written off.")],
    watts: Annotated[str, typer.Option("--watts", help="What its machines draw on average.")],
    kwh: Annotated[str, typer.Option("--kwh", help="The price of a kilowatt-hour.")],
    pue: Annotated[str, typer.Option("--pue", help="What the building draws for what they do.")] = "1",
    cooling: Annotated[str, typer.Option("--cooling", help="Cooling beside the PUE, a year.")] = "0",
    staff: Annotated[str, typer.Option("--staff", help="Staff, a year.")] = "0",
    other: Annotated[str, typer.Option("--other", help="Rent, support, licences, a year.")] = "0",
    used: Annotated[str, typer.Option("--used", help="The part of its GPU-hours that is held.")] = "1",
    cpus: Annotated[str, typer.Option("--cpus", help="Cores, to price beside the GPUs.")] = "0",
    memory: Annotated[str, typer.Option("--memory-gib", help="GiB, to price beside the GPUs.")] = "0",
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Say what a GPU-hour of a cluster truly costs, when all of it is used and as it is used, line by line.

    With --cpus and --memory-gib (of the whole cluster) it also says what to write as gpu_hour, cpu_hour and
    memory_gib_hour, by weights 9 : 0.9 : 0.1.

    \b
    Example:
      quartermaster prices true-cost --gpus 64 --purchase 2400000 --years 5 \\
        --watts 58000 --kwh 0.21 --pue 1.3 --staff 180000 --used 0.7
    """
    from analytics.money.truecost import Bought, split
    from analytics.money.truecost import true_cost as reckon

    bought = Bought(
        gpus=_number("--gpus", gpus),
        purchase=_number("--purchase", purchase),
        years=_number("--years", years),
        watts=_number("--watts", watts),
        kwh_price=_number("--kwh", kwh),
        pue=_number("--pue", pue),
        cooling_a_year=_number("--cooling", cooling),
        staff_a_year=_number("--staff", staff),
        other_a_year=_number("--other", other),
        used=_number("--used", used),
    )
    cost = reckon(bought)
    prices: tuple[Line, ...] = ()
    cores, gib = _number("--cpus", cpus), _number("--memory-gib", memory)
    if cores or gib:
        hour = (cost.a_year.amount / 8760).quantize(Decimal("0.000001"))
        prices = split(hour, bought.gpus, cores, gib)
    hours = (cost.at_full_use, cost.at_actual_use)
    if as_json:
        output.emit_json(
            {
                "a_year": [_as_value(line) for line in (*cost.lines, cost.a_year)],
                "gpu_hour": {"all_used": hours[0].amount, "as_used": hours[1].amount},
                "prices": {line.name: line.amount for line in prices},
            }
        )
        return
    for line in (*cost.lines, cost.a_year):
        _tell(line, f"{line.amount:,.2f}")
    for line in (*hours, *prices):
        _tell(line, f"{line.amount:.6f}")


def _tell(line: "Line", amount: str) -> None:
    output.say(f"{line.name:<22}{amount:>16}", style="bold")
    output.say(f"    {line.arithmetic}")


def _as_value(line: "Line") -> dict[str, object]:
    return {"name": line.name, "arithmetic": line.arithmetic, "amount": line.amount}


def _number(option: str, text: str) -> Decimal:
    try:
        number = Decimal(text.replace(",", "").replace("_", ""))
    except InvalidOperation as error:
        raise InputError(f"{option} {text!r} is no number", "write it as 58000 or 0.21") from error
    if not number.is_finite() or abs(number) >= 10**15:
        raise InputError(f"{option} {text!r} is no number that anybody pays", "write it as 58000 or 0.21")
    return number
