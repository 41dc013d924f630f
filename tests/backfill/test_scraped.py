"""A real Prometheus that really scraped the simulator, refuses what is too much, and stores hostile text."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from collector.prometheus import chunks
from collector.prometheus.answer import Answer
from collector.prometheus.command import Backfilled, backfill_of
from collector.prometheus.connection import Connection
from collector.prometheus.refusal import Partial
from quartermaster.clock import HOUR_MS, MINUTE_MS, SECOND_MS, now_ms
from quartermaster.config.model import Configuration
from quartermaster.records import Allocation
from simulator.server import Plan, SimulatorServer
from sql import checks
from sql.ledger import Ledger
from tests.backfill.history import Scraper, bare
from tests.servers.prometheus import PrometheusServer

START_MS = 1_795_000_000_000 // HOUR_MS * HOUR_MS
END_MS = START_MS + HOUR_MS
Start = Callable[..., PrometheusServer]
Configured = Callable[..., Configuration]


def fill(
    ledger: Ledger, configuration: Configuration, span: tuple[int, int] = (START_MS, END_MS)
) -> Backfilled:
    with backfill_of(configuration, "sim") as work:
        return work.run(ledger, span, span[1] + HOUR_MS, lambda _at, _samples: None)


def page_job(name: str, url: str, *, honor_labels: bool, **labels: str) -> dict[str, object]:
    host, _, path = url.removeprefix("http://").partition("/")
    return {
        "job_name": name,
        "honor_labels": honor_labels,
        "metrics_path": f"/{path}",
        "static_configs": [{"targets": [host], "labels": labels}],
    }


def test_pages_that_were_scraped(prometheus: Start, ledger: Ledger, configured: Configured) -> None:
    """Two nodes, one behind `honor_labels: false` with a target of its own pod: the same meaning of both."""
    began_ms = now_ms() // SECOND_MS * SECOND_MS
    with SimulatorServer(Plan(3, began_ms - 3 * HOUR_MS, began_ms + HOUR_MS, quick=True)) as simulator:
        simulator.advance(began_ms)
        first, second = simulator.nodes[:2]
        own = {"namespace": "gpu-monitoring", "pod": "metrics-abc", "container": "exporter"}
        server = prometheus(
            scrape=[
                page_job("kept", simulator.url(first), honor_labels=True),
                page_job("renamed", simulator.url(second), honor_labels=False, **own),
            ]
        )
        end = time.monotonic() + 40
        query = "count(count_over_time(DCGM_FI_DEV_GPU_UTIL[1m]) > 6)"
        while not (found := server.query(query)) or int(found[0]["value"][1]) < 16:
            assert time.monotonic() < end, server.process.tail()
            time.sleep(0.2)
        truth = simulator.truth()
    until_ms = now_ms() + 1
    done = fill(ledger, configured(server.url), (began_ms - MINUTE_MS, until_ms))
    assert done.filled.rows > 16 * 6
    interval = ledger.query("select distinct hold_ms from samples")["hold_ms"].to_list()
    assert all(2_000 <= hold_ms <= 3_500 for hold_ms in interval)
    named = ledger.query("select distinct node, namespace, pod from allocations").rows()
    pods = cast(list[Allocation], truth["allocations_versions"])
    running = {
        (each.node, each.namespace, each.pod)
        for each in {each.allocation_id: each for each in pods}.values()
        if each.end_at is None and each.node in {first, second}
    }
    assert set(named) == running
    assert {node for node, _, _ in named} == {first, second}
    assert checks.run(ledger) == []


def some_pages(nodes: int = 4, **labels: str) -> Scraper:
    scraper = Scraper()
    for node in (f"n{number}" for number in range(nodes)):
        for at_ms in range(START_MS, END_MS, 30_000):
            line = {"UUID": f"GPU-{node}", "gpu": "0", "Hostname": node, **bare(node), **labels}
            scraper.add({"__name__": "DCGM_FI_DEV_GPU_UTIL", **line}, at_ms, 50.0)
    return scraper


def test_a_server_with_a_limit_is_asked_for_less(
    prometheus: Start, ledger: Ledger, configured: Configured
) -> None:
    server = prometheus(options=["--query.max-samples=150"])
    some_pages().send(server.url)
    done = fill(ledger, configured(server.url))
    assert done.filled.rows == 4 * 120
    assert done.filled.questions > 4


def test_what_is_partial_is_unknown_until_it_is_whole(
    prometheus: Start, ledger: Ledger, configured: Configured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A part of an answer is not taken: the slice is a gap, stays a hole, and is read the next time."""
    server = prometheus()
    some_pages().send(server.url)
    monkeypatch.setattr(chunks, "SLICE_SAMPLES", 100)
    whole = Connection.range
    away = (START_MS + 20 * MINUTE_MS, START_MS + 32 * MINUTE_MS)

    def partly(self: Connection, query: str, at_ms: int) -> Answer:
        if away[0] < at_ms < away[1]:
            raise Partial("1 of 2 stores is away")
        return whole(self, query, at_ms)

    monkeypatch.setattr(Connection, "range", partly)
    done = fill(ledger, configured(server.url))
    assert done.filled.partial
    first_ms, last_ms = done.filled.partial[0][0], done.filled.partial[-1][1]
    assert done.filled.spans == [(START_MS, first_ms), (last_ms, END_MS)]
    told = ledger.query(
        "select epoch_ms(start_at), epoch_ms(end_at), node, reason from gaps where covers = 'telemetry'"
    )
    assert told.rows() == [
        (start, end, "", "partial answer: 1 of 2 stores is away") for start, end, _ in done.filled.partial
    ]
    query = (
        f"select count(*) as n from samples where epoch_ms(sampled_at) between {first_ms} and {last_ms - 1}"
    )
    assert ledger.query(query)["n"].item() == 0
    monkeypatch.setattr(Connection, "range", whole)
    again = fill(ledger, configured(server.url))
    assert again.filled.spans == [(first_ms, last_ms)]
    assert not again.filled.partial
    assert ledger.query("select count(*) as n from gaps where covers = 'telemetry'")["n"].item() == 0
    per_instant = ledger.query("select sampled_at, count(*) as n from samples group by all")
    assert (per_instant.height, set(per_instant["n"])) == (120, {4})
    assert checks.run(ledger) == []


