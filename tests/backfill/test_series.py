"""What a real Prometheus makes of a page: replicas, renamed jobs, labels that it keeps or not, and what is missing."""

from collections.abc import Callable, Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.dcgm import plausible
from collector.dcgm.metrics import SIGNALS
from collector.prometheus.command import Backfilled, backfill_of
from quartermaster.clock import HOUR_MS, MINUTE_MS, SECOND_MS
from quartermaster.config.model import Configuration
from sql.ledger import Ledger
from tests.backfill.history import STALE, Scraper, bare, target
from tests.servers.prometheus import PrometheusServer

START_MS = 1_795_000_000_000 // HOUR_MS * HOUR_MS
END_MS = START_MS + HOUR_MS
INTERVAL_MS = 30 * SECOND_MS
Start = Callable[..., PrometheusServer]
Configured = Callable[..., Configuration]
Names = dict[str, str]


def fill(ledger: Ledger, configuration: Configuration, end_ms: int = END_MS) -> Backfilled:
    with backfill_of(configuration, "sim") as work:
        return work.run(ledger, (START_MS, end_ms), END_MS + HOUR_MS, lambda _at, _samples: None)


def device(gpu: int = 0, node: str = "n1", **more: str) -> Names:
    return {"UUID": f"GPU-{node}-{gpu}", "gpu": str(gpu), "Hostname": node, "modelName": "H100", **more}


def show(scraper: Scraper, labels: Mapping[str, str], at_ms: int, util: float = 50.0) -> None:
    """A page of two metrics; the energy counter draws 300 W."""
    scraper.add({"__name__": "DCGM_FI_DEV_GPU_UTIL", **labels}, at_ms, util)
    energy = util if np.isnan(util) else 1e9 + (at_ms - START_MS) * 300
    scraper.add({"__name__": "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", **labels}, at_ms, energy)


def instants(ledger: Ledger) -> list[int]:
    return ledger.query("select epoch_ms(sampled_at) as at_ms from samples order by at_ms")["at_ms"].to_list()


def gaps(ledger: Ledger) -> list[tuple[str, int, int, str]]:
    return ledger.query(
        f"select node, epoch_ms(start_at) - {START_MS}, epoch_ms(end_at) - {START_MS}, reason from gaps "
        "where covers = 'telemetry' order by all"
    ).rows()


def held(ledger: Ledger) -> list[tuple[str, str, int, int]]:
    return ledger.query(
        f"select namespace, pod, epoch_ms(start_at) - {START_MS}, epoch_ms(end_at) - {START_MS} "
        "from allocations order by all"
    ).rows()


def times(from_ms: int = START_MS, until_ms: int = END_MS, offset_ms: int = 0) -> range:
    return range(from_ms + offset_ms, until_ms + offset_ms, INTERVAL_MS)


def test_two_replicas_are_one_and_fill_each_others_holes(
    prometheus: Start, ledger: Ledger, configured: Configured
) -> None:
    server, scraper = prometheus(), Scraper()
    hole = range(START_MS + 20 * MINUTE_MS, START_MS + 30 * MINUTE_MS)
    for at_ms in times():
        if at_ms not in hole:
            show(scraper, {**bare("n1"), **device(), "prometheus_replica": "a"}, at_ms)
    for at_ms in times(START_MS + 5 * MINUTE_MS, offset_ms=12_000):
        show(scraper, {**bare("n1"), **device(), "prometheus_replica": "b"}, at_ms)
    scraper.send(server.url)
    done = fill(ledger, configured(server.url))
    found = instants(ledger)
    assert done.filled.samples > 2 * len(found)
    own = [at_ms for at_ms in times() if at_ms not in hole]
    of_other = [at_ms for at_ms in times(offset_ms=12_000) if at_ms in hole]
    # On each side of the hole one page of the other is as near as the pages of one are.
    assert set(own) | set(of_other[1:-1]) <= set(found) <= set(own) | set(times(offset_ms=12_000))
    assert len(found) - len(own) in {19, 20, 21}
    assert gaps(ledger) == []
    assert ledger.query("select distinct hold_ms from samples").rows() == [(75_000,)]
    assert ledger.query("select count(*) as n from series")["n"].item() == 1


