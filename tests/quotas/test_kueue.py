"""On a real Kueue, under the rights of deploy/rbac: out of its queue and back into it, and quotas that follow."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from collector.kubernetes.lent import QUOTA
from collector.kubernetes.settings import Settings
from enforcer.act.mark import STOPPED, is_marked
from enforcer.act.restore import Asked, named, restore
from enforcer.audit.chain import Chain
from enforcer.plan import Act
from enforcer.quotas.last import lasts
from enforcer.quotas.restore import restore_quotas
from enforcer.snapshot import Workload
from quartermaster.clock import HOUR_MS, now_ms
from quartermaster.team import Rule
from tests.quotas.moving import POLICY, UNDER, Moved, acted, hand, outcomes, promised, standing, until
from tests.quotas.saying import picture
from tests.servers.controlplane import ControlPlane
from tests.servers.fleet import Ground, conditions
from tests.servers.process import Process
from tests.servers.test_kueue import KUEUE, job, queue

Hand = Callable[..., Moved]


@pytest.fixture
def hands(kueue: Process, control_plane: ControlPlane, enforcers_token: str, chain: Chain) -> Iterator[Hand]:
    assert kueue.alive
    made: list[Moved] = []

    def start(settings: Settings) -> Moved:
        made.append(hand(control_plane, enforcers_token, chain, settings))
        return made[-1]

    yield start
    for each in made:
        each.stop()


def in_queue(ground: Ground) -> Any:
    """Kueue's object for the test's only Job."""
    (only,) = ground.plane.call("GET", f"{KUEUE}/namespaces/{ground.namespace}/workloads")["items"]
    return only


def test_a_job_is_taken_out_of_its_queue_and_put_back(
    hands: Hand, ground: Ground, enforcers_token: str, chain: Chain
):
    settings = Settings("c", rules=(Rule("a", namespace=ground.namespace),))
    moved = hands(settings)
    ground.node(gpus=8)
    queue(ground, 4)
    path = job(ground, "train", 4, ends_after_s=600)
    ground.wait(path, lambda found: found["status"].get("ready", 0) == 1)
    live = moved.watch(settings, enforcers_token)
    found: list[Workload] = []

    def there() -> bool:
        found[:] = [
            each
            for each in live.snapshot(now_ms()).workloads
            if each.namespace == ground.namespace
            and each.version == in_queue(ground)["metadata"]["resourceVersion"]
        ]
        return bool(found)

    until(there)
    assert (found[0].kind, found[0].name, found[0].way_down) == ("Job", "train", "deactivate in its queue")
    assert outcomes(acted(moved, Act.STOP, found[0])) == [("stop", "train", "done")]
    now = in_queue(ground)
    assert (now["spec"]["active"], is_marked(now)) == (False, True)
    assert conditions(now).get("Evicted") == "True"
    place = f"{KUEUE}/namespaces/{ground.namespace}/workloads/{now['metadata']['name']}"
    ground.wait(place, lambda each: conditions(each).get("Admitted") == "False")
    assert ground.plane.call("GET", path)["spec"]["suspend"] is True
    assert ground.plane.call("GET", f"{ground.path}/pods")["items"] == []
    (stopped,) = chain.stopped()
    assert (stopped.deed.kind, stopped.deed.object_uid) == ("Job", found[0].uid)

    recorded = {stopped.deed.object_uid: stopped.deed.before}
    asked = Asked("c", "person-0123456789abcdef")
    done = restore(moved.doing, [named(moved.doing, f"Job/{ground.namespace}/train")], asked, recorded)
    assert outcomes(done.deeds) == [("restore", "train", "done")]
    ground.wait(path, lambda job: job["status"].get("ready", 0) == 1)
    now = in_queue(ground)
    assert (now["spec"]["active"], STOPPED in now["metadata"].get("annotations", {})) == (True, False)
    assert chain.stopped() == ()


def test_a_nominal_quota_follows_a_booking_and_goes_back(hands: Hand, ground: Ground, chain: Chain):
    moved = hands(Settings("c"))
    ground.node(gpus=8)
    queue(ground, 4)
    first = job(ground, "first", 4, ends_after_s=600)
    ground.wait(first, lambda found: found["status"].get("ready", 0) == 1)
    second = job(ground, "second", 4, ends_after_s=600)
    name = ground.namespace
    mine = {"team": "a", "pool": "p", "gpus": 4, "source_object": f"ClusterQueue/{name}/{name}"}
    now = now_ms()
    booking = {"team": "a", "pool": "p", "gpus": 4, "kind": "booking", "start_ms": now - 1}
    path = f"{KUEUE}/clusterqueues/{name}"
    snapshot = picture(at_ms=now)
    deeds = moved.quotas.turn(
        snapshot, promised(mine, booking | {"end_ms": now + HOUR_MS}), POLICY, UNDER, standing()
    )
    assert outcomes(deeds) == [("quota", name, "done")], [each.words for each in deeds]
    assert _nominal(ground.plane.call("GET", path)) == "8"
    ground.wait(second, lambda found: found["status"].get("ready", 0) == 1)

    until(lambda: any(each.moved for each in moved.quotas.caps() if each.name == name))
    deeds = moved.quotas.turn(snapshot, promised(mine, booking | {"end_ms": now}), POLICY, UNDER, standing())
    assert outcomes(deeds) == [("quota", name, "done")]
    after = ground.plane.call("GET", path)
    assert (_nominal(after), QUOTA in after["metadata"].get("annotations", {})) == ("4", False)
    # Nobody is evicted for it: Kueue lets no more in.
    assert ground.plane.call("GET", second)["status"].get("ready", 0) == 1
    assert ground.plane.call("GET", first)["status"].get("ready", 0) == 1


def test_a_moved_queue_is_restored(hands: Hand, ground: Ground, chain: Chain):
    moved = hands(Settings("c"))
    queue(ground, 4)
    name = ground.namespace
    rows = (
        {"team": "a", "pool": "p", "gpus": 4, "source_object": f"ClusterQueue/{name}/{name}"},
        {"team": "a", "pool": "p", "gpus": 2, "kind": "booking"},
    )
    until(lambda: any(each.name == name for each in moved.quotas.caps()))
    path = f"{KUEUE}/clusterqueues/{name}"
    moved.quotas.turn(picture(at_ms=now_ms()), promised(*rows), POLICY, UNDER, standing())
    assert _nominal(ground.plane.call("GET", path)) == "6"
    with chain.ledger.reading() as cursor:
        known = lasts(cursor, "c")
    done, _ = restore_quotas(moved.doing, Settings("c"), Asked("c", "person-0123456789abcdef"), known)
    assert ("restore", name, "done") in outcomes(done.deeds)
    after = ground.plane.call("GET", path)
    assert (_nominal(after), QUOTA in after["metadata"].get("annotations", {})) == ("4", False)


def _nominal(found: Any) -> str:
    return found["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]["nominalQuota"]
