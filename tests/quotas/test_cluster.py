"""On a real control plane, under the rights of deploy/rbac: quotas raised, given back, restored, and left to people."""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from cli.main import app
from collector.kubernetes.lent import QUOTA
from collector.kubernetes.settings import Settings
from enforcer.act.order import orders_of
from enforcer.act.restore import Asked
from enforcer.audit.chain import Chain
from enforcer.idleness import Findings
from enforcer.plan import Act
from enforcer.planner import plan
from enforcer.quotas.change import QuotaChange, patch_of
from enforcer.quotas.last import lasts
from enforcer.quotas.restore import restore_quotas
from enforcer.snapshot import Promise, Snapshot
from quartermaster.clock import now_ms
from quartermaster.parts import GPU_PARTS
from quartermaster.team import Rule
from sql.ledger import open_ledger
from sql.upgrade import upgrade
from tests.enforcer.clusters import UTC
from tests.quotas.moving import POLICY, UNDER, Moved, hand, outcomes, promised, standing, until
from tests.quotas.saying import KEY, cap, holds, picture, waits
from tests.servers.controlplane import ControlPlane
from tests.servers.fleet import GROUND, Ground, make_ground

G = GPU_PARTS
Hand = Callable[..., Moved]


@pytest.fixture
def hands(control_plane: ControlPlane, enforcers_token: str, chain: Chain) -> Iterator[Hand]:
    made: list[Moved] = []

    def start(settings: Settings | None = None, token: str = "") -> Moved:
        made.append(hand(control_plane, token or enforcers_token, chain, settings or Settings("c")))
        return made[-1]

    yield start
    for each in made:
        each.stop()


def limit(ground: Ground, gpus: int) -> str:
    """The API's path of a ResourceQuota that is in force."""
    body = {"metadata": {"name": "gpus"}, "spec": {"hard": {KEY: str(gpus)}}}
    ground.plane.call("POST", f"{ground.path}/resourcequotas", body)
    path = f"{ground.path}/resourcequotas/gpus"
    ground.wait(path, lambda found: found.get("status", {}).get("hard") == {KEY: str(gpus)})
    return path


def hard(ground: Ground, path: str) -> str:
    return ground.plane.call("GET", path)["spec"]["hard"][KEY]


def patch(ground: Ground, path: str, body: Any) -> Any:
    return ground.plane.call("PATCH", path, body, "application/merge-patch+json")


def job(ground: Ground, name: str, pods: int, gpus: int, *, nodes: str = "") -> None:
    container = {"name": "main", "image": "i", "resources": {"limits": {"nvidia.com/gpu": str(gpus)}}}
    spec = {
        "nodeSelector": {GROUND: nodes or ground.namespace},
        "containers": [container],
        "restartPolicy": "Never",
    }
    body = {
        "metadata": {"name": name},
        "spec": {
            "parallelism": pods,
            "completions": pods,
            "template": {"metadata": {"labels": {"of": name}}, "spec": spec},
        },
    }
    ground.plane.call("POST", f"/apis/batch/v1/namespaces/{ground.namespace}/jobs", body)


def run(ground: Ground, name: str, count: int, seconds: float = 60) -> None:
    """So many pods of a Job are bound and run."""
    ground.wait(
        f"{ground.path}/pods?labelSelector=of={name}",
        lambda found: [pod["status"].get("phase") for pod in found["items"]] == ["Running"] * count,
        seconds,
    )


def seen(moved: Moved, settings: Settings, token: str, holds_: Callable[[Snapshot], bool]) -> Snapshot:
    """A snapshot of which it holds."""
    live = moved.live or moved.watch(settings, token)
    found: list[Snapshot] = []

    def there() -> bool:
        found[:] = [live.snapshot(now_ms())]
        return holds_(found[0])

    until(there)
    return found[0]


