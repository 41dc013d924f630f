"""Owners, tags and people."""

import json
from typing import Any

import pytest

from collector.batch import Batch, commit
from collector.kubernetes.stream import ADDED, GONE
from quartermaster.person import person_id
from quartermaster.team import Rule, pattern_id
from sql.ledger import frame, memory_ledger
from sql.people import erase
from tests.kube.raws import SETTINGS, Told, at, node, pod, replaced


def metadata(name: str, uid: str, owner: tuple[str, str, str, str] | None = None) -> dict[str, Any]:
    refs: list[dict[str, Any]] = [{"apiVersion": "v1", "kind": "Other", "name": "x", "uid": "x"}]
    if owner:
        refs.append(
            {**dict(zip(("apiVersion", "kind", "name", "uid"), owner, strict=True)), "controller": True}
        )
    return {"metadata": {"name": name, "namespace": "ns", "uid": uid, "ownerReferences": refs}}


JOB = ("batch/v1", "Job", "train-1", "uid-job")
TRAIN = ("trainer.kubeflow.org/v1alpha1", "TrainJob", "train", "uid-train")


def test_the_walk_goes_up_unknown_kinds_as_they_become_known():
    told = Told().see(0, "nodes", node()).see(1, "pods", pod(owner=JOB))
    ((wanted, namespace),) = told.picture.wanted_owners()
    assert (wanted.kind, wanted.group, namespace) == ("Job", "batch", "ns")
    told.see(1, "owners", metadata("train-1", "uid-job", TRAIN), ADDED)
    ((wanted, _),) = told.picture.wanted_owners()
    assert (wanted.kind, wanted.group) == ("TrainJob", "trainer.kubeflow.org")
    told.see(1, "owners", metadata("train", "uid-train"), ADDED)
    assert told.picture.wanted_owners() == []
    found = told.take().workload()
    assert (found.kind, found.name, found.api_group) == ("TrainJob", "train", "trainer.kubeflow.org")
    assert json.loads(found.owner_chain) == ["Job/train-1", "TrainJob/train"]
    assert told.allocation().workload_id == found.workload_id


def test_an_owner_that_may_not_be_read_is_the_workload():
    told = Told().see(0, "nodes", node()).see(1, "pods", pod(owner=JOB))
    told.see(1, "owners", metadata("train-1", "uid-job", TRAIN), ADDED)
    told.see(2, "owners", metadata("train", "uid-train"), GONE)
    assert told.take().workload().name == "train"


def test_jobs_that_are_watched_need_not_be_asked_for():
    told = Told().see(0, "jobs", metadata("train-1", "uid-job")).see(1, "pods", pod(owner=JOB))
    assert told.picture.wanted_owners() == []


def test_the_chain_is_kept_when_the_owner_is_deleted_with_orphans():
    told = Told().see(0, "nodes", node()).see(0, "jobs", metadata("train-1", "uid-job"))
    told.see(1, "pods", pod(owner=JOB)).take()
    told.see(2, "pods", pod(started=2))
    assert len({each.workload_id for each in told.rows["allocations_versions"]}) == 1


def test_a_ring_of_owners_ends():
    told = (
        Told()
        .see(0, "nodes", node())
        .see(0, "owners", metadata("train-1", "uid-job", JOB), ADDED)
        .see(1, "pods", pod(owner=JOB))
    )
    found = told.take().workload()
    assert (found.name, json.loads(found.owner_chain)) == ("train-1", ["Job/train-1"])


def test_spark_driver_and_executors_are_one_application():
    labels = {"spark-app-selector": "spark-abc"}
    driver = ("v1", "Pod", "driver", "uid-driver")
    told = Told().see(0, "nodes", node())
    told.see(1, "pods", pod("driver", labels={**labels, "spark-role": "driver"}))
    told.see(1, "pods", pod("exec-1", labels={**labels, "spark-role": "executor"}, owner=driver))
    told.see(1, "owners", metadata("driver", "uid-driver"), ADDED)
    assert len({each.workload_id for each in told.allocations()}) == 1
    assert told.workload().kind == "SparkApplication"


