"""Landing: a replay's records and samples written into a ledger."""

from collections.abc import Callable

from quartermaster.clock import DAY_MS, MINUTE_MS
from simulator.replay import Replay
from simulator.telemetry import Telemetry
from sql.ledger import Ledger

_COARSE_MS = 5 * MINUTE_MS


def land(replay: Replay, ledger: Ledger, interval_ms: int, told: Callable[[float], None]) -> dict[str, int]:
    """Append the whole replay, with samples every `interval_ms`; the rows of each table.

    A commit holds a month of samples, or two days where they are closer than five minutes. Doing it twice
    changes nothing. `told` hears how much is done (0–1).
    """
    name = f"replay/{replay.trace.name}/{replay.seed}/{replay.start_ms}/{interval_ms}"
    records = replay.records()
    ledger.append(f"{name}/records", records)
    counts = {table: len(frame) for table, frame in records.items()} | {"samples": 0}
    span_ms = 31 * DAY_MS if interval_ms >= _COARSE_MS else 2 * DAY_MS
    for number, frame in enumerate(Telemetry(replay, interval_ms).frames(span_ms)):
        ledger.append(f"{name}/samples/{number}", {"samples": frame})
        counts["samples"] += len(frame)
        told(min(1.0, (number + 1) * span_ms / (replay.end_ms - replay.start_ms)))
    return counts
