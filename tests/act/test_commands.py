"""`restore` and `down` as a person types them, under the rights of deploy/rbac."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from cli.main import app
from enforcer.act.actor import Actor
from enforcer.act.clearing import Pace
from enforcer.act.lease import NAME, taken
from enforcer.act.mark import STOPPED, is_marked
from enforcer.act.order import Under
from enforcer.act.pods import EPOCH
from enforcer.audit.chain import Chain
from enforcer.audit.deed import Phase
from enforcer.plan import Act
from quartermaster.clock import to_iso
from quartermaster.config.load import load_configuration
from quartermaster.person import pseudonym_of
from sql.configured import open_configured
from sql.ledger import open_ledger
from sql.upgrade import upgrade
from tests.act.acting import Paper, doing, enforcers_token, fine
from tests.act.bare import Bare
from tests.servers.controlplane import ControlPlane

LEASES = "/apis/coordination.k8s.io/v1/namespaces/quartermaster/leases"
UNDER = Under("c", "f" * 64, 1, "enforcer-1")


@pytest.fixture(scope="module")
def configured(api_server: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A configuration of a cluster that is that server, under the enforcer's rights, and a ledger of these tests."""
    folder = tmp_path_factory.mktemp("configured")
    path = folder / "quartermaster.yaml"
    kubeconfig = api_server.kubeconfig_of(enforcers_token(api_server))
    with open_ledger(folder / "ledger") as ledger:
        upgrade(ledger)
    body = {
        "ledger": {"path": str(folder / "ledger")},
        "clusters": [
            {"name": "c", "holders": "kubernetes", "kubernetes": {"kubeconfig": str(kubeconfig)}},
            {"name": "bare", "dcgm": {"targets": ["http://127.0.0.1:1/metrics"]}},
        ],
    }
    path.write_text(yaml.safe_dump(body), encoding="utf-8")
    return path


def command(path: Path, *arguments: str, code: int = 0) -> Any:
    done = CliRunner().invoke(app, ["--config", str(path), *arguments, "--json"])
    assert done.exit_code == code, (done.output, done.exception)
    return json.loads(done.stdout)


def complaint(path: Path, *arguments: str) -> str:
    done = CliRunner().invoke(app, ["--config", str(path), *arguments])
    assert done.exit_code != 0
    return str(getattr(done.exception, "what", done.exception))


def in_ledger(path: Path, act: Callable[[Chain], Any]) -> Any:
    with open_configured(load_configuration(path, {})) as ledger:
        return act(Chain(ledger, "c"))


def stopped(bare: Bare, configured: Path, *names: str) -> None:
    """Stop some by the ledger's own chain, each with a pod."""
    for name in names:
        bare.owned(bare.owner("StatefulSet", name, replicas=3), f"{name}-0")
    orders = [
        bare.order(Act.STOP, "StatefulSet", name, f"{name}-0", position=at) for at, name in enumerate(names)
    ]

    def act(chain: Chain) -> None:
        acts = doing(bare.plane, Paper(), pace=Pace(0, 5))
        acts.journal = chain
        deeds = Actor(acts).carry_out(orders, UNDER, fine)
        assert [each.result for each in deeds if each.phase is Phase.OUTCOME] == ["done"] * len(names)
        acts.close()

    in_ledger(configured, act)


def replicas(bare: Bare, *names: str) -> list[int]:
    return [bare.get("StatefulSet", name)["spec"]["replicas"] for name in names]


def test_one_is_restored_by_its_name_and_the_audit_says_by_whom(bare: Bare, configured: Path):
    stopped(bare, configured, "one", "two")
    place = f"StatefulSet/{bare.namespace}/one"
    told = command(configured, "restore", place, "--reason", "mine")
    assert told["workloads"] == [
        {"workload": place, "result": "done", "words": "its field was seen to be so"}
    ]
    assert replicas(bare, "one", "two") == [3, 0]
    assert not is_marked(bare.get("StatefulSet", "one"))
    assert in_ledger(configured, lambda chain: [each.deed.name for each in chain.stopped()]) == ["two"]
    again = command(configured, "restore", place, code=1)
    assert again["workloads"] == [{"workload": place, "result": "left", "words": "it was not stopped by us"}]
    command(configured, "down", "--restore-all", "--yes")


