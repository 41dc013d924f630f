"""Last: what the audit remembers of a quota object: the last that was meant for it, and what came of that."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from collector.kubernetes.lent import Fields, same
from enforcer.act.order import RESTORE
from enforcer.audit.carried import Carried, carried_of
from enforcer.audit.deed import Deed, Result
from enforcer.book import rows
from enforcer.quotas.cap import Cap
from quartermaster.clock import HOUR_MS, MINUTE_MS, SECOND_MS
from sql.catalog import Cursor

# A quota is raised no more often than this, so that it does not follow every pod that comes and goes.
EVERY_MS = MINUTE_MS
# What had no effect, or what somebody else put back, is left alone for so long.
REST_MS = HOUR_MS
_AGAIN_MS = 10 * SECOND_MS
_IN_VAIN = {Result.NO_EFFECT.value, Result.UNDONE.value}


@dataclass(frozen=True, slots=True)
class Last:
    """An intent of ours for the object, by its row, and its outcome's result; "" while none is told."""

    intent: Deed
    row_hash: str
    result: str = ""

    @property
    def before(self) -> Fields:
        """The fields as its people wrote them."""
        return _fields(self.intent.before)

    @property
    def after(self) -> Fields:
        """The fields as they were meant to be."""
        return _fields(self.intent.after)

    @property
    def stands(self) -> bool:
        """Whether it left the object other than its people wrote it, as far as the audit knows."""
        return self.result == Result.DONE and self.after != self.before

    def rests(self, at_ms: int) -> bool:
        """Whether nothing is to be raised now: it was changed just now, or in vain, or a person put it back."""
        theirs = self.result in _IN_VAIN or self.intent.act == RESTORE or not self.after
        return not self.result or at_ms < self.intent.at_ms + (REST_MS if theirs else EVERY_MS)

    def waits(self, at_ms: int) -> bool:
        """Whether nothing at all is to be done now: nobody knows what came of it, or it has just failed."""
        failed = self.result in {*_IN_VAIN, Result.FAILED.value, Result.ABANDONED.value}
        return not self.result or (failed and at_ms < self.intent.at_ms + _AGAIN_MS)


Lasts = Mapping[str, Last]  # by UID


def lasts(cursor: Cursor, cluster: str) -> dict[str, Last]:
    """The last of each quota object of a cluster."""
    found = rows(cursor, "quota_lasts", {"cluster": cluster})
    return {each.deed.object_uid: last_of(each) for each in map(carried_of, found.iter_rows(named=True))}


def last_of(carried: Carried) -> Last:
    """What a row of the audit tells."""
    return Last(carried.deed, carried.row_hash, carried.result)


def written(cap: Cap, last: Last | None) -> Fields:
    """The fields as its people wrote them; by the audit, where somebody took our annotation off and left the rest."""
    if not cap.marked and last is not None and last.stands and _as_left(cap, last):
        return {**cap.fields, **{name: value for name, value in last.before.items() if name in cap.fields}}
    return cap.written if cap.moved else cap.fields


def is_theirs(cap: Cap, last: Last | None) -> bool:
    """Whether somebody else has changed what we had moved."""
    if cap.marked:
        return not cap.moved
    return last is not None and last.stands and not _as_left(cap, last)


def is_done(cap: Cap, last: Last) -> bool:
    """Whether the object is as the intent meant it to be."""
    return _as_left(cap, last) and cap.marked is (last.after != last.before)


def _as_left(cap: Cap, last: Last) -> bool:
    return all(same(cap.fields.get(name), value) for name, value in last.after.items())


def _fields(told: str) -> Fields:
    found: object = json.loads(told or "{}")
    return cast(Fields, found) if isinstance(found, dict) else {}
