"""Each fault at each call in turn: a quota is raised once or not at all, and its intent has one outcome."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from typing_extensions import override

from collector.kubernetes.lent import QUOTA
from collector.kubernetes.settings import Settings
from enforcer.act.clearing import Pace
from enforcer.act.doing import Doing
from enforcer.act.effects import Came, Effect, Patch
from enforcer.act.hands import Hands, May
from enforcer.audit.chain import Chain
from enforcer.quotas.backends import read_cap
from enforcer.quotas.cap import Cap
from enforcer.quotas.hand import Quotas
from quartermaster.clock import SECOND_MS, now_ms
from tests.act.acting import wire
from tests.act.proxy import FAULTS, Proxy, proxy_before
from tests.quotas.moving import POLICY, UNDER, Afresh, at_every_call, outcomes, promised, standing
from tests.quotas.saying import KEY, holds, picture, waits
from tests.servers.controlplane import ControlPlane
from tests.servers.fleet import Ground


@pytest.fixture(scope="module")
def proxy(control_plane: ControlPlane) -> Iterator[Proxy]:
    with proxy_before(control_plane) as made:
        yield made


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_at_every_call(fault: str, ground: Ground, proxy: Proxy, chain: Chain):
    def goes_through(number: int, quotas: Quotas, late_ms: list[int]) -> bool:
        return _goes_through(number, ground, proxy, quotas, late_ms)

    at_every_call(proxy, fault, chain, lambda: _caps(ground), goes_through)


class Busy(Hands):
    """While we move an object somebody else writes to it, a few times, each time just before our own patch."""

    def __init__(self, plane: ControlPlane, path: str, times: int) -> None:
        super().__init__(wire(plane), pause=lambda seconds: None)
        self._plane, self._path, self._left = plane, path, times

    @override
    def do(self, effect: Effect, may: May) -> Came:
        if isinstance(effect, Patch) and self._left:
            self._left -= 1
            note = {"metadata": {"annotations": {"somebody/counts": str(self._left)}}}
            self._plane.call("PATCH", self._path, note, "application/merge-patch+json")
        return super().do(effect, may)


@pytest.mark.parametrize(("times", "result"), [(3, "done"), (4, "failed")])
def test_who_writes_to_an_object_does_not_hold_up_its_fields(
    times: int, result: str, ground: Ground, chain: Chain
):
    plane, place = ground.plane, f"{ground.path}/resourcequotas"
    plane.call("POST", place, {"metadata": {"name": "q"}, "spec": {"hard": {KEY: "8"}}})
    busy = Busy(plane, f"{place}/q", times)
    acts = Doing(busy, chain, lambda epoch: "", now_ms, Pace())
    quotas = Quotas(acts, chain.ledger, Afresh(lambda: _caps(ground)), lambda epoch: "")
    space = {"namespace": ground.namespace}
    mine = f"ResourceQuota/{ground.namespace}/q"
    what = promised({"team": "a", "pool": "p", "gpus": 8, "source_object": mine})
    snapshot = picture([holds("a", 8, **space)], [waits("a", 8, **space)], at_ms=now_ms())
    deeds = quotas.turn(snapshot, what, POLICY, UNDER, standing())
    acts.close()
    busy.wire.close()
    assert outcomes(deeds) == [("quota", "q", result)], [each.words for each in deeds]
    assert plane.call("GET", f"{place}/q")["spec"]["hard"][KEY] == ("16" if result == "done" else "8")


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
