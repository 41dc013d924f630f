"""Lending as figures, tables and a matrix: who lent to whom, what each gave and took, what owners waited."""

from collections.abc import Sequence

from markupsafe import Markup

from analytics.reports import legible
from analytics.reports.figures import Amount
from analytics.reports.summary import Card, hours, share
from analytics.reports.tables import Column, Kind, Table, in_hours, in_text
from analytics.views.lending import Lending, Pair

MOST_TEAMS = 12  # of a matrix's side; what lends or borrows less is one row or column
_MOST_PAIRS = 15
_REST = "others"


def cards(lending: Lending, pool: str | None) -> tuple[Card, ...]:
    """Three figures: what was lent, what owners waited for that was theirs, and how much of that others held."""
    lent = sum(pair.pms for pair in lending.pairs(pool))
    guaranteed = sum(balance.guaranteed_pms for balance in lending.last)
    owed = sum(balance.owed_pms for balance in lending.last)
    away = sum(balance.away_pms for balance in lending.last)
    of_all = f"{share(lent, guaranteed)} of all guarantees" if pool is None else f"in the pool {pool}"
    return (
        Card("Lent", f"{hours(Amount(lent))} GPU-h", of_all),
        Card(
            "Owners waited for their own",
            f"{hours(Amount(owed))} GPU-h",
            f"within their guarantees; {share(owed, guaranteed)} of these",
            alarming=owed * 50 > guaranteed,
        ),
        Card(
            "While others held it", f"{hours(Amount(away))} GPU-h", f"{share(away, owed)} of what they waited"
        ),
    )


def pairs(lending: Lending, pool: str | None) -> Table:
    """Who lent to whom, the most first."""
    found = lending.pairs(pool)
    return Table(
        "pairs",
        "Who lent to whom",
        "",
        (*in_text("Lender", "Borrower"), *in_hours("GPU-hours"), Column("Of all lent", Kind.SHARE)),
        tuple(
            (pair.lender, pair.borrower, pair.pms, (pair.pms, sum(each.pms for each in found)))
            for pair in found[:_MOST_PAIRS]
        ),
        empty="Nothing was lent in this week.",
    )


def week(lending: Lending) -> Table:
    """What each team gave and took in the week, and what it waited."""
    return Table(
        "balances",
        "What each team gave and took",
        "",
        (
            *in_text("Team"),
            *in_hours(
                "Guaranteed", "Held", "Borrowed", "Lent", "Waited", "Waited for its own", "Held by others"
            ),
        ),
        tuple(
            (
                each.team,
                each.guaranteed_pms,
                each.held_pms,
                each.borrowed_pms,
                each.lent_pms,
                each.waiting_pms,
                each.owed_pms,
                each.away_pms,
            )
            for each in sorted(lending.last, key=lambda each: (-each.lent_pms, each.team))
        ),
        empty="No team had a guarantee, held or waited for anything in this week.",
    )


_MATRIX = Markup(
    "<style>.qm table.matrix td {{ text-align: center; padding: 7px 4px; font-variant-numeric: tabular-nums; }}"
    " .qm table.matrix th {{ overflow-wrap: anywhere; }} .qm table.matrix thead th {{ text-align: center; }}"
    " @media (max-width: 640px) {{ .qm table.matrix {{ display: none; }} }}</style>"
    '<div class="qm"><table class="matrix"><caption class="hidden">GPU-hours by lender and borrower</caption>'
    '<thead><tr><th scope="col">Lender ↓ borrower →</th>{}</tr></thead><tbody>{}</tbody></table></div>'
)
_HEAD = Markup('<th scope="col"><span class="name">{}</span></th>')
_ROW = Markup('<tr><th scope="row"><span class="name">{}</span></th>{}</tr>')
_CELL = Markup('<td style="background: color-mix(in srgb, var(--idle) {}%, transparent)">{}</td>')
_NONE = Markup('<td class="muted">–</td>')


def matrix(found: Sequence[Pair]) -> str:
    """Lenders down, borrowers across, GPU-hours in the cells, darker for more; as HTML, for a wide page."""
    lenders, borrowers = _most(found, lends=True), _most(found, lends=False)
    cells: dict[tuple[str, str], int] = {}
    for pair in found:
        key = (
            pair.lender if pair.lender in lenders else _REST,
            pair.borrower if pair.borrower in borrowers else _REST,
        )
        cells[key] = cells.get(key, 0) + pair.pms
    most = max(cells.values(), default=1)
    across = [*borrowers, *([_REST] if any(column == _REST for _, column in cells) else [])]
    down = [*lenders, *([_REST] if any(row == _REST for row, _ in cells) else [])]
    return _MATRIX.format(
        Markup("").join(_HEAD.format(legible.name(name, 30)) for name in across),
        Markup("").join(
            _ROW.format(
                legible.name(name, 30), Markup("").join(_cell(cells.get((name, to)), most) for to in across)
            )
            for name in down
        ),
    )


def _cell(pms: int | None, most: int) -> Markup:
    return _NONE if not pms else _CELL.format(8 + 52 * pms // most, hours(Amount(pms)))


def _most(found: Sequence[Pair], *, lends: bool) -> list[str]:
    """Those who lend, or borrow, most; the most first."""
    sums: dict[str, int] = {}
    for pair in found:
        name = pair.lender if lends else pair.borrower
        sums[name] = sums.get(name, 0) + pair.pms
    return sorted(sums, key=lambda name: (-sums[name], name))[:MOST_TEAMS]