def test_the_audit_restores_what_lost_its_mark_or_has_a_forged_one(bare: Bare, configured: Path):
    stopped(bare, configured, "bare", "forged")
    bare.patch(bare.at("StatefulSet", "bare"), {"metadata": {"annotations": {STOPPED: None}}})
    mark = json.loads(bare.get("StatefulSet", "forged")["metadata"]["annotations"][STOPPED])
    forged = json.dumps(mark | {"before": {"/spec/replicas": 50}})
    bare.patch(bare.at("StatefulSet", "forged"), {"metadata": {"annotations": {STOPPED: forged}}})
    for name in ("bare", "forged"):
        command(configured, "restore", f"StatefulSet/{bare.namespace}/{name}")
    assert replicas(bare, "bare", "forged") == [3, 3]


def test_all_are_restored_that_were_stopped_since(bare: Bare, configured: Path):
    stopped(bare, configured, "old")
    since_ms = in_ledger(configured, lambda chain: chain.stopped()[-1].deed.at_ms) + 1
    stopped(bare, configured, "new")
    told = command(configured, "restore", "--all", "--since", to_iso(since_ms))
    assert [each["workload"] for each in told["workloads"]] == [f"StatefulSet/{bare.namespace}/new"]
    assert replicas(bare, "old", "new") == [0, 3]
    command(configured, "restore", "--all")
    assert replicas(bare, "old", "new") == [3, 3]
    assert command(configured, "restore", "--all")["workloads"] == []


def test_down_leaves_a_cluster_as_if_nothing_had_been_done(bare: Bare, configured: Path):
    bare.owner("Job", "warned")
    bare.owned(bare.owner("StatefulSet", "fenced"), "fenced-0")
    before = {
        kind: bare.get(kind, name)["spec"] for kind, name in (("Job", "warned"), ("StatefulSet", "fenced"))
    }
    stopped(bare, configured, "one")
    notes = {"quartermaster/warning": "soon", "quartermaster/exclude-until": "2027-01-01", "theirs": "x"}
    bare.patch(bare.at("Job", "warned"), {"metadata": {"annotations": notes}})
    bare.patch(bare.pod_at("fenced-0"), {"metadata": {"annotations": {EPOCH: "1"}}})
    told = command(configured, "down", "--restore-all", "--yes")
    assert [each["result"] for each in told["workloads"]] == ["done"], told
    assert (told["lease"], told["not_taken_off"], told["not_looked_through"]) == ("removed", [], [])
    assert bare.get("Job", "warned")["metadata"]["annotations"] == {
        "quartermaster/exclude-until": "2027-01-01",
        "theirs": "x",
    }
    assert not bare.pod("fenced-0")["metadata"].get("annotations")
    assert not bare.pod("one-0")["metadata"].get("annotations")
    assert {
        kind: bare.get(kind, name)["spec"] for kind, name in (("Job", "warned"), ("StatefulSet", "fenced"))
    } == before
    assert replicas(bare, "one") == [3]
    assert bare.call("GET", LEASES)["items"] == []
    assert in_ledger(configured, lambda chain: (chain.open_intents(), chain.stopped())) == ((), ())


