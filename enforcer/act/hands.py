"""Hands: the one place that changes a cluster. It carries out effects, one at a time, each at most once.

Whether it may is asked before every single request that changes something. What was asked for and not answered may
have happened: so the object is read before anything is asked for again, and every patch and eviction names the
version that it is meant for, which the API server checks.
"""

import random
import time
from collections.abc import Callable

from collector.kubernetes.values import Json, mapping, text
from enforcer.act.effects import Came, Create, Effect, Evict, How, Patch, Serve, shows
from enforcer.act.hub import Hub, Hubs
from enforcer.act.seen import is_going
from enforcer.act.server import Server, State
from enforcer.act.wire import PATCH, Reply, Silence, Wire

May = Callable[[], str]  # why nothing may be done any more; "" while it may
_TRIES = 5
_PAUSES_S = (0.05, 0.2, 0.5, 1.0)
_dice = random.Random()  # noqa: S311  its own, as several threads pause by it
_CONFLICT = {409, 422}
_BUSY = 429


class Hands:
    """Acts on one API server, and on the Hubs of its cluster; may be used by many threads at once."""

    def __init__(
        self, wire: Wire, pause: Callable[[float], None] = time.sleep, hubs: Hubs | None = None
    ) -> None:
        self.wire = wire
        self.hubs = hubs or Hubs()
        self._pause = pause

    def look(self, path: str) -> Json | None:
        """An object as it is now; None where it is gone. Raises Silence where it cannot be told."""
        last = ""
        for turn in range(_TRIES):
            try:
                reply = self.wire.send("GET", path)
            except Silence as silence:
                last = str(silence)
                self._wait(turn, None)
                continue
            if reply.good:
                return reply.body
            if reply.code == 404:
                return None
            last = reply.words
            if reply.code != _BUSY and reply.code < 500:
                break
            self._wait(turn, reply.retry_after_s)
        raise Silence(f"{path}: {last}")

    def state(self, server: Server) -> State:
        """What its Hub says of a server. Raises Silence where it does not say."""
        return self._hub(server).state(server)

    def do(self, effect: Effect, may: May) -> Came:
        """Carry an effect out, if it may be; what came of it."""
        came = Came(How.UNKNOWN)
        for turn in range(_TRIES):
            if isinstance(effect, Serve) and (settled := self._before(effect)) is not None:
                return settled
            why_not = may()  # nothing else is looked at between this and the request
            if why_not:
                return Came(How.HELD, words=why_not)
            try:
                reply = self._send(effect)
            except Silence as silence:
                came, final, wait_s = Came(How.UNKNOWN, words=str(silence)), False, None
            else:
                if reply.good:
                    return Came(How.HAPPENED, reply.body)
                came, final, wait_s = _refusal(reply), 400 <= reply.code < 500, reply.retry_after_s
                looks = reply.code in {_BUSY, *_CONFLICT} or isinstance(effect, Serve)
                if (final and not looks) or came.how is How.BUDGET:
                    return came
                if reply.code == _BUSY:
                    self._wait(turn, wait_s)
                    continue
            found = self._found(effect)
            if found is not None or final:
                return found or came
            self._wait(turn, wait_s)
        return came

    def _send(self, effect: Effect) -> Reply:
        match effect:
            case Patch():
                return self.wire.send("PATCH", effect.path, effect.body(), PATCH)
            case Evict():
                return self.wire.send(
                    "POST", f"{pod_path(effect.namespace, effect.name)}/eviction", effect.body()
                )
            case Create():
                return self.wire.send("POST", effect.path, effect.body)
            case Serve():
                return self._hub(effect.server).ask(effect.server, up=effect.up)

    def _hub(self, server: Server) -> Hub:
        hub = self.hubs.of.get(server.namespace)
        if hub is None:
            raise Silence(f"no Hub is configured for the pods of {server.namespace}")
        return hub

    def _before(self, effect: Serve) -> Came | None:
        """What settles it before a Hub is asked: it checks neither whose pod it is, nor whether somebody was first."""
        try:
            if effect.up:
                state = self.state(effect.server)
                hows = {State.UP: How.HAPPENED, State.NOBODY: How.GONE}
                return Came(hows[state], words=state.value) if state in hows else None
            seen = self.look(effect.path)
        except Silence as silence:
            return Came(How.UNKNOWN, words=str(silence))
        metadata = mapping((seen or {}).get("metadata"))
        if (metadata.get("uid"), metadata.get("resourceVersion")) == (effect.uid, effect.version):
            return None
        how = How.DIFFERS if seen is not None else How.GONE
        return Came(how, words=how.value)

    def _found(self, effect: Effect) -> Came | None:
        """What the cluster says of an effect that was answered badly or not at all; None: it did not happen."""
        try:
            if isinstance(effect, Serve):
                states = {State.UP} if effect.up else {State.DOWN, State.STOPPING}
                state = self.state(effect.server)
                return Came(How.HAPPENED, words=state.value) if state in states else None
            seen = self.look(_place(effect))
        except Silence as silence:
            return Came(How.UNKNOWN, words=str(silence))
        how = _told(effect, seen)
        return None if how is None else Came(how, seen or {}, how.value)

    def _wait(self, turn: int, at_least_s: float | None) -> None:
        if turn + 1 < _TRIES:
            pause_s = _PAUSES_S[min(turn, len(_PAUSES_S) - 1)] * _dice.uniform(0.8, 1.2)
            self._pause(max(pause_s, at_least_s or 0.0))


def pod_path(namespace: str, name: str) -> str:
    """Where a pod is."""
    return f"/api/v1/namespaces/{namespace}/pods/{name}"


def _refusal(reply: Reply) -> Came:
    if reply.by_budget:
        return Came(How.BUDGET, words=reply.words)
    return Came(How.GONE if reply.code == 404 else How.REFUSED, words=reply.words)


def _place(effect: Patch | Evict | Create) -> str:
    match effect:
        case Patch():
            return effect.path
        case Evict():
            return pod_path(effect.namespace, effect.name)
        case Create():
            return f"{effect.path}/{text(mapping(effect.body.get('metadata')).get('name'))}"


def _told(effect: Patch | Evict | Create, seen: Json | None) -> How | None:
    if isinstance(effect, Create):
        return None if seen is None else How.HAPPENED
    metadata = mapping((seen or {}).get("metadata"))
    if seen is None or metadata.get("uid") != effect.uid:
        return How.GONE
    if is_going(seen) if isinstance(effect, Evict) else shows(seen, effect.proof):
        return How.HAPPENED
    changed = bool(effect.version) and metadata.get("resourceVersion") != effect.version
    return How.DIFFERS if changed else None
