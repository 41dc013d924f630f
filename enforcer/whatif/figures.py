"""Figures: a world in numbers, a team each and together; times in milliseconds, GPU time in part-milliseconds."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from enforcer.whatif.books import Account
from enforcer.whatif.stay import Run, Story
from enforcer.whatif.world import World


@dataclass(frozen=True)
class Figures:
    """What became of a team, or of all (`team` is "")."""

    team: str
    asked: int  # workloads that were asked for in the span
    waited_mean_ms: int
    waited_95_ms: int  # 95 of 100 waited no longer
    waiting: int  # that wait still at the end
    held_pms: int
    idle_pms: int  # held by what stood idle beyond doubt
    borrowed_pms: int
    lent_pms: int
    owed_pms: int  # its own guarantee, asked for and not held
    reclaimed: int  # workloads taken because they stood idle
    reclaimed_pms: int  # what that gave until they would have ended or computed again
    preempted: int  # times that a workload gave way to an owner
    lost_pms: int  # work that has to be done again
    share_permille: int  # of all that is held


def figures(world: World, until_ms: int) -> list[Figures]:
    """Each team's in order of name, and those of all last."""
    held = sum(account.held_pms for account in world.accounts.values())
    teams = sorted({team for _, team in world.accounts})
    found = [
        _figures(
            team,
            [account for (_, name), account in world.accounts.items() if name == team],
            [story for story in world.stories if story.asked.team == team],
            held,
            until_ms,
        )
        for team in teams
    ]
    return [*found, _figures("", list(world.accounts.values()), world.stories, held, until_ms)]


def _figures(
    team: str, accounts: Sequence[Account], stories: Sequence[Story], held_pms: int, until_ms: int
) -> Figures:
    new = [story for story in stories if story.asked.begun_ms is None]
    waited = sorted(story.waited_ms for story in new)
    mine = sum(account.held_pms for account in accounts)
    runs = [(story, run) for story in stories for run in story.runs]
    return Figures(
        team,
        len(new),
        sum(waited) // len(waited) if waited else 0,
        waited[(len(waited) * 95 - 1) // 100] if waited else 0,
        sum(story.waits_since_ms is not None for story in stories),
        mine,
        sum(_idle_pms(story, run) for story, run in runs),
        sum(account.borrowed_pms for account in accounts),
        sum(account.lent_pms for account in accounts),
        sum(account.owed_pms for account in accounts),
        sum(run.how == "idle" for _, run in runs),
        sum(_reclaimed_pms(story, run, until_ms) for story, run in runs if run.how == "idle"),
        sum(run.how == "preempted" for _, run in runs),
        sum(story.asked.parts * _lost_ms(run) for story, run in runs),
        mine * 1000 // held_pms if held_pms else 0,
    )


def _lost_ms(run: Run) -> int:
    return run.ended_ms - run.begun_ms if run.how in {"preempted", "lost"} else 0


def _idle_pms(story: Story, run: Run) -> int:
    """How much of a run it stood idle."""
    first = run.before_ms
    last = first + run.ended_ms - run.begun_ms
    return story.asked.parts * _overlap_ms(story.asked.idle, first, last)


def _reclaimed_pms(story: Story, run: Run, until_ms: int) -> int:
    into_ms = run.before_ms + run.ended_ms - run.begun_ms
    end_ms = next((end for start, end in story.asked.idle if start <= into_ms < end), into_ms)
    return story.asked.parts * max(0, min(end_ms - into_ms, until_ms - run.ended_ms))


def _overlap_ms(stretches: Iterable[tuple[int, int]], first: int, last: int) -> int:
    return sum(max(0, min(end, last) - max(start, first)) for start, end in stretches)