def test_what_cannot_be_started_keeps_its_mark_and_the_lease(bare: Bare, configured: Path):
    """Somebody wrote nonsense into the mark, and the ledger does not know it."""
    bare.owner("StatefulSet", "odd", replicas=0)
    bare.patch(bare.at("StatefulSet", "odd"), {"metadata": {"annotations": {STOPPED: "{"}}})
    told = command(configured, "down", "--restore-all", "--yes", code=1)
    assert [each["words"] for each in told["workloads"]] == [
        "its mark cannot be read, so it is not known what was there"
    ]
    assert is_marked(bare.get("StatefulSet", "odd"))
    assert told["lease"] == "kept until all is started"
    bare.patch(bare.at("StatefulSet", "odd"), {"spec": {"replicas": 1}})
    command(configured, "down", "--restore-all", "--yes")
    assert not is_marked(bare.get("StatefulSet", "odd"))


def test_down_waits_for_an_enforcer_that_crashed_and_not_for_one_that_runs(
    bare: Bare, configured: Path, monkeypatch: pytest.MonkeyPatch
):
    """Its lease lasts a second here; one that renews it would have it for ever."""
    lease = taken(None, "enforcer-1", 0, 0, "")
    lease["spec"]["leaseDurationSeconds"] = 1
    bare.call("POST", LEASES, lease)
    command(configured, "down", "--restore-all", "--yes")
    lease["spec"]["leaseDurationSeconds"] = 60
    bare.call("POST", LEASES, lease)
    monkeypatch.setattr("enforcer.act.lease.DURATION_S", -1)
    assert complaint(configured, "down", "--restore-all", "--yes") == (
        "the Lease is not to be had: enforcer-1 has it"
    )
    bare.call("DELETE", f"{LEASES}/{NAME}")


def test_who_restores_stands_in_the_audit_by_pseudonym(bare: Bare, configured: Path):
    stopped(bare, configured, "one")
    command(configured, "restore", f"StatefulSet/{bare.namespace}/one")

    def actors(chain: Chain) -> list[str]:
        with chain.ledger.reading() as cursor:
            query = "select actor from deeds where act = 'restore' and namespace = ?"
            found = cursor.execute(query, [bare.namespace]).fetchall()
        return [each[0] for each in found]

    told = in_ledger(configured, actors)
    assert len(told) == 2
    assert all(pseudonym_of(each) is not None for each in told)


WRONG = {
    "neither": (("restore",), "one workload is restored, or all that were stopped"),
    "both": (("restore", "Job/a/b", "--all"), "one workload is restored, or all that were stopped"),
    "since without all": (("restore", "Job/a/b", "--since", "2026-11-24T12:00Z"), "--since goes with --all"),
    "no path": (("restore", "vision/train"), "'vision/train' is no workload"),
    "no kind of ours": (
        ("restore", "DaemonSet/a/b"),
        "nothing stops a DaemonSet but taking it from its nodes",
    ),
    "not there": (("restore", "Job/a/b"), "there is no Job/a/b in the cluster"),
    "another cluster": (("restore", "--all", "--cluster", "x"), "there is no cluster 'x'"),
    "no API server": (
        ("restore", "--all", "--cluster", "bare"),
        "cluster 'bare' has no API server in the configuration",
    ),
    "down without saying so": (("down",), "down starts all again that was stopped"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_said(case: str, configured: Path):
    arguments, words = WRONG[case]
    assert complaint(configured, *arguments) == words


def test_a_server_that_is_away_is_said(configured: Path, tmp_path: Path, api_server: ControlPlane):
    kubeconfig = api_server.kubeconfig_of("t")
    away = kubeconfig.read_text(encoding="utf-8").replace(api_server.url, "https://127.0.0.1:1")
    kubeconfig.write_text(away, encoding="utf-8")
    told = yaml.safe_load(configured.read_text(encoding="utf-8"))
    told["clusters"][0]["kubernetes"]["kubeconfig"] = str(kubeconfig)
    path = tmp_path / "quartermaster.yaml"
    path.write_text(yaml.safe_dump(told), encoding="utf-8")
    assert complaint(path, "restore", "Job/a/b").startswith(
        "the API server of c does not answer: /apis/batch"
    )
