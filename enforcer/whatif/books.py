"""The books of a world: who held, borrowed, lent and was owed how much, integrated over time in part-milliseconds."""

from collections.abc import Mapping
from dataclasses import dataclass

from enforcer.whatif.floor import Floor
from quartermaster.remainder import share


@dataclass
class Account:
    """A team's in one pool. `owed_pms`: its own guarantee that it asked for and did not hold."""

    held_pms: int = 0
    borrowed_pms: int = 0
    lent_pms: int = 0
    owed_pms: int = 0
    waited_pms: int = 0


@dataclass
class Space:
    """What became of a pool's capacity: held, free, or on machines that took nobody."""

    capacity_pms: int = 0
    free_pms: int = 0
    down_pms: int = 0


class Books:
    """Kept from `from_ms` on; between two instants nothing changes."""

    def __init__(self, from_ms: int, guaranteed: Mapping[str, int]) -> None:
        self.accounts = {team: Account() for team in guaranteed}
        self.space = Space()
        self._guaranteed = guaranteed
        self._at_ms = from_ms

    def until(self, at_ms: int, held: Mapping[str, int], waiting: Mapping[str, int], floor: Floor) -> None:
        """So it was until then: what each team held and waited for, in parts."""
        span_ms, self._at_ms = at_ms - self._at_ms, at_ms
        if not span_ms:
            return
        borrowed = 0
        unused: dict[str, int] = {}
        for team, account in self.accounts.items():
            mine, asks, guaranteed = held[team], waiting[team], self._guaranteed[team]
            above = max(0, mine - guaranteed)
            unused[team] = guaranteed - mine + above
            borrowed += above
            account.held_pms += mine * span_ms
            account.borrowed_pms += above * span_ms
            account.waited_pms += asks * span_ms
            account.owed_pms += min(asks, unused[team]) * span_ms
        free, down, whole = floor.free_parts, floor.down_parts, floor.parts
        self.space.capacity_pms += whole * span_ms
        self.space.free_pms += free * span_ms
        self.space.down_pms += down * span_ms
        lent = borrowed - max(0, whole - sum(self._guaranteed.values()))
        if lent > 0 and any(unused.values()):
            for team, parts in share(min(lent, sum(unused.values())), unused).items():
                self.accounts[team].lent_pms += parts * span_ms
