"""Queues of KAI and Volcano on a real API server, each under the rights of its own file in deploy/rbac alone."""

import json
import urllib.error
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from cli.main import app
from collector.kubernetes.lent import QUOTA
from collector.kubernetes.settings import Settings
from collector.log import Log
from enforcer.audit.chain import Chain
from enforcer.audit.deed import Deed, Phase
from enforcer.loop.site import site
from enforcer.quotas.backends import read_cap
from enforcer.quotas.cap import Cap
from enforcer.quotas.hand import Quotas
from enforcer.quotas.kai import KAI_QUEUE
from enforcer.quotas.volcano import VOLCANO_QUEUE
from quartermaster.clock import HOUR_MS, SECOND_MS, now_ms
from quartermaster.config.acting import Experimental
from quartermaster.config.load import load_configuration
from sql.ledger import open_ledger
from sql.upgrade import upgrade
from tests.act.proxy import Proxy, proxy_before
from tests.quotas.conftest import PLACES, RBAC
from tests.quotas.moving import POLICY, UNDER, Moved, at_every_call, hand, outcomes, promised, standing, until
from tests.quotas.saying import GPU, picture
from tests.servers.controlplane import ControlPlane
from tests.servers.fleet import Ground
from tests.servers.queues import KAI, VOLCANO, define_kai, define_volcano

Hand = Callable[[], Moved]
WHO = "queues"


@dataclass
class System:
    """A queue system on the API server, and queues of one test in it."""

    ground: Ground
    named: Experimental
    kind: str
    place: str
    made: list[str] = field(default_factory=list)

    def queue(self, name: str, above: str = "", **spec: Any) -> str:
        """The API's path of a queue of the test's."""
        mine = f"{self.ground.namespace}-{name}"
        parent = {"parentQueue" if self.named == "kai" else "parent": f"{self.ground.namespace}-{above}"}
        spec = spec | (parent if above else {})
        group = self.place.removeprefix("/apis/").rpartition("/")[0]
        body = {"apiVersion": group, "kind": "Queue", "metadata": {"name": mine}, "spec": spec}
        self.ground.plane.call("POST", self.place, body)
        self.made.append(f"{self.place}/{mine}")
        return self.made[-1]

    def owned(self, name: str, gpus: int) -> dict[str, Any]:
        """That a team named so has the queue's GPUs."""
        flavor = "" if self.named == "kai" else f"/{GPU}"
        source_object = f"Queue/{self.ground.namespace}-{name}{flavor}"
        return {"team": name, "pool": "p", "gpus": gpus, "source_object": source_object}

    def caps(self) -> list[Cap | None]:
        """The queues as they are now."""
        found = (self.ground.plane.call("GET", path) for path in self.made)
        return [read_cap(each, self.kind, Settings("c")) for each in found]

    def remove(self) -> None:
        for each in self.made:
            self.ground.plane.call("DELETE", each)


@pytest.fixture
def kai(ground: Ground) -> Iterator[System]:
    define_kai(ground.plane)
    system = System(ground, "kai", KAI_QUEUE, KAI)
    yield system
    system.remove()


@pytest.fixture
def volcano(ground: Ground) -> Iterator[System]:
    define_volcano(ground.plane)
    system = System(ground, "volcano", VOLCANO_QUEUE, VOLCANO)
    yield system
    system.remove()


def token_of(ground: Ground, *files: str) -> str:
    """Of a service account of the test's that has what the files' ClusterRoles give, and nothing else."""
    token = ground.plane.service_account(ground.namespace, WHO)
    for file in files:
        role, binding = yaml.safe_load_all((RBAC / f"{file}.yaml").read_text(encoding="utf-8"))
        for each in (role, binding):
            each["metadata"]["name"] += f"-{ground.namespace}"
        binding["roleRef"]["name"] = role["metadata"]["name"]
        binding["subjects"] = [{"kind": "ServiceAccount", "name": WHO, "namespace": ground.namespace}]
        for each in (role, binding):
            ground.plane.call("POST", PLACES[each["kind"]], each)
    return token


