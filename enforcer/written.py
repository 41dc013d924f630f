"""A plan written down: one form for the ledger, for machines, and for what people are shown; and how two differ."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from enforcer.book import ASSUMED
from enforcer.harm import Harm
from enforcer.plan import Act, Action, Answer, Balance, Cause, Plan, Rejected
from quartermaster.clock import DAY_MS, HOUR_MS, to_iso
from quartermaster.config.acting import Mode
from quartermaster.fairshare.explain import gpus
from quartermaster.parts import GPU_PARTS

SHADOW: Mode = "shadow"
Body = Mapping[str, Any]


def write(plan: Plan, mode: Mode = SHADOW) -> dict[str, Any]:
    """The plan in full, fit for JSON. Amounts of GPUs are decimal strings, to the thousandth.

    A plan of shadow mode assumes what the ledger does not know; others are made of the cluster itself.
    """
    return {
        "cluster": plan.cluster,
        "at": to_iso(plan.at_ms),
        "mode": mode,
        "hash": plan.hash,
        "snapshot_hash": plan.snapshot_hash,
        "policy_hash": plan.policy_hash,
        "actions": [_action(each) for each in plan.actions],
        "answers": [_answer(each) for each in plan.answers],
        "teams": [_balance(each) for each in plan.balances],
        "spared": [_rejected(each) for each in plan.spared],
        "doing_nothing": _doing_nothing(plan),
        "notes": list(plan.notes),
        "assumed": list(ASSUMED)
        if mode == SHADOW and any(each.act is Act.STOP for each in plan.actions)
        else [],
    }


@dataclass(frozen=True)
class Difference:
    """What the second plan would do and the first would not, the other way round, and what became of those spared."""

    more: tuple[Body, ...]
    less: tuple[Body, ...]
    same: int
    spared_more: tuple[Body, ...]
    spared_less: tuple[Body, ...]


def differ(first: Body, second: Body) -> Difference:
    """How two written plans differ, action by action: the act, its stage, its cause, the object, for whom."""
    before, after = (_by(plan["actions"], _action_of) for plan in (first, second))
    kept, spared = (_by(plan["spared"], _reason) for plan in (first, second))
    return Difference(
        _only(after, before),
        _only(before, after),
        len(before.keys() & after.keys()),
        _only(spared, kept),
        _only(kept, spared),
    )


def _action(each: Action) -> dict[str, Any]:
    target = each.target
    return {
        "group": each.group,
        "act": each.act.value,
        "stage": each.stage,
        "cause": each.cause.value,
        "workload": target.title,
        "kind": target.kind,
        "namespace": target.namespace,
        "name": target.name,
        "uid": target.uid,
        "version": target.version,
        "team": target.team,
        "pool": target.pool,
        "way_down": target.way_down,
        "pods": len(target.pods),
        "for": each.for_uid,
        "frees_gpus": amount(each.frees_parts),
        "gains_gpus": amount(each.gains_parts),
        "harm": None if each.harm is None else _harm(each.harm),
        "steps": [step.value for step in each.steps],
        "why": list(each.why),
    }


def _harm(harm: Harm) -> dict[str, Any]:
    return {
        "lost_gpu_hours": hours(harm.lost_pms),
        "since": "checkpoint" if harm.from_checkpoint else "start",
        "lost_for_good": list(harm.lost_for_good),
    }


def _answer(each: Answer) -> dict[str, Any]:
    return {
        "workload": each.title,
        "uid": each.uid,
        "team": each.team,
        "pool": each.pool,
        "asks_gpus": amount(each.parts),
        "waited_gpu_hours": hours(each.waited_pms),
        "verdict": each.verdict.value,
        "words": each.words,
        "gains_gpus": amount(each.gains_parts),
        "until": None if each.until_ms is None else to_iso(each.until_ms),
        "freed_at": None if each.freed_at_ms is None else to_iso(each.freed_at_ms),
        "rejected": [_rejected(other) for other in each.rejected],
    }


def _balance(each: Balance) -> dict[str, Any]:
    return {
        "pool": each.pool,
        "team": each.team,
        "guaranteed_gpus": amount(each.guaranteed_parts),
        "fair_share_gpus": amount(each.fair_parts),
        "before_gpus": amount(each.held_before_parts),
        "after_gpus": amount(each.held_after_parts),
        "waiting_gpus": amount(each.waiting_parts),
    }


def _rejected(each: Rejected) -> dict[str, Any]:
    return {"workload": each.title, "uid": each.uid, "reason": each.reason}


def _doing_nothing(plan: Plan) -> dict[str, Any]:
    """What stays as it is while nothing is done: GPUs that stand idle, and who waits in the same pools."""
    stops = [each for each in plan.actions if each.act is Act.STOP]
    idle = sum(each.frees_parts for each in stops if each.cause is Cause.IDLE)
    pools = {each.target.pool for each in stops}
    waiting = sum(each.waiting_parts for each in plan.balances if each.pool in pools)
    told = (
        f"{gpus(idle)} go on standing idle, {hours(idle * DAY_MS)} GPU-hours a day; {gpus(waiting)} are waited for in "
        f"the same pool{'s' if len(pools) > 1 else ''}."
        if stops
        else "Nothing would be taken, so doing nothing costs nothing more."
    )
    return {
        "idle_gpus": amount(idle),
        "gpu_hours_a_day": hours(idle * DAY_MS),
        "waiting_gpus": amount(waiting),
        "words": told,
    }


def amount(parts: int) -> str:
    """GPUs, to the thousandth: `0.286`."""
    text = f"{Decimal(parts) / GPU_PARTS:.3f}"
    return text.rstrip("0").rstrip(".")


def hours(pms: int) -> str:
    """GPU-hours, to the tenth."""
    return f"{Decimal(pms) / (GPU_PARTS * HOUR_MS):.1f}"


def _by(each: Sequence[Body], key: Callable[[Body], tuple[Any, ...]]) -> dict[tuple[Any, ...], Body]:
    return {key(one): one for one in each}


def _action_of(each: Body) -> tuple[Any, ...]:
    return each["act"], each["stage"], each["cause"], each["uid"], each["version"], each["for"]


def _reason(each: Body) -> tuple[Any, ...]:
    return (each["uid"],)


def _only(those: Mapping[tuple[Any, ...], Body], others: Iterable[tuple[Any, ...]]) -> tuple[Body, ...]:
    there = set(others)
    return tuple(one for key, one in those.items() if key not in there)
