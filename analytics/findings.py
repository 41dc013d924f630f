"""Findings: what the ledger shows at an instant that somebody should know: idle, stalled, starving, borrowed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl

import sql
from analytics.found import Found, Kind
from analytics.judged import Terms, borrower_findings, promise_findings, workload_findings
from analytics.measure import FOREVER_MS, Cursor, Measure
from analytics.money.rates import Prices, read_prices
from quartermaster.clock import HOUR_MS
from quartermaster.config.findings import FindingsPart
from quartermaster.config.policy import PolicyPart
from quartermaster.errors import ConfigurationError
from sql.ledger import Ledger

_QUERIES = Path(sql.__file__).parent / "queries" / "findings"
# A sample speaks for at most so long, whatever it says: findings are about now.
_LONGEST_HOLD_MS = HOUR_MS


def find(
    ledger: Ledger,
    cluster: str,
    at_ms: int,
    *,
    settings: FindingsPart,
    policy: PolicyPart,
    time_zone: str = "UTC",
) -> tuple[Found, ...]:
    """What is noticed about a cluster at an instant, of the facts that the ledger has: by kind, then subject.

    Telemetry is read over the longest window of any kind of workload that there is; what was before is taken from
    usage_hourly and quota_hourly. Raises LedgerError.
    """
    with ledger.reading() as cursor:
        terms = Terms(at_ms, settings, policy, Priced(read_prices(cursor), at_ms).of)
        return look(cursor, cluster, terms, time_zone)


def look(cursor: Cursor, cluster: str, terms: Terms, time_zone: str = "UTC") -> tuple[Found, ...]:
    """The same by a cursor that stands where the ledger's tables are; all it makes is temporary."""
    return _Look(cursor, cluster, terms).found(time_zone)


@dataclass(frozen=True)
class Priced:
    """What a GPU-hour costs at an instant."""

    prices: Prices
    at_ms: int

    def of(self, cluster: str, pool: str, model: str) -> tuple[Decimal, str] | None:
        """The price of a GPU-hour and its currency; None where there is none."""
        try:
            card, rate = self.prices.at(cluster, pool, model, self.at_ms)
        except ConfigurationError:
            return None  # what has no price has a finding nevertheless
        return rate.price, card.currency


@dataclass(frozen=True)
class _Look:
    """One look at a cluster: the roll-up's own steps over the window, then the findings' queries on what they made."""

    cursor: Cursor
    cluster: str
    terms: Terms

    def found(self, time_zone: str) -> tuple[Found, ...]:
        at_ms = self.terms.at_ms
        windows = self._windows()
        longest_ms = max(windows.values())
        from_ms = (at_ms - longest_ms) // HOUR_MS * HOUR_MS
        measure = Measure(self.cursor, [self.cluster], from_ms, at_ms)
        measure.steps({self.cluster: (from_ms, at_ms)}, time_zone, _LONGEST_HOLD_MS, self._hear_all)
        given = {
            "cluster": self.cluster,
            "at_ms": at_ms,
            "from_ms": from_ms,
            "longest_window_ms": longest_ms,
            "quota_ms": self.terms.findings.quota_window_ms,
            "forever": FOREVER_MS,
        }
        self._give_windows(windows)
        for step in ("f1_stretches", "f2_holders", "f3_judged", "f4_promises"):
            self._run(step, given)
        heard_ms = self._rows("heard_until", given)[0]["heard_until_ms"]
        found = [
            *workload_findings(self._rows("workloads", given), self.terms, heard_ms),
            *promise_findings(self._rows("promises", given), self.terms, heard_ms),
            *borrower_findings(self._rows("borrowers", given), self.terms, heard_ms),
        ]
        kinds = list(Kind)
        return tuple(sorted(found, key=lambda each: (kinds.index(each.kind), each.subject)))

    def _windows(self) -> dict[str, int]:
        kinds = [row["kind"] for row in self._rows("kinds", {"cluster": self.cluster})]
        return {kind: self.terms.window_ms(kind) for kind in kinds}

    def _give_windows(self, windows: Mapping[str, int]) -> None:
        given = pl.DataFrame(
            {"kind": list(windows), "window_ms": list(windows.values())},
            schema={"kind": pl.String, "window_ms": pl.Int64},
        )
        self.cursor.register("given_rows", given)
        try:
            self.cursor.execute("create or replace temp table windows as from given_rows")
        finally:
            self.cursor.unregister("given_rows")

    def _hear_all(self, step: str) -> None:
        """The roll-up adds up as it listens, where one series alone speaks of a GPU: here every voice is kept."""
        if step == "s12_units":
            self.cursor.execute("update units set simple = false")

    def _run(self, name: str, given: Mapping[str, object]) -> None:
        text = _text(name)
        self.cursor.execute(text, {key: value for key, value in given.items() if f"${key}" in text})

    def _rows(self, name: str, given: Mapping[str, object]) -> Sequence[dict[str, Any]]:
        self._run(name, given)
        return self.cursor.pl().to_dicts()


def _text(name: str) -> str:
    return (_QUERIES / f"{name}.sql").read_text(encoding="utf-8")