@pytest.mark.parametrize(
    "text",
    [
        'a"b}\\n{"]]},{"metric":{',
        "line\nbreak\ttab\\",
        "\u202egnp.exe",
        "=cmd|' /C calc'!A0",
        "x" * 65_536,
        "null\x00byte",
        "\U0001f600 ü",
    ],
    ids=["json", "newline", "turned", "formula", "long", "null", "wide"],
)
@pytest.mark.patient
def test_hostile_labels_are_text(ledger: Ledger, configured: Configured, tmp_path: Path, text: str) -> None:
    """As a pod's name, a node's name and an instance."""
    from tests.servers.prometheus import prometheus_program, start_prometheus

    generation = "3" if prometheus_program("3") else "2"
    if prometheus_program(generation) is None:
        pytest.skip("left out: Prometheus is not here (make servers)")
    server = start_prometheus(generation, tmp_path)
    try:
        scraper = some_pages(nodes=1)
        for at_ms in range(START_MS, END_MS, 30_000):
            pod = {"namespace": "vision", "pod": text, "container": "main"}
            line = {"UUID": "GPU-9", "gpu": "1", "Hostname": text, "instance": text, "job": text, **pod}
            scraper.add({"__name__": "DCGM_FI_DEV_GPU_UTIL", **line}, at_ms, 50.0)
        scraper.send(server.url)
        done = fill(ledger, configured(server.url))
    finally:
        server.process.stop()
    assert done.filled.rows == 2 * 120
    (pod,) = ledger.query("select pod from allocations")["pod"].to_list()
    assert pod == text if len(text) <= 253 else pod.startswith("x" * 200)
    assert checks.run(ledger) == []
