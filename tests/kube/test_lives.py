"""Several lives of a collector upon one ledger: nothing twice, nothing lost, what nobody saw is bounded."""

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl
import pytest

from collector.batch import Batch, Census, Opening, commit, from_bytes, to_bytes
from collector.kubernetes.picture import Picture
from collector.kubernetes.settings import SOURCE
from collector.kubernetes.stream import ADDED, BEGIN, GONE, MODIFIED, SYNCED, Event
from quartermaster.records import Watermark
from sql.checks import run
from sql.ledger import Ledger, frame, memory_ledger
from tests.kube.raws import G, at, claim, device, iso, node, pod, replaced, resource_slice, with_claims

_lives = iter(range(1, 1000))


@pytest.fixture(scope="module")
def ledger() -> Iterator[Ledger]:
    with memory_ledger() as opened:
        yield opened


@pytest.fixture
def cluster() -> str:
    return f"c{next(_lives)}"


class Life:
    """A collector from its start: a full picture of the objects that are there, then what it is told."""

    def __init__(
        self, ledger: Ledger, cluster: str, start: float, **objects: Sequence[dict[str, Any]]
    ) -> None:
        self.ledger, self.cluster = ledger, cluster
        self.picture = Picture(replaced(cluster=cluster))
        self.key, self.batches, self.start = next(_lives), 0, start
        for kind in ("nodes", "resourceslices", "resourceclaims", "jobs", "pods"):
            self.picture.apply(Event(at(start), kind, BEGIN))
            for raw in objects.get(kind, ()):
                self.picture.apply(Event(at(start), kind, ADDED, raw))
            self.picture.apply(Event(at(start), kind, SYNCED))

    def see(self, seconds: float, kind: str, raw: dict[str, Any], how: str = MODIFIED) -> "Life":
        self.picture.apply(Event(at(seconds), kind, how, raw))
        return self

    def tell(self, seconds: float) -> "Life":
        """Hand a batch on, by way of the spool."""
        rows = {table: frame(told) for table, told in self.picture.take(at(seconds)).items()}
        rows["watermarks"] = frame([Watermark(self.cluster, SOURCE, "holders", at(seconds))])
        first = not self.batches
        ends = {**self.picture.seats.job_ended, **self.picture.seats.killed}
        self.batches += 1
        batch = Batch(
            f"w/{self.key}/{self.batches}",
            at(seconds),
            rows,
            openings=(Opening(self.cluster, SOURCE, at(self.start), 0, (), "holders"),) if first else (),
            censuses=(Census(self.cluster, SOURCE, at(seconds), self.picture.present(), ends),)
            if first
            else (),
        )
        assert commit(self.ledger, from_bytes(to_bytes(batch)))
        return self


def rows(ledger: Ledger, table: str, cluster: str, *columns: str) -> list[tuple[Any, ...]]:
    told = ledger.query(f"select * from {table} where cluster = ? order by all", [cluster])
    chosen = [
        pl.col(name).dt.epoch("ms").alias(name)
        if isinstance(told.schema[name], pl.Datetime)
        else pl.col(name)
        for name in columns
    ]
    return told.select(chosen).rows()


def versions(ledger: Ledger, cluster: str) -> dict[str, int]:
    names = ("nodes", "devices", "workloads", "allocations", "holdings", "demand", "authority")
    query = "select count(*) as n from {}_versions where cluster = ?"
    return {name: ledger.query(query.format(name), [cluster])["n"].item() for name in names}


DRA: dict[str, Any] = {
    "nodes": [node(gpus=0)],
    "resourceslices": [resource_slice([device(0), device(1)])],
    "resourceclaims": [claim("g", ["gpu-0"], ["p"])],
    "pods": [pod(gpus=0, started=2, spec=with_claims("g")), pod("waits", bound=None)],
}


@pytest.mark.patient
def test_a_life_after_another_tells_nothing_twice(ledger: Ledger, cluster: str):
    Life(ledger, cluster, 10, **DRA).tell(12)
    once = versions(ledger, cluster)
    Life(ledger, cluster, 100, **DRA).tell(102)
    assert versions(ledger, cluster) == once
    assert rows(ledger, "gaps", cluster, "start_at", "end_at", "reason") == [
        (at(12), at(100), "collector down")
    ]


@pytest.mark.patient
def test_a_pod_that_went_while_nobody_watched_is_bounded_and_estimated(ledger: Ledger, cluster: str):
    Life(ledger, cluster, 10, **DRA).tell(60)
    Life(ledger, cluster, 600, nodes=DRA["nodes"], resourceslices=DRA["resourceslices"]).tell(602)
    found = rows(ledger, "allocations", cluster, "start_at", "sure_end_at", "end_at", "end_evidence")
    assert found == [(at(1), at(60), at(602), "missed")]
    assert rows(ledger, "holdings", cluster, "end_at") == [(at(602),)]
    assert rows(ledger, "demand", cluster, "end_at") == [(at(602),)]