@pytest.fixture
def hands(control_plane: ControlPlane, chain: Chain) -> Iterator[Callable[[System], Moved]]:
    made: list[Moved] = []

    def start(system: System) -> Moved:
        token = token_of(system.ground, f"enforcer-{system.named}")
        made.append(hand(control_plane, token, chain, Settings("c"), {system.named}))
        return made[-1]

    yield start
    for each in made:
        each.stop()


def booked(team: str, gpus: int, *, offer: bool = False, ended: bool = False) -> dict[str, Any]:
    now = now_ms()
    kind = "offer" if offer else "booking"
    end_ms = now if ended else now + HOUR_MS
    return {"team": team, "pool": "p", "gpus": gpus, "kind": kind, "start_ms": now - 1, "end_ms": end_ms}


def turn(moved: Moved, *rows: dict[str, Any]) -> tuple[Deed, ...]:
    return moved.quotas.turn(picture(at_ms=now_ms()), promised(*rows), POLICY, UNDER, standing())


def heard(moved: Moved, path: str, *, marked: bool) -> None:
    """The watch has heard of the queue as it is now."""
    name = path.rpartition("/")[2]
    until(lambda: any(each.name == name and each.marked is marked for each in moved.quotas.caps()))


def notes(found: Any) -> dict[str, str]:
    return found["metadata"].get("annotations", {})


def test_a_kai_queue_follows_a_booking_and_goes_back(hands: Callable[[System], Moved], kai: System):
    cpu = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
    path = kai.queue("a", resources={"cpu": cpu, "gpu": {"quota": 8, "limit": 12}}, priority=50)
    first = kai.ground.plane.call("GET", path)
    moved = hands(kai)
    heard(moved, path, marked=False)
    deeds = turn(moved, kai.owned("a", 8), booked("a", 4))
    name = first["metadata"]["name"]
    assert outcomes(deeds) == [("quota", name, "done")], [each.words for each in deeds]
    assert (deeds[0].kind, deeds[0].team, deeds[0].pool) == (KAI_QUEUE, "a", "p")
    now = kai.ground.plane.call("GET", path)
    gpu = {"quota": 12, "limit": 16, "overQuotaWeight": 0}
    assert now["spec"] == first["spec"] | {"resources": {"cpu": cpu, "gpu": gpu}}
    heard(moved, path, marked=True)
    assert turn(moved, kai.owned("a", 8), booked("a", 4)) == ()

    deeds = turn(moved, kai.owned("a", 8), booked("a", 4, ended=True))
    assert outcomes(deeds) == [("quota", name, "done")]
    after = kai.ground.plane.call("GET", path)
    assert (after["spec"], QUOTA in notes(after)) == (first["spec"], False)


def test_what_another_offers_is_moved_first_and_a_person_has_the_last_word(
    hands: Callable[[System], Moved], kai: System
):
    gpu = {"quota": 8, "limit": 8, "overQuotaWeight": 1}
    kai.queue("all", resources={"gpu": gpu | {"quota": 16, "limit": 16}})
    a, b = (kai.queue(name, "all", resources={"gpu": gpu}) for name in ("a", "b"))
    moved = hands(kai)
    heard(moved, b, marked=False)
    rows = kai.owned("a", 8), kai.owned("b", 8), booked("a", 3), booked("b", 4, offer=True)
    names = [path.rpartition("/")[2] for path in (b, a)]
    assert outcomes(turn(moved, *rows)) == [("quota", name, "done") for name in names]
    plane = kai.ground.plane
    told = {path: plane.call("GET", path)["spec"]["resources"]["gpu"] for path in (a, b)}
    assert told == {a: gpu | {"quota": 11, "limit": 11}, b: gpu | {"quota": 5}}

    patch = {"spec": {"resources": {"gpu": {"quota": 6}}}}
    plane.call("PATCH", b, patch, "application/merge-patch+json")
    heard(moved, a, marked=True)
    until(lambda: any(f"{KAI}/{each.name}" == b and not each.moved for each in moved.quotas.caps()))
    deeds = turn(moved, *rows)
    assert ("quota", names[0], "undone") in outcomes(deeds)
    after = plane.call("GET", b)
    assert (after["spec"]["resources"]["gpu"]["quota"], QUOTA in notes(after)) == (6, False)


