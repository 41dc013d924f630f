"""A ledger to write usage, prices and promises into by hand: what the roll-up and the configuration give."""

import json
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import polars as pl

from quartermaster.clock import HOUR_MS, from_iso
from quartermaster.ids import content_id
from quartermaster.parts import GPU_PARTS
from sql.ledger import Cursor, Ledger

START = "2026-11-23T00:00:00Z"  # the Monday of 2026-W48
TABLES = (
    *("cards_versions", "rates", "usage_hourly", "usage_daily", "quota_hourly", "charges"),
    *("teams_versions", "workloads_versions", "rollup_marks", "gaps_versions", "nodes_versions"),
    *("usage_late", "periods_versions", "statements", "corrections", "notifications"),
    *("invoices_versions", "disputes_versions", "budgets_versions"),
    *("team_rules_versions", "allocations_versions"),
    *("devices_versions", "deeds", "tariffs_versions", "carbon", "fx"),
)
TIMES = (
    *("capacity", "held", "computing", "idle", "unknown", "unallocated", "unavailable", "unobserved"),
    *("idle_confirmed", "stalled", "faulted", "not_started", "borrowed", "estimated", "overbooked"),
)
SUMS = [*(f"{name}_pms" for name in TIMES), "energy_j", "energy_known_pms", "activity_permille_pms"]
DAILY = f"""
insert into usage_daily by name
select
  cluster, strftime(row_start_at at time zone 'UTC', '%Y-%m-%d') as business_day,
  pool, model, team, workload_id,
  {", ".join(f"sum({name})::decimal(38, 0) as {name}" for name in SUMS)},
  max(activity_peak_permille) as activity_peak_permille, max(power_peak_dw) as power_peak_dw
from usage_hourly group by all
"""


