"""What a report says first: a sentence, the next step, four figures; and the bars behind its charts."""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from analytics.reports.charts import MANY_DAYS, DayBar, TeamBar
from analytics.reports.figures import GPU_HOUR_PMS, Amount, DayCost, IdleRow, Report, TeamRow, WonBack
from analytics.reports.theme import SERIES, STATES
from quartermaster.parts import GPU_PARTS

REST = "Other teams"
_THIN = 0.8  # below this coverage the figures are read with care
_LITTLE = 0.02  # an idle share below this is nothing to act upon
_NOTHING = Decimal(0)
_ORDER = (*SERIES, "series_rest", *(state.name for state in STATES))  # of a stack, from the bottom up


@dataclass(frozen=True, slots=True)
class Card:
    """One figure with its unit, what it stands against, and whether it asks for attention."""

    label: str
    value: str
    note: str
    alarming: bool = False


@dataclass(frozen=True, slots=True)
class LegendRow:
    """One entry of a chart's legend: its colour's token, its name and its amount."""

    token: str
    name: str
    amount: str


def whose(report: Report) -> str:
    """Of whom the report tells: `Team vision`, `Department research`, `All teams`."""
    audience = report.audience
    return f"{audience.kind.capitalize()} {audience.name}" if report.some else "All teams"


def period(report: Report) -> str:
    """The span in words: `week 48`, `November 2026`, `period FY2026-P11`."""
    if report.unit == "week":
        return f"week {int(report.span[-2:])}"
    if report.unit == "period":
        return f"period {report.span}"
    return f"{date.fromisoformat(report.days[0]):%B %Y}"


def heading(report: Report) -> str:
    """What the report is of: `GPU cost and use, week 48`."""
    return f"{'GPU cost and use' if report.priced else 'GPU use'}, {period(report)}"


def facts(report: Report) -> tuple[str, ...]:
    """What every figure stands on: the days, whose they are, in which zone and currency."""
    told = span_words(report), whose(report), f"days of {report.time_zone}"
    told = (*told, f"amounts in {report.currency}") if report.priced else told
    return told if report.closed is None else (*told, report.closed.words)


def headline(report: Report) -> str:
    """One sentence: what the week cost (or held, without prices) and how much of it stood idle."""
    split, idle, free = report.split, report.split.idle, report.split.unallocated
    subject = whose(report) if report.some else "The fleet"
    if report.some and not split.held.pms:
        owes = f" and owes {money(report, report.billed, 0)}" if report.priced else ""
        return f"{subject} held no GPU{owes}."
    if not report.priced:
        had = f"{subject} {'held' if report.some else 'had'} {hours(split.capacity)} GPU-hours"
        return f"{had}; {hours(idle)} of them ({share(idle.pms, split.capacity.pms)}) stood idle while held."
    cost = split.capacity.cost
    total = report.billed if report.some else report.pool_cost
    told = f"{subject} cost {money(report, total, 0)}; "
    told += f"{money(report, idle.cost, 0)} of it ({share(idle.cost, cost)}) stood idle while held"
    if report.some or not free.pms:
        return f"{told}."
    return f"{told}, and {money(report, free.cost, 0)} ({share(free.cost, cost)}) was held by nobody."


def next_step(report: Report) -> str:
    """One sentence: what to do about it, beginning where most is wasted."""
    split = report.split
    if split.held.pms and (split.coverage or 0) < _THIN:
        known = percent(split.coverage)
        return f"First see to the telemetry: only {known} of the held time is known, and unknown is not idle."
    if not report.idlest or split.idle.pms < _LITTLE * split.capacity.pms:
        return "Little stood idle; nothing needs to be done."
    worst = report.idlest[0]
    named = min(3, len(report.idlest))
    wasted = sum((row.wasted for row in report.idlest[:named]), Amount())
    part = "1 workload stands" if named == 1 else f"{named} workloads stand"
    amount = money(report, wasted.cost, 0) if report.priced else f"{hours(wasted)} GPU-hours"
    first = f"{title(worst)} of team {worst.workload.team}"
    return f"{part} for {amount} of waste. Begin with {first}: {worst.advice}"


def won_back(report: Report, won: WonBack | None) -> str:
    """One sentence: what was taken, and what others held of it; "" where nothing was."""
    if won is None:
        return ""
    given = f"{hours(Amount(won.given_pms))} GPU-hours"
    if report.some:
        kind, name = report.audience.kind, report.audience.name
        return f"Of {kind} {name} {_stopped(won)}; the {kind} was given {given} of all that was taken."
    taken = _stopped(won)
    return f"{taken[0].upper()}{taken[1:]}; others held their GPUs for {given}."