def test_a_booking_without_room_in_the_queue_above_is_said_once_and_not_done(
    hands: Callable[[System], Moved], kai: System
):
    gpu = {"quota": 8, "limit": -1, "overQuotaWeight": 1}
    kai.queue("all", resources={"gpu": gpu})
    path = kai.queue("a", "all", resources={"gpu": gpu})
    moved = hands(kai)
    heard(moved, path, marked=False)
    (deed,) = turn(moved, kai.owned("a", 8), booked("a", 4))
    assert (deed.phase, deed.act, deed.team, deed.result) == (
        Phase.REFUSED,
        "quota",
        "a",
        "no room in the queue above",
    )
    assert "4 GPUs are booked" in deed.words
    assert kai.ground.plane.call("GET", path)["spec"]["resources"]["gpu"] == gpu
    assert turn(moved, kai.owned("a", 8), booked("a", 4)) == ()


def test_a_volcano_queue_follows_bookings_and_offers_and_goes_back(
    hands: Callable[[System], Moved], volcano: System
):
    def amounts(deserved: str, **others: str) -> dict[str, Any]:
        told: dict[str, Any] = {"deserved": {GPU: deserved, "cpu": "64"}}
        told |= {"capability": {GPU: others["most"]}} if "most" in others else {}
        return told | ({"guarantee": {"resource": {GPU: others["kept"]}}} if "kept" in others else {})

    plane = volcano.ground.plane
    a = volcano.queue("a", **amounts("8", most="12"))
    b = volcano.queue("b", **amounts("8", kept="6"))
    first = {path: plane.call("GET", path)["spec"] for path in (a, b)}
    assert first[a]["weight"] == 1  # by default
    moved = hands(volcano)
    heard(moved, b, marked=False)
    rows = volcano.owned("a", 8), volcano.owned("b", 8)
    names = [path.rpartition("/")[2] for path in (b, a)]
    deeds = turn(moved, *rows, booked("a", 4), booked("b", 4, offer=True))
    assert outcomes(deeds) == [("quota", name, "done") for name in names], [each.words for each in deeds]
    assert {path: plane.call("GET", path)["spec"] for path in (a, b)} == {
        a: first[a] | amounts("12", most="16"),
        b: first[b] | amounts("4", kept="4"),
    }
    for path in (a, b):
        heard(moved, path, marked=True)
    deeds = turn(moved, *rows, booked("a", 4, ended=True))
    assert outcomes(deeds) == [("quota", name, "done") for name in reversed(names)]
    after = {path: plane.call("GET", path) for path in (a, b)}
    assert {path: each["spec"] for path, each in after.items()} == first
    assert not any(QUOTA in notes(each) for each in after.values())


def configured(system: System, token: str, folder: Path, policy: dict[str, Any]) -> Path:
    """A configuration's file: the system's cluster, with the token's rights."""
    kubeconfig = str(system.ground.plane.kubeconfig_of(token))
    told = {
        "ledger": {"path": str(folder / "ledger")},
        "clusters": [{"name": "c", "holders": "kubernetes", "kubernetes": {"kubeconfig": kubeconfig}}],
        "policy": policy,
    }
    file = folder / "quartermaster.yaml"
    file.write_text(yaml.safe_dump(told), encoding="utf-8")
    return file


@pytest.mark.parametrize("named", [(), ("kai",)])
def test_only_what_the_policy_names_is_watched(
    named: tuple[Experimental, ...], kai: System, chain: Chain, tmp_path: Path
):
    path = kai.queue("a", resources={"gpu": {"quota": 8, "limit": -1}})
    token = token_of(kai.ground, "enforcer-kai", "enforcer-lend")
    acting = {"mode": "act", "lend": True, "experimental": list(named)}
    configuration = load_configuration(configured(kai, token, tmp_path, {"acting": acting}), {})
    made = site(configuration.clusters[0], configuration, chain.ledger, tmp_path / "freeze", Log("plain"))
    made.quotas.start()
    try:
        body = {"metadata": {"name": "later"}, "spec": {"hard": {f"requests.{GPU}": "8"}}}
        kai.ground.plane.call("POST", f"{kai.ground.path}/resourcequotas", body)
        mine = kai.ground.namespace
        until(lambda: any(each.namespace == mine for each in made.quotas.caps()))
        if named:
            until(lambda: any(f"{KAI}/{each.name}" == path for each in made.quotas.caps()))
        assert any(each.kind == KAI_QUEUE for each in made.quotas.caps()) is bool(named)
    finally:
        made.quotas.stop()
        made.live.stop()
        made.doing.close()


