"""The bill on a terminal: a week's figures at 80 columns, with or without colour."""

import io
from collections.abc import Iterable
from itertools import accumulate
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from cli import output
from quartermaster.clock import to_datetime
from quartermaster.text import visible

if TYPE_CHECKING:
    from analytics.reports.figures import IdleRow, Report, Split

WORKLOADS = 10
_WIDEST = 100
_GAP, _LEAST_WORDS = 2, 12
_WORDS = {"", " ", "team", "workload", "who bears it"}  # columns of words: to the left, and they fold
_SIGNS = {  # on a terminal in UTF-8, and elsewhere
    "computing": ("█", "#"),
    "idle": ("▒", "="),
    "unknown": ("?", "?"),
    "unallocated": ("░", "."),
    "unavailable": ("x", "x"),
    "unobserved": ("!", "!"),
}
_COLOURS = {
    "computing": "blue",
    "idle": "yellow",
    "unknown": "magenta",
    "unallocated": "bright_black",
    "unavailable": "red",
    "unobserved": "cyan",
}


def show(report: "Report") -> None:
    """Print the bill on stdout: the bar in blocks on a terminal, in plain signs where it goes into a pipe or log."""
    console = output.console()
    unicode = console.is_terminal and console.encoding.startswith("utf")
    for section in sections(report, min(console.width, _WIDEST), unicode=unicode):
        console.print(section, width=min(console.width, _WIDEST), crop=False)


