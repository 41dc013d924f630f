"""Compared: a cluster's past under two policies, side by side, with all that it rests on; as values for machines."""

from collections.abc import Sequence
from typing import Any

from enforcer.whatif.figures import Figures, figures
from enforcer.whatif.fluid import most_held_pms
from enforcer.whatif.history import History
from enforcer.whatif.terms import Terms
from enforcer.whatif.world import World, play
from enforcer.written import hours
from quartermaster.clock import HOUR_MS, to_iso
from quartermaster.fairshare.explain import gpus

ASSUMPTIONS = (
    "Who wanted what, and when, is as it was: nobody asks for more because waiting is shorter, or for less.",
    "A run takes as long as it took in the past. One that gives way runs its whole work again; checkpoints are not in "
    "the ledger.",
    "What was taken or preempted in truth counts with the run that it had.",
    "Pods of a workload that needs several at once are one gang while they overlap, as long as the longest of them. "
    "What ran when the span begins runs on where it was.",
    "Pods are packed by GPUs alone, on the fullest node that has room; CPU, memory, selectors and affinity do not "
    "count, and slices and shares are parts of whole GPUs.",
    "GPUs change hands at once: no pod takes time to stop or to start.",
    "Promises are those at the end of the span; bookings, offers and past use are left out.",
    "Spare GPUs go to the team that is least above its guarantee for its weight. Borrowers give way in the planner's "
    "order, within the policy's limits, pool by pool; that no smaller choice exists is not proved.",
    "Where policy.acting.mode is shadow nothing is taken; where it is plan, each plan counts as approved at once.",
    "Warnings count as sent in time, and nobody asked to keep anything. What is taken because it stands idle asks "
    "again when it computed again, for the rest of its run. Idleness is known by whole hours that are rolled up.",
)


def compare(history: History, cluster: str, both: Sequence[Terms]) -> dict[str, Any]:
    """The past under each of the terms, and as it was."""
    past = history.past
    worlds = [play(past, terms) for terms in both]
    waited = sorted(history.waited_ms)
    return {
        "cluster": cluster,
        "from": to_iso(past.from_ms),
        "to": to_iso(past.until_ms),
        "as_it_was": {
            "held_gpu_hours": hours(history.held_pms),
            "waited_mean_hours": _span(sum(waited) // len(waited) if waited else 0),
        },
        "most_gpu_hours": hours(most_held_pms(past)),
        "never_ran": {"workloads": history.never, "gpus": gpus(history.never_parts)},
        "policies": [_told(world, past.until_ms) for world in worlds],
        "assumptions": list(ASSUMPTIONS),
    }


def _told(world: World, until_ms: int) -> dict[str, Any]:
    *teams, together = figures(world, until_ms)
    spaces = world.spaces.values()
    return {
        "policy": world.terms.name,
        "takes": world.terms.takes,
        "capacity_gpu_hours": hours(sum(space.capacity_pms for space in spaces)),
        "free_gpu_hours": hours(sum(space.free_pms for space in spaces)),
        "down_gpu_hours": hours(sum(space.down_pms for space in spaces)),
        "all": _figures(together),
        "teams": [_figures(each) for each in teams],
    }


def _figures(each: Figures) -> dict[str, Any]:
    return {
        "team": each.team,
        "asked": each.asked,
        "waited_mean_hours": _span(each.waited_mean_ms),
        "waited_95_hours": _span(each.waited_95_ms),
        "waiting_at_the_end": each.waiting,
        "held_gpu_hours": hours(each.held_pms),
        "idle_gpu_hours": hours(each.idle_pms),
        "borrowed_gpu_hours": hours(each.borrowed_pms),
        "lent_gpu_hours": hours(each.lent_pms),
        "owed_gpu_hours": hours(each.owed_pms),
        "reclaimed": each.reclaimed,
        "reclaimed_gpu_hours": hours(each.reclaimed_pms),
        "preempted": each.preempted,
        "lost_gpu_hours": hours(each.lost_pms),
        "share_permille": each.share_permille,
    }


def _span(span_ms: int) -> str:
    """Hours, to the hundredth."""
    hundredths = (span_ms * 100 + HOUR_MS // 2) // HOUR_MS
    return f"{hundredths // 100}.{hundredths % 100:02d}"