def test_restore_all_puts_a_queue_back_also_where_it_is_no_longer_named(
    hands: Callable[[System], Moved], kai: System, tmp_path: Path
):
    plane = kai.ground.plane
    path = kai.queue("a", resources={"gpu": {"quota": 8, "limit": 8}})
    first = plane.call("GET", path)["spec"]
    with open_ledger(tmp_path / "ledger") as ledger:
        upgrade(ledger)
        token = token_of(kai.ground, "enforcer-kai")
        moved = hand(plane, token, Chain(ledger, "c"), Settings("c"), {"kai"})
        try:
            heard(moved, path, marked=False)
            turn(moved, kai.owned("a", 8), booked("a", 4))
        finally:
            moved.stop()
    assert plane.call("GET", path)["spec"] != first
    file = configured(kai, token, tmp_path, {})
    done = CliRunner().invoke(app, ["--config", str(file), "restore", "--all", "--json"])
    rows = {each["workload"]: each["result"] for each in json.loads(done.stdout)["workloads"]}
    assert rows == {f"{KAI_QUEUE}/{path.rpartition('/')[2]}": "done"}, done.output
    after = plane.call("GET", path)
    assert (after["spec"], QUOTA in notes(after)) == (first, False)


@pytest.fixture(scope="module")
def proxy(control_plane: ControlPlane) -> Iterator[Proxy]:
    with proxy_before(control_plane) as made:
        yield made


@pytest.mark.parametrize("fault", ["409", "silent after", "cut off", "pruned"])
def test_a_fault_at_every_call(fault: str, kai: System, proxy: Proxy, chain: Chain):
    """A queue is raised whole or not at all, once, and what came of it is told. Faults by which nothing reaches the
    server are those of `test_faults`."""

    def goes_through(number: int, quotas: Quotas, late_ms: list[int]) -> bool:
        return _goes_through(number, kai, proxy, quotas, late_ms)

    at_every_call(proxy, fault, chain, kai.caps, goes_through)


def _goes_through(number: int, kai: System, proxy: Proxy, quotas: Quotas, late_ms: list[int]) -> bool:
    """A quota raised while the n-th call meets the fault; whether no call met it any more."""
    plane = kai.ground.plane
    name = f"q{number}"
    first = {"quota": 8, "limit": 8, "overQuotaWeight": 1}
    path = kai.queue(name, resources={"gpu": first})
    what = promised(kai.owned(name, 8), booked(name, 4))
    for _ in range(3):  # turn after turn, each some time later
        snapshot = picture(at_ms=now_ms())
        quotas.turn(snapshot, what, POLICY, replace(UNDER, plan_hash=name), standing())
        late_ms[0] += 11 * SECOND_MS
    found = plane.call("GET", path)
    gpu, marked = found["spec"]["resources"]["gpu"], QUOTA in notes(found)
    raised = {"quota": 12, "limit": 12, "overQuotaWeight": 1}
    assert (gpu, marked) in [(raised, True), (first, False)], (proxy.struck, gpu, marked)
    assert gpu == raised or proxy.struck
    patches = proxy.done["PATCH", path]
    assert patches == (2 if proxy.fault == "pruned" and gpu == first else gpu == raised), proxy.struck
    plane.call("DELETE", path)
    kai.made.remove(path)
    return not proxy.struck


def test_what_volcanos_schema_cannot_have_is_refused_by_it(volcano: System):
    """The tests' definitions are as strict as the real ones."""
    with pytest.raises(urllib.error.HTTPError, match="422"):
        volcano.queue("a", deserved={GPU: "many"})
    made = volcano.queue("b", deserved={GPU: 8}, quota=8)
    assert "quota" not in volcano.ground.plane.call("GET", made)["spec"]
