"""Each fault at each call in turn: a quota is raised once or not at all, and its intent has one outcome."""

import itertools
from collections.abc import Iterator
from dataclasses import replace

import pytest

from collector.kubernetes.lent import QUOTA
from collector.kubernetes.settings import Settings
from enforcer.act.clearing import Pace
from enforcer.act.doing import Doing
from enforcer.act.hands import Hands
from enforcer.audit.carried import carried
from enforcer.audit.chain import Chain
from enforcer.audit.deed import Phase
from enforcer.quotas.backends import read_cap
from enforcer.quotas.cap import Cap
from enforcer.quotas.hand import Quotas
from quartermaster.clock import SECOND_MS, now_ms
from tests.act.acting import wire
from tests.act.proxy import FAULTS, Proxy, proxy_before
from tests.quotas.moving import POLICY, UNDER, Afresh, promised, standing
from tests.quotas.saying import KEY, holds, picture, waits
from tests.servers.controlplane import ControlPlane
from tests.servers.fleet import Ground


@pytest.fixture(scope="module")
def proxy(control_plane: ControlPlane) -> Iterator[Proxy]:
    with proxy_before(control_plane) as made:
        yield made


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_at_every_call(fault: str, ground: Ground, proxy: Proxy, chain: Chain):
    plane, late_ms = ground.plane, [0]
    through = Hands(wire(plane, url=proxy.url, read_s=0.3), pause=lambda seconds: None)
    acts = Doing(through, chain, lambda epoch: "", lambda: now_ms() + late_ms[0], Pace())
    quotas = Quotas(acts, chain.ledger, Afresh(lambda: _caps(ground)), lambda epoch: "")
    try:
        for number in itertools.count(1):
            proxy.expect(fault, number)
            if _goes_through(number, ground, proxy, quotas, late_ms):
                assert number > 3
                break
    finally:
        acts.close()
        through.wire.close()
    with chain.ledger.reading() as cursor:
        intents = carried(cursor, "c", until_ms=2**42, phases=[Phase.INTENT])
    assert all(each.result for each in intents), intents


def _caps(ground: Ground) -> list[Cap | None]:
    found = ground.plane.call("GET", f"{ground.path}/resourcequotas")["items"]
    return [read_cap(each, "ResourceQuota", Settings("c")) for each in found]


def _goes_through(number: int, ground: Ground, proxy: Proxy, quotas: Quotas, late_ms: list[int]) -> bool:
    """A quota raised while the n-th call meets the fault; whether no call met it any more."""
    plane, name = ground.plane, f"q{number}"
    place = f"{ground.path}/resourcequotas"
    plane.call("POST", place, {"metadata": {"name": name}, "spec": {"hard": {KEY: "8"}}})
    mine = f"ResourceQuota/{ground.namespace}/{name}"
    what = promised({"team": "a", "pool": "p", "gpus": 8, "source_object": mine})
    space = {"namespace": ground.namespace}
    for _ in range(3):  # turn after turn, each some time later
        snapshot = picture([holds("a", 8, **space)], [waits("a", 8, **space)], at_ms=now_ms())
        quotas.turn(snapshot, what, POLICY, replace(UNDER, plan_hash=name), standing())
        late_ms[0] += 11 * SECOND_MS
    found = plane.call("GET", f"{place}/{name}")
    gpus, marked = found["spec"]["hard"][KEY], QUOTA in found["metadata"].get("annotations", {})
    assert (gpus, marked) in {("16", True), ("8", False)}, (proxy.struck, gpus, marked)
    assert gpus == "16" or proxy.struck
    patches = proxy.done["PATCH", f"{place}/{name}"]
    assert patches == (2 if proxy.fault == "pruned" and gpus == "8" else gpus == "16"), proxy.struck
    plane.call("DELETE", f"{place}/{name}")
    return not proxy.struck