@dataclass
class Books:
    """What a test writes into its ledger; `fill` puts all of it there at once."""

    store: Ledger
    rows: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    emptied: bool = False

    def card(self, card: str = "2026", start: str = "2026-01-01T00:00:00Z", **given: Any) -> None:
        """A rate card from `start`; `unallocated="even"` and the like say how it shares."""
        shares = {
            f"share_{kind}": given.pop(kind, "own") for kind in ("unallocated", "unavailable", "unobserved")
        }
        row = {"card": card, "card_id": content_id("card", card), "start_at": start, "end_at": None}
        row |= {"currency": "EUR", "bill_faulted": False, "revision": 0}
        row |= {"terms": json.dumps(given.pop("terms", {})), "source": "configuration"}
        self.add("cards_versions", **(row | shares | given))

    def rate(self, price: str, model: str = "*", pool: str = "*", cluster: str = "*", **given: Any) -> None:
        """The next line of a card's price list."""
        position = len(self.rows.get("rates", []))
        row: dict[str, Any] = {
            "card": "2026",
            "version": 1,
            "position": position,
            "measure": "gpu_hour",
            "currency": "EUR",
        }
        row |= {"cluster_glob": cluster, "pool_glob": pool, "model_glob": model, "price": Decimal(price)}
        row |= {"currency": "EUR", "start_at": "2026-01-01T00:00:00Z", "end_at": None, **given}
        rate_id = content_id("rate", row["card"], row["version"], position)
        self.add("rates", **({"rate_id": rate_id} | row))

    def usage(
        self, start: str = START, hours: float = 1, gpus: float = 1, team: str | None = None, **given: Any
    ) -> None:
        """A row of `gpus` for `hours`: idle held time of the team's workload, or unallocated without a team.

        `computing=0.5` and the like say which part of the whole time is so.
        """
        span_ms = round(hours * HOUR_MS)
        pms = round(gpus * GPU_PARTS) * span_ms
        times = {name: round(pms * given.pop(name)) for name in TIMES if name in given}
        times["capacity"] = pms
        if team:
            times |= {"held": pms, "idle": pms - times.get("computing", 0) - times.get("unknown", 0)}
        else:
            times["unallocated"] = pms - times.get("unavailable", 0) - times.get("unobserved", 0)
        workload = given.pop("workload", f"{team}-job") if team else None
        row = {f"{name}_pms": times.get(name, 0) for name in TIMES}
        row |= {"cluster": "demo", "pool": "training", "model": "NVIDIA H100", "node": "n1", "device_id": 1}
        row |= {"row_start_at": from_iso(start), "row_end_at": from_iso(start) + span_ms, "team": team}
        row |= {"workload_id": content_id("workload", workload) if workload else None}
        row |= {"allocation_id": content_id("pod", workload) if workload else None}
        row |= {"energy_j": 0, "energy_known_pms": 0, "activity_permille_pms": 0}
        row |= {"activity_peak_permille": None, "power_peak_dw": None}
        self.add("usage_hourly", **(row | given))

    def guarantee(self, team: str, gpus: float, start: str = START, hours: float = 1, **given: Any) -> None:
        """A row of quota_hourly."""
        pms = round(gpus * GPU_PARTS) * round(hours * HOUR_MS)
        row = {
            f"{name}_pms": 0
            for name in ("held", "within", "borrowed", "lent", "from_spare", "unused", "waiting")
        }
        row |= {"cluster": "demo", "pool": "training", "team": team, "guaranteed_pms": pms}
        row |= {"row_start_at": from_iso(start), "row_end_at": from_iso(start) + round(hours * HOUR_MS)}
        self.add("quota_hourly", **(row | given))

    def name(self, workload: str, kind: str, name: str, namespace: str = "ns") -> None:
        """What a workload is called."""
        row = {"cluster": "demo", "workload_id": content_id("workload", workload), "revision": 0}
        row |= {"start_at": "2026-01-01T00:00:00Z", "kind": kind, "namespace": namespace, "name": name}
        self.add("workloads_versions", **row)

    def rolled_until(self, instant: str, cluster: str = "demo") -> None:
        """How far the roll-up has read."""
        self.add("rollup_marks", cluster=cluster, snapshot_id=1, rolled_until_at=instant)

    def add(self, table: str, **row: Any) -> None:
        """Any row of any table; `_at` columns take ISO text too."""
        instants = {
            name: from_iso(v) for name, v in row.items() if name.endswith("_at") and isinstance(v, str)
        }
        self.rows.setdefault(table, []).append(row | instants)

    @property
    def ledger(self) -> Ledger:
        """The ledger, without what an earlier test wrote."""
        if not self.emptied:
            self._write({})
        return self.store

    def fill(self) -> Ledger:
        """Write what was said; usage_daily (in UTC days) follows from usage_hourly."""
        prices = {"price": pl.Decimal(18, 9)}
        frames = {
            table: pl.DataFrame(
                rows, infer_schema_length=None, schema_overrides=prices if table == "rates" else None
            )
            for table, rows in self.rows.items()
        }
        self.rows.clear()
        self._write(frames)
        return self.store

    def _write(self, frames: dict[str, pl.DataFrame]) -> None:
        def work(cursor: Cursor) -> None:
            for table in () if self.emptied else TABLES:
                cursor.execute(f"delete from {table}")
            for table, frame in frames.items():
                self.store.insert(cursor, table, frame, recorded_at=0)
            if "usage_hourly" in frames:
                cursor.execute("delete from usage_daily")
                cursor.execute(DAILY)

        self.store.write(f"books/{snapshot(self.store)}", work)
        self.emptied = True

    def lines(self) -> list[dict[str, Any]]:
        """All charges, in order."""
        return self.ledger.query("select * exclude (recorded_at) from charges order by all").to_dicts()


def snapshot(ledger: Ledger) -> int:
    """The ledger's last snapshot: each write makes a new one."""
    return ledger.query("select max(snapshot_id) as n from ducklake_snapshots('lake')").item()
