"""Serving: what is seen of intents whose workload a Hub stops and starts. Others carry a mark; of these the audit
tells."""

from collector.kubernetes.values import mapping
from enforcer.act.change import Change, NoChange
from enforcer.act.grip import start_of
from enforcer.act.hands import Hands, pod_path
from enforcer.act.order import RESTORE
from enforcer.act.seen import is_going
from enforcer.act.server import Server, State, recorded
from enforcer.audit.deed import Deed, Result


def server_in(intent: Deed) -> Server | None:
    """The server that an intent is of."""
    return recorded(intent.namespace, intent.after if intent.act == RESTORE else intent.before)


def looked_at(hands: Hands, intent: Deed) -> tuple[Result | None, str]:
    """What came of it, as the Hub tells it, and in words; None while that is not told yet. Raises Silence."""
    server = server_in(intent)
    if server is None:
        return Result.FAILED, "the audit does not say of which server it is"
    state = hands.state(server)
    if state is State.STOPPING:
        return None, state.value
    if intent.act == RESTORE:
        results = {State.UP: Result.DONE, State.DOWN: Result.NO_EFFECT}
        return results.get(state, Result.FAILED), state.value
    if state is State.UP:
        return Result.UNDONE, "somebody else started it again"
    return Result.DONE, state.value


def was_begun(hands: Hands, intent: Deed) -> bool:
    """Whether the Hub began to stop or to start it, and not only we meant to. Raises Silence."""
    server = server_in(intent)
    if server is None:
        return False
    state = hands.state(server)
    if intent.act == RESTORE:
        return state in {State.UP, State.STOPPING}
    pod = hands.look(pod_path(intent.namespace, intent.name))
    runs = (
        pod is not None and mapping(pod.get("metadata")).get("uid") == intent.object_uid and not is_going(pod)
    )
    return not (runs and state is State.UP)


def back(hands: Hands, intent: Deed) -> Change | NoChange:
    """The change that has it run again; none where it runs. Raises Silence."""
    server = server_in(intent)
    if server is None:
        return NoChange("the audit does not say of which server it is")
    state = hands.state(server)
    return NoChange(state.value) if state in {State.UP, State.STOPPING} else start_of(server, state)
