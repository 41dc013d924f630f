"""The hand: one cluster's quotas moved turn by turn, as fair shares and bookings change."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Protocol

from collector.kubernetes.settings import Settings
from enforcer.act.doing import Doing
from enforcer.act.order import Under, came_of
from enforcer.act.served import NoWay
from enforcer.act.wire import Silence
from enforcer.audit.deed import Deed, Phase, Result
from enforcer.guard.general import to_acting, to_coverage, to_stale
from enforcer.guard.standing import Standing
from enforcer.promised import Promised
from enforcer.quotas.backends import read_cap
from enforcer.quotas.booked import Unmet, follow
from enforcer.quotas.cap import Cap
from enforcer.quotas.change import QuotaChange
from enforcer.quotas.last import Last, Lasts, is_done, is_theirs, lasts
from enforcer.quotas.lending import Told, lend, unused
from enforcer.quotas.moving import QUOTA, Moving
from enforcer.snapshot import Snapshot
from quartermaster.config.policy import PolicyPart
from sql.ledger import Ledger


class Watch(Protocol):
    """What tells of the quota objects: `enforcer.quotas.watched.QuotaWatch`."""

    settings: Settings

    @property
    def settled(self) -> bool:
        """Whether all is seen that may be."""
        ...

    def all(self) -> tuple[Cap, ...]:
        """The objects as they are known now."""
        ...

    def start(self) -> None:
        """Begin to watch."""
        ...

    def stop(self) -> None:
        """Watch no more."""
        ...


NO_ROOM = "no room in the queue above"  # why a booking is not followed
_THEIRS = (
    "its fields are not as we left them: what somebody else wrote counts, and it is left alone for an hour"
)


class Quotas:
    """The quotas of one cluster. `may` says, by the epoch, why nothing may be done any more; "" while it may."""

    def __init__(self, doing: Doing, ledger: Ledger, watch: Watch, may: Callable[[int], str]) -> None:
        self._doing, self._ledger, self._watch, self._may = doing, ledger, watch, may
        self._unused_since_ms: dict[str, int] = {}
        self._refused: dict[str, str] = {}

    @property
    def settings(self) -> Settings:
        """Of the cluster."""
        return self._watch.settings

    def caps(self) -> tuple[Cap, ...]:
        """The quota objects as they are known now."""
        return self._watch.all()

    def start(self) -> None:
        """Begin to watch."""
        self._watch.start()

    def stop(self) -> None:
        """Watch no more."""
        self._watch.stop()

    def turn(
        self, snapshot: Snapshot, promised: Promised, policy: PolicyPart, under: Under, standing: Standing
    ) -> tuple[Deed, ...]:
        """Move what is to be moved now; the deeds that were written.

        It is to be called before anybody is stopped, so that what is taken from a borrower does not come back.
        Nothing is done where the policy does not let it, or the guard objects to all acting. Raises LedgerError: then
        nothing more is done.
        """
        if objection(snapshot, policy, standing) or not under.epoch or not self._watch.settled:
            return ()
        at_ms = self._doing.wall()
        caps = self.caps()
        known = self._known(under)
        closed = self._close(known, under)
        if closed:
            known = self._known(under)
        noticed = self._notice(caps, known, under)
        followed = follow(caps, promised.bookings_at(at_ms), promised.owners_at(at_ms), known, at_ms)
        refused = self._refuse(followed.unmet, under)
        changes = [
            *_taken_off(caps, known, at_ms),
            *self._lend(caps, snapshot, promised, policy, known),
            *followed.changes,
        ]
        moving = Moving(self._doing, self.settings, lambda: self._may(under.epoch))
        common = Deed(
            under.cluster, at_ms, Phase.INTENT, QUOTA, under.plan_hash, epoch=under.epoch, actor=under.actor
        )
        back = moving.carry_out([each for each in changes if not each.raises], common)
        outcomes = {each.object_uid: each.result for each in back if each.phase is Phase.OUTCOME}
        # What is not given back yet is not lent a second time.
        late = {
            each.pool
            for each in changes
            if not each.raises and outcomes.get(each.cap.uid) != Result.DONE.value
        }
        raised = [each for each in changes if each.raises and each.pool not in late]
        return (*closed, *noticed, *refused, *back, *moving.carry_out(raised, common))

    def _known(self, under: Under) -> Lasts:
        with self._ledger.reading() as cursor:
            return lasts(cursor, under.cluster)

    def _lend(
        self,
        caps: Sequence[Cap],
        snapshot: Snapshot,
        promised: Promised,
        policy: PolicyPart,
        known: Lasts,
    ) -> tuple[QuotaChange, ...]:
        at_ms = self._doing.wall()
        teams = {(each.team, each.pool) for each in (*snapshot.workloads, *snapshot.waiting)}
        now = replace(snapshot, at_ms=at_ms, promises=promised.at(at_ms, teams, caps=False))
        useless = unused(now, [each for each in caps if each.moved], known)
        self._unused_since_ms = {uid: self._unused_since_ms.get(uid, at_ms) for uid in useless}
        return lend(now, caps, policy, Told(promised.owners_at(at_ms), known, self._unused_since_ms))

    def _refuse(self, unmet: Sequence[Unmet], under: Under) -> tuple[Deed, ...]:
        """What cannot be followed stands in the audit once for as long as it is the same."""
        now = {each.cap.uid: each.words for each in unmet}
        told = [each for each in unmet if self._refused.get(each.cap.uid) != each.words]
        if told and self._may(under.epoch):
            return ()
        deeds = tuple(_refusal(each, under, self._doing.wall()) for each in told)
        if deeds:
            self._doing.journal.write(deeds)
        self._refused = now
        return deeds

    def _close(self, known: Lasts, under: Under) -> tuple[Deed, ...]:
        """Outcomes of intents without one: what the object shows was done, whatever else was not."""
        opened = [each for each in known.values() if not each.result]
        if not opened or self._may(under.epoch):
            return ()
        found = [each for each in self._doing.crew.each(self._came, opened) if each is not None]
        if found:
            self._doing.journal.write(found)
        return tuple(found)

    def _came(self, last: Last) -> Deed | None:
        intent = last.intent
        try:
            path = self._doing.served.path(intent.kind, intent.namespace, intent.name)
            raw = self._doing.hands.look(path)
        except (NoWay, Silence):
            return None
        cap = None if raw is None else read_cap(raw, intent.kind, self.settings)
        result, words = Result.ABANDONED, "it was begun before, and its fields are not so"
        if cap is None or cap.uid != intent.object_uid:
            words = "it is gone, or another of its name is there"
        elif is_done(cap, last):
            result, words = Result.DONE, "its fields were seen to be so"
        return came_of(intent, last.row_hash, result, words, self._doing.wall())

    def _notice(self, caps: Iterable[Cap], known: Lasts, under: Under) -> tuple[Deed, ...]:
        """Later outcomes of what was done and is somebody else's now."""
        found = [
            came_of(last.intent, last.row_hash, Result.UNDONE, _THEIRS, self._doing.wall())
            for cap in caps
            if (last := known.get(cap.uid)) is not None and last.stands and is_theirs(cap, last)
        ]
        if not found or self._may(under.epoch):
            return ()
        self._doing.journal.write(found)
        return tuple(found)


