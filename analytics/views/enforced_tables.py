"""The enforcer's work as figures, lists and tables."""

from collections.abc import Iterable

from analytics.regret import HORIZONS_H, Outcome, Regret, tally, together
from analytics.reports.figures import Amount
from analytics.reports.summary import Card, hours, share
from analytics.reports.tables import Column, Kind, Table, in_hours, in_text
from analytics.views.enforced import Action, Enforced
from analytics.views.entries import Entry, listed
from analytics.views.instants import lasting, minute

_MODES = {"shadow": "Shadow: nothing is done", "plan": "Does what is approved", "act": "Acts by itself"}


def mode(enforced: Enforced) -> str:
    """In which mode the last plan was made, or that all is frozen, in words."""
    if enforced.frozen_ms is not None:
        return "Frozen: nothing is done"
    if enforced.planned is None:
        return "No plan yet"
    return _MODES.get(enforced.planned.mode, enforced.planned.mode)


def cards(enforced: Enforced) -> tuple[Card, ...]:
    """The plan's size, shadow's regret, what was done, what was won back."""
    plan = enforced.planned
    stops = [each for each in plan.actions if each.act == "stop"] if plan else []
    warned = sum(each.act == "warn" for each in plan.actions) if plan else 0
    planned = Card(
        "The last plan",
        f"{len(stops):,} stop{'' if len(stops) == 1 else 's'}" if plan else "none",
        f"and {warned:,} warning{'' if warned == 1 else 's'}" if plan else "nothing is recorded yet",
    )
    whole = together(enforced.watched)
    back = whole.outcomes[24][Outcome.BACK]
    regret = Card(
        "Regret within 24 hours",
        share(back, whole.taken) if whole.taken else "–",
        f"{back:,} of {whole.taken:,} that shadow plans would have stopped computed again",
        alarming=back * 20 > whole.taken,
    )
    stopped = sum(each.act == "stop" and each.result == "done" for each in enforced.done)
    done = Card("Stopped", f"{stopped:,}", "workloads in 28 days")
    won = Card(
        "Won back",
        f"{hours(Amount(sum(stop.given_pms for stop in enforced.won)))} GPU-h",
        "that others held on what was stopped, in 28 days",
    )
    return planned, regret, done, won


def plan(enforced: Enforced) -> str:
    """What the last plan would do, and why, as HTML."""
    found = enforced.planned
    if found is None:
        return listed("The plan", [], "No plan is recorded: run quartermaster enforce.")
    hidden = f" {found.hidden:,} of other teams are not shown." if found.hidden else ""
    return listed(
        "What the last plan would do, and why",
        [_entry(each) for each in found.actions],
        f"The last plan would do nothing to anybody.{hidden}" if not hidden else f"Nothing of yours.{hidden}",
        most=40,
    )


def _entry(action: Action) -> Entry:
    frees = action.frees_gpus not in {"", "0"}
    lost = f"{action.lost_gpu_hours} GPU-h of work lost" if action.lost_gpu_hours else ""
    return Entry(
        f"{action.act.capitalize()} {action.title}",
        (action.cause,),
        (f"team {action.team}" if action.team else "", action.pool, action.stage),
        (" ".join(action.why),) if action.why else (),
        f"{action.frees_gpus} GPUs" if frees else "–",
        lost if frees else "frees nothing yet",
    )


def regret(enforced: Enforced) -> Table:
    """What became of those whom shadow plans would have stopped, by rule and kind."""
    return Table(
        "regret",
        "Shadow's record",
        "",
        (
            *in_text("Would be stopped because", "Kind"),
            Column("Taken", Kind.COUNT),
            *(Column(f"Back in {horizon}\u00a0h", Kind.SHARE) for horizon in HORIZONS_H),
            *(
                Column(name, Kind.COUNT)
                for name in ("Stayed idle", "Ended by itself", "Unknown", "Not over yet")
            ),
            *in_hours("Would have given"),
        ),
        tuple(_regret(each, each.cause, each.kind) for each in tally(enforced.watched)),
        None if not enforced.watched else _regret(together(enforced.watched), "All", ""),
        "No recorded plan would have stopped anybody.",
    )


def _regret(each: Regret, cause: str, kind: str) -> tuple[str | int | tuple[int, int] | None, ...]:
    day = each.outcomes[24]
    return (
        cause,
        kind,
        each.taken,
        *((each.outcomes[horizon][Outcome.BACK], each.taken) for horizon in HORIZONS_H),
        *(day[outcome] for outcome in (Outcome.IDLE, Outcome.ENDED, Outcome.UNKNOWN, Outcome.OPEN)),
        each.given_pms,
    )


