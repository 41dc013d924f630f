"""A world: a past played again under some terms, pool by pool; what became of all that was asked for."""

from collections.abc import Sequence
from dataclasses import dataclass

from enforcer.whatif.asked import Past
from enforcer.whatif.books import Account, Books, Space
from enforcer.whatif.play import Play
from enforcer.whatif.stay import Story
from enforcer.whatif.terms import Terms


@dataclass(frozen=True)
class World:
    """What became of a past under some terms: by (pool, team), by pool, and of each that was asked for, in order."""

    terms: Terms
    accounts: dict[tuple[str, str], Account]
    spaces: dict[str, Space]
    stories: tuple[Story, ...]


def play(past: Past, terms: Terms) -> World:
    """The past once more. The same past and terms give the same world."""
    stories = [Story(each) for each in past.asked]
    of_pool: dict[str, list[Story]] = {}
    for story in stories:
        of_pool.setdefault(story.asked.pool, []).append(story)
    accounts: dict[tuple[str, str], Account] = {}
    spaces: dict[str, Space] = {}
    for pool in sorted({*of_pool, *(machine.pool for machine in past.machines)}):
        books = _played(past, terms, pool, of_pool.get(pool, ()))
        accounts |= {(pool, team): account for team, account in books.accounts.items()}
        spaces[pool] = books.space
    return World(terms, accounts, spaces, tuple(stories))


def _played(past: Past, terms: Terms, pool: str, stories: Sequence[Story]) -> Books:
    machines = [machine for machine in past.machines if machine.pool == pool]
    nodes = {machine.node for machine in machines}
    play = Play(terms, pool, machines, stories, past.from_ms)
    for turn in past.turns:
        if turn.node in nodes:
            play.will_turn(turn)
    play.until(past.until_ms)
    return play.books