def objection(snapshot: Snapshot, policy: PolicyPart, standing: Standing) -> str:
    """Why no quota is moved now; "" where nothing speaks against it."""
    acting = policy.acting
    if not acting.lend:
        return "policy.acting.lend does not allow it"
    if standing.asked != "act":
        return "quotas are in no plan that could be approved: they are moved by --act alone"
    refused = (
        *to_acting(standing, acting),
        *to_stale("the picture of the cluster", snapshot.seen_at_ms, standing, policy.behind_ms),
        *to_coverage(f"cluster {snapshot.cluster}", standing.coverage_permille, acting),
    )
    return next((each.words for each in refused), "")


def _refusal(unmet: Unmet, under: Under, at_ms: int) -> Deed:
    return Deed(
        under.cluster,
        at_ms,
        Phase.REFUSED,
        QUOTA,
        under.plan_hash,
        kind=unmet.cap.kind,
        name=unmet.cap.name,
        object_uid=unmet.cap.uid,
        object_version=unmet.cap.version,
        team=unmet.team,
        pool=unmet.pool,
        epoch=under.epoch,
        actor=under.actor,
        result=NO_ROOM,
        words=unmet.words,
    )


def _taken_off(caps: Iterable[Cap], known: Lasts, at_ms: int) -> list[QuotaChange]:
    """Our annotation, from what is somebody else's now."""
    return [
        QuotaChange(cap, "", "", {}, {}, _THEIRS)
        for cap in caps
        if cap.marked
        and is_theirs(cap, known.get(cap.uid))
        and not ((last := known.get(cap.uid)) is not None and last.waits(at_ms))
    ]
