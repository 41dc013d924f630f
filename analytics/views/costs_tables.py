"""A period's books as figures and tables: what is owed, prices in force, the largest lines, disputes."""

from analytics.money.periods import Standing, State
from analytics.reports.figures import ZERO
from analytics.reports.finance import finance
from analytics.reports.questions import teams
from analytics.reports.summary import Card, money
from analytics.reports.tables import Column, Kind, Table, in_hours, in_money, in_text
from analytics.views.costs import Costs, Price
from analytics.views.instants import minute

_UNITS = {"gpu_hour": "GPU-hour"}


def cards(found: Costs, time_zone: str) -> tuple[Card, ...]:
    """The period in figures: what capacity cost, what teams owe, what nobody bears, how far its books are."""
    report, books = found.report, found.report.books
    owed = Card("Teams owe" if report.whole else "Owed", money(report, report.billed, 0), _adjusted(found))
    state = _books(found.standing, time_zone)
    if books is None:
        return owed, state
    own = books.of_account("own")
    return (
        Card("Cost of capacity", money(report, books.capacity, 0), "all GPUs, held or not, at the rate card"),
        owed,
        Card("Borne by no team", money(report, own, 0), "unallocated, unavailable and unobserved capacity"),
        state,
    )


def statement(found: Costs) -> tuple[Table, ...]:
    """What is owed: by cost centre, account and correction for finance, else by team."""
    report = found.report
    if report.books is None:
        return (teams(report),)
    return tuple(table for table in finance(report, report.books) if table.rows)


def prices(found: Costs, time_zone: str) -> Table:
    """The prices that were in force in the period."""
    return Table(
        "prices",
        "Prices in force",
        "",
        (
            *in_text("GPU model", "Where", "Card"),
            Column("Price", Kind.PRICES),
            Column("A unit", Kind.WORDS),
            Column("From", Kind.WORDS),
            Column("Until", Kind.WORDS),
            Column("Set by", Kind.WORDS),
        ),
        tuple(
            (
                each.model_glob if each.profile_glob == "*" else f"{each.model_glob} {each.profile_glob}",
                _where(each),
                each.card,
                (each.price,),
                f"{each.currency} a {_UNITS.get(each.measure, each.unit)}",
                minute(each.since_ms, time_zone),
                "still" if each.until_ms is None else minute(each.until_ms, time_zone),
                each.author or "not told",
            )
            for each in found.prices
        ),
        empty="No rate card was in force: time is shown without cost. Add rate_cards to the configuration.",
    )


def lines(found: Costs) -> Table:
    """The largest lines of cost, with the number by which each is explained."""
    return Table(
        "lines",
        "The largest lines",
        "",
        (
            *in_text("Line", "Day", "Team", "What", "Workload"),
            *in_hours("GPU-hours"),
            *in_money(found.report.currency, "Amount"),
        ),
        tuple(
            (
                str(each.charge_id),
                each.day,
                each.team or f"({each.account})",
                f"{each.kind} {each.detail}".rstrip(),
                each.workload or "–",
                each.held_pms,
                each.amount,
            )
            for each in found.lines
        )
        if found.report.priced
        else (),
        empty="No line of cost was written for this period.",
    )


def disputes(found: Costs, time_zone: str) -> Table:
    """The lines that teams dispute, and what was decided."""
    return Table(
        "disputes",
        "Disputes",
        "",
        (
            *in_text("Line", "Day", "Team", "State"),
            *in_money(found.report.currency, "Disputed", "Credited"),
            Column("Raised", Kind.WORDS),
            Column("Reason", Kind.WORDS),
        ),
        tuple(
            (
                str(each.charge_id),
                each.day,
                each.team,
                each.state,
                *((each.amount, each.credited) if found.report.priced else ()),
                minute(each.raised_ms, time_zone),
                each.words,
            )
            for each in found.disputes
        ),
        empty="No line of this period is disputed. quartermaster dispute raise begins one.",
    )


def _where(price: Price) -> str:
    named = (("cluster", price.cluster_glob), ("pool", price.pool_glob))
    return ", ".join(f"{what} {glob}" for what, glob in named if glob != "*") or "everywhere"


def _adjusted(found: Costs) -> str:
    report = found.report
    if report.adjustments == ZERO:
        return "no credit and no surcharge among it"
    return f"{money(report, report.adjustments)} of it are credits and surcharges".replace("-", "−")


def _books(standing: Standing, time_zone: str) -> Card:
    match standing.state:
        case State.CLOSED:
            return Card(
                "Books", "Closed", f"number {standing.number}, SHA-256 {(standing.sha256 or '')[:12]}…"
            )
        case State.CLOSING:
            return Card(
                "Books", "Closing", f"late data is waited for until {minute(standing.closes_ms, time_zone)}"
            )
        case _:
            return Card("Books", "Open", "every figure is provisional until they close")