def findings(enforced: Enforced) -> Table:
    """What is noticed and open, the costliest first."""
    currencies = {each.currency for each in enforced.findings if each.currency}
    currency = next(iter(currencies)) if len(currencies) == 1 else ""
    return Table(
        "findings",
        "Open findings",
        "",
        (
            *in_text("What", "About", "Team", "For"),
            *([Column("Cost so far", Kind.MONEY, currency)] if currency else []),
            Column("Doubts", Kind.COUNT),
        ),
        tuple(
            (
                each.kind,
                each.subject,
                each.team,
                lasting(enforced.at_ms - each.since_ms),
                *((each.cost,) if currency else ()),
                each.doubts,
            )
            for each in enforced.findings
        ),
        empty="Nothing is found: run quartermaster findings.",
    )


def done(enforced: Enforced, time_zone: str) -> Table:
    """What was done to whom and what came of it, newest first."""
    return Table(
        "done",
        "What was done",
        "",
        (
            *in_text("When", "What", "Workload", "Team"),
            Column("GPUs", Kind.GPUS),
            *in_text("Because", "Result"),
        ),
        tuple(
            (
                minute(each.told_ms, time_zone),
                each.act,
                f"{each.kind} {each.namespace}/{each.name}",
                each.team,
                each.parts,
                each.cause,
                each.result or "not told yet",
            )
            for each in enforced.done
        ),
        empty="Nothing was done in the last 28 days.",
    )


def won(enforced: Enforced, time_zone: str) -> Table:
    """What each stop gave others."""
    return Table(
        "won",
        "Won back, stop by stop",
        "",
        (*in_text("Stopped", "Workload", "Team", "Started again"), *in_hours("Others held")),
        tuple(
            (
                minute(stop.stopped_ms, time_zone),
                f"{stop.kind} {stop.namespace}/{stop.name}",
                stop.team,
                "no" if stop.back_ms is None else minute(stop.back_ms, time_zone),
                stop.given_pms,
            )
            for stop in enforced.won
        ),
        empty="Nothing was stopped whose GPUs others could have held.",
    )


def refused(enforced: Enforced, time_zone: str) -> Table:
    """What the guard did not let through."""
    return Table(
        "refused",
        "What the guard refused",
        "",
        (*in_text("Because"), Column("Times", Kind.COUNT), *in_text("Last")),
        tuple((each.reason, each.times, minute(each.last_ms, time_zone)) for each in enforced.refused),
        empty="The guard refused nothing in the last 28 days.",
    )


def asked(enforced: Enforced, time_zone: str) -> Table:
    """What people asked for, and what became of it."""
    return Table(
        "asked",
        "Requests",
        "",
        (*in_text("When", "Who", "What", "About", "Until"), Column("Answer", Kind.WORDS)),
        tuple(
            (
                minute(each.asked_ms, time_zone),
                each.asked_by,
                each.kind,
                each.subject[:16] if each.kind == "approve" else each.subject or "the whole cluster",
                minute(each.until_ms, time_zone),
                _answer(each.kind, each.result, each.answer),
            )
            for each in enforced.asked
        ),
        empty="Nobody asked for anything.",
    )


def _answer(kind: str, result: str, answer: str) -> str:
    told = ": ".join(filter(None, (result, answer)))
    return told or ("heeded at once" if kind in {"freeze", "thaw"} else "not answered yet")


def audit(enforced: Enforced, time_zone: str) -> tuple[str, ...]:
    """The state of the chain, in sentences."""
    found = enforced.audit
    if found is None:
        return ()
    if not found.rows and not found.head:
        return ("Nothing is written in the audit yet.",)
    state = "each row follows on the one before it, and the last is the noted head"
    return tuple(
        _audit(found.rows, state if found.is_linked else "", found.head, minute(found.last_ms, time_zone))
    )


def _audit(count: int, state: str, head: int, last: str) -> Iterable[str]:
    if state:
        yield f"The chain has {count:,} rows, the last of {last}: {state}."
    else:
        yield f"The chain is broken: {count:,} rows are there, and its head says {head:,}, or a row does not follow."
    yield "Whether a row was changed and hashed anew is told by quartermaster audit verify, which computes each hash."
