"""The past that regret looks at: its span within what is rolled up, and the planner run over it."""

from typing import TYPE_CHECKING

from cli import output
from cli.instants import instant
from cli.planned import ruling
from quartermaster.clock import DAY_MS, HOUR_MS, to_iso
from quartermaster.errors import InputError

if TYPE_CHECKING:
    from analytics.regret import Watched
    from enforcer.replay import Replay
    from quartermaster.config.model import Configuration
    from sql.ledger import Ledger

_PAST_MS = 90 * DAY_MS


def span_of(
    ledger: "Ledger", cluster: str, from_: str | None = None, to: str | None = None
) -> tuple[int, int] | None:
    """The span that is asked for, within what is rolled up; None where nothing is."""
    from enforcer.replay import rolled

    with ledger.reading() as cursor:
        known = rolled(cursor, cluster)
    if known is None:
        return None
    until_ms = known[1] if to is None else min(instant(to), known[1])
    # Before the first hour nothing is rolled up: the first plan is at its end.
    from_ms = max(until_ms - _PAST_MS if from_ is None else instant(from_), known[0] + HOUR_MS)
    if from_ms > until_ms:
        raise InputError(
            f"{cluster}: there is no hour from {to_iso(from_ms)} to {to_iso(until_ms)}",
            f"it is rolled up from {to_iso(known[0])} to {to_iso(known[1])}",
        )
    return from_ms, until_ms


def replayed(
    configuration: "Configuration", ledger: "Ledger", name: str, span: tuple[int, int], step: int = 1
) -> "tuple[Replay, list[Watched]]":
    """The planner run over a span, a plan every `step` hours, and what became of its would-be victims."""
    from analytics.regret import watch
    from enforcer.replay import replay

    with ledger.reading() as cursor, output.progress() as bar:
        task = bar.add_task("planning the past", total=span[1] - span[0])
        done = replay(
            cursor,
            name,
            span,
            ruling(configuration),
            step_ms=step * HOUR_MS,
            tick=lambda at_ms: bar.update(task, completed=at_ms - span[0]),
        )
        return done, watch(cursor, done.victims)
