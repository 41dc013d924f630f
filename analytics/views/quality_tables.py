"""Data quality as figures, bars and tables."""

from collections.abc import Iterable

from analytics.reports.charts import DayBar
from analytics.reports.figures import GPU_HOUR_PMS, Amount
from analytics.reports.summary import Card, LegendRow, hours, share
from analytics.reports.tables import Column, Kind, Table, in_hours, in_text
from analytics.reports.theme import STATE
from analytics.views.instants import lasting, minute
from analytics.views.quality import Quality

_THIN = 0.95  # below it coverage is a matter of attention


def cards(quality: Quality) -> tuple[Card, ...]:
    """Coverage, unobserved, estimated, and what no team is known for."""
    held, unknown = quality.total("held_pms"), quality.total("unknown_pms")
    covered = Card(
        "Coverage",
        share(held - unknown, held),
        f"{hours(Amount(unknown))} of {hours(Amount(held))} held GPU-hours are unknown",
        alarming=held - unknown < _THIN * held,
    )
    estimated = Card(
        "Estimated",
        share(quality.total("estimated_pms"), held),
        "of held time: its beginning or end is not sure",
    )
    if not quality.whole:
        return covered, estimated
    unobserved, capacity = quality.total("unobserved_pms"), quality.total("capacity_pms")
    unseen = Card(
        "Unobserved",
        share(unobserved, capacity),
        f"{hours(Amount(unobserved))} GPU-hours of capacity without anybody who could tell",
    )
    nobodys = quality.total("unassigned_pms")
    unassigned = Card(
        "Of no team", share(nobodys, held), f"{hours(Amount(nobodys))} held GPU-hours that no rule matches"
    )
    return covered, unseen, estimated, unassigned


def bars(quality: Quality) -> list[DayBar]:
    """What is not known of each day, in GPU-hours: unknown, and above it unobserved."""
    days = sorted({each.day for each in quality.days})
    return [
        DayBar(day, STATE[state].label, state, order, pms / GPU_HOUR_PMS, f"{hours(Amount(pms))} GPU-hours")
        for day in days
        for order, state in enumerate(("unknown", "unobserved"))
        for pms in (_of_day(quality, day, f"{state}_pms"),)
    ]


def _of_day(quality: Quality, day: str, name: str) -> int:
    return sum(getattr(each, name) for each in quality.days if each.day == day)


def legend(quality: Quality) -> list[LegendRow]:
    """The bars' colours, and how much there is of each."""
    return [
        LegendRow(state, STATE[state].label, f"{hours(Amount(quality.total(f'{state}_pms')))} GPU-h")
        for state in ("unknown", "unobserved")
    ]


def days(quality: Quality) -> Table:
    """Coverage by day and cluster, newest first."""
    columns = (
        *in_text("Day", "Cluster"),
        *in_hours("Held", "Unknown"),
        Column("Coverage", Kind.SHARE),
        *in_hours("Estimated"),
        *(in_hours("Unobserved") if quality.whole else []),
    )
    return Table(
        "days",
        "Coverage by day and cluster",
        "",
        columns,
        tuple(
            (
                each.day,
                each.cluster,
                each.held_pms,
                each.unknown_pms,
                (each.held_pms - each.unknown_pms, each.held_pms),
                each.estimated_pms,
                *((each.unobserved_pms,) if quality.whole else ()),
            )
            for each in reversed(quality.days)
        ),
        empty="Nothing of these days is rolled up.",
    )


def sources(quality: Quality, time_zone: str) -> Table:
    """Each source: until when it is complete, when it was heard last, what it made known, its open gaps."""
    return Table(
        "sources",
        "Sources",
        "",
        (
            *in_text("Source", "Tells", "Complete until", "Last heard"),
            Column("Coverage of the last day", Kind.TEXT),
            Column("Open gaps", Kind.COUNT),
        ),
        tuple(
            (
                f"{each.source} · {each.cluster}",
                each.covers,
                minute(each.complete_until_ms, time_zone),
                minute(each.heard_ms, time_zone),
                "–" if each.coverage is None else f"{100 * each.coverage:.1f} %",
                each.open_gaps,
            )
            for each in quality.sources
        ),
        empty="No source has told anything yet.",
    )


def gaps(quality: Quality) -> Table:
    """Who was silent, why, and for how long over all nodes."""
    return Table(
        "gaps",
        "Gaps by source and reason",
        "",
        (
            *in_text("Source", "Tells", "Why"),
            Column("Nodes", Kind.COUNT),
            Column("Gaps", Kind.COUNT),
            Column("Still open", Kind.COUNT),
            *in_text("Silent, over all nodes"),
        ),
        tuple(
            (
                f"{each.source} · {each.cluster}",
                each.covers,
                each.reason,
                each.nodes,
                each.gaps,
                each.still_open,
                lasting(each.silent_ms),
            )
            for each in quality.gaps
        ),
        empty="Every source was heard all the time.",
    )


def disagreements(quality: Quality, time_zone: str) -> Table:
    """What sources do not agree about, newest first."""
    return Table(
        "disagreements",
        "Disagreements",
        "",
        tuple(in_text("About", "What", "Since", "Until")),
        tuple(
            (
                f"{each.subject} · {each.cluster}",
                each.kind,
                minute(each.since_ms, time_zone),
                "still" if each.until_ms is None else minute(each.until_ms, time_zone),
            )
            for each in quality.disagreements
        ),
        empty="All sources told the same.",
    )


def unassigned(quality: Quality) -> Table:
    """The namespaces that no team rule matches, the largest first."""
    held = quality.total("held_pms")
    return Table(
        "unassigned",
        "Of no team",
        "",
        (
            *in_text("Namespace"),
            Column("Workloads", Kind.COUNT),
            *in_hours("Held"),
            Column("Of all held", Kind.SHARE),
        ),
        tuple(_nobodys(quality, held)),
        empty="Every workload is some team's.",
    )


def _nobodys(quality: Quality, held: int) -> Iterable[tuple[str, int, int, tuple[int, int]]]:
    for each in quality.unassigned:
        name = f"{each.namespace or 'no namespace'} · {each.cluster}"
        yield name, each.workloads, each.held_pms, (each.held_pms, held)