@pytest.mark.parametrize(
    ("labels", "kind", "experiment"),
    [
        ({"dag_id": "etl", "task_id": "fit", "run_id": "r1"}, "Pod", "r1"),
        ({"pipeline/runid": "kfp-7"}, "Pod", "kfp-7"),
        ({"ray.io/cluster": "ray-a"}, "Pod", "ray-a"),
        ({"mlflow.org/run-id": "m1", "dag_id": "etl"}, "Pod", "m1"),
        ({"wandb-run-id": "w1"}, "Pod", "w1"),
        ({"serving.kserve.io/inferenceservice": "llm"}, "Pod", "llm"),
        ({"hub.jupyter.org/username": "ann"}, "workspace", ""),
        ({"app.kubernetes.io/name": "code-server"}, "workspace", ""),
        ({"controller.devfile.io/devworkspace_id": "w"}, "workspace", ""),
        ({"jetbrains.com/workspace": "w"}, "workspace", ""),
    ],
)
def test_kind_and_experiment_by_labels(labels: dict[str, str], kind: str, experiment: str):
    found = Told().see(0, "nodes", node()).see(1, "pods", pod(labels=labels)).take().workload()
    assert (found.kind, found.experiment) == (kind, experiment)


def test_cost_tags_that_the_configuration_adds_may_be_annotations():
    settings = replaced(tag_labels=("example.com/cost", "example.com/grant"))
    raw = pod(labels={"example.com/cost": "4711"}, annotations={"example.com/grant": "ERC"})
    found = Told(settings).see(0, "nodes", node()).see(1, "pods", raw).take().workload()
    assert json.loads(found.tags) == {"example.com/cost": "4711", "example.com/grant": "ERC"}


def test_a_person_is_a_pseudonym_and_a_pattern_never_a_name():
    settings = replaced(rules=(Rule("vision", user="a*"), Rule("other", user="z*")))
    told = Told(settings).see(0, "nodes", node())
    told.see(1, "pods", pod(labels={"hub.jupyter.org/username": "ann", "app": "nb"}))
    assert SETTINGS.person_key is not None
    assert told.take().workload().person_id == person_id(SETTINGS.person_key, "ann")
    assert json.loads(told.allocation().user_patterns) == [pattern_id("user", "a*")]
    assert "ann" not in str(told.rows)


@pytest.mark.patient
def test_names_are_kept_where_pseudonyms_are_off_and_stay_erased():
    """In the table `people` alone, once, until `person erase`: then they do not come back by themselves."""
    told = Told(replaced(names=True)).see(0, "nodes", node())
    told.see(1, "pods", pod("a", labels={"user": "ann"})).see(1, "pods", pod("b", labels={"user": "ben"}))
    rows = {table: frame(each) for table, each in told.picture.take(at(2)).items()}
    assert "ann" not in str({table: each for table, each in rows.items() if table != "people"})
    again = (
        Told(replaced(names=True)).see(0, "nodes", node()).see(1, "pods", pod("c", labels={"user": "ann"}))
    )
    more = {table: frame(each) for table, each in again.picture.take(at(3)).items()}
    query = "select name, person_id from people order by name"
    with memory_ledger() as ledger:
        commit(ledger, Batch("w/1/1", at(2), rows))
        (ann, person), (ben, _) = ledger.query(query).rows()
        assert (ann, ben) == ("ann", "ben")
        commit(ledger, Batch("w/2/1", at(3), more))
        assert len(ledger.query(query).rows()) == 2, "a name is told once"
        erase(ledger, person, "me", at(4))
        commit(ledger, Batch("w/3/1", at(5), more))
        assert [name for name, _ in ledger.query(query).rows()] == ["ben"]
