"""Each fault at each call in turn: it converges, nothing is done twice, and nothing is lost."""

import itertools
from collections import Counter
from collections.abc import Iterator

import pytest

from enforcer.act.actor import Actor
from enforcer.act.clearing import Pace
from enforcer.act.doing import Doing
from enforcer.act.hands import Hands
from enforcer.act.mark import is_marked
from enforcer.act.resume import resume
from enforcer.audit.deed import Phase
from enforcer.plan import Act
from quartermaster.clock import now_ms
from tests.act.acting import UNDER, Paper, fine, wire
from tests.act.bare import Bare
from tests.act.proxy import FAULTS, Proxy, proxy_before
from tests.servers.controlplane import ControlPlane

SHORT = Pace(head_start_s=0.0, patience_s=0.5)


@pytest.fixture(scope="module")
def proxy(api_server: ControlPlane) -> Iterator[Proxy]:
    with proxy_before(api_server) as made:
        yield made


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_at_every_call(fault: str, bare: Bare, proxy: Proxy):
    """An owner is stopped and its pod is evicted."""
    through = wire(bare.plane, url=proxy.url, read_s=0.3)
    paper = Paper()
    for number in itertools.count(1):
        name = f"s{number}"
        bare.owned(bare.owner("StatefulSet", name, replicas=2), f"{name}-0")
        order = bare.order(Act.STOP, "StatefulSet", name, f"{name}-0")
        paper.rows.clear()
        acts = Doing(Hands(through, pause=lambda seconds: None), paper, lambda epoch: "", now_ms, SHORT)
        proxy.expect(fault, number)
        Actor(acts).carry_out([order], UNDER, fine)
        for _ in range(2):  # what could not be told is gone on with, as the loop does
            resume(acts, paper.open(), 4)
        _judge(bare, paper, proxy, name)
        acts.crew.close()
        if not proxy.struck:
            assert number > 8
            assert paper.outcomes() == [("stop", name, "done")]
            return


def _judge(bare: Bare, paper: Paper, proxy: Proxy, name: str) -> None:
    met = f"{proxy.fault} at {proxy.struck}: {[(each.phase, each.act, each.result, each.words) for each in paper.rows]}"
    assert not paper.open(), met
    told = Counter(each.intent for each in paper.rows if each.phase is Phase.OUTCOME)
    assert set(told.values()) <= {1}, met
    results = {each.act: each.result for each in paper.rows if each.phase is Phase.OUTCOME}
    now = bare.get("StatefulSet", name)
    changes = proxy.done["PATCH", bare.at("StatefulSet", name)]
    evictions = proxy.done["POST", f"{bare.pod_at(f'{name}-0')}/eviction"]
    done = results.get("stop") == "done"
    assert (now["spec"]["replicas"], is_marked(now)) == ((0, True) if done else (2, False)), met
    assert bare.is_going(f"{name}-0") is done, met
    assert evictions == done, met
    # Stopped once; or stopped and put back, once each; or never touched.
    assert changes == (1 if done else 2 * ("restore" in results)), met
