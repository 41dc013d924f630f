"""How things stand: how far each source and the roll-up are, what is open, how much there is. Figures
only."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sql.ledger import Ledger

_QUERIES = Path(__file__).parent / "queries" / "status"


@dataclass(frozen=True)
class Source:
    """A source of a cluster: nothing before `complete_until_ms` is missing, save its gaps."""

    cluster: str
    source: str
    covers: str  # telemetry | holders | quota
    complete_until_ms: int | None
    lag_ms: int | None
    open_gaps: int


@dataclass(frozen=True)
class RolledCluster:
    """A cluster's roll-up, and the last seven days before it. Coverage is known ÷ held; None where nothing is
    held."""

    cluster: str
    rolled_until_ms: int
    lag_ms: int
    capacity_gpu_h: float
    held_gpu_h: float
    coverage: float | None


@dataclass(frozen=True)
class Status:
    """How a ledger stands at an instant."""

    revision: str
    sources: tuple[Source, ...]
    clusters: tuple[RolledCluster, ...]
    samples: int
    last_sample_ms: int | None
    usage_rows: int
    charges: int


def status(ledger: Ledger, now_ms: int) -> Status:
    """The status of a ledger at this program's revision. Lags are from `now_ms`. Raises LedgerError."""
    amounts = _rows(ledger, "ledger")[0]
    return Status(
        revision=ledger.revision(),
        sources=tuple(
            Source(
                row["cluster"],
                row["source"],
                row["covers"],
                row["complete_until_ms"],
                None if row["complete_until_ms"] is None else now_ms - row["complete_until_ms"],
                row["open_gaps"],
            )
            for row in _rows(ledger, "sources")
        ),
        clusters=tuple(_rolled(row, now_ms) for row in _rows(ledger, "clusters")),
        samples=amounts["samples"],
        last_sample_ms=amounts["last_sample_ms"],
        usage_rows=amounts["usage_rows"],
        charges=amounts["charges"],
    )


def _rolled(row: Mapping[str, Any], now_ms: int) -> RolledCluster:
    coverage = row["coverage"]
    return RolledCluster(
        row["cluster"],
        row["rolled_until_ms"],
        now_ms - row["rolled_until_ms"],
        float(row["capacity_gpu_h"] or 0),
        float(row["held_gpu_h"] or 0),
        None if coverage is None else float(coverage),
    )


def _rows(ledger: Ledger, name: str) -> list[dict[str, Any]]:
    return ledger.query((_QUERIES / f"{name}.sql").read_text(encoding="utf-8")).to_dicts()
