"""From labels to Kubernetes: one history without a seam, and every disagreement a finding."""

import json
from collections.abc import Iterator
from typing import Any

import polars as pl
import pytest

from analytics.usage import roll_up
from collector.holders import read_labels
from collector.kubernetes.meeting import meet
from collector.kubernetes.seam import join_labels
from collector.kubernetes.settings import SOURCE
from quartermaster.clock import HOUR_MS
from quartermaster.ids import content_id
from quartermaster.records import LabelRef, Series, Watermark
from sql.checks import run
from sql.ledger import Ledger, memory_ledger
from tests.kube.raws import G, Told, at, iso, node, pod, replaced

MINUTE = 60
SWITCH = 100 * MINUTE
MODEL = "NVIDIA H100 80GB HBM3"
Row = dict[str, Any]


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    with memory_ledger() as opened:
        yield opened


def pages(ledger: Ledger, first: int, last: int, *named: tuple[str, str, int, int]) -> None:
    """Samples each minute in [first, last) of four GPUs; `named`: GPU, pod, and from which minute to which."""
    gpus = [f"GPU-{index}" for index in range(4)]
    series = [
        Series("c", content_id(gpu), at(0), None, "dcgm", "n1", gpu, "", "", "", MODEL, n, "gpu", "3", "t")
        for n, gpu in enumerate(gpus)
    ]
    refs = [LabelRef("c", content_id(name), "ns", name, "main", "", "") for _, name, _, _ in named]
    rows: list[Row] = []
    for minute in range(first, last):
        for gpu in gpus:
            holder = next((name for g, name, start, end in named if g == gpu and start <= minute < end), None)
            row = {"cluster": "c", "series_id": content_id(gpu), "sampled_at": at(minute * MINUTE)}
            row |= {"source": "dcgm", "hold_ms": 150_000, "gr_engine_permille": 500 if holder else 0}
            rows.append(row | {"label_ref": content_id(holder) if holder else None})
    marks = [Watermark("c", "dcgm", "telemetry", at(last * MINUTE))]
    samples = pl.DataFrame(rows, infer_schema_length=None)
    told = {"series_versions": series, "label_refs": refs, "samples": samples, "watermarks": marks}
    ledger.append(f"pages/{first}", told)


def kubernetes(ledger: Ledger, told: Told, take: float, complete: float) -> None:
    """What Kubernetes told by an instant, complete until another."""
    mark = Watermark("c", SOURCE, "holders", at(complete))
    ledger.append(f"kubernetes/{complete}", {**told.picture.take(at(take)), "watermarks": [mark]})


def lasting(name: str, minute: float, gpus: int = 1) -> Row:
    start = minute * MINUTE
    return pod(name, gpus, bound=start, started=start + 5, creationTimestamp=iso(start))


def switched(ledger: Ledger) -> None:
    """Labels until minute 90 are read; Kubernetes is believed from minute 100; telemetry goes on to minute 240.

    `a` holds a GPU all the time; `b` ends at 40; `c` begins at 93, when labels are read no more; `d` begins at 120.
    """
    history = (
        *(("GPU-0", "a", 10, 240), ("GPU-1", "b", 20, 40)),
        *(("GPU-1", "c", 93, 240), ("GPU-2", "d", 121, 240)),
    )
    pages(ledger, 0, 90, *history)
    assert read_labels(ledger, "c", [], at(5400)) is not None
    pages(ledger, 90, 240, *history)
    told = Told(replaced(telemetry=True)).listing(SWITCH - 2, "nodes", node(gpus=4))
    told.listing(SWITCH - 1, "pods", lasting("a", 10), lasting("c", 93))
    kubernetes(ledger, told, SWITCH, SWITCH + 60)
    told.see(120 * MINUTE, "pods", lasting("d", 120))
    kubernetes(ledger, told, SWITCH, 240 * MINUTE)


def findings(ledger: Ledger) -> list[tuple[str, Row]]:
    query = "select subject, evidence from findings where kind = 'sources disagree' order by all"
    return [(subject, json.loads(evidence)) for subject, evidence in ledger.query(query).rows()]


