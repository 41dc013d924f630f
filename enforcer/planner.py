"""The planner: a snapshot, findings and a policy in; a plan out. Pure: no clock, no network, nothing remembered."""

from zoneinfo import ZoneInfo

from enforcer.candidates import title
from enforcer.claims import Claim, claim_of
from enforcer.harm import harm_of, held_parts
from enforcer.idleness import Findings
from enforcer.making import Making, target_of
from enforcer.owners import serve
from enforcer.plan import Act, Action, Balance, Cause, Plan, Rejected, hash_of_policy
from enforcer.snapshot import Snapshot, Waiting
from enforcer.starts import start_borrowers
from quartermaster.config.policy import PolicyPart
from quartermaster.fairshare.explain import gpus


def plan(snapshot: Snapshot, findings: Findings, policy: PolicyPart, zone: ZoneInfo) -> Plan:
    """What would be done now, and why; `zone` is the business's time zone.

    The order in which the snapshot names things changes nothing. On a picture of the cluster that is older than the
    policy allows, or from the future, there is a plan without actions that says so.
    """
    policy_hash = hash_of_policy(policy.model_dump_json())
    age_ms = snapshot.at_ms - snapshot.seen_at_ms
    if not 0 <= age_ms <= policy.behind_ms:
        note = (
            f"The picture of the cluster is {age_ms / 1000:g} s old; nothing is planned on one that is older than "
            f"{policy.behind_ms / 1000:g} s, or from the future."
        )
        return Plan(snapshot.cluster, snapshot.at_ms, policy_hash, notes=(note,))
    making = Making(snapshot, findings, policy, zone)
    waiting = sorted((each for each in snapshot.waiting if each.parts), key=_turn)
    _take_idle(making)
    above = _serve_owners(making, waiting)
    start_borrowers(making, above)
    _warn(making)
    return Plan(
        snapshot.cluster,
        snapshot.at_ms,
        policy_hash,
        tuple(making.actions),
        tuple(making.answers[each.uid] for each in waiting),
        _balances(making),
        _notes(making),
        tuple(making.spared),
    )


def _serve_owners(making: Making, waiting: list[Waiting]) -> list[Waiting]:
    """Serve those whom a guarantee covers, one after the other; the others are left for what is spare."""
    claims = [(each, claim_of(making, each)) for each in waiting]
    making.owners |= {each.uid for each, claim in claims if claim is not None}
    above: list[Waiting] = []
    for each, first in claims:
        # What an earlier one was given counts: the guarantee may not cover this one as well.
        stopped = each.uid in making.gone
        claim: Claim | None = claim_of(making, each) if first is not None and not stopped else None
        if claim is None:
            making.owners.discard(each.uid)
            above.append(each)
        else:
            serve(making, claim)
    return above


def _take_idle(making: Making) -> None:
    """Take what stands idle and whose people were warned in vain; first, so that nobody else is taken instead."""
    for uid, due in making.idle.items():
        workload = making.workloads[uid]
        if due.stage != "take":
            continue
        refusal = making.rules.untouchable(workload)
        if refusal is not None:
            making.spared.append(Rejected(uid, title(workload), refusal.value))
            continue
        harm = harm_of(workload, making.snapshot.at_ms)
        why = (
            f"It holds {gpus(held_parts(workload))} and is {due.words}; its people were warned twice.",
            f"Stopping it costs {harm.words()}.",
        )
        making.actions.append(
            Action(
                making.next_group(),
                Act.STOP,
                Cause.IDLE,
                target_of(workload),
                frees_parts=held_parts(workload),
                harm=harm,
                why=why,
            )
        )
        making.stopped(workload)


def _warn(making: Making) -> None:
    stopped = {action.target.uid for action in making.actions}
    for uid, due in making.idle.items():
        if due.stage in {"warn", "again"} and uid not in stopped:
            workload = making.workloads[uid]
            harm = harm_of(workload, making.snapshot.at_ms)
            why = (
                f"It holds {gpus(held_parts(workload))} and is {due.words}.",
                f"Stopping it would cost {harm.words()}.",
            )
            target = target_of(workload)
            making.actions.append(
                Action(making.next_group(), Act.WARN, Cause.IDLE, target, harm=harm, stage=due.stage, why=why)
            )


def _balances(making: Making) -> tuple[Balance, ...]:
    return tuple(
        Balance(
            pool,
            team,
            standing.promise(team).guaranteed_parts,
            standing.fair_share(team),
            standing.before.get(team, 0),
            standing.held.get(team, 0),
            standing.waiting.get(team, 0),
        )
        for pool, standing in making.standings.items()
        for team in sorted(standing.shares)
    )


def _notes(making: Making) -> tuple[str, ...]:
    return tuple(
        f"Pool {pool}: {gpus(each.promised_parts)} are promised, and there can be no more than {gpus(each.most_parts)}."
        for pool, standing in making.standings.items()
        for each in standing.division.overpromised
        if each.overpromised
    )


def _turn(each: Waiting) -> tuple[int, int, str]:
    """Whose turn it is: the highest priority, then the longest wait."""
    return -each.priority, each.since_ms, each.uid
