"""A month's lines of every kind, written by hand: what each costs, and its counter-line, so that all add up."""

import itertools
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import polars as pl

from quartermaster.clock import HOUR_MS
from quartermaster.ids import content_id
from quartermaster.parts import GPU_PARTS
from sql.ledger import Cursor, Ledger

_number = itertools.count()
GPU_HOUR_PMS = GPU_PARTS * HOUR_MS
TYPES = {
    "quantity_pms": pl.Decimal(38, 0),
    "unit_price": pl.Decimal(18, 9),
    "amount": pl.Decimal(18, 6),
    "quantity": pl.Decimal(38, 6),
    **dict.fromkeys(("team", "pool", "model", "detail", "currency"), pl.String()),
    **dict.fromkeys(("workload_id", "rate_id", "corrects", "charge_id"), pl.Int64()),
}


@dataclass
class Lines:
    """Lines of cost; `write` puts them into a ledger in place of all that it has."""

    rows: list[dict[str, Any]] = field(default_factory=list)

    def line(self, amount: str, kind: str = "base", account: str = "team", **given: Any) -> int:
        """One line; gives its id."""
        row: dict[str, Any] = {
            "cluster": "demo",
            "business_day": "2026-11-23",
            "pool": "training",
            "model": "NVIDIA H100",
            "team": "vision" if account == "team" else None,
            "workload_id": None,
            "kind": kind,
            "account": account,
            "quantity_pms": Decimal(0),
            "unit_price": Decimal("4.10"),
            "amount": Decimal(amount),
            "currency": "EUR",
            "rate_id": 7,
            "corrects": None,
            "detail": "",
            "measure": "gpu_hour",
            "quantity": None,
        }
        row |= given
        for name in ("quantity", "unit_price"):
            row[name] = None if row[name] is None else Decimal(row[name])
        row["charge_id"] = content_id("line", *map(str, (len(self.rows), *row.values())))
        self.rows.append(row)
        return row["charge_id"]

    def adjusted(self, amount: str, detail: str, **given: Any) -> int:
        """An adjustment and its counter-line."""
        counter = {
            key: value for key, value in given.items() if key not in {"team", "workload_id", "account"}
        }
        self.line(str(-Decimal(amount)), "clearing", "clearing", detail=detail, **counter)
        account = given.pop("account", "team")
        return self.line(amount, "adjustment", account, detail=detail, **given)

    def shared(self, amount: str, team: str, of: str = "unallocated", **given: Any) -> None:
        """A team's share and its counter-line."""
        self.line(str(-Decimal(amount)), "clearing", "clearing", detail=of, **given)
        self.line(amount, "shared", "team", team=team, detail=of, **given)

    def write(self, ledger: Ledger) -> Ledger:
        """Put them there."""
        frame = pl.DataFrame(self.rows, schema_overrides=TYPES, infer_schema_length=None)

        def work(cursor: Cursor) -> None:
            cursor.execute("delete from charges")
            if self.rows:
                ledger.insert(cursor, "charges", frame, recorded_at=0)

        ledger.write(f"lines/{next(_number)}", work)
        return ledger


def gpu_hours(hours: str) -> Decimal:
    """GPU-hours as part-milliseconds."""
    return Decimal(hours) * GPU_HOUR_PMS


def every_kind() -> Lines:
    """A line of each kind that there can be."""
    lines = Lines()
    job = content_id("workload", "vision-job")
    lines.line("8.610000", workload_id=job, quantity_pms=gpu_hours("2.1"))
    lines.line("2.571429", team="nlp", unit_price="3", rate_id=8, quantity_pms=gpu_hours("6") // 7)
    lines.line("0", team="nlp", unit_price="0", rate_id=9, quantity_pms=gpu_hours("1"), model="NVIDIA A30")
    lines.line("0.5", measure="cpu_hour", unit_price="0.05", quantity="10", workload_id=job)
    lines.line("0.2", measure="memory_gib_hour", unit_price="0.01", quantity="20", workload_id=job)
    lines.line("102.5", "unallocated", "own", quantity_pms=gpu_hours("25"))
    lines.line("41", "unavailable", "own", quantity_pms=gpu_hours("10"))
    lines.line("4.1", "unobserved", "own", quantity_pms=gpu_hours("1"), pool=None, model=None)
    lines.shared("68.333334", "vision")
    lines.shared("34.166666", "nlp")
    lines.adjusted("-41", "unavailable", account="own")
    lines.adjusted("-1.722", "faulted", workload_id=job, quantity_pms=gpu_hours("-0.42"))
    lines.adjusted("-3", "lent", unit_price="1.50")
    lines.adjusted("-0.8", "lost", workload_id=job)
    lines.adjusted("-0.861", "discount", unit_price=None)
    lines.adjusted("0.4", "idle", unit_price="0.40", workload_id=job)
    lines.adjusted("12", "reserved", unit_price="0.50")
    lines.adjusted("2.25", "borrowed")
    lines.adjusted("0.123456", "price", unit_price=None)
    lines.adjusted("1.44", "energy", measure="kwh", unit_price="0.24", quantity="6", workload_id=job)
    lines.adjusted("300", "commitment", measure="commitment", unit_price="9000", rate_id=11, quantity="4")
    lines.adjusted("-250.000001", "commitment", rate_id=11, quantity_pms=gpu_hours("-61"))
    lines.adjusted("5.37", "trueup", measure="invoice", unit_price=None)
    old = lines.line("10", business_day="2026-10-20", workload_id=job)
    credited = lines.adjusted("-2", "lent", business_day="2026-10-20")
    late = {"business_day": "2026-11-24", "kind": "correction"}
    lines.line(
        "-1.5", corrects=old, detail="base", workload_id=job, quantity_pms=gpu_hours("-0.365853"), **late
    )
    lines.line("0.75", corrects=credited, detail="adjustment", **late)
    lines.line("3.25", detail="base", workload_id=job, unit_price="4.10", **late)
    lines.line("-2.5", corrects=old, detail="credit", unit_price=None, **late)
    lines.line("2.5", account="clearing", detail="credit", unit_price=None, **late)
    lines.line("0.01", detail="trueup", unit_price=None, **late)
    return lines
