"""Regret as it is told: figures for machines, a table and a sentence for people."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from cli import output
from quartermaster.clock import HOUR_MS, to_iso

if TYPE_CHECKING:
    from analytics.regret import Regret, Watched
    from enforcer.replay import Replay

METHOD = (
    "At the end of every hour the planner is given what the ledger has of that instant and of no later one, and what "
    "the plans before it would have done; what was told late counts as told in time. In truth nobody was warned or "
    "stopped, so each is watched: it computed again where any of its GPUs did in an hour that begins within the "
    "horizon; it stayed idle only where 95 % of what it held is known. GPU-hours are those it was known to be idle "
    "from then on, until it computed again or ended, at most thirty days."
)


def of_replay(done: "Replay") -> dict[str, Any]:
    """What was planned, and what refused, for machines."""
    return {
        "from": to_iso(done.from_ms),
        "to": to_iso(done.until_ms),
        "step_hours": done.step_ms // HOUR_MS,
        "plans": done.plans,
        "warned": done.warned,
        "refused": [{"at": to_iso(each.at_ms), "reasons": list(each.reasons)} for each in done.refusals],
    }


def figures(watched: "Sequence[Watched]") -> dict[str, Any]:
    """How many came back, by rule and kind and together, and each would-be victim."""
    from analytics.regret import tally, together

    return {
        "by_rule_and_kind": [_figure(each) for each in tally(watched)],
        "all": _figure(together(watched)),
        "victims": [
            asdict(each.victim)
            | {
                "at": to_iso(each.victim.at_ms),
                "back": None if each.back_ms is None else to_iso(each.back_ms),
                "given_gpu_hours": _hours(each.given_pms),
                "outcomes": [outcome.value for outcome in each.outcomes],
            }
            for each in watched
        ],
    }


def _figure(each: "Regret") -> dict[str, Any]:
    return {
        "rule": each.cause,
        "kind": each.kind,
        "taken": each.taken,
        "within_hours": {
            str(horizon): {outcome.value: count for outcome, count in counts.items()}
            for horizon, counts in each.outcomes.items()
        },
        "given_gpu_hours": _hours(each.given_pms),
    }


def _hours(pms: int) -> str:
    from enforcer.written import hours

    return hours(pms)


def print_regret(told: dict[str, Any]) -> None:
    """The same for people."""
    if told["recorded"]:
        output.say(f"{told['cluster']}: of the plans that are recorded.", style="bold")
    elif not told["plans"] and "from" not in told:
        output.say(f"{told['cluster']}: nothing is rolled up yet; quartermaster rollup does it.")
        return
    else:
        output.say(
            f"{told['cluster']}, {told['from'][:16]}Z to {told['to'][:16]}Z: {told['plans']:,} plans, one every "
            f"{told['step_hours']} h; {len(told['refused'])} refused; {told['warned']:,} warnings.",
            style="bold",
        )
        for reason, count in sorted(_reasons(told["refused"]).items()):
            output.say(f"  refused {count} times: {reason}")
    whole = told["all"]
    if not whole["taken"]:
        output.say(in_short(whole))
        return
    columns = ["kind", "taken", "back 2h", "8h", "24h", "idle", "ended", "unknown", "open", "GPU-h"]
    for rule in sorted({each["rule"] for each in told["by_rule_and_kind"]}):
        rows = [_row(each) for each in told["by_rule_and_kind"] if each["rule"] == rule]
        output.table(f"Taken because {rule}", columns, rows, right=columns[1:])
    output.say("back: it computed again within 2, 8, 24 hours; what follows is of the 24 hours.")
    output.say(in_short(whole))


def in_short(whole: dict[str, Any]) -> str:
    """All figures together in a sentence."""
    if not whole["taken"]:
        return "Nobody would have been taken."
    back = whole["within_hours"]["24"]["computed again"]
    return (
        f"Of {whole['taken']} that would have been taken {back} computed again within 24 hours; it would have given "
        f"{whole['given_gpu_hours']} GPU-hours."
    )


def _row(each: dict[str, Any]) -> tuple[Any, ...]:
    within = each["within_hours"]
    day = within["24"]
    return (
        each["kind"],
        each["taken"],
        *(within[horizon]["computed again"] for horizon in ("2", "8", "24")),
        *(day[name] for name in ("stayed idle", "ended by itself", "unknown", "not over yet")),
        each["given_gpu_hours"],
    )


def _reasons(refused: "list[dict[str, Any]]") -> dict[str, int]:
    """How often which reason, without its figures."""
    counts: dict[str, int] = {}
    for each in refused:
        for reason in each["reasons"]:
            kind = "too little of what is held is known" if "% is known" in reason else reason
            kind = (
                f"{kind.partition(' ago;')[0].rpartition(' ')[0]} too long ago" if " ago;" in kind else kind
            )
            counts[kind] = counts.get(kind, 0) + 1
    return counts
