"""A backfill from both generations of a real Prometheus: real samples, half-open, once, never double."""

from collections.abc import Callable

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from collector.dcgm.metrics import SIGNALS
from collector.prometheus.command import Backfilled, backfill_of
from quartermaster.clock import HOUR_MS, MINUTE_MS
from quartermaster.config.model import Configuration
from sql.ledger import Ledger
from tests.backfill.history import Scraper, bare, live_through, simulated, target
from tests.servers.prometheus import PrometheusServer

START_MS = 1_795_000_000_000 // HOUR_MS * HOUR_MS
INTERVAL_MS = 30_000
Start = Callable[..., PrometheusServer]
Configured = Callable[..., Configuration]
COLUMNS = tuple(signal.column for signal in SIGNALS)


def fill(
    ledger: Ledger, configuration: Configuration, span: tuple[int, int], now_ms: int | None = None
) -> Backfilled:
    with backfill_of(configuration, "sim") as work:
        return work.run(ledger, span, now_ms or span[1] + HOUR_MS, lambda _at, _samples: None)


def rows(ledger: Ledger, what: str = "*") -> pl.DataFrame:
    return ledger.query(
        f"select {what} from samples as s inner join series as x on s.cluster = x.cluster "
        "and s.series_id = x.series_id and s.sampled_at >= x.start_at "
        "and (x.end_at is null or s.sampled_at < x.end_at) order by all"
    )


def seen(ledger: Ledger) -> pl.DataFrame:
    return rows(
        ledger,
        f"x.node, x.gpu_uuid, x.gi_id, x.vgpu, epoch_ms(s.sampled_at) as at_ms, {', '.join(COLUMNS)}",
    )


def test_real_samples_of_a_half_open_span(prometheus: Start, ledger: Ledger, configured: Configured) -> None:
    server = prometheus()
    scraper = Scraper()
    for at_ms in range(START_MS - MINUTE_MS, START_MS + 11 * MINUTE_MS, INTERVAL_MS):
        labels = {
            "__name__": "DCGM_FI_DEV_GPU_UTIL",
            "UUID": "GPU-1",
            "Hostname": "n1",
            "gpu": "0",
            **bare("n1"),
        }
        scraper.add(labels, at_ms, (at_ms - START_MS) // INTERVAL_MS % 100)
    scraper.send(server.url)
    done = fill(ledger, configured(server.url), (START_MS, START_MS + 10 * MINUTE_MS))
    found = seen(ledger)
    assert found["at_ms"].to_list() == list(range(START_MS, START_MS + 10 * MINUTE_MS, INTERVAL_MS))
    assert found["gpu_util_permille"].to_list() == [number * 10 for number in range(20)]
    assert done.filled.rows == 20
    assert ledger.query("select distinct hold_ms, source from samples").rows() == [(75_000, "prometheus")]


@pytest.mark.parametrize("generation", ["1.7", "3.1", "4.9"])
def test_what_was_scraped_is_what_is_collected_live(
    prometheus: Start, ledger: Ledger, configured: Configured, generation: str
) -> None:
    """The same pages through the collector's own understanding and through a Prometheus: the same rows."""
    import asyncio

    from collector.dcgm.fetch import Fetched
    from collector.round import Round
    from collector.targets import Target

    span = (START_MS, START_MS + 40 * MINUTE_MS)
    simulation = simulated(3, START_MS - 2 * HOUR_MS, generation)
    simulation.advance(START_MS - INTERVAL_MS)
    server, scraper = prometheus(), Scraper()
    pages: dict[str, bytes] = {}

    class Pages:
        async def fetch(self, target: Target) -> Fetched:
            return Fetched(pages[target.node], "text/plain")

    nodes = tuple(simulation.nodes)[:3]
    targets = [Target("sim", f"http://{node}:9400/metrics", node) for node in nodes]
    live = Round("sim", INTERVAL_MS, Pages())
    frames: list[dict[str, pl.DataFrame]] = []
    for at_ms in range(*span, INTERVAL_MS):
        simulation.advance(at_ms)
        for node in nodes:
            page = simulation.page(node, at_ms)
            assert page is not None
            pages[node] = page
            scraper.page(bare(node), page, at_ms)
        frames.append(dict(asyncio.run(live.collect(targets, at_ms)).frames))
    scraper.send(server.url)
    fill(ledger, configured(server.url), span)

    told = pl.concat([each["samples"] for each in frames], how="diagonal_relaxed")
    series = pl.concat(
        [each["series_versions"] for each in frames if "series_versions" in each], how="diagonal_relaxed"
    )
    names = series.unique("series_id").select("series_id", "node", "gpu_uuid", "gi_id", "vgpu")
    wanted = (
        told.join(names, on="series_id")
        .select("node", "gpu_uuid", "gi_id", "vgpu", pl.col("sampled_at").alias("at_ms"), *COLUMNS)
        .sort("node", "gpu_uuid", "gi_id", "vgpu", "at_ms")
    )
    found = seen(ledger)
    assert_frame_equal(found, wanted, check_dtypes=False)
    assert found["power_dw"].null_count() < found.height


def test_again_changes_nothing_and_more_goes_on(
    prometheus: Start, ledger: Ledger, configured: Configured
) -> None:
    server, scraper = prometheus(), Scraper()
    end_ms = START_MS + 40 * MINUTE_MS
    simulation = simulated(3, START_MS)
    live_through(
        simulation,
        range(START_MS, end_ms, INTERVAL_MS),
        lambda node, page, at_ms: scraper.page(target(node), page, at_ms, honor_labels=False),
        tuple(simulation.nodes)[:2],
    )
    scraper.send(server.url)
    settings = configured(server.url)
    fill(ledger, settings, (START_MS, START_MS + 20 * MINUTE_MS))
    before = seen(ledger)
    again = fill(ledger, settings, (START_MS, START_MS + 20 * MINUTE_MS))
    assert (again.filled.spans, again.told) == ([], [])
    assert seen(ledger).equals(before)
    more = fill(ledger, settings, (START_MS - HOUR_MS, end_ms))
    assert more.filled.spans == [(START_MS - HOUR_MS, START_MS), (START_MS + 20 * MINUTE_MS, end_ms)]
    found = seen(ledger)
    assert found.height == found.unique(["node", "gpu_uuid", "gi_id", "vgpu", "at_ms"]).height
    assert set(found["at_ms"]) == set(range(START_MS, end_ms, INTERVAL_MS))