def _stopped(won: WonBack) -> str:
    again = f", and {won.started_again} started again" if won.started_again else ""
    whole = {0: "nothing was", 1: "1 workload was"}.get(won.stopped, f"{won.stopped:,} workloads were")
    return f"{whole} stopped{again}"


def cards(report: Report) -> tuple[Card, ...]:
    """The three figures of the first screen: cost, idle, computing."""
    split = report.split
    capacity = "held time" if report.some else "capacity"
    of_all = f"of {hours(split.capacity)} GPU-hours of {capacity}"
    idle_time = f"{share(split.idle.pms, split.capacity.pms)} of {hours(split.capacity)} GPU-hours"
    if report.priced:
        total = report.billed if report.some else report.pool_cost
        first = Card(
            "Billed" if report.some else "Cost of capacity", money(report, total, 0), _change(report)
        )
        note = f"{share(split.idle.cost, split.capacity.cost)} of the cost, {idle_time}"
        second = Card("Idle while held", money(report, split.idle.cost, 0), note, alarming=True)
    else:
        first = Card("Capacity", f"{hours(split.capacity)} GPU-h", "no rate card was in force: no prices")
        second = Card("Idle while held", f"{hours(split.idle)} GPU-h", idle_time, alarming=True)
    return first, second, Card("Computing", share(split.computing.pms, split.capacity.pms), of_all)


def footnote(report: Report) -> str:
    """What these figures rest on, in a sentence: coverage, and whether the span is over."""
    split = report.split
    if not split.held.pms:
        told = "Nothing was held, so there is nothing for telemetry to cover."
    elif split.unknown.pms:
        told = (
            f"Telemetry shows what {percent(split.coverage)} of the held time did; {hours(split.unknown)} GPU-hours "
            "are unknown, which is neither idle nor free."
        )
    else:
        told = "Telemetry shows what all of the held time did."
    if report.provisional:
        return f"{told} The {report.unit} is not complete: these figures are provisional."
    return told


def day_bars(report: Report) -> tuple[DayBar, ...]:
    """Cost by day (GPU-hours without prices): the five costliest teams, the rest, and what nobody held."""
    named = _series(report)
    sizes: dict[tuple[str, str], Decimal] = {}
    for row in report.by_day:
        key = row.day, named[row.is_team, row.name].token
        sizes[key] = sizes.get(key, _NOTHING) + _size(report, row)
    series = {entry.token: entry for entry in named.values()}
    return tuple(
        DayBar(day, series[token].name, token, _ORDER.index(token), float(size), _amount(report, size))
        for (day, token), size in sorted(
            sizes.items(), key=lambda item: (item[0][0], _ORDER.index(item[0][1]))
        )
    )


def day_legend(report: Report) -> tuple[LegendRow, ...]:
    """The series of `day_bars` from the bottom up, each with the week's amount."""
    named = _series(report)
    sums: dict[str, Decimal] = {}
    for row in report.by_day:
        token = named[row.is_team, row.name].token
        sums[token] = sums.get(token, _NOTHING) + _size(report, row)
    names = {entry.token: entry.name for entry in named.values()}
    return tuple(
        LegendRow(token, names[token], _amount(report, sums[token])) for token in _ORDER if sums.get(token)
    )


def day_note(report: Report) -> str:
    """What the bars by day show."""
    unit = report.currency or "GPU-hours"
    above = "" if len(report.days) > MANY_DAYS else "; the total stands above each bar"
    return f"{unit} a business day{above}"


def day_totals(report: Report) -> tuple[str, ...]:
    """Each day with its total, in words: `Mon 23 Nov 7,412 EUR`."""
    totals = dict.fromkeys(report.days, _NOTHING)
    for row in report.by_day:
        totals[row.day] += _size(report, row)
    return tuple(
        f"{date.fromisoformat(day):%a %-d %b} {_amount(report, total)}" for day, total in totals.items()
    )


def team_bars(report: Report, most: int = 12) -> tuple[TeamBar, ...]:
    """GPUs held on average by the teams that hold most, by state, with each team's guarantee."""
    span = max(1, report.known_ms)
    rows = sorted(report.by_team, key=lambda row: (-row.split.held.pms, row.team))[:most]
    return tuple(
        TeamBar(
            row.team,
            name,
            _gpus(amount.pms, span),
            _gpus(row.guaranteed_pms, span) or None,
            f"{_gpus(amount.pms, span):,.1f} GPUs on average",
        )
        for row in rows
        for name, amount in row.split.parts[:3]
    )


