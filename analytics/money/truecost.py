"""What a GPU-hour truly costs: from what was bought, what it draws and who runs it, line by line. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from quartermaster.errors import InputError

HOURS_A_YEAR = 8760  # 365 days
_CENT, _PRICE = Decimal("0.01"), Decimal("0.000000001")
# How an hour is split where GPUs, cores and memory have prices of their own: AWS' weights for accelerated instances.
WEIGHTS: Mapping[str, Decimal] = {"gpu": Decimal(9), "cpu": Decimal("0.9"), "memory_gib": Decimal("0.1")}


@dataclass(frozen=True, slots=True)
class Bought:
    """A cluster as its owner knows it. Money in one currency; None of it is below zero."""

    gpus: Decimal
    purchase: Decimal  # of everything: nodes, network, installation
    years: Decimal  # over which it is written off, evenly
    watts: Decimal  # what the machines draw on average
    kwh_price: Decimal
    pue: Decimal = Decimal(1)  # cooling and losses: what the building draws for what the machines do
    cooling_a_year: Decimal = Decimal(0)  # beside what the PUE has: water, maintenance
    staff_a_year: Decimal = Decimal(0)
    other_a_year: Decimal = Decimal(0)  # rent, support, licences
    used: Decimal = Decimal(1)  # the part of its GPU-hours that somebody holds


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the sum: what it is, how it was reckoned, and the amount."""

    name: str
    arithmetic: str
    amount: Decimal


@dataclass(frozen=True, slots=True)
class TrueCost:
    """A year's cost line by line, its sum, and what a GPU-hour costs when all is used, and as it is used."""

    lines: tuple[Line, ...]
    a_year: Line
    at_full_use: Line
    at_actual_use: Line


def true_cost(bought: Bought) -> TrueCost:
    """The arithmetic. A year is 8,760 hours; lines of a year are rounded to cents, an hour's price to nine places, half
    up. Raises InputError for figures that cannot be."""
    _refuse(bought)
    kwh = (bought.watts * HOURS_A_YEAR * bought.pue / 1000).quantize(_CENT, ROUND_HALF_UP)
    lines = (
        _line("purchase", f"{bought.purchase:,f} ÷ {bought.years:f} years", bought.purchase / bought.years),
        _line(
            "power and cooling",
            f"{bought.watts:,f} W × {HOURS_A_YEAR:,} h × PUE {bought.pue:f} = {kwh:,f} kWh, × {bought.kwh_price:f}",
            kwh * bought.kwh_price,
        ),
        _line("cooling beside", "a year", bought.cooling_a_year),
        _line("staff", "a year", bought.staff_a_year),
        _line("other", "a year", bought.other_a_year),
    )
    lines = tuple(line for line in lines if line.amount)
    total = sum((line.amount for line in lines), Decimal(0))
    a_year = Line("a year", " + ".join(line.name for line in lines), total)
    hours = bought.gpus * HOURS_A_YEAR
    full = (total / hours).quantize(_PRICE, ROUND_HALF_UP)
    actual = (total / (hours * bought.used)).quantize(_PRICE, ROUND_HALF_UP)
    return TrueCost(
        lines,
        a_year,
        Line("a GPU-hour, all used", f"{total:,f} ÷ ({bought.gpus:f} GPUs × {HOURS_A_YEAR:,} h)", full),
        Line(
            "a GPU-hour, as used",
            f"{total:,f} ÷ ({bought.gpus:f} GPUs × {HOURS_A_YEAR:,} h × {bought.used:f})",
            actual,
        ),
    )


def split(hour: Decimal, gpus: Decimal, cpus: Decimal, memory_gib: Decimal) -> tuple[Line, ...]:
    """What of a node's hour a GPU, a core and a GiB cost, by weights 9 : 0.9 : 0.1. Raises InputError without a GPU."""
    if gpus <= 0 or min(hour, cpus, memory_gib) < 0:
        raise InputError(
            "a node to split has GPUs, and nothing below zero", "give --gpus, --cpus and --memory-gib"
        )
    counts = {"gpu": gpus, "cpu": cpus, "memory_gib": memory_gib}
    whole = sum((WEIGHTS[name] * count for name, count in counts.items()), Decimal(0))
    names = {"gpu": "gpu_hour", "cpu": "cpu_hour", "memory_gib": "memory_gib_hour"}
    return tuple(
        Line(
            names[name],
            f"{hour:f} × {weight:f} ÷ ({_weighed(counts)})",
            (hour * weight / whole).quantize(_PRICE, ROUND_HALF_UP),
        )
        for name, weight in WEIGHTS.items()
        if counts[name]
    )


def _weighed(counts: Mapping[str, Decimal]) -> str:
    return " + ".join(f"{WEIGHTS[name]:f} × {count:f}" for name, count in counts.items() if count)


def _line(name: str, arithmetic: str, amount: Decimal) -> Line:
    return Line(name, arithmetic, amount.quantize(_CENT, ROUND_HALF_UP))


def _refuse(bought: Bought) -> None:
    if bought.gpus <= 0 or bought.years <= 0:
        raise InputError(
            "a cluster has GPUs, and is written off over some years", "give --gpus and --years above 0"
        )
    if bought.pue < 1:
        raise InputError(
            f"a PUE of {bought.pue} is below 1: no building draws less than its machines", "see --pue"
        )
    if not 0 < bought.used <= 1:
        raise InputError(f"{bought.used} is no part of one", "give --used as 0.65, above 0 and at most 1")
    sums = (bought.purchase, bought.watts, bought.kwh_price, bought.cooling_a_year)
    if min(*sums, bought.staff_a_year, bought.other_a_year) < 0:
        raise InputError("no cost is below zero", "give every figure as it is on the invoice")
