"""A line of cost explained: from the cent back to usage, claims, price and rule, and to the samples while they live."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from analytics.business import business_day
from analytics.money.queries import books_sql
from analytics.scope import ALL, Scope
from quartermaster.clock import HOUR_MS, to_datetime, to_iso
from quartermaster.errors import InputError
from quartermaster.parts import GPU_PARTS
from sql.ledger import Cursor

GPU_HOUR_PMS = GPU_PARTS * HOUR_MS
_BY_TIME = {"base", "unallocated", "unavailable", "unobserved"}
_WHAT = {
    "base": "time that was held",
    "unallocated": "time that nobody held",
    "unavailable": "time that was cordoned, not ready or sick",
    "unobserved": "time of which nobody could tell",
    "shared": "its share of what stood for nobody",
    "adjustment": "an adjustment",
    "clearing": "the counter-line of what was shared or adjusted",
    "correction": "a correction of a closed day",
}


@dataclass(frozen=True, slots=True)
class Claim:
    """A pod's claim on GPUs that the line came from, the rule that made it the team's, and its samples that live."""

    pod: str
    node: str
    start_ms: int
    end_ms: int
    devices: int
    held_pms: int
    computing_pms: int
    idle_pms: int
    unknown_pms: int
    faulted_pms: int
    rule: str
    samples: int


@dataclass(frozen=True, slots=True)
class Explained:
    """A line, what it was shared out of, what it came from, and what it corrects."""

    line: dict[str, Any]  # its columns: sql/queries/books/line.sql
    capacity_pms: int = 0  # of the day's pool and model at the line's price
    pool_cost: Decimal = Decimal(0)
    claims: tuple[Claim, ...] = ()
    corrects: "Explained | None" = field(default=None)


def explain(cursor: Cursor, charge_id: int, time_zone: str, scope: Scope = ALL) -> Explained:
    """Explain the line. Raises InputError where there is none with that id, or it is of a team that is not the
    reader's."""
    found = cursor.execute(books_sql("line"), {"charge_id": charge_id, "teams": scope.bound}).pl()
    if not len(found):
        raise InputError(
            f"there is no line of cost {charge_id}",
            'quartermaster sql "select charge_id from charges" has them',
        )
    line = found.row(0, named=True)
    pool = cursor.execute(
        books_sql("line_pool"),
        {
            "cluster": line["cluster"],
            "day": line["business_day"],
            "pool": line["pool"],
            "model": line["model"],
            "unit_price": line["unit_price"],
        },
    ).fetchone() or (None, None)
    corrects = None
    if line["corrects"] is not None and line["corrects"] != charge_id:
        corrects = explain(cursor, line["corrects"], time_zone, scope)
    return Explained(
        line,
        int(pool[0] or 0),
        pool[1] or Decimal(0),
        _claims(cursor, line, time_zone) if line["kind"] == "base" else (),
        corrects,
    )


def sentences(found: Explained) -> list[str]:
    """It in words, a sentence each."""
    line = found.line
    team = line["team"] or "nobody"
    said = [
        f"Line {line['charge_id']}: {_money(line['amount'], line)} on {line['business_day']}, for {team}: "
        f"{_WHAT.get(line['kind'], line['kind'])}"
        + (f" ({line['detail']})" if line["detail"] else "")
        + f"; {line['model']} in pool {line['pool']} of cluster {line['cluster']}"
        + (f"; {line['workload']}" if line["workload"] else "")
        + "."
    ]
    if line["kind"] in _BY_TIME and line["measure"] == "gpu_hour":
        said.append(
            f"{_hours(line['quantity_pms'])} GPU-hours × {line['unit_price'].normalize():f} = "
            f"{_money(line['amount'], line)}: its part, by time, of {_money(found.pool_cost, line)} for "
            f"{_hours(found.capacity_pms)} GPU-hours of capacity; millionths by largest remainder."
        )
    elif line["quantity"] is not None:
        said.append(f"Quantity: {line['quantity'].normalize():f} ({line['measure']}).")
    if line["card"] is not None:
        globs = ", ".join(
            f"{name} {line[f'{name}_glob']}" for name in ("cluster", "pool", "model") if line[f"{name}_glob"]
        )
        said.append(
            f"Price: rate card {line['card']}, list {line['version']}, line {line['position'] + 1} ({globs}), from "
            f"{to_iso(line['price_start_ms'])}"
            + (f", set by {line['author']}" if line["author"] else "")
            + "."
        )
    said += [_claim(each) for each in found.claims]
    if line["corrected"]:
        said.append(f"Corrected since: {_money(line['corrected'], line)}.")
    if line["line_day"] is not None:
        said.append(f"It is of {line['line_day']}, whose period was closed.")
    if found.corrects is not None:
        said += ["It corrects this one:", *sentences(found.corrects)]
    return said