def split_hours(report: Report) -> dict[str, float]:
    """GPU-hours by state, for the split bar."""
    return {name: amount.gpu_hours for name, amount in report.split.parts}


def split_words(report: Report) -> str:
    """The split bar in words, for who cannot see it."""
    total = report.split.capacity.pms
    shown = dict(report.split.parts)
    return ", ".join(
        f"{state.label.lower()} {share(shown[state.name].pms, total)}"
        for state in STATES
        if shown[state.name].pms
    )


def title(row: IdleRow) -> str:
    """A workload as people name it: `Notebook vision/jupyter`."""
    return row.workload.title


def span_words(report: Report) -> str:
    """The span's days: `23–29 November 2026`, `28 December 2026 – 3 January 2027`."""
    first, last = date.fromisoformat(report.days[0]), date.fromisoformat(report.days[-1])
    if (first.year, first.month) == (last.year, last.month):
        return f"{first.day}–{last.day} {last:%B %Y}"
    beginning = f"{first.day} {first:%B}" if first.year == last.year else f"{first.day} {first:%B %Y}"
    return f"{beginning} – {last.day} {last:%B %Y}"


def money(report: Report, amount: Decimal | None, places: int = 2) -> str:
    """The report's words for an amount, in one piece: no line breaks between the figure and its currency."""
    return report.money(amount, places).replace(" ", "\u00a0")


def hours(amount: Amount) -> str:
    """GPU-hours for the eye: `21,504`, below ten with one decimal."""
    return f"{amount.gpu_hours:,.{0 if amount.gpu_hours >= 10 or not amount.pms else 1}f}"


def share(part: int | Decimal, whole: int | Decimal) -> str:
    """`18.9 %`; `–` of nothing."""
    return f"{100 * part / whole:.1f}\u00a0%" if whole else "–"


def percent(ratio: float | None) -> str:
    """A ratio in [0, 1] as `97.2 %`; `–` where it is not known. Never rounds up to 100 %."""
    if ratio is None:
        return "–"
    return f"{min(100 * ratio, 99.9) if ratio < 1 else 100:.1f}\u00a0%".replace("100.0", "100")


def idle_share(row: TeamRow) -> str:
    """Which part of what the team held stood idle."""
    return share(row.split.idle.pms, row.split.held.pms)


def idle_percent(row: TeamRow) -> str:
    """The same as a number for a bar's width."""
    return f"{100 * row.split.idle.pms / row.split.held.pms:.1f}" if row.split.held.pms else "0"


def price(unit_price: Decimal) -> str:
    """A price for the eye: at least two decimals, and no more than it has."""
    whole, _, places = f"{unit_price:,f}".partition(".")
    return f"{whole}.{places.rstrip('0').ljust(2, '0')}"


def _change(report: Report) -> str:
    before = report.pool_cost_before
    if before is None or not before:
        return f"no {report.unit} before to compare with"
    if report.provisional:
        return f"so far; {money(report, before, 0)} in the {report.unit} before"
    change = 100 * (report.pool_cost - before) / before
    return f"{change:+.1f}\u00a0% against the {report.unit} before".replace("-", "−")


@dataclass(frozen=True, slots=True)
class _Series:
    name: str
    token: str


def _series(report: Report) -> dict[tuple[bool, str], _Series]:
    """Which series each row of `by_day` belongs to; a sixth team keeps its name when it is the last."""
    sizes: dict[str, Decimal] = {}
    for row in report.by_day:
        if row.is_team:
            sizes[row.name] = sizes.get(row.name, _NOTHING) + _size(report, row)
    ranked = sorted(sizes, key=lambda name: (-sizes[name], name))
    rest = ranked[len(SERIES) :]
    series = {(True, name): _Series(name, token) for name, token in zip(ranked, SERIES, strict=False)}
    series |= {(True, name): _Series(name if len(rest) == 1 else REST, "series_rest") for name in rest}
    return series | {(False, state.name): _Series(state.label, state.name) for state in STATES}


def _size(report: Report, row: DayCost) -> Decimal:
    return row.cost if report.priced else Decimal(row.pms) / GPU_HOUR_PMS


def _amount(report: Report, size: Decimal) -> str:
    return money(report, size, 0) if report.priced else f"{size:,.0f} GPU-hours"


def _gpus(pms: int, span_ms: int) -> float:
    return pms / span_ms / GPU_PARTS
