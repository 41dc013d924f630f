"""The fluid optimum: what could be held at most if GPUs were water: no machines, no gangs, nobody's share."""

from collections.abc import Iterable

from enforcer.whatif.asked import Asked, Past
from quartermaster.parts import GPU_PARTS


def most_held_pms(past: Past) -> int:
    """No policy and no placement holds more: work runs no sooner than it is asked for, and on no more than there is.

    Work that is asked for flows in as if it ran at once; what there is no room for waits, and runs as soon as there
    is. All machines count as open.
    """
    found = 0
    for pool in {asked.pool for asked in past.asked}:
        asked = [each for each in past.asked if each.pool == pool]
        gpus = sum(machine.gpus for machine in past.machines if machine.pool == pool)
        found += _served(asked, gpus * GPU_PARTS, past.from_ms, past.until_ms)
    return found


def _served(asked: Iterable[Asked], capacity_parts: int, from_ms: int, until_ms: int) -> int:
    changes: list[tuple[int, int]] = [(until_ms, 0)]
    for each in asked:
        begins_ms = each.asked_ms if each.begun_ms is None else each.begun_ms
        changes += [(begins_ms, each.parts), (begins_ms + each.run_ms, -each.parts)]
    served = waiting = rate = 0
    at_ms = from_ms
    for when, change in sorted(changes):
        now_ms = min(max(when, at_ms), until_ms)
        span_ms, at_ms = now_ms - at_ms, now_ms
        flows = waiting + rate * span_ms
        runs = min(flows, capacity_parts * span_ms)
        served, waiting, rate = served + runs, flows - runs, rate + change
    return served
