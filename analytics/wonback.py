"""Won back: the GPU-time that others held on what was taken, and how it is counted."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import sql
from quartermaster.clock import DAY_MS
from sql.ledger import Cursor

LONGEST_MS = 7 * DAY_MS
METHOD = (
    "Of each workload that was stopped: the GPU-hours that others, who came after, held on the GPUs it had, until it "
    "was started again, for seven days at most."
)
_OF_A_STOP = (
    *("cluster", "number", "kind", "namespace", "name", "team", "pool", "cause"),
    *("frees_parts", "stopped_ms", "back_ms"),
)
_QUERY = Path(sql.__file__).parent / "queries" / "wonback" / "given.sql"


@dataclass(frozen=True, slots=True)
class Given:
    """What one team held of it, in part-milliseconds; None: a team that is not known (yet)."""

    team: str | None
    pms: int


@dataclass(frozen=True, slots=True)
class Stop:
    """A workload that was stopped, and who held its GPUs since. `back_ms` (epoch ms): when it was started again."""

    cluster: str
    number: int  # of its intent in the audit
    kind: str
    namespace: str
    name: str
    team: str
    pool: str
    cause: str
    parts: int
    stopped_ms: int
    back_ms: int | None
    given: tuple[Given, ...]

    @property
    def given_pms(self) -> int:
        """By everybody."""
        return sum(each.pms for each in self.given)


def won_back(cursor: Cursor, from_ms: int, until_ms: int, cluster: str | None = None) -> tuple[Stop, ...]:
    """The stops whose GPUs others may have held between two instants (epoch ms), the first stopped first.

    Only the time between the two counts. A stop counts from its intent on: pods are bound before it is told.
    """
    given = {"from_ms": from_ms, "until_ms": until_ms, "longest_ms": LONGEST_MS, "cluster": cluster}
    found = cursor.execute(_QUERY.read_text(encoding="utf-8"), given)
    columns = [column[0] for column in found.description]
    rows = [dict(zip(columns, values, strict=True)) for values in found.fetchall()]
    return tuple(
        Stop(
            *key,
            given=tuple(Given(row["receiver"], row["given_pms"]) for row in of_it if row["given_pms"]),
        )
        for key, of_it in groupby(rows, key=itemgetter(*_OF_A_STOP))
    )


def by_team(stops: Iterable[Stop]) -> dict[str | None, int]:
    """What each team was given, in part-milliseconds; the most first, then by name."""
    sums: dict[str | None, int] = {}
    for stop in stops:
        for each in stop.given:
            sums[each.team] = sums.get(each.team, 0) + each.pms
    return dict(sorted(sums.items(), key=lambda item: (-item[1], item[0] or "")))