def text(report: "Report", width: int = 80) -> str:
    """The bill as plain text, for a file."""
    page = Console(file=io.StringIO(), width=width, color_system=None, highlight=False)
    with page.capture() as captured:
        page.print(*sections(report, width), sep="\n", crop=False)
    return "".join(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def sections(report: "Report", width: int, *, unicode: bool = True) -> list[RenderableType]:
    """The bill from top to bottom, `width` columns wide."""
    from analytics.reports.changed import changed
    from analytics.reports.summary import headline, next_step, won_back
    from analytics.wonback import METHOD

    found: list[RenderableType] = [
        Text(_heading(report), style="bold"),
        *([Text(report.closed.words)] if report.closed else []),
        Text(""),
        Text(visible(headline(report))),
        *([Text(visible(changed(report)))] if report.change else []),
        Text(visible(next_step(report)), style="green"),
        Text(""),
        _bar(report.split, width, unicode),
        _whole(_split_table(report, unicode), width),
        _section("By team", _whole(_team_table(report), width)),
    ]
    if report.won_back is not None:
        found.append(
            _section("Won back", Text(visible(won_back(report, report.won_back))), Text(METHOD, style="dim"))
        )
    if any(line.amount.pms for line in report.own_lines):
        found.append(_section("What nobody held", _whole(_own_table(report), width)))
    if report.by_workload:
        shown = min(WORKLOADS, len(report.by_workload))
        table = _whole(_workload_table(report), width)
        found.append(_section(f"By workload ({shown} of {report.workload_count:,})", table))
    if report.idlest:
        idlest = (_idle(report, number, row) for number, row in enumerate(report.idlest, 1))
        found.append(_section("Most idle, and what to do", *idlest))
    if report.notes:
        found.append(_section("What these figures do not know", *(_item(note) for note in report.notes)))
    return found


def _heading(report: "Report") -> str:
    from analytics.reports.summary import span_words
    from analytics.reports.summary import whose as of_whom

    whose = f"{visible(of_whom(report))}, {report.unit}" if report.some else report.unit.capitalize()
    state = "provisional" if report.provisional else "complete"
    return f"{whose} {report.span} · {span_words(report)} · {report.time_zone} · {state}"


def _bar(split: "Split", width: int, unicode: bool) -> Text:
    """Capacity as one line of signs; what is there has at least one of them."""
    there = [(name, amount.pms) for name, amount in split.parts if amount.pms]
    room = width - len(there)
    ends = [room * reached // split.capacity.pms for reached in accumulate(pms for _, pms in there)]
    bar = Text()
    for (name, _), start, end in zip(there, [0, *ends], ends, strict=False):
        bar.append(_SIGNS[name][not unicode] * (end - start + 1), style=_COLOURS[name])
    return bar


def _split_table(report: "Report", unicode: bool) -> Table:
    from analytics.money.statement import to_cents
    from analytics.reports.summary import hours, share

    split = report.split
    table = _table(["", " ", "GPU-hours", "share", *_if_priced(report, f"cost {report.currency}")])
    costs = to_cents({name: amount.cost for name, amount in split.parts})
    for name, amount in split.parts:
        if amount.pms:
            figures = (hours(amount), visible(share(amount.pms, split.capacity.pms)))
            sign = Text(_SIGNS[name][not unicode], style=_COLOURS[name])
            _add(table, sign, name, *figures, *_if_priced(report, f"{costs[name]:,.2f}"))
    whole = f"held by the {report.audience.kind}" if report.some else "capacity"
    cost = _if_priced(report, f"{sum(costs.values()):,.2f}")
    _add(table, "", whole, hours(split.capacity), "", *cost, style="bold")
    return table


def _team_table(report: "Report") -> Table:
    from analytics.money.statement import to_cents
    from analytics.reports.summary import percent, share

    def figures(split: "Split", *promised_pms: int) -> Iterable[str]:
        yield _hours(split.held.pms)
        yield visible(share(split.idle.pms, split.held.pms))
        yield visible(percent(split.coverage))
        yield from (_hours(pms) for pms in promised_pms)

    columns = ["team", "held", "idle", "known", "guar.", "borr.", "lent"]
    compared = report.pool_cost_before is not None
    table = _table([*columns, *_if_priced(report, f"cost {report.currency}", *["change"] * compared)])
    costs = to_cents({row.team: row.cost for row in report.by_team})
    for row in report.by_team:
        change = [] if row.change is None else [f"{row.change:+,.0f}"]
        promised = (row.guaranteed_pms, row.borrowed_pms, row.lent_pms)
        owed = _if_priced(report, f"{costs[row.team]:,.2f}", *change)
        _add(table, visible(row.team), *figures(row.split, *promised), *owed)
    if len(report.by_team) > 1:
        promised = (
            sum(row.guaranteed_pms for row in report.by_team),
            sum(row.borrowed_pms for row in report.by_team),
            sum(row.lent_pms for row in report.by_team),
        )
        owed = _if_priced(report, f"{sum(costs.values()):,.2f}")
        _add(table, "all teams", *figures(report.split, *promised), *owed, style="bold")
    return table


def _own_table(report: "Report") -> Table:
    from analytics.money.statement import to_cents

    table = _table(["", "GPU-hours", *_if_priced(report, f"cost {report.currency}", "who bears it")])
    costs = to_cents({line.kind: line.amount.cost for line in report.own_lines})
    for line in (line for line in report.own_lines if line.amount.pms):
        cost = _if_priced(report, f"{costs[line.kind]:,.2f}", line.treatment)
        _add(table, line.kind, _hours(line.amount.pms), *cost)
    return table


def _workload_table(report: "Report") -> Table:
    from analytics.reports.summary import percent, share

    table = _table(
        ["workload", "team", "held", "idle", "known", *_if_priced(report, f"cost {report.currency}")]
    )
    for row in report.by_workload[:WORKLOADS]:
        split = row.split
        figures = (
            _hours(split.held.pms),
            visible(share(split.idle.pms, split.held.pms)),
            visible(percent(split.coverage)),
        )
        name = f"{row.namespace}/{row.name}" if row.namespace else row.name
        name += f" of {row.person}" if row.person else ""
        _add(table, visible(name), visible(row.team), *figures, *_if_priced(report, f"{row.cost:,.2f}"))
    return table


def _idle(report: "Report", number: int, row: "IdleRow") -> RenderableType:
    from analytics.reports.summary import percent, title

    workload, wasted = row.workload, row.wasted
    head = Table.grid(expand=True, padding=(0, 2, 0, 0))
    head.add_column(overflow="fold", ratio=1)
    head.add_column(justify="right", no_wrap=True)
    amount = report.money(wasted.cost) if report.priced else f"{_hours(wasted.pms)} GPU-h"
    head.add_row(
        Text(f"{number:>2}  {visible(title(row))}, team {visible(workload.team)}", style="bold"),
        Text(f"{amount} wasted", style="yellow"),
    )
    how = "stalled" if row.why == "stalled" else "idle"
    spent = f"{_hours(wasted.pms)} of {_hours(workload.split.held.pms)} GPU-hours {how}"
    known = f"known {visible(percent(workload.split.coverage))}"
    facts = f"{spent} ({known}); {_last_computing(report, row)}; {visible(row.signals)}"
    return Group(head, _under(Text(facts)), _under(Text(f"-> {visible(row.advice)}", style="green")))


def _last_computing(report: "Report", row: "IdleRow") -> str:
    if row.last_computing_ms is None:
        return "it did not compute this week"
    moment = to_datetime(row.last_computing_ms).astimezone(ZoneInfo(report.time_zone))
    return f"last computed {moment:%a} {moment.day} {moment:%b %H:%M}"


def _table(columns: Iterable[str]) -> Table:
    """A table without lines: words to the left, and they fold; figures to the right, and they never wrap."""
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="dim")
    for column in columns:
        words = column in _WORDS
        table.add_column(column, justify="left" if words else "right", overflow="fold", no_wrap=not words)
    return table


def _whole(table: Table, width: int) -> Table:
    """The table; where `width` has no room for its figures it is wider: half a figure would be another one."""
    least = -_GAP
    for column in table.columns:
        widest = max(cell_len(str(cell)) for cell in (column.header, *column.cells))
        least += _GAP + (widest if column.no_wrap else min(widest, _LEAST_WORDS))
    table.width = least if least > width else None
    return table


def _add(table: Table, *cells: str | Text, style: str = "") -> None:
    """Add a row of plain text: what looks like markup in a name is shown, not obeyed."""
    table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in cells), style=style or None)


def _section(title: str, *body: RenderableType) -> Group:
    return Group(Text(""), Text(title, style="bold"), *body)


def _under(text: Text) -> Padding:
    return Padding(text, (0, 0, 0, 4), expand=False)


def _item(note: str) -> Table:
    item = Table.grid(padding=(0, 1, 0, 0))
    item.add_row("-", Text(visible(note)))
    return item


def _if_priced(report: "Report", *cells: str) -> tuple[str, ...]:
    return cells if report.priced else ()


def _hours(pms: int) -> str:
    from analytics.reports.figures import Amount
    from analytics.reports.summary import hours

    return hours(Amount(pms)) if pms else "–"
