"""A CronJob is stopped by its run: the Job that holds the GPUs is suspended, and the CronJob itself is left alone."""

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from collector.kubernetes.values import Json
from enforcer.act.actor import Actor
from enforcer.act.clearing import Pace
from enforcer.act.doing import Doing
from enforcer.act.grip import Grip, grip
from enforcer.act.hands import Hands
from enforcer.act.mark import STOPPED, Mark, is_marked
from enforcer.act.order import Order
from enforcer.act.restore import Asked, named, restore, stopped_since
from enforcer.act.resume import notice
from enforcer.act.run import run_of
from enforcer.act.served import NoWay
from enforcer.act.way import IN_QUEUE
from enforcer.audit.deed import Phase
from enforcer.plan import Act
from enforcer.snapshot import Taking
from quartermaster.clock import now_ms
from quartermaster.errors import InputError
from tests.act.acting import (
    UNDER,
    Paper,
    at_rest,
    doing,
    enforcers_token,
    fine,
    order,
    owner_path,
    running,
    template,
    wire,
)
from tests.act.bare import Bare
from tests.act.mortal import MortalPaper, MortalWire, Sent, stopped_at_every_step
from tests.kube.raws import at, node, pod
from tests.live.telling import Told, above, owned, owner
from tests.servers.controlplane import ControlPlane
from tests.servers.fleet import Ground
from tests.servers.objects import define, undefine

SHORT = Pace(head_start_s=0.0, patience_s=0.4)
WORDS = "suspend its run; the next begins at its time, unless concurrencyPolicy is Forbid"


def run(name: str, *, of: str = "c", suspend: bool = False, mine: bool = False, **more: Any) -> Json:
    """A Job, as a list has it: that of a CronJob; `mine`: with our mark."""
    note = {STOPPED: Mark(1_764_554_400_000, "c", "p", 1, "stop", f"uid-{name}", {}).written()}
    by = {"controller": True, "apiVersion": "batch/v1", "kind": "CronJob", "name": of, "uid": f"uid-{of}"}
    metadata = {"name": name, "uid": f"uid-{name}", "ownerReferences": [by]}
    metadata |= {"annotations": note if mine else {}} | more.pop("metadata", {})
    return {"metadata": metadata, "spec": {"suspend": suspend}, **more}


OVER: Json = {"status": {"conditions": [{"type": "Complete", "status": "True"}]}}
NOT_OVER: Json = {"status": {"conditions": [{"type": "Failed", "status": "False"}]}}
GOING: Json = {"metadata": {"deletionTimestamp": "2026-12-01T00:00:00Z"}}
RUNS: dict[str, tuple[list[Json], str | None]] = {
    "none": ([], None),
    "one": ([run("a")], "a"),
    "one is over": ([run("a", **OVER), run("b", **NOT_OVER)], "b"),
    "one is on its way out": ([run("a", **GOING)], None),
    "another's": ([run("a", of="d"), {"metadata": {"name": "b", "uid": "uid-b"}}], None),
    "one that we stopped, and the next": ([run("a", suspend=True, mine=True), run("b")], "a"),
    "one that somebody suspended, and the next": ([run("a", suspend=True), run("b")], "b"),
    "a suspended one alone": ([run("a", suspend=True)], "a"),
    "a mark that was copied from the template": (
        [run("a", metadata={"annotations": run("x", mine=True)["metadata"]["annotations"]})],
        "a",
    ),
}


@pytest.mark.parametrize("case", RUNS)
def test_which_run_it_is_stopped_by(case: str):
    jobs, expected = RUNS[case]
    found = run_of(jobs, {"metadata": {"name": "c", "uid": "uid-c"}})
    assert (found and found["metadata"]["name"]) == expected


def test_several_at_once_are_left_alone():
    with pytest.raises(NoWay, match="it has 2 runs at once, where there is to be one"):
        run_of([run("a"), run("b")], {"metadata": {"name": "c", "uid": "uid-c"}})


