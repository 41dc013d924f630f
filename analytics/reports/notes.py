"""Notes: what the figures of a report do not know, in plain sentences."""

from collections.abc import Mapping, Sequence
from decimal import Decimal

from analytics.reports.figures import GPU_HOUR_PMS
from quartermaster.clock import to_iso


def notes(
    sums: Mapping[str, int],
    *,
    unit: str = "week",
    known_until_ms: int | None,
    provisional: bool,
    currency: str,
    uncharged_days: Sequence[str],
    unbilled_faults: Decimal,
    gaps: Sequence[tuple[str, str, int, int]],
) -> tuple[str, ...]:
    """The sentences, weightiest first. `sums` are times in pms; `gaps` are (covers, reason, nodes, count)."""
    found: list[str] = []
    if provisional:
        until = (
            "nothing of it has been rolled up"
            if known_until_ms is None
            else f"known until {_minute(known_until_ms)}"
        )
        found.append(f"Provisional: the {unit} is not complete ({until}).")
    if not currency:
        found.append("No rate card was in force: this report has hours and no costs.")
    elif uncharged_days:
        found.append(f"Not charged in full: {', '.join(uncharged_days)}. Costs leave that time out.")
    held = sums["held"]
    if held and sums["unknown"]:
        found.append(
            f"{_hours(sums['unknown'])} of held time ({_percent(sums['unknown'], held)}) are unknown: "
            "no telemetry spoke. Unknown is not idle."
        )
    if sums["unobserved"]:
        found.append(
            f"{_hours(sums['unobserved'])} are unobserved: nobody could tell whether they were held."
        )
    if sums["estimated"]:
        found.append(
            f"{_hours(sums['estimated'])} of held time are estimated: they lie outside what evidence bounds."
        )
    if sums["overbooked"]:
        found.append(
            f"{_hours(sums['overbooked'])} were claimed beyond what the devices have; they are not billed."
        )
    if sums["unassigned"]:
        found.append(
            f"{_hours(sums['unassigned'])} were held by nobody's team (unassigned): add a team rule."
        )
    if unbilled_faults:
        found.append(
            f"{_hours(sums['faulted'])} of held time were faulted: "
            f"{-unbilled_faults:,.2f} {currency} of its cost are billed to nobody."
        )
    found += [
        f"{covers.capitalize()}: {count:,} gap{_s(count)} on {nodes:,} node{_s(nodes)}, because of {reason}."
        for covers, reason, nodes, count in gaps
    ]
    return tuple(found)


def _hours(pms: int) -> str:
    return f"{pms / GPU_HOUR_PMS:,.1f} GPU-hours"


def _s(count: int) -> str:
    return "" if count == 1 else "s"


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %"


def _minute(instant_ms: int) -> str:
    return f"{to_iso(instant_ms)[:16].replace('T', ' ')} UTC"
