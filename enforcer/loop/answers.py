"""Answers: what a person asks of a running cluster, done and told: a workload given back, or one started again."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from analytics.asking.request import Kind, Request
from enforcer.act.order import Order, Under
from enforcer.act.restore import Asked, Restored, named, restore
from enforcer.act.seen import Seen
from enforcer.act.served import NoWay
from enforcer.act.wire import Silence
from enforcer.audit.deed import Deed, Phase, Result
from enforcer.audit.requests import unanswered
from enforcer.guard.recheck import recheck
from enforcer.guard.refused import Refused
from enforcer.guard.special import to_protected
from enforcer.guard.standing import Standing
from enforcer.loop.site import Site
from enforcer.making import target_of
from enforcer.plan import Act, Action, Cause, Plan
from enforcer.snapshot import Snapshot, Workload
from quartermaster.clock import HOUR_MS
from quartermaster.errors import InputError
from quartermaster.text import visible

_ASKED = (Kind.RESTORE, Kind.GIVE_BACK)
_UNDER_WAY = "it is under way"
_TOO_OLD = "it was asked more than an hour ago, and nobody could do it then: ask again"


class Answers:
    """Of one site. Each request is answered once, by a deed; one that cannot be done now is tried for an hour."""

    def __init__(self, site: Site) -> None:
        self._site = site

    def answer(self, snapshot: Snapshot, made: Plan, standing: Standing, under: Under) -> tuple[Deed, ...]:
        """Do what is asked, as the leader; the deeds of it. Raises LedgerError: then it is tried again.

        Nothing is given back while everything is frozen; what is restored is, as by the command.
        """
        if not under.epoch:
            return ()
        with self._site.ledger.reading() as cursor:
            asked = unanswered(cursor, self._site.cluster, _ASKED)
        deeds: list[Deed] = []
        for each in asked:
            if self._site.wall() - each.asked_at_ms > HOUR_MS:
                done, words = (), _TOO_OLD
            elif each.kind is Kind.RESTORE:
                done, words = self._restored(each)
            else:
                done, words = self._given_back(each, snapshot, _Look(self._site, made, standing), under)
            deeds += done
            if words:
                deeds += self._told(each, words, under)
        return tuple(deeds)

    def _given_back(
        self, asked: Request, snapshot: Snapshot, look: "_Look", under: Under
    ) -> tuple[tuple[Deed, ...], str]:
        workload = next((each for each in snapshot.workloads if each.uid == asked.subject), None)
        if workload is None:
            return (), "it holds nothing any more"
        against = self._against(workload)
        if against:
            return (), against
        if self._site.gate.look() is not None:
            return (), ""
        target = target_of(workload)
        why = (f"its people asked for it: {asked.words}" if asked.words else "its people asked for it",)
        action = Action(
            0, Act.STOP, Cause.GIVEN, target, frees_parts=sum(each.parts for each in workload.pods), why=why
        )
        order = Order(0, action, {pod.uid: pod.name for pod in workload.pods if not pod.terminating})
        alone = replace(under, plan_hash=f"request {asked.request_id:016x}")
        deeds = self._site.actor.carry_out((order,), alone, look)
        return deeds, _came(deeds) or _UNDER_WAY

    def _against(self, workload: Workload) -> str:
        """Why a workload is not stopped, whoever asks; "" where nothing is against it."""
        if not workload.way_down or workload.kind == "Pod":
            return "nothing is known that would start it again, so it is left to its people to end it"
        protected = self._site.ruling.policy.protected
        found = next(to_protected(target_of(workload), workload.priority, workload.labels, protected), None)
        return "" if found is None else found.words

    def _restored(self, asked: Request) -> tuple[tuple[Deed, ...], str]:
        """As `quartermaster restore` does it. Where the API server is silent it is not answered yet."""
        stopped = tuple(each.deed for each in self._site.chain.stopped())
        mine = [each for each in stopped if asked.subject in {each.object_uid, _title(each)}]
        if not mine:
            return (), "it is not stopped any more"
        by_hand = self._site.by_hand
        try:
            carrier = named(by_hand, _title(mine[-1]), stopped)
            recorded = {each.object_uid: each.before for each in stopped}
            who = Asked(asked.cluster, asked.asked_by, asked.words, asked.request_id)
            done = restore(by_hand, (carrier,), who, recorded)
        except (InputError, NoWay) as error:
            return (), visible(str(error))
        except Silence:
            return (), ""
        return done.deeds, _came(done.deeds) or _left(done)

    def _told(self, asked: Request, words: str, under: Under) -> tuple[Deed, ...]:
        deed = Deed(
            asked.cluster,
            self._site.wall(),
            Phase.ANSWERED,
            asked.kind.value,
            actor=asked.asked_by,
            epoch=under.epoch,
            words=words,
            request_id=asked.request_id,
        )
        self._site.chain.write([deed])
        return (deed,)


@dataclass(frozen=True)
class _Look:
    """The last look at what is given back: it is what it was, and nothing is frozen. Nobody needs to approve it."""

    site: Site
    made: Plan
    standing: Standing

    def __call__(self, action: Action, seen: Seen, /) -> Refused | None:
        now = replace(self.standing, asked="act", now_ms=self.site.wall(), freeze=self.site.gate.look())
        return recheck(action, self.made, seen, now, self.site.ruling.policy)


def _came(deeds: Iterable[Deed]) -> str:
    """What came of it; "" where nothing was begun, or is not known yet."""
    told = [each for each in deeds if each.phase in {Phase.OUTCOME, Phase.REFUSED}]
    if not told:
        return ""
    last = told[-1]
    if last.result == Result.DONE:
        return "done"
    return f"{last.result}: {last.words}" if last.words else last.result


def _left(done: Restored) -> str:
    """Why it was not begun; where it was begun, and nobody can tell, its outcome is told when it is known."""
    return "; ".join(done.left.values()) or _UNDER_WAY


def _title(deed: Deed) -> str:
    return f"{deed.kind}/{deed.namespace}/{deed.name}"
