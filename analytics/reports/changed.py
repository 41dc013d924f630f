"""The change in one sentence: how much more or less is owed than in the teams' own past, and the likely cause."""

from collections.abc import Sequence
from decimal import Decimal

from analytics.reports.details import Cause, Change
from analytics.reports.figures import Report
from analytics.reports.legible import name

_ALIKE = Decimal("0.01")  # a change below this part of what was owed is none to explain
_MOST = Decimal("0.7")  # causes are named until they make this part of the change
_NAMED = 2
_IDLE_POINTS = 5  # by how many points of held time idle must move to be mentioned
_OTHERS = {
    "shared": "the share of what nobody held",
    "corrections": "corrections of earlier days",
    "adjustments": "credits and surcharges",
}
_NUMBERS = {1: "one", 2: "two", 3: "three", 4: "four"}


def changed(report: Report) -> str:
    """One sentence, or two where idle time moved as well; "" where there is nothing to compare with."""
    change = report.change
    if change is None or not report.priced:
        return ""
    subject = (
        "What teams owe" if report.whole else f"What {report.audience.kind} {name(report.audience.name)} owes"
    )
    past = f"in the {report.unit} before"
    if change.spans > 1:
        past = f"on average in the {_NUMBERS[change.spans]} {report.unit}s before"
    if abs(change.amount) < _ALIKE * abs(change.before):
        told = f"{subject} is about the same as {past}."
    else:
        more = "more" if change.amount > 0 else "less"
        amount = _money(report, change.amount)
        by = f"{_percent(change)} ({amount})" if change.before > 0 else amount
        told = f"{subject} is {by} {more} than {past}{_why(report, change)}."
    return f"{told}{_idle(change)}"


def cause_words(cause: Cause, report: Report) -> str:
    """A cause as part of a sentence: `a new workload, Job vision/train`."""
    whose = f" of team {name(cause.team)}" if cause.team and cause.title and report.team is None else ""
    title = f"{name(cause.title)}{whose}"
    several = f"{cause.workloads:,}"
    named = {
        "new": (f"a new workload, {title}", f"{several} other new workloads"),
        "ended": (f"{title}, which held nothing any more", f"{several} others that ended"),
        "grown": (f"{title}, which held more", f"{several} others that held more"),
        "shrunk": (f"{title}, which held less", f"{several} others that held less"),
    }
    if cause.kind in named:
        return named[cause.kind][not cause.title]
    if cause.kind == "price":
        return f"a {'higher' if cause.amount > 0 else 'lower'} price"
    return _OTHERS.get(cause.kind, cause.kind)


def _why(report: Report, change: Change) -> str:
    """`, mostly because of …`: the causes that go the change's way, the largest first."""
    there = [cause for cause in change.causes if (cause.amount > 0) == (change.amount > 0)]
    named = _enough(there, change)
    if not named:
        return ""
    idle = {f"{row.workload.kind} {row.workload.namespace}/{row.workload.name}": row for row in report.idlest}
    words: list[str] = []
    for cause in named:
        told = f"{cause_words(cause, report)} ({_signed(report, cause.amount)})"
        row = idle.get(cause.title)
        if row is not None and cause.amount > 0:
            wasted = 100 * row.wasted.pms // max(1, row.workload.split.held.pms)
            told += f", {row.why} for {wasted}\u00a0% of its time"
        words.append(told)
    return f", mostly because of {' and of '.join(words)}"


def _enough(causes: Sequence[Cause], change: Change) -> list[Cause]:
    named: list[Cause] = []
    reached = Decimal(0)
    for cause in causes[:_NAMED]:
        if abs(reached) >= _MOST * abs(change.amount):
            break
        named.append(cause)
        reached += cause.amount
    return named


def _idle(change: Change) -> str:
    if not change.held_pms or not change.held_before_pms:
        return ""
    now = 100 * change.idle_pms / change.held_pms
    before = 100 * change.idle_before_pms / change.held_before_pms
    if abs(now - before) < _IDLE_POINTS:
        return ""
    return f" Of the held time {now:.0f}\u00a0% stood idle, {before:.0f}\u00a0% before."


def _percent(change: Change) -> str:
    return f"{abs(100 * change.amount / change.before):.1f}\u00a0%"


def _signed(report: Report, amount: Decimal) -> str:
    return f"{'+' if amount > 0 else '−'}{_money(report, amount)}"


def _money(report: Report, amount: Decimal) -> str:
    return report.money(abs(amount), 0).replace(" ", "\u00a0")
