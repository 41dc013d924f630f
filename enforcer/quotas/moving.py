"""Moving: quota changes carried out on a cluster, each told of before and after."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from collector.kubernetes.settings import Settings
from enforcer.act.doing import Doing
from enforcer.act.effects import Came, How, Patch
from enforcer.act.order import came_of, written
from enforcer.act.served import NoWay
from enforcer.act.wire import Silence
from enforcer.audit.deed import Deed, Phase, Result
from enforcer.quotas.change import QuotaChange, patch_of, shows
from quartermaster.text import visible

QUOTA = "quota"  # the act
_AGAIN = 3


@dataclass(frozen=True, slots=True)
class _Ready:
    """A change and the patch that makes it."""

    change: QuotaChange
    patch: Patch


class Moving:
    """Changes quota objects of one cluster. `may` says why nothing may be done any more; "" while it may."""

    def __init__(self, doing: Doing, settings: Settings, may: Callable[[], str]) -> None:
        self._doing, self._settings, self._may = doing, settings, may

    def carry_out(self, changes: Sequence[QuotaChange], common: Deed) -> tuple[Deed, ...]:
        """Make the changes side by side; the deeds that were written. `common` is what they have in common.

        An object that has changed meanwhile is passed over: it is looked at again soon. Of what nobody can tell the
        intent stays open. Raises LedgerError: then nothing was changed, or what was stays open.
        """
        if not changes or self._may():
            return ()
        doing = self._doing
        looked = doing.crew.each(self._look, changes)
        ready = [each for each in looked if each is not None]
        if not ready:
            return ()
        at_ms = doing.wall()
        intents = [_intent(each, common, at_ms) for each in ready]
        hashes = doing.journal.write(intents)
        came = doing.crew.each(self._make, ready)
        outcomes = [
            came_of(intent, row_hash, result, words, doing.wall())
            for intent, row_hash, (result, words) in zip(intents, hashes, came, strict=True)
            if result is not None
        ]
        if outcomes:
            doing.journal.write(outcomes)
        return (*intents, *outcomes)

    def _look(self, change: QuotaChange) -> _Ready | None:
        """What is there now, and the patch for it."""
        cap = change.cap
        try:
            path = self._doing.served.path(cap.kind, cap.namespace, cap.name)
            raw = self._doing.hands.look(path)
        except (NoWay, Silence):
            return None
        if raw is None:
            return None
        patch = patch_of(change, path, raw, self._settings, self._doing.wall())
        return None if patch is None else _Ready(change, patch)

    def _make(self, ready: _Ready) -> tuple[Result | None, str]:
        came, ready = self._send(ready)
        if came.how is How.UNKNOWN:
            return None, came.words
        if came.how is not How.HAPPENED:
            return Result.FAILED, visible(came.words or came.how.value)
        return self._seen(ready, came)

    def _send(self, ready: _Ready) -> tuple[Came, _Ready]:
        """Send it. Who writes the object's state, as Kueue does once a second, does not hold up its fields: while these
        are as the change saw them, it is made for the object as it is now."""
        came = self._doing.hands.do(ready.patch, self._may)
        for _ in range(_AGAIN):
            again = self._look(ready.change) if came.how is How.DIFFERS else None
            if again is None:
                break
            ready = again
            came = self._doing.hands.do(ready.patch, self._may)
        return came, ready

    def _seen(self, ready: _Ready, came: Came) -> tuple[Result | None, str]:
        if not shows(ready.change, came.object, self._settings):
            return Result.NO_EFFECT, "the server took it, and the fields are not so"
        try:
            again = self._doing.hands.look(ready.patch.path)
        except Silence as silence:
            return None, str(silence)
        if again is None or not shows(ready.change, again, self._settings):
            return Result.UNDONE, "it was so, and somebody else put it back at once"
        return Result.DONE, "its fields were seen to be so"


def _intent(ready: _Ready, common: Deed, at_ms: int) -> Deed:
    change, cap = ready.change, ready.change.cap
    return replace(
        common,
        at_ms=at_ms,
        phase=Phase.INTENT,
        kind=cap.kind,
        namespace=cap.namespace,
        name=cap.name,
        object_uid=cap.uid,
        object_version=ready.patch.version,
        team=change.team,
        pool=change.pool,
        before=written(change.before),
        after=written(change.after),
        words=" ".join(each for each in (common.words, change.words) if each),
    )