@pytest.mark.parametrize("honor_labels", [True, False], ids=["honorLabels", "exported"])
def test_a_pod_is_the_workloads_not_the_exporters(
    prometheus: Start, ledger: Ledger, configured: Configured, honor_labels: bool
) -> None:
    """A free GPU behind `honorLabels: false` names the exporter's own pod, whatever that is called."""
    server, scraper = prometheus(), Scraper()
    own = {**target("n1"), "pod": "gpu-metrics-abc", "container": "metrics"}
    middle_ms = START_MS + 30 * MINUTE_MS
    pod = {"namespace": "vision", "pod": "train-0", "container": "main"}
    for at_ms in times():
        for gpu in range(2):
            line = {**device(gpu), **(pod if gpu == 0 and at_ms < middle_ms else {})}
            if honor_labels:
                show(scraper, {**bare("n1"), **line}, at_ms)
            else:
                named = {f"exported_{name}" if name in own else name: text for name, text in line.items()}
                show(scraper, {**named, **own}, at_ms)
    scraper.send(server.url)
    fill(ledger, configured(server.url))
    assert held(ledger) == [("vision", "train-0", 0, 30 * MINUTE_MS)]
    assert ledger.query("select count(*) as n from devices")["n"].item() == 2


def test_a_job_that_is_renamed_in_the_middle_changes_nothing(
    prometheus: Start, ledger: Ledger, configured: Configured
) -> None:
    """Nor does another scrape configuration with it: another instance, labels kept otherwise."""
    server, scraper = prometheus(), Scraper()
    pod = {"namespace": "vision", "pod": "train-0", "container": "main"}
    middle_ms = START_MS + 30 * MINUTE_MS
    for at_ms in times(until_ms=middle_ms):
        show(scraper, {**bare("n1", "gpu"), **device(), **pod}, at_ms)
    for at_ms in times(middle_ms):
        exported = {f"exported_{name}": text for name, text in pod.items()}
        show(scraper, {**target("10.0.0.7", "dcgm"), **device(), **exported}, at_ms)
    scraper.send(server.url)
    fill(ledger, configured(server.url))
    assert held(ledger) == [("vision", "train-0", 0, HOUR_MS)]
    assert instants(ledger) == list(times())
    assert gaps(ledger) == []
    assert ledger.query("select count(distinct series_id) as n from series")["n"].item() == 1


def test_what_is_missing_is_a_gap_from_the_page_that_did_not_come(
    prometheus: Start, ledger: Ledger, configured: Configured
) -> None:
    """A target that went down leaves a staleness marker; it is not a value, and nothing speaks over the hole."""
    server, scraper = prometheus(), Scraper()
    down = range(START_MS + 10 * MINUTE_MS, START_MS + 20 * MINUTE_MS)
    for at_ms in times():
        if at_ms not in down:
            show(scraper, {**bare("n1"), **device()}, at_ms)
        elif at_ms == down.start:
            show(scraper, {**bare("n1"), **device()}, at_ms, STALE)
        if at_ms < START_MS + 40 * MINUTE_MS:
            show(scraper, {**bare("n2"), **device(node="n2")}, at_ms)
    scraper.send(server.url)
    fill(ledger, configured(server.url))
    assert gaps(ledger) == [
        ("n1", 10 * MINUTE_MS, 20 * MINUTE_MS, "no samples"),
        ("n2", 40 * MINUTE_MS, HOUR_MS, "no samples"),
    ]
    with_utilization = ledger.query("select count(*) as n from samples where gpu_util_permille is not null")
    assert with_utilization["n"].item() == 120 - 20 + 80


def test_a_counter_that_begins_anew_and_numbers_that_are_none(
    prometheus: Start, ledger: Ledger, configured: Configured
) -> None:
    server, scraper = prometheus(), Scraper()
    for number, at_ms in enumerate(times()):
        labels = {**bare("n1"), **device()}
        energy = 5e9 + number * 9e6 if number < 60 else (number - 59) * 9e6
        scraper.add({"__name__": "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", **labels}, at_ms, energy)
        absurd = {0: float("nan"), 1: float("inf"), 2: 808334905.0, 3: 4294967295.0, 4: 1e-5}
        scraper.add({"__name__": "DCGM_FI_DEV_GPU_UTIL", **labels}, at_ms, absurd.get(number, 40.0))
    scraper.send(server.url)
    fill(ledger, configured(server.url))
    energy = ledger.query("select energy_j from samples order by sampled_at")["energy_j"].to_list()
    assert energy[58:62] == [5_522_000, 5_531_000, 9_000, 18_000]
    util = ledger.query("select gpu_util_permille as u from samples order by sampled_at")["u"].to_list()
    assert util[:6] == [None, None, None, None, 0, 400]