def body(spec: Json, **more: Any) -> Json:
    return {
        "metadata": {"name": "c"},
        "spec": {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": spec}, **more},
    }


def run_now(made: Json, name: str) -> Json:
    """The Job of a CronJob that is begun by hand, as `kubectl create job --from` does."""
    metadata = made["metadata"]
    by = {"apiVersion": "batch/v1", "kind": "CronJob", "name": metadata["name"], "uid": metadata["uid"]}
    note = {"cronjob.kubernetes.io/instantiate": "manual"}
    told = {"name": name, "annotations": note, "ownerReferences": [by | {"controller": True}]}
    return {"metadata": told, "spec": made["spec"]["jobTemplate"]["spec"]}


JOB: Json = {
    "template": {"spec": {"containers": [{"name": "main", "image": "i"}], "restartPolicy": "Never"}},
    "backoffLimit": 0,
}


def with_run(bare: Bare, name: str) -> Json:
    """A CronJob of that name and its run `{name}-1`, with a pod."""
    made = body(JOB)
    made["metadata"]["name"] = name
    return next_run(bare, bare.call("POST", bare.at("CronJob"), made), f"{name}-1")


def next_run(bare: Bare, cronjob: Json, name: str) -> Json:
    job = bare.call("POST", bare.at("Job"), run_now(cronjob, name))
    bare.owned(job, f"{name}-0")
    return job


@pytest.fixture
def token(bare: Bare) -> str:
    """Of the account that deploy/rbac makes: a call that it does not allow fails the test."""
    return enforcers_token(bare.plane)


def test_its_run_is_suspended_and_restored_by_the_cronjobs_name(bare: Bare, token: str):
    job, paper = with_run(bare, "c"), Paper()
    before = bare.get("CronJob", "c")
    acts = doing(bare.plane, paper, pace=SHORT, token=token)
    Actor(acts).carry_out([bare.order(Act.STOP, "CronJob", "c", "c-1-0", by=job)], UNDER, fine)
    assert paper.outcomes() == [("stop", "c", "done")], [each.words for each in paper.rows]
    now = bare.get("Job", "c-1")
    assert (now["spec"]["suspend"], is_marked(now), bare.is_going("c-1-0")) == (True, True, True)
    assert bare.get("CronJob", "c") == before

    (mine,) = [each for each in stopped_since(acts, 0).found if bare.namespace in each.title]
    assert mine.title == f"CronJob/{bare.namespace}/c"
    # The next run begins meanwhile, as concurrencyPolicy Allow has it: it is not stopped beside the first.
    second = next_run(bare, before, "c-2")
    Actor(acts).carry_out([bare.order(Act.STOP, "CronJob", "c", "c-2-0", by=second)], UNDER, fine)
    assert (paper.rows[-1].phase, paper.rows[-1].words) == (Phase.REFUSED, "it is stopped already")
    assert notice(acts, {"0": paper.rows[0]}, 3) == (), "nobody has put it back"
    told = restore(acts, [named(acts, mine.title)], Asked("c", "person-x"), {})
    assert paper.outcomes()[1:] == [("restore", "c", "done")], told
    assert {(each.kind, each.object_uid) for each in paper.rows} == {("CronJob", before["metadata"]["uid"])}
    now = bare.get("Job", "c-1")
    assert (now["spec"]["suspend"], is_marked(now)) == (False, False)
    acts.close()


def test_the_name_of_the_run_restores_it_too(bare: Bare):
    job, paper = with_run(bare, "c"), Paper()
    acts = doing(bare.plane, paper, pace=SHORT)
    Actor(acts).carry_out([bare.order(Act.STOP, "CronJob", "c", "c-1-0", by=job)], UNDER, fine)
    found = named(acts, f"Job/{bare.namespace}/c-1")
    assert found.title == f"CronJob/{bare.namespace}/c"
    acts.close()


def test_what_is_held_back_is_so_when_its_run_counts_no_pod_any_more(bare: Bare):
    job, paper = with_run(bare, "c"), Paper()
    status = {"status": {"active": 1, "startTime": "2026-12-01T00:00:00Z"}}
    job = bare.patch(f"{bare.at('Job', 'c-1')}/status", status)
    acts = doing(bare.plane, paper, pace=SHORT)
    Actor(acts).carry_out([bare.order(Act.HOLD, "CronJob", "c", by=job)], UNDER, fine)
    assert paper.outcomes()[0] == ("hold", "c", "no effect"), "there is no controller here"
    assert paper.rows[1].words == "its controller leaves its pods there"
    acts.close()


def test_without_a_run_there_is_nothing_to_stop_or_to_restore(bare: Bare):
    job, paper = with_run(bare, "c"), Paper()
    acts = doing(bare.plane, paper, pace=SHORT)
    bare.patch(bare.at("Job", "c-1"), {"metadata": {"finalizers": []}})
    bare.call("DELETE", f"{bare.at('Job', 'c-1')}?propagationPolicy=Background")
    Actor(acts).carry_out([bare.order(Act.STOP, "CronJob", "c", by=job)], UNDER, fine)
    assert (paper.rows[0].phase, paper.rows[0].words) == (
        Phase.REFUSED,
        f"CronJob {bare.namespace}/c is gone",
    )
    with pytest.raises(InputError, match="or no run of it"):
        named(acts, f"CronJob/{bare.namespace}/c")
    acts.close()


@pytest.fixture
def with_kueue(api_server: ControlPlane) -> Iterator[None]:
    active = {"active": {"type": "boolean"}}
    define(api_server, "kueue.x-k8s.io", "v1beta1", IN_QUEUE, "workloads", spec=active, namespaced=True)
    yield
    undefine(api_server, "kueue.x-k8s.io", "v1beta1", "workloads")


@pytest.mark.usefixtures("with_kueue")
def test_a_run_that_kueue_manages_is_left_to_kueue(bare: Bare):
    with_run(bare, "c")
    acts = doing(bare.plane, Paper())
    bare.patch(bare.at("Job", "c-1"), {"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "q"}}})
    with pytest.raises(NoWay, match="Kueue manages its run"):
        grip(acts.served, "CronJob", bare.namespace, "c")
    acts.close()


def test_it_is_killed_at_every_step_and_started_again(bare: Bare):
    def makes(paper: MortalPaper, through: MortalWire) -> Doing:
        return Doing(Hands(through, pause=lambda seconds: None), paper, lambda epoch: "", now_ms, SHORT)

    def begin(name: str) -> Order:
        return bare.order(Act.STOP, "CronJob", name, f"{name}-1-0", by=with_run(bare, name))

    def judge(name: str, done: bool, sent: Sent) -> None:
        now = bare.get("Job", f"{name}-1")
        assert (now["spec"]["suspend"], is_marked(now)) == (done, done)
        assert sent["PATCH", bare.at("Job", f"{name}-1")] == done
        assert bare.is_going(f"{name}-1-0") is done

    stopped_at_every_step(wire(bare.plane), makes, begin, judge)


def a_cronjob(**metadata: Any) -> Told:
    """As a live picture has it: a node, a CronJob's metadata, and its run."""
    bare = {"metadata": {"name": "c", "namespace": "ns", "uid": "uid-c", "resourceVersion": "5"}}
    told = Told().see("nodes", node()).see("above batch/v1 CronJob", bare)
    return told.see("jobs", a_run("c-1", **metadata))


def a_run(name: str, **more: Any) -> Json:
    told: Json = {"resourceVersion": "77", **above("CronJob", "c", "batch/v1"), **more}
    return owner(name, **told)


def test_a_plan_rests_on_the_runs_version_and_says_what_becomes_of_the_next():
    told = a_cronjob().see("pods", pod("a", owner=owned("Job", "c-1"), started=3))
    found = told.workload()
    assert (found.kind, found.name, found.version, found.way_down) == ("CronJob", "c", "77", WORDS)
    assert found.lost_for_good == ()
    told.see("jobs", a_run("c-2")).see("pods", pod("b", owner=owned("Job", "c-2"), started=3))
    found = told.workload()
    assert ([each.name for each in found.pods], found.way_down) == (["a", "b"], ""), "one alone is stopped"


def test_what_was_stopped_for_an_owner_waits_and_is_started_by_its_version():
    mark = Mark(at(300), "c", "p", 1, "stop", "uid-c-1", {"/spec/suspend": False}).written()
    told = a_cronjob(spec={"suspend": True}, annotations={STOPPED: mark})
    found = told.waiting(Taking("uid-c", "uid-owner", at(300)))
    assert (found.uid, found.kind, found.version, found.held_back) == ("uid-c", "CronJob", "77", True)
    assert found.way_down == WORDS


def cron_path(ground: Ground, name: str = "") -> str:
    return owner_path(ground, "CronJob", name).rstrip("/")


def job_of(ground: Ground, name: str, **more: Any) -> Json:
    spec: Json = {"backoffLimit": 0, "template": template(ground, f"of={name}")}
    spec["template"]["spec"]["restartPolicy"] = "Never"
    made = body(spec, **more)
    made["metadata"]["name"] = name
    return made


def stop_run(ground: Ground, acts: Doing, name: str, job: str) -> None:
    pods = running(ground, f"of={name}", 1)
    run = at_rest(ground, owner_path(ground, "Job", job), ready=1)
    plan = order(ground, Act.STOP, "CronJob", name, pods=pods)
    target = replace(plan.action.target, version=run["metadata"]["resourceVersion"])
    plan = replace(plan, action=replace(plan.action, target=target))
    Actor(acts).carry_out([plan], UNDER, fine)


def test_real_controllers_take_its_pods_and_bring_them_back(ground: Ground):
    ground.node(gpus=8)
    paper = Paper()
    acts = doing(ground.plane, paper, token=enforcers_token(ground.plane))
    made = ground.plane.call("POST", cron_path(ground), job_of(ground, "c"))
    ground.plane.call("POST", owner_path(ground, "Job", "").rstrip("/"), run_now(made, "c-1"))
    stop_run(ground, acts, "c", "c-1")
    assert paper.outcomes() == [("stop", "c", "done")], [each.words for each in paper.rows]
    ground.wait(f"{ground.path}/pods?labelSelector=of=c", lambda found: not found["items"])
    job = at_rest(ground, owner_path(ground, "Job", "c-1"))
    assert (job["spec"]["suspend"], "failed" in job["status"]) == (True, False)
    restore(acts, [named(acts, f"CronJob/{ground.namespace}/c")], Asked("c", "person-x"), {})
    running(ground, "of=c", 1)
    assert paper.outcomes()[1:] == [("restore", "c", "done")]
    acts.close()


@pytest.mark.soak
def test_what_each_policy_makes_of_a_stopped_run_when_the_next_is_due(ground: Ground):
    """Forbid holds it back, Allow begins it beside the stopped one, Replace deletes the stopped one for it."""
    ground.node(gpus=8)
    paper = Paper()
    acts = doing(ground.plane, paper, token=enforcers_token(ground.plane))
    jobs = owner_path(ground, "Job", "").rstrip("/")

    def runs(name: str) -> list[Json]:
        found = ground.plane.call("GET", jobs)["items"]
        return [each for each in found if each["metadata"]["ownerReferences"][0]["name"] == name]

    policies = ("Forbid", "Allow", "Replace")
    for policy in policies:
        made = job_of(ground, policy.lower(), schedule="* * * * *", concurrencyPolicy=policy)
        ground.plane.call("POST", cron_path(ground), made)
    ground.wait(jobs, lambda found: len(found["items"]) == len(policies), 90)
    first = {policy: runs(policy.lower())[0]["metadata"]["name"] for policy in policies}
    for policy in policies:
        stop_run(ground, acts, policy.lower(), first[policy])
    assert {each[2] for each in paper.outcomes()} == {"done"}, [each.words for each in paper.rows]
    # The next are due: that of Allow is there, and those of the others have had their time.
    ground.wait(jobs, lambda found: len(found["items"]) > len(policies), 90)
    time.sleep(5)
    now = {policy: [each["metadata"]["name"] for each in runs(policy.lower())] for policy in policies}
    assert now["Forbid"] == [first["Forbid"]]
    assert first["Allow"] in now["Allow"]
    assert len(now["Allow"]) == 2
    assert len(now["Replace"]) == 1
    assert first["Replace"] not in now["Replace"]
    for policy in ("Forbid", "Allow"):
        restore(acts, [named(acts, f"CronJob/{ground.namespace}/{policy.lower()}")], Asked("c", "x"), {})
    assert [each[2] for each in paper.outcomes()][-2:] == ["done", "done"]
    held = grip(acts.served, "CronJob", ground.namespace, "forbid")
    assert isinstance(held, Grip)
    assert (held.object["spec"]["suspend"], is_marked(held.object)) == (False, False)
    acts.close()
