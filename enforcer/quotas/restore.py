"""Restoring quotas: what we moved is as its people wrote it again, because a person asks for it."""

from collections.abc import Collection

from collector.kubernetes.lent import QUOTA, Fields
from collector.kubernetes.settings import Settings
from enforcer.act.carrying import carrying
from enforcer.act.doing import Doing
from enforcer.act.order import RESTORE
from enforcer.act.restore import Asked, Restored
from enforcer.act.served import NoWay
from enforcer.audit.deed import Deed, Phase
from enforcer.quotas.backends import BACKENDS, kinds_moved, read_cap
from enforcer.quotas.cap import Cap
from enforcer.quotas.change import QuotaChange
from enforcer.quotas.last import Last, Lasts, is_theirs, written
from enforcer.quotas.moving import Moving
from quartermaster.config.acting import Experimental


def restore_quotas(
    doing: Doing,
    settings: Settings,
    asked: Asked,
    known: Lasts,
    *,
    since_ms: int = 0,
    experimental: Collection[Experimental] = (),
) -> tuple[Restored, tuple[str, ...]]:
    """Put back all quotas that were moved since then, and take our annotation off; with what could not be looked at.

    `known` is what the audit has of each (`enforcer.quotas.last.lasts`): kinds that are there are looked through even
    where the policy no longer names them. Of one that somebody else has changed since the annotation alone is taken
    off. Raises LedgerError; Silence where the API server does not answer.
    """
    moved = {last.intent.kind for last in known.values() if last.stands}
    kinds = [each for each in BACKENDS if each in {*kinds_moved(experimental), *moved}]
    carriers = carrying(doing, {QUOTA}, kinds)
    found = {cap.uid: cap for each in carriers.found if (cap := read_cap(each.object, each.kind, settings))}
    for last in known.values():
        if last.stands and last.intent.object_uid not in found:
            found |= {cap.uid: cap for cap in _unmarked(doing, settings, last)}
    changes = [
        _back(cap, last)
        for cap in found.values()
        if (last := known.get(cap.uid)) is None or last.intent.at_ms >= since_ms
    ]
    common = Deed(
        asked.cluster,
        doing.wall(),
        Phase.INTENT,
        RESTORE,
        actor=asked.actor,
        words=asked.words,
        request_id=asked.request_id,
    )
    deeds = Moving(doing, settings, lambda: "").carry_out(changes, common)
    begun = {each.object_uid for each in deeds}
    left = {
        each.cap.source_object: "it has changed just now: try again"
        for each in changes
        if each.cap.uid not in begun
    }
    return Restored(deeds, left), carriers.unseen


def _unmarked(doing: Doing, settings: Settings, last: Last) -> list[Cap]:
    """The object of which the audit alone knows that it was moved, where it is still as we left it."""
    try:
        raw = doing.hands.look(doing.served.path(last.intent.kind, last.intent.namespace, last.intent.name))
    except NoWay:
        return []
    cap = None if raw is None else read_cap(raw, last.intent.kind, settings)
    there = cap is not None and cap.uid == last.intent.object_uid and not is_theirs(cap, last)
    return [cap] if cap is not None and there else []


def _back(cap: Cap, last: Last | None) -> QuotaChange:
    fields: Fields = {} if is_theirs(cap, last) else written(cap, last)
    moved = {name: value for name, value in fields.items() if value != cap.fields[name]}
    team, pool = ("", "") if last is None else (last.intent.team, last.intent.pool)
    return QuotaChange(cap, team, pool, moved, moved, "put back as its people wrote it")