def test_lent_while_its_owner_is_away_and_back_before_anybody_is_stopped(
    hands: Hand, ground: Ground, enforcers_token: str
):
    plane = ground.plane
    other = make_ground(plane)
    try:
        pool = f"gpu-{ground.namespace}"
        ground.node(gpus=8, model=pool)
        path = limit(ground, 4)
        rules = (Rule("a", namespace=ground.namespace), Rule("b", namespace=other.namespace))
        settings = Settings("c", rules=rules)
        moved = hands(settings)
        what = promised(
            {
                "team": "a",
                "pool": pool,
                "gpus": 4,
                "limit_parts": 4 * G,
                "source_object": f"ResourceQuota/{ground.namespace}/gpus",
            },
            {"team": "b", "pool": pool, "gpus": 4},
        )
        job(ground, "own", 4, 1)
        run(ground, "own", 4)
        job(ground, "extra", 2, 2)
        snapshot = seen(moved, settings, enforcers_token, lambda told: _asks(told, "extra") == 4 * G)
        deeds = moved.quotas.turn(snapshot, what, POLICY, UNDER, standing())
        assert outcomes(deeds) == [("quota", "gpus", "done")], [each.words for each in deeds]
        assert hard(ground, path) == "8"
        run(ground, "extra", 2)

        job(other, "mine", 2, 2, nodes=ground.namespace)
        snapshot = seen(
            moved,
            settings,
            enforcers_token,
            lambda told: _asks(told, "mine") == 4 * G and {"own", "extra"} <= _names(told.workloads),
        )
        deeds = moved.quotas.turn(snapshot, what, POLICY, UNDER, standing())
        assert outcomes(deeds) == [("quota", "gpus", "done")], [each.words for each in deeds]
        assert (hard(ground, path), QUOTA in _notes(ground, path)) == ("4", False)

        time.sleep(1.1)
        live = moved.live
        assert live is not None
        # Where Kueue has anything, borrowed GPUs are for it to take back: other tests' Workloads are to be gone.
        until(lambda: not live.snapshot(now_ms()).queues_reclaim)
        promises = (Promise("a", pool, 4 * G), Promise("b", pool, 4 * G))
        made = plan(live.snapshot(now_ms() + 1000, promises), Findings(), POLICY, UTC)
        stops = [each for each in made.actions if each.act is Act.STOP]
        assert [each.target.name for each in stops] == ["extra"], [each.words for each in made.answers]
        orders = orders_of(made, stops[0].group, live.snapshot(now_ms(), promises))
        moved.actor.carry_out(orders, UNDER, lambda action, what: None)
        run(other, "mine", 2)
        # Nothing comes back: there is no room for it, and its Job is suspended.
        assert plane.call("GET", f"{ground.path}/pods?labelSelector=of=extra")["items"] == []
        run(ground, "own", 4)
    finally:
        other.remove()


def _names(things: Any) -> set[str]:
    return {each.name for each in things}


def _asks(snapshot: Snapshot, name: str) -> int:
    return sum(each.parts for each in snapshot.waiting if each.name == name)


def _notes(ground: Ground, path: str) -> dict[str, str]:
    return ground.plane.call("GET", path)["metadata"].get("annotations", {})


def asking(ground: Ground) -> tuple[Snapshot, Any]:
    """A picture in which the test's namespace asks for more than its quota, and what is promised."""
    snapshot = picture(
        [holds("a", 8, namespace=ground.namespace)],
        [waits("a", 8, namespace=ground.namespace)],
        at_ms=now_ms(),
    )
    row = {"team": "a", "pool": "p", "gpus": 8, "source_object": f"ResourceQuota/{ground.namespace}/gpus"}
    return snapshot, promised(row, {"team": "b", "pool": "p", "gpus": 8})


def test_what_a_person_changes_meanwhile_is_theirs_and_is_not_raised_again(hands: Hand, ground: Ground):
    path = limit(ground, 8)
    moved = hands()
    snapshot, what = asking(ground)
    assert outcomes(moved.quotas.turn(snapshot, what, POLICY, UNDER, standing())) == [
        ("quota", "gpus", "done")
    ]
    assert (hard(ground, path), QUOTA in _notes(ground, path)) == ("16", True)
    patch(ground, path, {"spec": {"hard": {KEY: "10"}}})
    told: list[tuple[str, str, str]] = []

    def noticed() -> bool:
        told.extend(outcomes(moved.quotas.turn(snapshot, what, POLICY, UNDER, standing())))
        return bool(told)

    until(noticed)
    assert told == [("quota", "gpus", "undone"), ("quota", "gpus", "done")]
    until(lambda: QUOTA not in _notes(ground, path))
    time.sleep(0.2)
    assert moved.quotas.turn(snapshot, what, POLICY, UNDER, standing()) == ()
    assert hard(ground, path) == "10"


def test_nothing_is_moved_unless_the_policy_says_so_or_while_the_guard_objects(hands: Hand, ground: Ground):
    path = limit(ground, 8)
    moved = hands()
    snapshot, what = asking(ground)
    off = POLICY.model_copy(update={"acting": POLICY.acting.model_copy(update={"lend": False})})
    assert moved.quotas.turn(snapshot, what, off, UNDER, standing()) == ()
    for against in (
        replace(standing(), asked="plan"),
        replace(standing(), started_at_ms=now_ms()),
        replace(standing(), coverage_permille=899),
    ):
        assert moved.quotas.turn(snapshot, what, POLICY, UNDER, against) == ()
    assert moved.quotas.turn(snapshot, what, POLICY, replace(UNDER, epoch=0), standing()) == ()
    assert hard(ground, path) == "8"


