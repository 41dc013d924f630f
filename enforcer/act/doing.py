"""Doing: intents into the journal, their patches onto the cluster, what is seen of it, outcomes into the journal."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from collector.kubernetes.values import Json
from enforcer.act.change import Change, NoChange, is_down, start
from enforcer.act.clearing import Cleared, Clearing, Fate, Named, Pace
from enforcer.act.crew import Crew
from enforcer.act.effects import Came, How, Patch, Serve
from enforcer.act.grip import owners_grip, way_of
from enforcer.act.hands import Hands
from enforcer.act.mark import is_marked
from enforcer.act.order import RESTORE, came_of, pods_of, written
from enforcer.act.pods import pods_told
from enforcer.act.served import NoWay, Served
from enforcer.act.server import WORKSPACE
from enforcer.act.serving import back, looked_at
from enforcer.act.way import WAYS, Ways
from enforcer.act.wire import Silence
from enforcer.audit.deed import Deed, Phase, Result
from enforcer.plan import Act

_AGAIN = 4
_DOWN = {Act.HOLD.value, Act.STOP.value}


class Journal(Protocol):
    """Where deeds are written: `enforcer.audit.chain.Chain`."""

    def write(self, deeds: Sequence[Deed]) -> tuple[str, ...]:
        """Append them, all or none, in one commit; the hashes of their rows. Raises LedgerError."""
        ...


@dataclass(frozen=True, slots=True)
class Begun:
    """An intent that is in the journal, and what is known of it: nothing yet, an outcome, or that nobody can tell."""

    intent: Deed
    row_hash: str
    patch: Patch | Serve | None = None  # None once it has happened
    result: Result | None = None
    words: str = ""
    at_ms: int = 0
    is_open: bool = False  # it is left to `enforcer.act.resume`
    goes_back: bool = False  # what was changed is to be put back
    stopped: Json | None = None  # the owner, as the server answered when it was stopped
    named: Mapping[str, str] = field(default_factory=dict[str, str])  # its pods' names by UID
    patched: str = ""  # the UID of what the patch was for, which is not known any more after a restart

    @property
    def pods(self) -> Mapping[str, str]:
        """Its pods' names by UID; after a restart as many as the intent has."""
        return self.named or pods_of(self.intent)

    @property
    def is_done(self) -> bool:
        """Whether it was seen to be done."""
        return self.result is Result.DONE and not self.is_open