@pytest.mark.patient
def test_one_history_without_a_seam(ledger: Ledger):
    switched(ledger)
    joined = join_labels(ledger, "c", [], at(14_400))
    assert joined is not None
    assert joined.until_ms == at(SWITCH)
    assert join_labels(ledger, "c", [], at(14_400)) is None, "it is read once"
    assert meet(ledger, "c", at(14_400)) is not None
    roll_up(ledger, at(15_000), "UTC")
    until = {"until_us": (at(0) + 3 * HOUR_MS) * 1000}
    query = """
        select a.pod, sum(u.held_pms) as held, sum(u.computing_pms) as computing
        from usage_hourly as u join allocations as a using (cluster, allocation_id)
        where row_start_at < make_timestamptz($until_us) group by a.pod
    """
    rows = ledger.query(query, until).rows()
    held = {name: (held // (G * 1000), computing // (G * 1000)) for name, held, computing in rows}
    assert held["a"] == (170 * MINUTE, 170 * MINUTE), "from its first page on, by labels, then by Kubernetes"
    assert held["b"] == (20 * MINUTE, 20 * MINUTE)
    assert held["c"] == (87 * MINUTE, 87 * MINUTE), "nobody read the labels of its first minutes in time"
    assert held["d"] == (60 * MINUTE, 59 * MINUTE), "held from its binding, computing a minute later"
    query = """
        select sum(capacity_pms) as capacity, sum(unobserved_pms) as unobserved
        from usage_hourly where row_start_at < make_timestamptz($until_us)
    """
    assert ledger.query(query, until).rows() == [(4 * G * 3 * HOUR_MS, 0)], "always somebody who could tell"
    assert findings(ledger) == []
    left = "select count(*) as n from allocations where source = 'labels' and end_at is null"
    assert ledger.query(left)["n"].item() == 0, "what labels held open ends where Kubernetes goes on"
    assert [(broken.check, broken.count) for broken in run(ledger)] == []


@pytest.mark.patient
def test_every_disagreement_is_a_finding(ledger: Ledger):
    """At the seam: pods that only one of them has, and one that began otherwise; after it: one that labels name."""
    named = (("GPU-0", "stale", 10, 160), ("GPU-1", "late", 60, 240), ("GPU-2", "agreed", 20, 240))
    pages(ledger, 0, 240, *named)
    told = Told(replaced(telemetry=True)).listing(SWITCH - 2, "nodes", node(gpus=4))
    told.listing(SWITCH - 1, "pods", lasting("late", 20), lasting("unnamed", 30), lasting("agreed", 19))
    kubernetes(ledger, told, SWITCH, 240 * MINUTE)
    assert join_labels(ledger, "c", [], at(14_400)) is not None
    meet(ledger, "c", at(14_400))
    found = findings(ledger)
    assert [subject for subject, _ in found] == ["ns/late", "ns/stale", "ns/stale", "ns/unnamed"]
    before = {subject: evidence for subject, evidence in found if "node" in evidence}
    assert before["ns/late"]["labels"]["from_ms"] == at(60 * MINUTE)
    assert before["ns/late"]["kubernetes"]["from_ms"] == at(20 * MINUTE + 5)
    assert before["ns/stale"]["kubernetes"] is None
    assert before["ns/unnamed"]["labels"] is None
    (after,) = [evidence for subject, evidence in found if subject == "ns/stale" and "node" not in evidence]
    assert after == {"labels": "GPU-0", "kubernetes": None}
    held = ledger.query("select pod from allocations where source = 'kubernetes' order by pod")
    assert held["pod"].to_list() == ["agreed", "late", "unnamed"], "the interval stays Kubernetes'"


@pytest.mark.patient
def test_a_disagreement_that_lasts_is_one_finding_however_often_it_is_read(ledger: Ledger):
    told = Told(replaced(telemetry=True)).listing(0, "nodes", node(gpus=4)).listing(0, "pods")
    for until in range(10, 80, 7):
        pages(ledger, 0 if until == 10 else until - 7, until, ("GPU-0", "stranger", 2, 60))
        kubernetes(ledger, told, 1, until * MINUTE)
        meet(ledger, "c", at(until * MINUTE))
    rows = ledger.query("select epoch_ms(start_at) as s, epoch_ms(end_at) as e from findings").rows()
    assert rows == [(at(2 * MINUTE), at(59 * MINUTE))]


def test_a_cluster_that_was_kubernetes_from_the_start_has_no_history_by_labels(ledger: Ledger):
    pages(ledger, 0, 60, ("GPU-0", "a", 2, 60))
    told = Told(replaced(telemetry=True)).listing(20, "nodes", node(gpus=4)).listing(20, "pods")
    kubernetes(ledger, told, 21, 3600)
    assert join_labels(ledger, "c", [], at(3600)) is None
    by_labels = "select count(*) as n from authority where source = 'labels'"
    assert ledger.query(by_labels)["n"].item() == 0
