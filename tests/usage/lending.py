"""Decision 9: guarantees, what is borrowed from whom, instant by instant."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from quartermaster.remainder import share
from tests.usage.history import FOREVER, Told, in_force
from tests.usage.words import Words

QUOTA = (
    "guaranteed_pms",
    "held_pms",
    "within_pms",
    "borrowed_pms",
    "lent_pms",
    "from_spare_pms",
    "unused_pms",
    "waiting_pms",
)


class Lending:
    """`quota` and `lent` are keyed as the ledger's rows are; `borrowed` is that of the last instant."""

    def __init__(self, told: Told, words: Words, step: int) -> None:
        self.told, self.words, self.step = told, words, step
        self.quota: dict[tuple[Any, ...], dict[str, Any]] = {}
        self.lent: dict[tuple[Any, ...], int] = defaultdict(int)
        self.borrowed: dict[tuple[int, int, bool], int] = {}

    # decision 9
    def guarantees(self, t: int) -> dict[tuple[str, str], int]:
        promised: dict[tuple[str, str], int] = defaultdict(int)
        for quota in in_force([self.stretched(q) for q in self.told.quotas], "quota_id", t):
            promised[quota.pool, quota.team] += quota.guaranteed_parts * (-1 if quota.kind == "offer" else 1)
        return {key: max(0, parts) for key, parts in promised.items()}

    def stretched(self, quota: Any) -> Any:
        """In a quota gap the last known guarantee stands: one that ends in a gap ends with it."""
        changed = True
        while changed and quota.end_at is not None:
            changed = False
            for gap in self.told.gaps:
                end = FOREVER if gap.end_at is None else gap.end_at
                if (
                    gap.covers == "quota"
                    and gap.source == quota.source
                    and gap.start_at <= quota.end_at < end
                ):
                    quota = replace(quota, end_at=end)
                    changed = True
        return quota

    def lend(self, t: int, start: int, there: Any, held: Any, present: Any) -> None:
        self.borrowed = {}
        guarantees = self.guarantees(t)
        waiting: dict[tuple[str, str], int] = defaultdict(int)
        for wish in in_force(self.told.demand, "demand_id", t):
            waiting[wish.pool, self.words.team(wish, t)] += wish.gpu_parts
        mine: dict[tuple[str, str], list[Any]] = defaultdict(list)
        for a, device, parts, named in held:
            d, node = present[device]
            mine[node.pool, self.words.team(a, t)].append(
                (a.preemptible, a.start_at, a.allocation_id, d.node, d.device_index, device, not named, parts)
            )
        for pool in {pool for pool, _ in (*guarantees, *mine, *waiting)}:
            teams = sorted({team for p, team in (*guarantees, *mine, *waiting) if p == pool})
            capacity = sum(d.parts for d, node in there if node.pool == pool)
            has = {team: sum(x[-1] for x in mine[pool, team]) for team in teams}
            promise = {team: guarantees.get((pool, team), 0) for team in teams}
            inside = {team: min(has[team], promise[team]) for team in teams}
            borrowed = {team: has[team] - inside[team] for team in teams}
            unused = {team: promise[team] - inside[team] for team in teams}
            spare = min(max(0, capacity - sum(promise.values())), sum(borrowed.values()))
            from_spare = share(spare, borrowed)
            lent = share(sum(borrowed.values()) - spare, unused)
            for team in teams:
                figures = (
                    promise[team],
                    has[team],
                    inside[team],
                    borrowed[team],
                    lent[team],
                    from_spare[team],
                    unused[team],
                    waiting.get((pool, team), 0),
                )
                row = self.quota.setdefault((start, pool, team), dict.fromkeys(QUOTA, 0))
                for name, parts in zip(QUOTA, figures, strict=True):
                    row[name] += parts * self.step
                left = promise[team]
                for x in sorted(mine[pool, team]):
                    self.borrowed[x[2], x[5], not x[6]] = max(0, x[-1] - left)
                    left = max(0, left - x[-1])
            self.matrix(start, pool, lent, {team: borrowed[team] - from_spare[team] for team in teams})

    def matrix(self, start: int, pool: str, lent: Mapping[str, int], borrowed: Mapping[str, int]) -> None:
        """Both laid side by side in order of name: unit k that is lent goes to whoever borrows unit k."""
        lenders, borrowers = _laid(lent), _laid(borrowed)
        for lender, low, high in lenders:
            for borrower, begin, end in borrowers:
                parts = min(high, end) - max(low, begin)
                if parts > 0:
                    self.lent[start, pool, lender, borrower] += parts * self.step


def _laid(amounts: Mapping[str, int]) -> list[tuple[str, int, int]]:
    found, at = [], 0
    for name in sorted(amounts):
        found.append((name, at, at + amounts[name]))
        at += amounts[name]
    return found
