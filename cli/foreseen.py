"""What the enforcer would have made of the demo's week: plans in shadow and findings, in the ledger."""

from typing import TYPE_CHECKING

from quartermaster.clock import HOUR_MS

if TYPE_CHECKING:
    from collections.abc import Callable

    from quartermaster.config.model import Configuration
    from sql.ledger import Ledger

_STEP_HOURS = 4


def foresee(configuration: "Configuration", ledger: "Ledger", tick: "Callable[[int], object]") -> str:
    """Record the week's shadow plans, each made of what was known then, and note what is found at its end.

    Says in words how many they would have taken, and how many of those computed again; `tick` is told the instant of
    each plan. Raises LedgerError.
    """
    from analytics.findings import find
    from analytics.noted import note
    from analytics.regret import watch
    from cli.past import span_of
    from cli.planned import ruling
    from cli.regrets import figures, in_short
    from enforcer.recorded import record
    from enforcer.replay import replay
    from enforcer.shadow import Shadow

    cluster = configuration.clusters[0].name
    span = span_of(ledger, cluster)
    if span is None:
        return ""
    made: list[Shadow] = []
    step_ms = _STEP_HOURS * HOUR_MS
    with ledger.reading() as cursor:
        done = replay(
            cursor, cluster, span, ruling(configuration), step_ms=step_ms, tick=tick, keep=made.append
        )
        watched = watch(cursor, done.victims)
    for each in made:
        record(ledger, each.plan, each.ids)
    at_ms = span[1] // HOUR_MS * HOUR_MS
    found = find(
        ledger,
        cluster,
        at_ms,
        settings=configuration.findings,
        policy=configuration.policy,
        time_zone=configuration.business.time_zone,
    )
    note(ledger, cluster, found, at_ms)
    return f"{len(made)} plans, and nothing is done. {in_short(figures(watched)['all'])}"
