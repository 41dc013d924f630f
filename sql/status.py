"""How things stand: how far each source and the roll-up are, what is open, how much there is. Figures
only."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quartermaster.clock import MINUTE_MS
from sql.ledger import Ledger

# A source is behind where it was not heard for the roll-up's five minutes and what a sample speaks for.
_PATIENCE_MS = 5 * MINUTE_MS
_QUERIES = Path(__file__).parent / "queries" / "status"


Asked = tuple[str, str, str]  # cluster, source, covers


@dataclass(frozen=True)
class Source:
    """A source of a cluster: nothing before `complete_until_ms` is missing, save its gaps; it was heard last at
    `heard_ms`. Coverage, of the day before the roll-up's end: of telemetry known ÷ held, as far as it speaks of the
    devices; of holders observed ÷ capacity."""

    cluster: str
    source: str
    covers: str  # telemetry | holders | quota | devices
    heard_ms: int | None
    complete_until_ms: int | None
    lag_ms: int | None  # since complete_until_ms
    watch_lag_ms: int | None  # how far a watch was behind when it told last; None: it is not watched
    interval_ms: int  # 0: it tells when there is something to tell
    clock_ahead_ms: (
        int  # by how much its clock is ahead of ours, where they are apart; its times are on its own
    )
    coverage: float | None
    open_gaps: int
    asked: bool  # the configuration has it
    behind: bool  # asked, and not heard for longer than the roll-up waits


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


def status(ledger: Ledger, now_ms: int, asked: Collection[Asked] = ()) -> Status:
    """The status of a ledger at this program's revision. Lags are from `now_ms`; sources that are `asked` and told
    nothing yet are shown too. Raises LedgerError."""
    amounts = _rows(ledger, "ledger")[0]
    return Status(
        revision=ledger.revision(),
        sources=_sources(ledger, now_ms, asked),
        clusters=tuple(_rolled(row, now_ms) for row in _rows(ledger, "clusters")),
        samples=amounts["samples"],
        last_sample_ms=amounts["last_sample_ms"],
        usage_rows=amounts["usage_rows"],
        charges=amounts["charges"],
    )


def _sources(ledger: Ledger, now_ms: int, asked: Collection[Asked]) -> tuple[Source, ...]:
    covered = {
        (row["cluster"], row["source"], row["covers"]): row["coverage"] for row in _rows(ledger, "coverage")
    }
    found: dict[Asked, Source] = {key: _silent(key) for key in asked}
    for row in _rows(ledger, "sources", now_ms=now_ms):
        key = (row["cluster"], row["source"], row["covers"])
        complete_ms = row["complete_until_ms"]
        known = [at for at in (row["heard_ms"], complete_ms) if at is not None]
        its_now_ms = now_ms + row["clock_ahead_ms"]
        late = not known or its_now_ms - min(known) > _PATIENCE_MS + row["interval_ms"] * 5 // 2
        found[key] = Source(
            **row,
            lag_ms=None if complete_ms is None else its_now_ms - complete_ms,
            coverage=covered.get(key),
            asked=key in asked,
            behind=key in asked and late,
        )
    return tuple(found[key] for key in sorted(found, key=lambda key: (key[0], key[2], key[1])))


def _silent(key: Asked) -> Source:
    return Source(
        *key,
        heard_ms=None,
        complete_until_ms=None,
        lag_ms=None,
        watch_lag_ms=None,
        interval_ms=0,
        clock_ahead_ms=0,
        coverage=None,
        open_gaps=0,
        asked=True,
        behind=True,
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


def _rows(ledger: Ledger, name: str, **parameters: object) -> list[dict[str, Any]]:
    return ledger.query((_QUERIES / f"{name}.sql").read_text(encoding="utf-8"), parameters).to_dicts()
