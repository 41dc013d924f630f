"""Holders from kube-state-metrics' history, against the simulated cluster's own record."""

from collections.abc import Callable
from typing import cast

import pytest

from collector.prometheus.command import backfill_of
from quartermaster.clock import HOUR_MS, MINUTE_MS
from quartermaster.config.model import Configuration
from quartermaster.records import Holding
from sql import checks
from sql.ledger import Ledger
from tests.backfill.history import Scraper, bare, simulated
from tests.backfill.kubestate import KubeState
from tests.servers.prometheus import PrometheusServer

START_MS = 1_795_046_400_000 // HOUR_MS * HOUR_MS
END_MS = START_MS + HOUR_MS
INTERVAL_MS = 30_000
LEAST_MS = 35_000


@pytest.mark.parametrize("honor_labels", [True, False], ids=["honorLabels", "exported"])
def test_pods_are_held_from_binding_to_end_as_the_api_has_them(
    prometheus: Callable[..., PrometheusServer],
    ledger: Ledger,
    configured: Callable[..., Configuration],
    honor_labels: bool,
) -> None:
    simulation = simulated(5, START_MS - 2 * HOUR_MS)
    simulation.advance(END_MS)
    truth = simulation.truth()
    server, scraper = prometheus(), Scraper()
    state = KubeState(scraper, truth, honor_labels=honor_labels)
    pages = simulated(5, START_MS - 2 * HOUR_MS)
    pages.advance(START_MS - INTERVAL_MS)
    for at_ms in range(START_MS, END_MS, INTERVAL_MS):
        state.scrape(at_ms + 11_000)
        for node in pages.nodes:
            scraper.page(bare(node), pages.page(node, at_ms + 17_000), at_ms + 17_000)
    scraper.send(server.url)
    with backfill_of(configured(server.url, "kube-state-metrics"), "sim") as work:
        done = work.run(ledger, (START_MS, END_MS), END_MS + HOUR_MS, lambda _at, _samples: None)
    assert [told.source for told in done.told] == ["kube-state-metrics"]

    shown = {
        uid: pod
        for uid, pod in state.allocations.items()
        if (pod.end_at is None or pod.end_at > START_MS)
        and max(pod.start_at, START_MS) + LEAST_MS <= min(pod.end_at or END_MS, END_MS)
    }
    found = {
        row["pod_uid"]: row
        for row in ledger.query(
            "select a.* replace (epoch_ms(a.start_at) as start_at, epoch_ms(a.end_at) as end_at, "
            "epoch_ms(sure_end_at) as sure_end_at, epoch_ms(started_at) as started_at), w.kind "
            "from allocations as a left join workloads as w "
            "on a.workload_id = w.workload_id where a.source = 'kube-state-metrics'"
        ).to_dicts()
    }
    assert shown.keys() <= found.keys() <= state.allocations.keys()
    ends = set[str]()
    for uid, pod in shown.items():
        row = found[uid]
        ends.add(row["end_evidence"])
        assert (row["start_at"], row["gpu_parts"]) == (pod.start_at, pod.gpu_parts), pod
        assert (row["node"], row["namespace"], row["pod"]) == (pod.node, pod.namespace, pod.pod)
        assert (row["cpu_milli"], row["memory_mib"]) == (pod.cpu_milli, pod.memory_mib)
        if pod.end_at is None or pod.end_at >= END_MS - INTERVAL_MS:
            assert row["end_at"] in {END_MS, pod.end_at}
        elif row["end_evidence"] == "containers finished":
            assert (row["end_at"], row["sure_end_at"]) == (pod.end_at, pod.end_at)
        else:
            assert row["sure_end_at"] <= pod.end_at <= row["end_at"] <= pod.end_at + INTERVAL_MS
    assert {"containers finished", "history ends"} <= ends
    assert {row["kind"] for row in found.values()} >= {"Job"}

    # Devices by telemetry's labels: of whole GPUs, the ones that the cluster itself gave.
    named = ledger.query(
        "select a.pod_uid, list_sort(list(h.device_id)) as devices from holdings as h "
        "inner join allocations as a on h.allocation_id = a.allocation_id group by a.pod_uid"
    )
    given: dict[int, set[int]] = {}
    for holding in cast(list[Holding], truth["holdings_versions"]):
        given.setdefault(holding.allocation_id, set()).add(holding.device_id)
    allocation_of = {uid: pod.allocation_id for uid, pod in state.allocations.items()}
    assert named.height > len(shown) // 2
    same = [len(devices) == len(given[allocation_of[uid]]) for uid, devices in named.rows()]
    assert all(same)
    assert checks.run(ledger) == []
    assert ledger.query("select source, rank from authority").rows() == [("kube-state-metrics", 50)]


def test_before_kube_state_metrics_was_there_labels_tell(
    prometheus: Callable[..., PrometheusServer], ledger: Ledger, configured: Callable[..., Configuration]
) -> None:
    simulation = simulated(5, START_MS - 2 * HOUR_MS)
    simulation.advance(END_MS)
    server, scraper = prometheus(), Scraper()
    state = KubeState(scraper, simulation.truth())
    pages = simulated(5, START_MS - 2 * HOUR_MS)
    first_ms = START_MS + 30 * MINUTE_MS
    for at_ms in range(START_MS, END_MS, INTERVAL_MS):
        if at_ms >= first_ms:
            state.scrape(at_ms)
        for node in tuple(pages.nodes)[:2]:
            scraper.page(bare(node), pages.page(node, at_ms), at_ms)
    scraper.send(server.url)
    with backfill_of(configured(server.url, "kubernetes"), "sim") as work:
        done = work.run(ledger, (START_MS, END_MS), END_MS + HOUR_MS, lambda _at, _samples: None)
    assert [(told.source, told.span) for told in done.told] == [
        ("labels", (START_MS, first_ms)),
        ("kube-state-metrics", (first_ms, END_MS)),
    ]
    assert ledger.query("select count(*) as n from allocations where source = 'labels'")["n"].item() > 0
    assert checks.run(ledger) == []


