"""Resuming: what becomes of intents that have no outcome, after a restart or when something could not be told.

An act is never repeated. Where the object shows that it happened, it is gone on with: its pods are seen to go. Where it
does not, it is abandoned. Only what was to be put back is put back after all, for that is owed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from collector.kubernetes.values import Json
from enforcer.act.change import Change, NoChange
from enforcer.act.doing import Begun, Doing
from enforcer.act.grip import owners_grip
from enforcer.act.mark import is_marked, mark_of
from enforcer.act.order import RESTORE
from enforcer.act.served import NoWay
from enforcer.act.server import WORKSPACE
from enforcer.act.serving import back, was_begun
from enforcer.act.wire import Silence
from enforcer.audit.deed import Deed, Result
from enforcer.plan import Act

_DOWN = {Act.HOLD.value, Act.STOP.value}
_OURS = {*_DOWN, Act.START.value, RESTORE}

_NOT_BEGUN = "it was begun before a restart, and nothing was changed"


def resume(doing: Doing, intents: Mapping[str, Deed], epoch: int) -> tuple[Deed, ...]:
    """Close open intents, by the hashes of their rows, under the leader's epoch; the deeds that were written.

    One of which nothing can be told now stays open; those of quotas and warnings are not looked at. Raises
    LedgerError.
    """
    ours = [each for each in intents.items() if each[1].act in _OURS and _is_known(doing, each[1])]
    begun = doing.crew.each(lambda each: _found(doing, *each), ours)
    waiting: Sequence[Begun] = [each for each in begun if each.patch is not None]
    others = [each for each in begun if each.patch is None]
    told = [*doing.see(others, epoch), *doing.do(waiting, epoch)]
    return doing.finish(told, epoch)


def notice(doing: Doing, stopped: Mapping[str, Deed], epoch: int) -> tuple[Deed, ...]:
    """See which of those that are stopped, by the hashes of their intents, somebody else has started since.

    Each gets a later outcome, and our mark is taken off; nobody is stopped again. Raises LedgerError.
    """
    begun = doing.crew.each(lambda each: doing.read_back(Begun(each[1], each[0])), stopped.items())
    return doing.finish([each for each in begun if each.result is Result.UNDONE], epoch)


def _is_known(doing: Doing, intent: Deed) -> bool:
    return intent.kind in doing.served.ways or intent.kind == WORKSPACE


def _found(doing: Doing, row_hash: str, intent: Deed) -> Begun:
    """What the object says of an intent: it happened (no patch is left), it did not, or it cannot be told."""
    begun = Begun(intent, row_hash)
    try:
        if intent.kind == WORKSPACE:
            return _of_a_server(doing, begun)
        return _of_an_owner(doing, begun)
    except Silence as silence:
        return replace(begun, is_open=True, words=str(silence))
    except NoWay as no_way:  # what it was stopped by is not there any more
        return _abandoned(doing, begun, str(no_way))


def _of_an_owner(doing: Doing, begun: Begun) -> Begun:
    intent = begun.intent
    held = owners_grip(doing.served, intent.kind, intent.namespace, intent.name)
    if held is None or held.uid != intent.object_uid:
        return _abandoned(doing, begun, "it is gone, or another of its name is there")
    if _happened(intent, held.object):
        return begun
    if intent.act == RESTORE:
        return _owed(doing, begun, held.start())
    return _abandoned(doing, begun, _NOT_BEGUN)


def _of_a_server(doing: Doing, begun: Begun) -> Begun:
    """The same of one that a Hub serves. Nobody can tell who had it stopped: where it is, it counts as ours."""
    if was_begun(doing.hands, begun.intent):
        return begun
    if begun.intent.act == RESTORE:
        return _owed(doing, begun, back(doing.hands, begun.intent))
    return _abandoned(doing, begun, _NOT_BEGUN)


def _happened(intent: Deed, seen: Json) -> bool:
    if intent.act not in _DOWN:
        return not is_marked(seen)
    mark = mark_of(seen)
    return mark is not None and mark.is_of(intent.plan_hash, intent.epoch, intent.act)


def _owed(doing: Doing, begun: Begun, change: Change | NoChange) -> Begun:
    if isinstance(change, Change):
        return replace(begun, patch=change.patch)
    return _abandoned(doing, begun, change.words)


def _abandoned(doing: Doing, begun: Begun, words: str) -> Begun:
    return replace(begun, result=Result.ABANDONED, words=words, at_ms=doing.wall())