@pytest.mark.patient
def test_its_job_bounds_a_pod_that_went_while_nobody_watched(ledger: Ledger, cluster: str):
    labels = {"batch.kubernetes.io/controller-uid": "uid-job"}
    job = {
        "metadata": {"name": "job", "namespace": "ns", "uid": "uid-job"},
        "spec": {"template": {"spec": pod()["spec"]}},
        "status": {"completionTime": iso(300), "succeeded": 1},
    }
    Life(ledger, cluster, 10, nodes=[node()], pods=[pod(started=2, labels=labels)]).tell(60)
    Life(ledger, cluster, 600, nodes=[node()], jobs=[job]).tell(602)
    assert rows(ledger, "allocations", cluster, "sure_end_at", "end_at") == [(at(60), at(300))]


@pytest.mark.patient
def test_a_pod_that_finished_while_nobody_watched_keeps_its_devices_and_its_own_end(
    ledger: Ledger, cluster: str
):
    Life(ledger, cluster, 10, **DRA).tell(60)
    over = pod(gpus=0, phase="Succeeded", started=2, finished=400, spec=with_claims("g"))
    life = Life(
        ledger, cluster, 600, nodes=DRA["nodes"], resourceslices=DRA["resourceslices"], pods=[over]
    ).tell(602)
    found = rows(ledger, "allocations", cluster, "gpu_parts", "sure_end_at", "end_at", "end_evidence")
    assert found == [(G, at(400), at(400), "containers finished")]
    assert rows(ledger, "holdings", cluster, "parts", "end_at") == [(G, at(400))]
    life.see(700, "pods", over, GONE).tell(701)
    assert rows(ledger, "allocations", cluster, "gpu_parts", "end_at") == [(G, at(400))]


@pytest.mark.patient
def test_changes_in_the_second_life_are_versions_above_the_firsts(ledger: Ledger, cluster: str):
    first = Life(ledger, cluster, 10, nodes=[node()], pods=[pod()]).tell(12)
    first.see(20, "pods", pod(started=15)).tell(21)
    second = Life(ledger, cluster, 100, nodes=[node()], pods=[pod(started=15)]).tell(101)
    second.see(200, "pods", pod(phase="Failed", started=15, finished=199), MODIFIED).tell(201)
    second.see(210, "nodes", node(ready="False", ready_at=205)).tell(211)
    assert rows(ledger, "allocations", cluster, "started_at", "end_at") == [(at(15), at(199))]
    spans = rows(ledger, "nodes", cluster, "start_at", "end_at", "ready")
    assert spans == [(at(10), at(205), True), (at(205), None, False)]


@pytest.mark.patient
def test_a_node_that_left_while_nobody_watched_ends_with_its_devices(ledger: Ledger, cluster: str):
    Life(ledger, cluster, 10, nodes=[node("n1", allocatable=7), node("n2")]).tell(12)
    Life(ledger, cluster, 100, nodes=[node("n2")]).tell(101)
    assert rows(ledger, "nodes", cluster, "node", "end_at") == [("n1", at(101)), ("n2", None)]
    assert rows(ledger, "devices", cluster, "end_at") == [(at(101),)]


def test_the_authority_is_the_first_lifes(ledger: Ledger, cluster: str):
    Life(ledger, cluster, 10, nodes=[node()]).tell(12)
    Life(ledger, cluster, 100, nodes=[node()]).tell(101)
    assert rows(ledger, "authority", cluster, "start_at", "end_at", "source") == [
        (at(12), None, "kubernetes")
    ]


@pytest.mark.patient
def test_a_batch_in_the_ledger_breaks_no_rule(ledger: Ledger, cluster: str):
    life = Life(ledger, cluster, 10, **DRA).tell(12)
    life.see(60, "resourceclaims", claim("g")).see(60, "resourceclaims", claim("g"), GONE)
    life.see(61, "pods", pod(gpus=0, phase="Succeeded", started=2, finished=59, spec=with_claims("g"))).tell(
        62
    )
    assert [(broken.check, broken.count) for broken in run(ledger)] == []


@pytest.mark.patient
def test_a_node_that_is_shared_otherwise_weighs_nobody_anew_in_the_next_life(ledger: Ledger, cluster: str):
    """The next collector sees the new labels alone; what the pod was given when it was bound is in the ledger."""
    quarters = {"nvidia.com/gpu.replicas": "4", "nvidia.com/gpu.count": "2"}
    halves = {"nvidia.com/gpu.replicas": "2", "nvidia.com/gpu.count": "2"}
    Life(ledger, cluster, 10, nodes=[node(labels=quarters)], pods=[pod(started=2)]).tell(12)
    later = {"nodes": [node(gpus=4, labels=halves)], "pods": [pod(started=2), pod("new", bound=90)]}
    Life(ledger, cluster, 100, **later).tell(101)
    assert sorted(rows(ledger, "allocations", cluster, "pod", "gpu_parts")) == [
        ("new", G // 2),
        ("p", G // 4),
    ]
