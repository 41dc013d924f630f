"""The ledger: whether it is there, at this program's revision, up to date, and without a row that breaks a rule."""

from collections.abc import Callable, Iterator

from cli.checkup.line import Line, ok, trouble, warning
from quartermaster.clock import HOUR_MS, MINUTE_MS
from quartermaster.config.model import Configuration
from sql.checks import names, run
from sql.configured import open_configured
from sql.ledger import Ledger
from sql.revision import check
from sql.status import Asked, Status, status

_ROLLUP_LATE_MS = 3 * HOUR_MS


def ledger(
    configuration: Configuration,
    asked: list[Asked],
    now_ms: int,
    *,
    quick: bool,
    begun: Callable[[str], None],
) -> Iterator[Line]:
    """All of it; with `quick` without the checks of its rows. Raises LedgerError."""
    place = configuration.ledger
    if place.catalog.reference == "sqlite" and not (place.path / "catalog.sqlite").exists():
        yield warning("ledger", f"there is none in {place.path} yet", "quartermaster collect makes one")
        return
    with open_configured(configuration, read_only=True) as opened:
        check(opened.revision(), opened.where)
        yield ok("ledger", f"{opened.where} is at this program's revision, {opened.revision()}")
        yield from _lags(status(opened, now_ms, asked))
        if not quick:
            yield from _rules(opened, begun)


def _lags(stand: Status) -> Iterator[Line]:
    for each in stand.sources:
        named = f"{each.source} of {each.cluster} ({each.covers})"
        if each.behind:
            heard = "was never heard" if each.heard_ms is None else "has not been heard for too long"
            yield warning(
                "ledger",
                f"{named} {heard}",
                "is quartermaster collect running? Its log says what it waits for",
            )
        elif each.asked:
            yield ok("ledger", f"{named} is heard, {each.open_gaps} gaps are open")
    for cluster in stand.clusters:
        minutes = cluster.lag_ms // MINUTE_MS
        lag = f"{minutes} min" if minutes < 120 else f"{minutes // 60} h"
        behind = f"{cluster.cluster}: usage is rolled up until {lag} ago"
        if cluster.lag_ms > _ROLLUP_LATE_MS:
            yield warning("ledger", behind, "quartermaster rollup says which source it waits for")
        else:
            yield ok("ledger", behind)


def _rules(opened: Ledger, begun: Callable[[str], None]) -> Iterator[Line]:
    breaches = run(opened, begun=begun)
    for each in breaches:
        yield trouble(
            "ledger",
            f"{each.count} rows break the rule {each.check}: {each.rule}",
            f"quartermaster rollup; if they stay: quartermaster ledger check {each.check}",
        )
    if not breaches:
        yield ok("ledger", f"{len(names())} checks, and no row breaks a rule")
