"""Plans for people: what would happen to whom and why, each team before and after, what doing nothing would cost."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cli import output
from cli.choice import clusters
from cli.instants import instant
from quartermaster.clock import to_iso
from quartermaster.errors import InputError

if TYPE_CHECKING:
    from enforcer.freshness import Refusal
    from enforcer.shadow import Ruling
    from quartermaster.config.model import Configuration
    from sql.ledger import Ledger

Body = Mapping[str, Any]
_DONE = {"stop": "taken", "warn": "warned", "hold": "held back", "start": "started"}
_MODES = {
    "shadow": "Shadow: nothing is done.",
    "plan": "What of it a person approves is done.",
    "act": "What of it the guard lets through is done.",
}
_SHOWN = 12  # of those who wait, or are spared, by name


def ruling(configuration: "Configuration") -> "Ruling":
    """By what shadow plans are made."""
    from enforcer.shadow import Ruling

    return Ruling(configuration.policy, configuration.findings, configuration.business.time_zone)


def plan_at(ledger: "Ledger", cluster: str, at_ms: int, by: "Ruling") -> "Body | Refusal":
    """The plan that shadow mode would have made at the start of that hour, had it run for three days before it."""
    from enforcer.freshness import Refusal
    from enforcer.replay import LOOKED_BACK_MS, replay
    from enforcer.written import write

    with ledger.reading() as cursor:
        done = replay(cursor, cluster, (at_ms - LOOKED_BACK_MS, at_ms), by)
    if done.last is None or isinstance(done.last, Refusal):
        return done.last or Refusal(cluster, at_ms, ("there is no whole hour",))
    return write(done.last.plan)


def show(plan: Body) -> None:
    """The whole plan. Hostile names are shown, not obeyed."""
    when = plan["at"][:16].replace("T", " ")
    output.say(
        f"Plan {plan['hash'][:12]} of cluster {plan['cluster']}, {when} UTC. {_MODES[plan['mode']]}",
        style="bold",
    )
    _actions(plan["actions"])
    for sentence in (*plan["notes"], *plan["assumed"]):
        output.say(sentence)
    output.say(f"If nothing is done: {plan['doing_nothing']['words']}")
    _teams(plan["teams"])
    _waiting(plan["answers"])
    if plan["spared"]:
        rows = [(each["workload"], each["reason"]) for each in plan["spared"][:_SHOWN]]
        output.table(_counted("Idle and left alone", plan["spared"]), ["who", "why"], rows)


def explain(plan: Body, wanted: str) -> list[str]:
    """All that the plan says about a workload, by its name, its title or its UID: a sentence each."""
    said: list[str] = []
    for each in plan["actions"]:
        if _names(each["workload"], each["uid"], wanted):
            said += [f"{each['workload']} of team {each['team']} would be {_what(each)}: {each['cause']}."]
            said += each["why"]
            said += [
                f"How: {each['way_down']}; step by step: {', '.join(each['steps'])}."
                if each["act"] == "stop"
                else f"Step by step: {', '.join(each['steps'])}."
            ]
    for each in plan["answers"]:
        if _names(each["workload"], each["uid"], wanted):
            said += [
                f"{each['workload']} of team {each['team']} waits for {_gpus(each['asks_gpus'])}: {each['verdict']}; "
                f"{each['words']}."
            ]
            said += [f"Not {other['workload']}: {other['reason']}." for other in each["rejected"]]
    said += [
        f"{each['workload']} stands idle and is left alone: {each['reason']}."
        for each in plan["spared"]
        if _names(each["workload"], each["uid"], wanted)
    ]
    return said


def named(plan: Body) -> list[str]:
    """The workloads that the plan says something about."""
    return sorted({each["workload"] for part in ("actions", "answers", "spared") for each in plan[part]})


def as_value(refusal: "Refusal") -> dict[str, object]:
    """The refusal for machines."""
    return {
        "cluster": refusal.cluster,
        "at": to_iso(refusal.at_ms),
        "refused": list(refusal.reasons),
        "complete_until": None if refusal.heard_ms is None else to_iso(refusal.heard_ms),
    }


def refuse(refusal: "Refusal") -> None:
    """Why there is no plan, and for which instant there would be one."""
    from enforcer.freshness import words

    output.say(words(refusal))
    if refusal.heard_ms is not None and refusal.heard_ms < refusal.at_ms:
        hour = to_iso(refusal.heard_ms)[:13]
        output.say(
            f"As of the last hour that the ledger knows there is one: quartermaster enforce --at {hour}:00Z"
        )


def read_plan(
    ledger: "Ledger", configuration: "Configuration", wanted: str | None, cluster: str | None
) -> Body:
    """The plan that is meant: the last recorded one, one by the beginning of its hash, or one of an instant, made anew.

    Raises InputError where there is none.
    """
    from enforcer.freshness import Refusal, words
    from enforcer.recorded import read

    if wanted is not None and _is_instant(wanted):
        names = clusters(configuration, cluster)
        if len(names) > 1:
            raise InputError("there is more than one cluster", f"name one with --cluster: {', '.join(names)}")
        made = plan_at(ledger, names[0], instant(wanted), ruling(configuration))
        if isinstance(made, Refusal):
            raise InputError(words(made).rstrip("."), "quartermaster status shows how far each source is")
        return made
    found = read(ledger, wanted or "", cluster)
    if not found:
        raise InputError(
            "no plan is recorded" if wanted is None else f"no recorded plan begins with {wanted!r}",
            "quartermaster enforce records one; an instant in place of a hash makes one anew",
        )
    return found


def _is_instant(text: str) -> bool:
    return "-" in text or ":" in text


def _actions(actions: Sequence[Body]) -> None:
    if not actions:
        output.say("Nothing would be done to anybody.")
        return
    rows = [(_what(each), _told(each)) for each in actions]
    output.table("", ["would be", "who, and why"], rows)


def _told(action: Body) -> str:
    """Who, at which cost and for which gain, and why: the sentences about its harm are figures here."""
    whom = f"{action['workload']} of team {action['team']} in pool {action['pool']}"
    frees = f", frees {_gpus(action['frees_gpus'])}" if action["act"] == "stop" else ""
    return f"{whom}{frees}. {' '.join(action['why'])}"


def _teams(teams: Sequence[Body]) -> None:
    rows = [
        tuple(
            each[name]
            for name in (
                *("pool", "team", "guaranteed_gpus", "fair_share_gpus"),
                *("before_gpus", "after_gpus", "waiting_gpus"),
            )
        )
        for each in teams
        if (each["before_gpus"], each["waiting_gpus"], each["guaranteed_gpus"]) != ("0", "0", "0")
    ]
    columns = ["pool", "team", "guaranteed", "fair share", "before", "after", "waits for"]
    output.table("Each team's GPUs, before and after", columns, rows, right=columns[2:])


def _waiting(answers: Sequence[Body]) -> None:
    if answers:
        rows = [
            (each["workload"], each["team"], each["asks_gpus"], f"{each['verdict']}: {each['words']}")
            for each in answers[:_SHOWN]
        ]
        columns = ["who", "team", "GPUs", "what becomes of it"]
        output.table(_counted("Who waits", answers), columns, rows, right=["GPUs"])


def _counted(title: str, those: Sequence[Body]) -> str:
    return title if len(those) <= _SHOWN else f"{title} (the first {_SHOWN} of {len(those)})"


def _what(action: Body) -> str:
    done = _DONE[action["act"]]
    return f"{done} again" if action["stage"] == "again" else done


def _gpus(amount: str) -> str:
    return f"{amount} GPU{'' if amount == '1' else 's'}"


def _names(title: str, uid: str, wanted: str) -> bool:
    return wanted in {uid, *_parts(title)}


def _parts(title: str) -> Iterator[str]:
    yield title
    _, _, path = title.partition(" ")
    yield path
    yield path.rpartition("/")[2]
