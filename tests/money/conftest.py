"""A ledger to write usage, prices and guarantees into by hand: what the roll-up and the configuration give otherwise."""

from collections.abc import Generator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pytest

from quartermaster.clock import HOUR_MS, from_iso
from quartermaster.ids import content_id
from quartermaster.parts import GPU_PARTS
from sql.ledger import Ledger, memory_ledger

START = "2026-11-23T00:00:00Z"  # the Monday of 2026-W48
TABLES = (
    "cards_versions rates usage_hourly usage_daily quota_hourly lending_hourly charges teams_versions workloads_versions "
    "rollup_marks gaps_versions allocations_versions"
).split()
USAGE = (
    "capacity held computing idle unknown unallocated unavailable unobserved idle_confirmed stalled faulted not_started "
    "borrowed estimated overbooked"
).split()
SUMS = [f"{name}_pms" for name in USAGE] + ["energy_j", "energy_known_pms", "activity_permille_pms"]
DAILY = f"""
insert into usage_daily by name
select cluster, strftime(row_start_at at time zone 'UTC', '%Y-%m-%d') as business_day, pool, model, team, workload_id,
  {", ".join(f"sum({name})::decimal(38, 0) as {name}" for name in SUMS)},
  max(activity_peak_permille) as activity_peak_permille, max(power_peak_dw) as power_peak_dw
from usage_hourly group by all
"""


@dataclass
class Books:
    """What a test writes into its ledger; `fill` puts all of it there at once."""

    ledger: Ledger
    rows: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def card(self, card: str = "2026", start: str = "2026-01-01T00:00:00Z", **given: Any) -> None:
        shares = {
            f"share_{kind}": given.pop(kind, "own") for kind in ("unallocated", "unavailable", "unobserved")
        }
        row = {
            "card": card,
            "start_at": from_iso(start),
            "end_at": None,
            "currency": "EUR",
            "bill_faulted": False,
            "revision": 0,
        }
        end = given.pop("end", None)
        self._add(
            "cards_versions",
            {**row, "card_id": content_id("card", card), **shares, **given}
            | ({"end_at": from_iso(end)} if end else {}),
        )

    def rate(self, price: str, model: str = "*", pool: str = "*", cluster: str = "*", **given: Any) -> None:
        position = len(self.rows.get("rates", []))
        row = {
            "card": "2026",
            "version": 1,
            "position": position,
            "measure": "gpu_hour",
            "unit": "gpu_hour",
            "currency": "EUR",
        }
        row |= {"cluster_glob": cluster, "pool_glob": pool, "model_glob": model, "price": Decimal(price)}
        row |= {"start_at": from_iso(given.pop("start", "2026-01-01T00:00:00Z")), "end_at": None, **given}
        self._add(
            "rates", {**row, "rate_id": content_id("rate", row["card"], row["version"], row["position"])}
        )

    def usage(
        self, start: str = START, hours: float = 1, gpus: float = 1, team: str | None = None, **given: Any
    ) -> None:
        """A row of `gpus` for `hours`: idle held time of the team's workload, or unallocated without a team.

        `computing=0.5` and the like say which part of the whole time is so.
        """
        pms = round(gpus * GPU_PARTS) * round(hours * HOUR_MS)
        start_ms = from_iso(start)
        parts = {name: round(pms * given.pop(name)) for name in USAGE if name in given}
        workload = given.pop("workload", f"{team}-job") if team else None
        free = {"unallocated": pms - parts.get("unavailable", 0) - parts.get("unobserved", 0)}
        busy = {"held": pms, "idle": pms - parts.get("computing", 0) - parts.get("unknown", 0)}
        values = {
            f"{name}_pms": value
            for name, value in ({"capacity": pms} | (busy if team else free) | parts).items()
        }
        names = {"cluster": "demo", "pool": "training", "model": "NVIDIA H100", "node": "n1", "device_id": 1}
        row = {f"{name}_pms": 0 for name in USAGE} | values | names
        row |= {"row_start_at": start_ms, "row_end_at": start_ms + round(hours * HOUR_MS), "team": team}
        row |= {"workload_id": content_id("workload", workload) if workload else None}
        row |= {"allocation_id": content_id("pod", workload) if workload else None}
        row |= {"activity_peak_permille": None, "power_peak_dw": None}
        row |= {"energy_j": 0, "energy_known_pms": 0, "activity_permille_pms": 0}
        self._add("usage_hourly", row | given)

    def guarantee(
        self,
        team: str,
        gpus: float,
        start: str = START,
        hours: float = 1,
        pool: str = "training",
        **given: int,
    ) -> None:
        start_ms = from_iso(start)
        pms = round(gpus * GPU_PARTS) * round(hours * HOUR_MS)
        row = {
            "cluster": "demo",
            "row_start_at": start_ms,
            "row_end_at": start_ms + round(hours * HOUR_MS),
            "team": team,
            "pool": pool,
        }
        row |= {
            f"{name}_pms": 0
            for name in ("held", "within", "borrowed", "lent", "from_spare", "unused", "waiting")
        }
        self._add("quota_hourly", {**row, "guaranteed_pms": pms, **given})

    def add(self, table: str, **row: Any) -> None:
        """Any row of any table; `_at` columns take ISO text."""
        self._add(
            table,
            {
                name: from_iso(v) if name.endswith("_at") and isinstance(v, str) else v
                for name, v in row.items()
            },
        )

    def _add(self, table: str, row: dict[str, Any]) -> None:
        self.rows.setdefault(table, []).append(row)

    def fill(self) -> "Ledger":
        """Write what was said, and usage_daily (UTC days) from usage_hourly."""
        import polars as pl

        frames = {
            table: pl.DataFrame(rows, infer_schema_length=None)
            for table, rows in self.rows.items()
            if table != "rates"
        }
        rates = self.rows.get("rates", [])
        if rates:
            frames["rates"] = pl.DataFrame(
                rates, infer_schema_length=None, schema_overrides={"price": pl.Decimal(18, 9)}
            )
        count = self.ledger.query("select max(snapshot_id) as n from ducklake_snapshots('lake')").item()
        self.ledger.append(f"books/{count}", frames, recorded_at=0)
        self.rows.clear()
        self.ledger.write(
            f"daily/{count}",
            lambda cursor: (cursor.execute("delete from usage_daily"), cursor.execute(DAILY)) and None,
        )
        return self.ledger

    def lines(self) -> list[dict[str, Any]]:
        """All charges, in order."""
        return self.ledger.query("select * exclude (recorded_at) from charges order by all").to_dicts()


@pytest.fixture(scope="session")
def money_ledger() -> Generator[Ledger]:
    """One ledger for all tests of a process; `books` empties it."""
    with memory_ledger() as ledger:
        yield ledger


@pytest.fixture
def books(money_ledger: Ledger) -> Books:
    """An empty ledger to write into."""
    empty(money_ledger)
    return Books(money_ledger)


def empty(ledger: Ledger) -> None:
    """Delete what an earlier test wrote."""
    count = ledger.query("select max(snapshot_id) as n from ducklake_snapshots('lake')").item()
    ledger.write(
        f"empty/{count}", lambda cursor: [cursor.execute(f"delete from {table}") for table in TABLES] and None
    )
