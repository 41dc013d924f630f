"""The bill from a Prometheus' history against the bill from collecting the same pages live."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from analytics.money.charges import charge
from analytics.usage import roll_up
from collector.batch import Batch, commit, joined
from collector.dcgm.fetch import Fetched
from collector.holders import read_labels
from collector.prometheus.command import backfill_of
from collector.round import Round
from collector.targets import Target
from quartermaster.clock import HOUR_MS, MINUTE_MS
from quartermaster.config.load import load_configuration
from quartermaster.pool import PoolRule
from sql import checks
from sql.declare import declare
from sql.ledger import Ledger
from tests.backfill.history import Scraper, bare, simulated
from tests.ledgers import new_ledger
from tests.servers.prometheus import PrometheusServer

START_MS = 1_795_046_400_000 // HOUR_MS * HOUR_MS
HOURS = 2
END_MS = START_MS + HOURS * HOUR_MS
INTERVAL_MS = 30_000
OFFSET_MS = 13_000
PARTS = 168_000
DEAREST = 3.10  # of the price list, an hour
SUMS = ("capacity", "held", "computing", "idle", "unknown", "unallocated", "unobserved")


def books(ledger: Ledger) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Usage by team and charges by team, of the whole hours."""
    now_ms = END_MS + HOUR_MS
    roll_up(ledger, now_ms, "UTC")
    charge(ledger, now_ms, "UTC")
    sums = ", ".join(f"sum({name}_pms)::bigint as {name}" for name in SUMS)
    usage = ledger.query(
        f"select coalesce(team, '') as team, {sums} from usage_hourly "
        f"where row_start_at < make_timestamptz({END_MS * 1000}) group by all order by team"
    )
    money = ledger.query(
        "select coalesce(team, '') as team, sum(amount)::double as amount from charges group by all order by team"
    )
    return usage, money


class Pages:
    """The pages of the moment, as an HTTP client would fetch them."""

    def __init__(self) -> None:
        self.now: dict[str, bytes | None] = {}

    async def fetch(self, target: Target) -> Fetched:
        page = self.now[target.node]
        assert page is not None
        return Fetched(page, "text/plain")


@dataclass
class Lived:
    """What was collected live: its books, what a Prometheus scraped meanwhile, the configuration's text."""

    usage: pl.DataFrame
    money: pl.DataFrame
    scraper: Scraper
    text: str


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Lived:
    """Some hours of a simulated cluster, collected every half minute; the Prometheus scrapes 13 s later."""
    folder, scraper, pages = tmp_path_factory.mktemp("live"), Scraper(), Pages()
    simulation = simulated(5, START_MS - 2 * HOUR_MS)
    simulation.advance(START_MS - INTERVAL_MS)
    text = simulation.configuration("http://127.0.0.1:1", "labels")
    (folder / "quartermaster.yaml").write_text(text, encoding="utf-8")
    configuration = load_configuration(folder / "quartermaster.yaml", {})
    cluster = configuration.clusters[0].name
    targets = [Target(cluster, f"http://{node}:9400/metrics", node) for node in simulation.nodes]
    live = Round(cluster, INTERVAL_MS, pages)
    frames: dict[str, pl.DataFrame] = {}
    for at_ms in range(START_MS, END_MS + 10 * MINUTE_MS, INTERVAL_MS):
        simulation.advance(at_ms)
        pages.now = {node: simulation.page(node, at_ms) for node in simulation.nodes}
        frames = joined(frames, asyncio.run(live.collect(targets, at_ms)).frames)
        for node in simulation.nodes:
            later_ms = at_ms + OFFSET_MS
            scraper.page(bare(node), simulation.page(node, later_ms), later_ms)
    with new_ledger(folder / "ledger") as ledger:
        declare(ledger, configuration, START_MS - HOUR_MS)
        commit(ledger, Batch("live/1/1", END_MS, frames))
        pools = [PoolRule(each.name, each.models, each.node_labels) for each in configuration.pools]
        read_labels(ledger, cluster, pools, END_MS + HOUR_MS)
        return Lived(*books(ledger), scraper, text)


def test_the_bill_is_the_live_ones_within_what_the_interval_allows(
    prometheus: Callable[..., PrometheusServer], lived: Lived, tmp_path: Path
) -> None:
    """Each beginning and end of a holding is seen at another page, up to an interval apart; and the first page of
    each node is 13 s later. That is all that the two bills differ by."""
    server = prometheus()
    lived.scraper.send(server.url)
    file = tmp_path / "quartermaster.yaml"
    with_prometheus = f'    prometheus: {{url: "{server.url}"}}\n    dcgm:'
    file.write_text(lived.text.replace("    dcgm:", with_prometheus), encoding="utf-8")
    configuration = load_configuration(file, {})
    with new_ledger(tmp_path / "history") as ledger:
        declare(ledger, configuration, START_MS - HOUR_MS)
        with backfill_of(configuration, configuration.clusters[0].name) as work:
            span = (START_MS, END_MS + 10 * MINUTE_MS)
            done = work.run(ledger, span, END_MS + HOUR_MS, lambda _at, _samples: None)
        assert [told.source for told in done.told] == ["labels"]
        usage, money = books(ledger)
        holdings = ledger.query("select count(*) as n from holdings")["n"].item()
        gpus = ledger.query("select count(distinct gpu_uuid) as n from devices")["n"].item()
        assert checks.run(ledger) == []

    first_pages_pms = gpus * OFFSET_MS * PARTS
    allowed_pms = 2 * holdings * INTERVAL_MS * PARTS + first_pages_pms
    both = lived.usage.join(usage, on="team", suffix="_history", how="full", coalesce=True).fill_null(0)
    apart = {name: (both[name] - both[f"{name}_history"]).abs().sum() for name in SUMS}
    assert lived.usage["held"].sum() > 50 * PARTS * HOUR_MS
    assert int(lived.usage["capacity"].sum()) - int(usage["capacity"].sum()) == first_pages_pms
    assert {name: pms for name, pms in apart.items() if pms > allowed_pms} == {}
    bills = lived.money.join(money, on="team", suffix="_history", how="full", coalesce=True).fill_null(0)
    difference = float((bills["amount"] - bills["amount_history"]).abs().sum())
    assert 0 < difference <= DEAREST * allowed_pms / (PARTS * HOUR_MS)
    assert difference < 0.01 * float(lived.money["amount"].sum())
