"""What was carried out: intents beside what came of them last, and what they mean to the guard and to a plan."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from enforcer.audit.deed import Deed, Phase, Result
from enforcer.audit.row import Row, deed_of
from enforcer.book import rows
from enforcer.guard.standing import Taken
from enforcer.plan import Act
from enforcer.snapshot import Taking
from sql.catalog import Cursor

_LAST_MS = 2**42  # in the year 2109
_CHANGED_NOTHING = {Result.FAILED, Result.ABANDONED}
_IN_VAIN = {Result.NO_EFFECT, Result.UNDONE}


@dataclass(frozen=True, slots=True)
class Carried:
    """A row of the audit and what came of it last; "" and None while nothing is told, or where nothing is to come."""

    number: int
    row_hash: str
    deed: Deed
    result: str = ""  # of its last outcome: enforcer.audit.deed.Result's value
    seen_at_ms: int | None = None
    words: str = ""


def carried(
    cursor: Cursor,
    cluster: str | None,
    from_ms: int = 0,
    until_ms: int = _LAST_MS,
    *,
    phases: Sequence[Phase],
    only_open: bool = False,
) -> tuple[Carried, ...]:
    """The rows of these phases of one cluster, or of all, in order of time; with `only_open` those without outcome."""
    span = {"cluster": cluster, "from_ms": from_ms, "until_ms": until_ms}
    given = span | {"phases": [each.value for each in phases], "open": only_open}
    return tuple(carried_of(row) for row in rows(cursor, "audit_carried", given).iter_rows(named=True))


def carried_of(row: Row) -> Carried:
    """What one of the queries audit_carried and audit_stopped found."""
    told = row["came"], row["came_ms"], row["came_words"]
    return Carried(row["number"], row["row_hash"], deed_of(row), *told)


def as_taken(intents: Iterable[Carried]) -> tuple[Taken, ...]:
    """Those that stopped a workload, or may have: an intent of which nothing is told yet counts as done.

    So does one without effect: some of its pods may have gone before it was put back.
    """
    return tuple(
        Taken(each.deed.object_uid, each.deed.at_ms, each.deed.team, each.deed.pool, each.deed.frees_parts)
        for each in intents
        if each.deed.act == Act.STOP and each.result not in _CHANGED_NOTHING
    )


def as_takings(intents: Iterable[Carried]) -> tuple[Taking, ...]:
    """The same for a snapshot, all of one group at the instant of its first intent.

    In vain were those that had no effect, and those that somebody else put back: neither is tried again.
    """
    meant = [each for each in intents if each.deed.act == Act.STOP]
    short = {_group(each) for each in meant if each.result in _CHANGED_NOTHING | _IN_VAIN}
    stops = [each for each in meant if each.result not in _CHANGED_NOTHING]
    began: dict[tuple[str, int, int], int] = {}
    for each in stops:
        began[_group(each)] = min(each.deed.at_ms, began.get(_group(each), each.deed.at_ms))
    return tuple(
        Taking(
            each.deed.object_uid,
            each.deed.for_uid,
            began[_group(each)],
            in_vain=each.result in _IN_VAIN,
            short=_group(each) in short and each.result not in _IN_VAIN,
        )
        for each in stops
    )


def _group(each: Carried) -> tuple[str, int, int]:
    return each.deed.plan_hash, each.deed.epoch, each.deed.group