def to_document(found: Explained) -> dict[str, Any]:
    """It as JSON values; the line's own columns, then what they came from."""
    return {
        **found.line,
        "pool_capacity_pms": found.capacity_pms,
        "pool_cost": found.pool_cost,
        "claims": [
            {
                "pod": each.pod,
                "node": each.node,
                "start_at": to_iso(each.start_ms),
                "end_at": to_iso(each.end_ms),
                "devices": each.devices,
                "held_pms": each.held_pms,
                "computing_pms": each.computing_pms,
                "idle_pms": each.idle_pms,
                "unknown_pms": each.unknown_pms,
                "faulted_pms": each.faulted_pms,
                "rule": each.rule,
                "samples": each.samples,
            }
            for each in found.claims
        ],
        "corrected_line": None if found.corrects is None else to_document(found.corrects),
    }


def _claims(cursor: Cursor, line: dict[str, Any], time_zone: str) -> tuple[Claim, ...]:
    day = business_day(line["business_day"], time_zone)
    given = {name: line[name] for name in ("cluster", "pool", "model", "team", "workload_id")}
    given |= {"from_at": to_datetime(day.start_ms), "until_at": to_datetime(day.end_ms)}
    rows: Sequence[dict[str, Any]] = cursor.execute(books_sql("line_claims"), given).pl().to_dicts()
    return tuple(
        Claim(
            f"{row['namespace'] or '?'}/{row['pod'] or row['allocation_id']}",
            row["node"] or "?",
            start_ms=row["start_ms"],
            end_ms=row["end_ms"],
            devices=row["devices"],
            held_pms=int(row["held_pms"]),
            computing_pms=int(row["computing_pms"]),
            idle_pms=int(row["idle_pms"]),
            unknown_pms=int(row["unknown_pms"]),
            faulted_pms=int(row["faulted_pms"]),
            rule=_rule(row),
            samples=row["samples"],
        )
        for row in rows
    )


def _rule(row: dict[str, Any]) -> str:
    if row["rule"] is None:
        return "no rule of today matches it"
    label = f", label {row['label_key']}={row['label_glob'] or '*'}" if row["label_key"] else ""
    return f"the rule for {row['rule_team']} (namespace {row['namespace_glob'] or '*'}{label})"


def _claim(each: Claim) -> str:
    return (
        f"Pod {each.pod} on {each.node}, {to_iso(each.start_ms)} to {to_iso(each.end_ms)}: {_hours(each.held_pms)} "
        f"GPU-hours on {each.devices} device{'s' if each.devices != 1 else ''}, "
        f"{_hours(each.computing_pms)} computing, {_hours(each.idle_pms)} idle, {_hours(each.unknown_pms)} unknown; "
        f"the team's by {each.rule}; "
        + (f"{each.samples:,} samples of it live." if each.samples else "no sample of it lives.")
    )


def _hours(pms: int | Decimal) -> str:
    return f"{Decimal(pms) / GPU_HOUR_PMS:,.3f}"


def _money(amount: Decimal, line: dict[str, Any]) -> str:
    return f"{amount:,.6f} {line['currency']}"
