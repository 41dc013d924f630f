"""Retention: how long samples and snapshots are kept, and what is old enough to go."""

from dataclasses import dataclass, field
from pathlib import Path

from quartermaster.clock import DAY_MS, HOUR_MS
from quartermaster.errors import InputError
from sql.ledger import Ledger

# Tables whose rows may go, and the time that counts. All others are evidence of closed periods, or small.
RETIRABLE = {"samples": "sampled_at"}
# An idempotency key, and a name that was erased, live as long as the snapshots that hold them.
SNAPSHOTS_KEPT_MS = 7 * DAY_MS
# A sample speaks into the hour after it, and late data re-opens hours.
_ROLLED_MARGIN_MS = 2 * HOUR_MS


@dataclass(frozen=True)
class Retention:
    """How long snapshots are kept, and the rows of tables by name: one without an entry keeps all.

    Raises InputError for a table whose rows must stay.
    """

    snapshots_ms: int = SNAPSHOTS_KEPT_MS
    tables_ms: dict[str, int] = field(default_factory=dict[str, int])

    def __post_init__(self) -> None:
        for table in self.tables_ms:
            if table not in RETIRABLE:
                raise InputError(
                    f"rows of {table} are kept: they are evidence, or small",
                    f"a retention can be set for {', '.join(RETIRABLE)}",
                )


@dataclass(frozen=True)
class Old:
    """Rows that may go: those of a cluster until and with `until_us`, the last one in the oldest file."""

    table: str
    column: str
    cluster: str
    until_us: int
    rows: int


def retirable(ledger: Ledger, now_ms: int, keep: Retention) -> Old | None:
    """The oldest file whose rows may all go: kept long enough, and rolled up well before. Or None."""
    for table, kept_ms in keep.tables_ms.items():
        column = RETIRABLE[table]
        values = {
            "table_name": table,
            "column_name": column,
            "until_ms": now_ms - kept_ms,
            "margin_ms": _ROLLED_MARGIN_MS,
        }
        found = ledger.query(text("oldest_file"), values)
        if len(found):
            cluster, until_us, rows = found.row(0)
            return Old(table, column, cluster, until_us, rows)
    return None


def expirable(ledger: Ledger, now_ms: int, keep: Retention, *, at_most: int) -> list[int]:
    """The oldest snapshots to forget: old enough, and before the last that the roll-up has read."""
    values = {"until_us": (now_ms - keep.snapshots_ms) * 1000, "at_most": at_most}
    return ledger.query(text("old_snapshots"), values).to_series().to_list()


def text(name: str) -> str:
    """The text of sql/queries/upkeep/<name>.sql."""
    return (Path(__file__).parent / "queries" / "upkeep" / f"{name}.sql").read_text(encoding="utf-8")
