"""An estimate of what filling some holes takes: series, samples, bytes, time; from a few short looks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from collector.prometheus.chunks import matchers, selector
from collector.prometheus.connection import Connection
from collector.prometheus.coverage import Span
from collector.prometheus.refusal import TooMuch, no_json
from collector.prometheus.slices import METRICS
from quartermaster.clock import MINUTE_MS
from quartermaster.errors import SourceError

# So many looks are taken, spread evenly over the holes; each at the samples of so long.
_LOOKS = 8
_LOOK_MS = (10 * MINUTE_MS, MINUTE_MS)
# No server has so many samples in ten minutes: beyond it a count is none.
_MOST = 1e12
# What bench/backfill.py measured on two cores, server included: JSON's bytes a sample, samples a second.
BYTES_A_SAMPLE, SAMPLES_A_SECOND = 25, 2_300_000


@dataclass(frozen=True, slots=True)
class Estimate:
    """What is expected of some metrics: at most so many series at once, so many samples in all; `per_ms` of them at
    the busiest look."""

    holes: tuple[Span, ...]
    metrics: tuple[str, ...]
    series: int
    samples: int
    per_ms: float

    @property
    def bytes(self) -> int:
        """The size of all answers."""
        return self.samples * BYTES_A_SAMPLE

    @property
    def seconds(self) -> float:
        """How long it takes at the speed that was measured on two cores."""
        return self.samples / SAMPLES_A_SECOND


def estimate(connection: Connection, match: Mapping[str, str], holes: Sequence[Span]) -> Estimate:
    """Look at some instants of the holes. Raises SourceError, and Partial where the server has not all of it."""
    more = matchers(match)
    chosen = selector(METRICS, more)
    names = {name for start, end in holes for name in connection.label_values("__name__", chosen, start, end)}
    metrics = tuple(sorted(names & set(METRICS)))
    apart = [selector((name,), more) for name in metrics]
    seen = [_look(connection, chosen, apart, at_ms) for at_ms in _instants(holes)] if apart else []
    whole_ms = sum(end - start for start, end in holes)
    rate = sum(per_ms for _, per_ms in seen) / max(1, len(seen))
    return Estimate(
        holes=tuple(holes),
        metrics=metrics,
        series=max((series for series, _ in seen), default=0),
        samples=int(rate * whole_ms),
        per_ms=max((per_ms for _, per_ms in seen), default=0.0),
    )


def _instants(holes: Sequence[Span]) -> list[int]:
    """The middles of equal pieces of the holes, laid end to end."""
    whole_ms = sum(end - start for start, end in holes)
    found: list[int] = []
    for number in range(_LOOKS if whole_ms else 0):
        left_ms = whole_ms * (2 * number + 1) // (2 * _LOOKS)
        for start_ms, end_ms in holes:
            if left_ms < end_ms - start_ms:
                found.append(start_ms + left_ms)
                break
            left_ms -= end_ms - start_ms
    return found


def _look(connection: Connection, chosen: str, apart: Sequence[str], at_ms: int) -> tuple[int, float]:
    """Series at an instant, and samples a millisecond before it; `apart` selects each metric for itself."""
    refused: TooMuch | None = None
    for window_ms in _LOOK_MS:
        counts = [f"(sum(count_over_time({each}[{window_ms}ms])) or vector(0))" for each in apart]
        try:
            series = connection.instant(f"count({chosen})", at_ms)
            samples = connection.instant(" + ".join(counts), at_ms)
        except TooMuch as error:
            refused = error
            continue
        counted = (series[0][1] if series else 0.0, samples[0][1] if samples else 0.0)
        if not all(0 <= each < _MOST for each in counted):
            raise no_json(
                connection.url, f"counts that are none: {counted[0]:g} series, {counted[1]:g} samples"
            )
        return int(counted[0]), counted[1] / window_ms
    raise SourceError(
        f"{connection.url}: it does not even count a minute's samples: {refused}",
        "raise the server's limits (--query.max-samples, --query.timeout), or ask it when it is less busy",
    )