def _node(scraper: Scraper, at_ms: int, *, schedulable: bool = True, ready: bool = True) -> None:
    target = {"job": "kube-state-metrics", "instance": "ksm:8080", "node": "n1"}
    gpus = {"resource": "nvidia_com_gpu", "unit": "integer"}
    scraper.add({"__name__": "kube_node_status_capacity", **target, **gpus}, at_ms, 8)
    scraper.add({"__name__": "kube_node_status_allocatable", **target, **gpus}, at_ms, 8)
    scraper.add({"__name__": "kube_node_spec_unschedulable", **target}, at_ms, not schedulable)
    condition = {"condition": "Ready", "status": "true"}
    scraper.add({"__name__": "kube_node_status_condition", **target, **condition}, at_ms, ready)


def _pod(scraper: Scraper, name: str, at_ms: int, *, over: bool = False, **times: int) -> None:
    target = {"job": "kube-state-metrics", "instance": "ksm:8080"}
    who = {**target, "namespace": "vision", "pod": name, "uid": f"uid-{name}"}
    request = {**who, "container": "c", "node": "n1", "resource": "nvidia_com_gpu", "unit": "integer"}
    scraper.add({"__name__": "kube_pod_container_resource_requests", **request}, at_ms, 2)
    for phase in ("Running", "Failed", "Succeeded"):
        is_so = phase == ("Failed" if over else "Running")
        scraper.add({"__name__": "kube_pod_status_phase", **who, "phase": phase}, at_ms, is_so)
    for metric, value_ms in times.items():
        scraper.add({"__name__": f"kube_pod_{metric}", **who}, at_ms, value_ms // 1000)


def test_ends_that_nobody_tells_silence_and_nodes_that_change(
    prometheus: Callable[..., PrometheusServer], ledger: Ledger, configured: Callable[..., Configuration]
) -> None:
    server, scraper = prometheus(), Scraper()
    minute = {number: START_MS + number * MINUTE_MS for number in range(61)}
    silent = range(minute[30], minute[40])
    for at_ms in range(START_MS, END_MS, INTERVAL_MS):
        if at_ms in silent:
            continue
        _node(scraper, at_ms, schedulable=at_ms < minute[20], ready=at_ms < minute[50])
        if at_ms < minute[10]:  # deleted; bound an hour before
            _pod(scraper, "deleted", at_ms, status_scheduled_time=START_MS - HOUR_MS)
        if at_ms < minute[30]:  # gone while nobody looked
            _pod(scraper, "missed", at_ms, status_scheduled_time=START_MS - HOUR_MS)
        evicted = at_ms >= minute[15]  # Failed without a container that ended
        _pod(scraper, "evicted", at_ms, over=evicted, start_time=minute[5])
        # One of its containers ended, and it runs on.
        _pod(scraper, "half", at_ms, status_scheduled_time=minute[1], completion_time=minute[2])
    scraper.send(server.url)
    with backfill_of(configured(server.url, "kube-state-metrics"), "sim") as work:
        work.run(ledger, (START_MS, END_MS), END_MS + HOUR_MS, lambda _at, _samples: None)
    told = ledger.query(
        f"select pod, epoch_ms(start_at) - {START_MS}, epoch_ms(end_at) - {START_MS}, "
        f"epoch_ms(sure_end_at) - {START_MS}, end_evidence, gpu_parts from allocations order by pod"
    ).rows()
    two = 2 * 168_000
    assert told == [
        ("deleted", -HOUR_MS, 10 * MINUTE_MS, 10 * MINUTE_MS - INTERVAL_MS, "not shown any more", two),
        ("evicted", 5 * MINUTE_MS, 15 * MINUTE_MS, 15 * MINUTE_MS - INTERVAL_MS, "phase seen", two),
        ("half", MINUTE_MS, HOUR_MS, HOUR_MS, "history ends", two),
        ("missed", -HOUR_MS, 40 * MINUTE_MS, 30 * MINUTE_MS - INTERVAL_MS, "not shown any more", two),
    ]
    gaps = ledger.query(
        f"select source, covers, epoch_ms(start_at) - {START_MS}, epoch_ms(end_at) - {START_MS} from gaps"
    ).rows()
    assert gaps == [("kube-state-metrics", "holders", 30 * MINUTE_MS, 40 * MINUTE_MS)]
    nodes = ledger.query(
        f"select epoch_ms(start_at) - {START_MS} as s, epoch_ms(end_at) - {START_MS}, schedulable, ready, gpu_count "
        "from nodes order by s"
    ).rows()
    assert nodes == [
        (0, 20 * MINUTE_MS, True, True, 8),
        (20 * MINUTE_MS, 50 * MINUTE_MS, False, True, 8),
        (50 * MINUTE_MS, HOUR_MS, False, False, 8),
    ]
    assert checks.run(ledger) == []
