"""`quartermaster prices energy` and `carbon`: what was drawn, what it cost and emitted; hours of intensity, read in."""

import os
from collections import defaultdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli import output
from cli.session import session
from quartermaster.clock import now_ms
from quartermaster.errors import InputError

if TYPE_CHECKING:
    from analytics.money.energy import Energy
    from quartermaster.config.model import Configuration

AsJson = Annotated[bool, typer.Option("--json", help="For machines.")]


class By(StrEnum):
    """A row for each of what."""

    team = "team"
    pool = "pool"
    workload = "workload"
    day = "day"


def energy(
    context: typer.Context,
    *,
    start: Annotated[str, typer.Option("--from", help="The first business day.")],
    end: Annotated[str, typer.Option("--to", help="The first day without.")],
    by: Annotated[By, typer.Option("--by", help="A row for each of these.")] = By.team,
    as_json: AsJson = False,
) -> None:
    """Say what electricity held GPUs drew (with PUE), what it cost and what it emitted.

    Energy that no counter told is not known, and no part of the figures: `known` says of how much of the
    held time they are. Without a tariff there is no cost, without an intensity no CO2.

    \b
    Examples:
      quartermaster prices energy --from 2026-11-01 --to 2026-12-01
      quartermaster prices energy --from 2026-11-23 --to 2026-11-30 --by day
    """
    from analytics.business import business_day, days_between
    from analytics.money.energy import energy as drawn
    from analytics.money.rates import read_prices
    from sql.configured import open_configured

    configuration = _configuration(context)
    zone = configuration.business.time_zone
    days = days_between(business_day(start, zone).start_ms, business_day(end, zone).start_ms, zone)
    with open_configured(configuration, read_only=True) as ledger, ledger.reading() as cursor:
        found = drawn(cursor, read_prices(cursor), days)
    rows = _grouped(found, by)
    if as_json:
        output.emit_json(rows)
        return
    output.table(
        "",
        [by.value, "kWh", "cost", "", "kg CO2", "known"],
        [
            (
                *(row[by.value], _shown(row["kwh"]), _shown(row["cost"]), row["currency"] or ""),
                *(_shown(row["kg_co2"]), f"{row['known_percent']} %"),
            )
            for row in rows
        ],
        right=["kWh", "cost", "kg CO2", "known"],
    )


def carbon(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="A CSV with the columns start, grams_per_kwh.")],
    *,
    cluster: Annotated[str, typer.Option("--cluster", help="Of this cluster's grid.")],
    as_json: AsJson = False,
) -> None:
    """Read how much a kilowatt-hour emitted, hour by hour. What is told last counts; read twice, it is there once.

    \b
    Example:
      quartermaster prices carbon intensity-2026-11.csv --cluster main
    """
    import polars as pl

    from analytics.money.energy import read_intensities
    from cli.choice import clusters
    from quartermaster.ids import content_id
    from sql.configured import open_configured

    configuration = _configuration(context)
    clusters(configuration, cluster)
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: it cannot be read: {error}", "name a CSV file") from error
    told = read_intensities(text, str(file))
    if not told:
        raise InputError(f"{file} has no hours", "write start,grams_per_kwh and a line for each hour")
    rows = [
        {"cluster": cluster, "start_at": each.start_ms, "end_at": each.end_ms}
        | {"grams_per_kwh": each.grams_per_kwh, "source": file.name}
        for each in told
    ]
    key = f"carbon/{content_id(cluster, text)}/{len(rows)}"
    frame = pl.DataFrame(rows, schema_overrides={"grams_per_kwh": pl.Decimal(18, 6)})
    with open_configured(configuration) as ledger:
        ledger.append(key, {"carbon": frame}, recorded_at=now_ms())
    if as_json:
        output.emit_json({"hours": len(rows)})
    else:
        output.say(f"{len(rows)} hours of {cluster}")


def _grouped(found: "list[Energy]", by: By) -> list[dict[str, object]]:
    groups: dict[object, list[Energy]] = defaultdict(list)
    for each in found:
        groups[each.workload_id if by is By.workload else getattr(each, by.value)].append(each)
    return [_summed(name, by, each) for name, each in sorted(groups.items(), key=lambda item: str(item[0]))]


def _summed(name: object, by: By, rows: "list[Energy]") -> dict[str, object]:
    held = sum(row.held_pms for row in rows)
    known = sum(row.known_pms for row in rows)
    currencies = {row.currency for row in rows if row.cost_micros is not None}
    return {
        by.value: str(name) if by is By.workload and name is not None else name,
        "kwh": _sum([row.drawn_micro_kwh for row in rows if row.energy_j is not None]),
        "cost": _sum([row.cost_micros for row in rows if row.energy_j is not None])
        if len(currencies) == 1
        else None,
        "currency": currencies.pop() if len(currencies) == 1 else None,
        "kg_co2": _sum([row.emitted_mg for row in rows if row.energy_j is not None]),
        "known_percent": round(100 * known / held, 1) if held else 0,
    }


def _sum(values: list[int | None]) -> str | None:
    """The sum in whole units, of millionths; None where a part is not known, or nothing is."""
    if not values or any(value is None for value in values):
        return None
    total = sum(value for value in values if value is not None)
    return f"{total // 1_000_000}.{total % 1_000_000:06d}"


def _shown(value: object) -> str:
    return "not known" if value is None else str(value)


def _configuration(context: typer.Context) -> "Configuration":
    from quartermaster.config.load import load_configuration

    return load_configuration(session(context).config_path(), os.environ)
