"""Freshness: why the ledger is too old, or too thin, for a plan."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from enforcer.idleness import FRESH_INTERVALS
from quartermaster.clock import to_iso
from quartermaster.config.acting import LEAST_COVERAGE_PERMILLE
from quartermaster.config.policy import PolicyPart

Lags = Mapping[tuple[str, str], tuple[int | None, int]]


@dataclass(frozen=True)
class Refusal:
    """That nothing is planned at an instant, and why. `heard_ms`: how far the ledger is complete; None: not at all."""

    cluster: str
    at_ms: int
    reasons: tuple[str, ...]
    heard_ms: int | None = None


def stale(lags: Lags, policy: PolicyPart) -> Iterator[str]:
    """Why what the sources told is too old, one sentence each. A source of telemetry may be two intervals behind."""
    for (source, covers), (lag_ms, interval_ms) in sorted(lags.items()):
        bound_ms = max(policy.behind_ms, FRESH_INTERVALS * interval_ms if covers == "telemetry" else 0)
        if lag_ms is None:
            yield f"{source or 'no source'} has never told about {covers}"
        elif lag_ms > bound_ms:
            yield (
                f"{source} told about {covers} {_span(lag_ms)} ago; nothing is planned on what is older than "
                f"{_span(bound_ms)}"
            )


def thin(held_pms: int, known_pms: int) -> Iterator[str]:
    """Why too little is known of what is held."""
    if known_pms * 1000 < LEAST_COVERAGE_PERMILLE * held_pms:
        percent = known_pms * 1000 // held_pms / 10
        yield (
            f"of what is held {percent:g} % is known; nothing is planned below {LEAST_COVERAGE_PERMILLE / 10:g} %"
        )


def heard_ms(lags: Lags, at_ms: int) -> int | None:
    """Up to when all of them have told."""
    known = [at_ms - lag_ms for lag_ms, _ in lags.values() if lag_ms is not None]
    return min(known) if len(known) == len(lags) else None


def words(refusal: Refusal) -> str:
    """The refusal for a person."""
    return (
        f"{refusal.cluster}: nothing is planned as of {to_iso(refusal.at_ms)}: {'; '.join(refusal.reasons)}."
    )


def _span(span_ms: int) -> str:
    seconds = span_ms // 1000
    if seconds < 600:
        return f"{seconds} s"
    minutes = seconds // 60
    hours, rest = divmod(minutes, 60)
    days, some = divmod(hours, 24)
    return f"{days} d {some} h" if days else f"{hours} h {rest} min" if hours else f"{minutes} min"