class Doing:
    """On one cluster. `may` says, by the epoch, why nothing may be done any more; "" while it may."""

    def __init__(
        self,
        hands: Hands,
        journal: Journal,
        may: Callable[[int], str],
        wall: Callable[[], int],
        pace: Pace,
        *,
        ways: Ways = WAYS,
        namespaces: Sequence[str] = (),
    ) -> None:
        self.hands = hands
        self.served = Served(hands, ways, tuple(namespaces))
        self.crew = Crew()
        self.journal = journal
        self.wall = wall
        self._may = may
        self._pace = pace

    def begin(self, intents: Sequence[Deed], patches: Sequence[Patch | Serve]) -> list[Begun]:
        """Put the intents into the journal, in one commit."""
        hashes = self.journal.write(intents)
        return [
            Begun(intent, row_hash, patch, patched=patch.uid)
            for intent, row_hash, patch in zip(intents, hashes, patches, strict=True)
        ]

    def do(self, begun: Sequence[Begun], epoch: int) -> list[Begun]:
        """Send their patches side by side, and see what comes of them."""
        return self.see(self.crew.each(lambda each: self._change(each, epoch), begun), epoch)

    def see(self, begun: Sequence[Begun], epoch: int) -> list[Begun]:
        """Wait for the pods of those that were stopped, and look at each owner once more."""
        clearing = Clearing(self.hands, self.crew, epoch, lambda: self._may(epoch), self._pace)
        pods = [
            Named(each.intent.namespace, name, uid)
            for each in begun
            if each.result is None and not each.is_open and each.intent.act == Act.STOP.value
            for uid, name in each.pods.items()
        ]
        path_of = self.served.path
        stopped = {
            path_of(each.intent.kind, each.intent.namespace, each.intent.name): each.stopped
            for each in begun
            if each.stopped is not None
        }
        cleared = clearing.clear(pods, stopped)
        return self.crew.each(lambda each: self._seen(each, cleared, clearing), begun)

    def finish(self, begun: Sequence[Begun], epoch: int) -> tuple[Deed, ...]:
        """Put the outcomes into the journal; what is to be put back is, with an intent and an outcome of its own."""
        if any(each.goes_back for each in begun) and self._may(epoch):
            # It is stopped, and nothing of it may be changed: whoever may again goes on with it.
            begun = [replace(each, is_open=each.is_open or each.goes_back) for each in begun]
        looked = self.crew.each(self._back, begun)
        begun, backs = [each for each, _ in looked], [back for _, back in looked if back is not None]
        outcomes = [
            came_of(each.intent, each.row_hash, each.result, each.words, each.at_ms or self.wall())
            for each in begun
            if each.result is not None and not each.is_open
        ]
        intents = [intent for intent, _ in backs]
        told = (*outcomes, *intents)
        if not told:
            return ()
        hashes = self.journal.write(told)
        if not backs:
            return told
        restoring = [
            Begun(intent, row_hash, patch, patched=patch.uid)
            for (intent, patch), row_hash in zip(backs, hashes[len(outcomes) :], strict=True)
        ]
        return (*told, *self.finish(self.do(restoring, epoch), epoch))

    def read_back(self, begun: Begun) -> Begun:
        """Look at the owner as it is now: somebody else may have put it back already."""
        intent = begun.intent
        try:
            if intent.kind == WORKSPACE:
                result, words = looked_at(self.hands, intent)
                return (
                    self._told(begun, result, words) if result else replace(begun, is_open=True, words=words)
                )
            held = owners_grip(self.served, intent.kind, intent.namespace, intent.name, begun.patched)
        except (NoWay, Silence) as error:
            return replace(begun, is_open=True, words=str(error))
        if held is None or held.uid != intent.object_uid:
            return self._told(begun, Result.DONE, "it is gone since")
        if is_down(held.way, held.object) is not (intent.act in _DOWN):
            return self._told(begun, Result.UNDONE, "somebody else put it back")
        return self._told(begun, Result.DONE, "its field was seen to be so")

    def close(self) -> None:
        """No more is begun."""
        self.crew.close()

    def _change(self, begun: Begun, epoch: int) -> Begun:
        """Send a patch, and look at what was answered: a field that is not there had no effect."""
        if begun.patch is None:
            return begun
        came = self._send(begun, begun.patch, epoch)
        if came.how is How.UNKNOWN:
            return replace(begun, is_open=True, words=came.words)
        if came.how is not How.HAPPENED:
            return replace(begun, result=Result.FAILED, words=came.words or came.how.value, at_ms=self.wall())
        if isinstance(begun.patch, Serve):  # what the Hub took is seen when it comes to be
            return replace(begun, patch=None)
        way = way_of(self.served, begun.intent.kind, came.object)
        if is_down(way, came.object) is not (begun.intent.act in _DOWN):
            words = "the server took it, and the field is not there: this version of the kind knows none"
            return self._told(begun, Result.NO_EFFECT, words)
        is_owner = way is self.served.way(begun.intent.kind)
        return replace(begun, patch=None, stopped=came.object if is_owner else None)

    def _send(self, begun: Begun, patch: Patch | Serve, epoch: int) -> Came:
        """Send it. What is put back may have changed otherwise meanwhile: its status does so by itself."""
        came = self.hands.do(patch, lambda: self._may(epoch))
        for _ in range(_AGAIN if begun.intent.act == RESTORE and isinstance(patch, Patch) else 0):
            if came.how is not How.DIFFERS:
                break
            way = way_of(self.served, begun.intent.kind, came.object)
            change = start(way, patch.path, came.object)
            if isinstance(change, NoChange):
                break
            came = self.hands.do(change.patch, lambda: self._may(epoch))
        return came

    def _seen(self, begun: Begun, cleared: Mapping[str, Cleared], clearing: Clearing) -> Begun:
        if begun.result is not None or begun.is_open:
            return begun
        if begun.intent.act == Act.HOLD.value:
            return self._held_back(begun, clearing)
        pods = {uid: cleared[uid] for uid in begun.pods if uid in cleared}
        fates = {each.fate for each in pods.values()}
        if fates & {Fate.HELD, Fate.UNKNOWN}:
            words = next(each.words for each in pods.values() if each.fate in {Fate.HELD, Fate.UNKNOWN})
            return replace(begun, is_open=True, words=words)
        left = [each for each in pods.values() if each.fate is not Fate.GOING]
        if left:
            words = (
                f"{len(left)} of its {len(pods)} pods are still there: {left[0].words or left[0].fate.value}"
            )
            lost = Fate.GOING in fates  # then it is not tried again
            result = Result.FAILED if Fate.BUDGET in fates and not lost else Result.NO_EFFECT
            seen = self.read_back(begun)
            return self._told(begun, result, words) if seen.is_done else seen
        if begun.intent.kind == WORKSPACE:  # the Hub sees a moment later that the pod has gone
            clearing.wait(lambda: not self.read_back(begun).is_open)
        seen = self.read_back(begun)
        if pods and seen.is_done:
            last = max(each.after_s for each in pods.values())
            were = "1 pod was" if len(pods) == 1 else f"{len(pods)} pods were"
            words = f"{were} seen to end or to be gone, the last after {last:.2f} s"
            return replace(seen, words=words)
        return seen

    def _held_back(self, begun: Begun, clearing: Clearing) -> Begun:
        """What waits is held back when the scheduler sees no pod of it any more: else it might be bound first."""
        intent = begun.intent
        try:
            if clearing.wait(lambda: not self._pods_left(intent)):
                return self.read_back(begun)
        except (NoWay, Silence) as error:
            return replace(begun, is_open=True, words=str(error))
        return self._told(begun, Result.NO_EFFECT, "its controller leaves its pods there")

    def _pods_left(self, intent: Deed) -> int:
        """How many pods it still counts. Raises NoWay, Silence."""
        held = owners_grip(self.served, intent.kind, intent.namespace, intent.name)
        return 0 if held is None else pods_told(held.maker)

    def _told(self, begun: Begun, result: Result, words: str) -> Begun:
        back = begun.intent.act in _DOWN and result is not Result.DONE
        return replace(begun, patch=None, result=result, words=words, at_ms=self.wall(), goes_back=back)

    def _back(self, begun: Begun) -> "tuple[Begun, tuple[Deed, Patch | Serve] | None]":
        """Beside what is to be put back: the intent and the patch for it; open, where that cannot be told."""
        intent = begun.intent
        if begun.is_open or not begun.goes_back:
            return begun, None
        try:
            if intent.kind == WORKSPACE:
                change = back(self.hands, intent)
            else:
                held = owners_grip(self.served, intent.kind, intent.namespace, intent.name)
                if held is None or not is_marked(held.object):
                    return begun, None
                change = held.start()
        except (NoWay, Silence) as error:
            return replace(begun, is_open=True, words=str(error)), None
        if isinstance(change, NoChange):
            return begun, None
        return begun, (restoring(intent, change, self.wall(), f"put back: {begun.words}"), change.patch)


def restoring(of: Deed, change: Change, at_ms: int, words: str) -> Deed:
    """The intent of putting back what the deed changed."""
    return replace(
        of,
        at_ms=at_ms,
        phase=Phase.INTENT,
        act=RESTORE,
        object_version=change.patch.version,
        frees_parts=0,
        before=written(change.before),
        after=written(change.after),
        result="",
        words=words,
        intent="",
    )