def test_frozen_telemetry_is_a_gap_since_its_last_change(
    prometheus: Start, ledger: Ledger, configured: Configured
) -> None:
    server, scraper = prometheus(), Scraper()
    frozen = range(START_MS + 20 * MINUTE_MS, START_MS + 40 * MINUTE_MS)
    for at_ms in times():
        shown_ms = frozen.start if at_ms in frozen else at_ms
        labels = {**bare("n1"), **device()}
        scraper.add({"__name__": "DCGM_FI_DEV_GPU_UTIL", **labels}, at_ms, 30.0)
        energy = {"__name__": "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", **labels}
        scraper.add(energy, at_ms, 1e9 + (shown_ms - START_MS) * 300)
    scraper.send(server.url)
    fill(ledger, configured(server.url))
    assert gaps(ledger) == [("n1", 20 * MINUTE_MS, 40 * MINUTE_MS, "frozen")]


def test_however_it_is_sliced_it_is_the_same(
    prometheus: Start, ledger: Ledger, configured: Configured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slices and questions of other sizes, ended and begun again in between: the same rows, gaps and holders."""
    from collector.prometheus import chunks, slices

    server, scraper = prometheus(), Scraper()
    pod = {"namespace": "vision", "pod": "train-0", "container": "main"}
    for node in ("n1", "n2", "n3"):
        for at_ms in times(offset_ms=len(scraper.series) * 1_000):
            away = START_MS + 17 * MINUTE_MS < at_ms < START_MS + 31 * MINUTE_MS and node == "n2"
            if not away:
                named = pod if node == "n1" and at_ms < START_MS + 33 * MINUTE_MS else {}
                show(scraper, {**bare(node), **device(node=node), **named}, at_ms)
    scraper.send(server.url)
    settings = configured(server.url)
    fill(ledger, settings)
    columns = "s.* exclude (cluster), x.node"
    query = (
        f"select {columns} from samples as s inner join series as x on s.series_id = x.series_id order by all"
    )
    whole = (ledger.query(query), gaps(ledger), held(ledger))
    with_memory(ledger)
    monkeypatch.setattr(chunks, "SLICE_SAMPLES", 40)
    monkeypatch.setattr(slices, "CHUNK_SAMPLES", 20)
    for end_ms in (START_MS + 25 * MINUTE_MS, START_MS + 26 * MINUTE_MS, END_MS):
        done = fill(ledger, settings, end_ms)
    assert done.filled.questions > 10
    pieces = (ledger.query(query), gaps(ledger))
    assert pieces[0].equals(whole[0])
    assert pieces[1] == whole[1]


@given(
    st.lists(st.sampled_from([*plausible.BLANKS, 0.5, np.nan, np.inf]) | st.floats(-1e13, 1e16), max_size=20)
)
def test_a_column_is_stored_as_its_numbers_on_a_page_are(numbers: list[float]) -> None:
    page = np.repeat(np.array(numbers, np.float64)[:, np.newaxis], len(SIGNALS), axis=1)
    columns = [plausible.stored_column(page[:, signal], signal) for signal in range(len(SIGNALS))]
    assert np.array_equal(np.stack(columns, axis=1), plausible.stored(page), equal_nan=True)


def with_memory(ledger: Ledger) -> None:
    """Empty what a backfill wrote."""
    with ledger.cursor() as cursor:
        for table in (
            *("samples", "series_versions", "targets_versions", "gaps_versions", "watermarks", "label_refs"),
            *("nodes_versions", "devices_versions", "allocations_versions", "holdings_versions"),
            *("workloads_versions", "authority_versions"),
        ):
            cursor.execute(f"delete from {table}")