def test_what_was_moved_is_restored_and_left_alone_after_that(hands: Hand, ground: Ground, chain: Chain):
    path = limit(ground, 8)
    moved = hands()
    snapshot, what = asking(ground)
    moved.quotas.turn(snapshot, what, POLICY, UNDER, standing())
    assert hard(ground, path) == "16"
    with chain.ledger.reading() as cursor:
        known = lasts(cursor, "c")
    asked = Asked("c", "person-0123456789abcdef", "enough")
    done, _ = restore_quotas(moved.doing, Settings("c"), asked, known)
    mine = [each for each in done.deeds if each.namespace == ground.namespace]
    assert outcomes(tuple(mine)) == [("restore", "gpus", "done")]
    assert (hard(ground, path), _notes(ground, path)) == ("8", {})
    until(lambda: not any(each.moved for each in moved.quotas.caps() if each.namespace == ground.namespace))
    assert moved.quotas.turn(snapshot, what, POLICY, UNDER, standing()) == ()


def test_an_intent_without_an_outcome_is_closed_by_what_the_object_shows(
    hands: Hand, ground: Ground, chain: Chain
):
    path = limit(ground, 8)
    moved = hands()
    snapshot, what = asking(ground)
    (intent, _) = moved.quotas.turn(snapshot, what, POLICY, UNDER, standing())
    chain.write([replace(intent, at_ms=intent.at_ms + 1)])  # as if it had died after the patch
    until(lambda: any(each.moved for each in moved.quotas.caps() if each.namespace == ground.namespace))
    assert outcomes(moved.quotas.turn(snapshot, what, POLICY, UNDER, standing())) == [
        ("quota", "gpus", "done")
    ]
    chain.write([replace(intent, at_ms=intent.at_ms + 2, after=f'{{"{KEY}":"12"}}')])  # and before it
    assert outcomes(moved.quotas.turn(snapshot, what, POLICY, UNDER, standing())) == [
        ("quota", "gpus", "abandoned")
    ]
    assert hard(ground, path) == "16"


def test_without_the_right_to_patch_it_failed_and_says_so(hands: Hand, ground: Ground):
    path = limit(ground, 8)
    token = ground.plane.service_account(ground.namespace, "reader")
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    name = f"reader-{ground.namespace}"
    rules = [
        {"apiGroups": [""], "resources": ["resourcequotas"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": ["kueue.x-k8s.io"], "resources": ["clusterqueues"], "verbs": ["list", "watch"]},
    ]
    ground.plane.call("POST", f"{rbac}/clusterroles", {"metadata": {"name": name}, "rules": rules})
    subject = {"kind": "ServiceAccount", "name": "reader", "namespace": ground.namespace}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
    body = {"metadata": {"name": name}, "roleRef": role, "subjects": [subject]}
    ground.plane.call("POST", f"{rbac}/clusterrolebindings", body)
    moved = hands(token=token)
    snapshot, what = asking(ground)
    deeds = moved.quotas.turn(snapshot, what, POLICY, UNDER, standing())
    assert outcomes(deeds) == [("quota", "gpus", "failed")]
    assert "403" in deeds[-1].words
    assert hard(ground, path) == "8"
    assert moved.quotas.turn(snapshot, what, POLICY, UNDER, standing()) == ()


def test_restore_all_puts_a_quota_back_that_the_ledger_knows_nothing_of(
    ground: Ground, enforcers_token: str, tmp_path: Path
):
    path = limit(ground, 8)
    raw = ground.plane.call("GET", path)
    change = QuotaChange(cap(raw), "a", "p", {KEY: "8"}, {KEY: "16"}, "")
    made = patch_of(change, path, raw, Settings("c"), now_ms())
    assert made is not None
    ground.plane.call("PATCH", path, made.body(), "application/json-patch+json")
    assert hard(ground, path) == "16"
    kubeconfig = str(ground.plane.kubeconfig_of(enforcers_token))
    told = {
        "ledger": {"path": str(tmp_path / "ledger")},
        "clusters": [{"name": "c", "holders": "kubernetes", "kubernetes": {"kubeconfig": kubeconfig}}],
    }
    file = tmp_path / "quartermaster.yaml"
    file.write_text(yaml.safe_dump(told), encoding="utf-8")
    with open_ledger(tmp_path / "ledger") as ledger:
        upgrade(ledger)
    done = CliRunner().invoke(app, ["--config", str(file), "restore", "--all", "--json"])
    mine = f"ResourceQuota/{ground.namespace}/gpus"
    rows = {each["workload"]: each["result"] for each in json.loads(done.stdout)["workloads"]}
    assert rows[mine] == "done", done.output
    assert (hard(ground, path), _notes(ground, path)) == ("8", {})
