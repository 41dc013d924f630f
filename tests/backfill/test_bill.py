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
from collector.dcgm.fetch import Failure, Fetched
from collector.holders import read_labels
from collector.prometheus.command import backfill_of
from collector.round import Round
from collector.targets import Target
from quartermaster.clock import HOUR_MS, MINUTE_MS
from quartermaster.config.load import load_configuration
from quartermaster.pool import PoolRule
from simulator.scenario import demo
from sql import checks
from sql.declare import declare
from sql.ledger import Ledger
from tests.backfill.history import Scraper, bare
from tests.ledgers import new_ledger
from tests.servers.prometheus import PrometheusServer

START_MS = 1_795_046_400_000 // HOUR_MS * HOUR_MS
OFFSET_MS = 13_000
PARTS = 168_000
DEAREST = 3.10  # of the price list, an hour
SUMS = ("capacity", "held", "computing", "idle", "unknown", "unallocated", "unobserved")


@dataclass(frozen=True)
class Span:
    """How long a cluster is collected, and how often."""

    hours: int
    interval_ms: int

    @property
    def end_ms(self) -> int:
        return START_MS + self.hours * HOUR_MS

    @property
    def read_ms(self) -> int:
        return self.end_ms + 10 * MINUTE_MS  # what is found after the end is seen to end there


SPANS = [
    pytest.param(Span(2, 30_000), id="two hours"),
    pytest.param(Span(7 * 24, MINUTE_MS), id="a week", marks=pytest.mark.soak),
]


def books(ledger: Ledger, span: Span) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Usage by team and charges by team, of the whole hours."""
    now_ms = span.end_ms + HOUR_MS
    roll_up(ledger, now_ms, "UTC")
    charge(ledger, now_ms, "UTC")
    sums = ", ".join(f"sum({name}_pms)::bigint as {name}" for name in SUMS)
    usage = ledger.query(
        f"select coalesce(team, '') as team, {sums} from usage_hourly "
        f"where row_start_at < make_timestamptz({span.end_ms * 1000}) group by all order by team"
    )
    money = ledger.query(
        "select coalesce(team, '') as team, sum(amount) as amount from charges group by all order by team"
    )
    return usage, money


class Pages:
    """The pages of the moment, as an HTTP client would fetch them."""

    def __init__(self) -> None:
        self.now: dict[str, bytes | None] = {}

    async def fetch(self, target: Target) -> Fetched | Failure:
        page = self.now[target.node]
        return Failure("disconnected") if page is None else Fetched(page, "text/plain")


@dataclass
class Lived:
    """What was collected live: its books, what Prometheus servers scraped meanwhile, the configuration's text."""

    span: Span
    usage: pl.DataFrame
    money: pl.DataFrame
    same: Scraper
    later: Scraper
    text: str


@pytest.fixture(scope="module", params=SPANS)
def lived(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Lived:
    """A simulated cluster, collected live; one Prometheus sees the same pages, another one's scrapes are 13 s later."""
    span: Span = request.param
    folder, same, later, pages = tmp_path_factory.mktemp("live"), Scraper(), Scraper(), Pages()
    began_ms = START_MS - 2 * HOUR_MS
    simulation = demo(5, began_ms, max(began_ms + 24 * HOUR_MS, span.read_ms), quick=True)
    simulation.advance(START_MS - span.interval_ms)
    text = simulation.configuration("http://127.0.0.1:1", "labels")
    (folder / "quartermaster.yaml").write_text(text, encoding="utf-8")
    configuration = load_configuration(folder / "quartermaster.yaml", {})
    cluster = configuration.clusters[0].name
    targets = [Target(cluster, f"http://{node}:9400/metrics", node) for node in simulation.nodes]
    live = Round(cluster, span.interval_ms, pages)
    pools = [PoolRule(each.name, each.models, each.node_labels) for each in configuration.pools]
    with new_ledger(folder / "ledger") as ledger:
        declare(ledger, configuration, START_MS - HOUR_MS)
        for hour_ms in range(START_MS, span.read_ms, HOUR_MS):
            frames: dict[str, pl.DataFrame] = {}
            for at_ms in range(hour_ms, min(hour_ms + HOUR_MS, span.read_ms), span.interval_ms):
                simulation.advance(at_ms)
                pages.now = {node: simulation.page(node, at_ms) for node in simulation.nodes}
                frames = joined(frames, asyncio.run(live.collect(targets, at_ms)).frames)
                for node, page in pages.now.items():
                    same.page(bare(node), page, at_ms)
                    later.page(bare(node), simulation.page(node, at_ms + OFFSET_MS), at_ms + OFFSET_MS)
            commit(ledger, Batch(f"live/1/{hour_ms}", hour_ms + HOUR_MS, frames))
        read_labels(ledger, cluster, pools, span.end_ms + HOUR_MS)
        return Lived(span, *books(ledger, span), same, later, text)


@dataclass
class Read:
    """What backfill made of a Prometheus' history."""

    usage: pl.DataFrame
    money: pl.DataFrame
    holdings: int
    gpus: int


def read_back(url: str, lived: Lived, folder: Path) -> Read:
    """A ledger of its own, filled from that Prometheus alone."""
    file = folder / "quartermaster.yaml"
    with_prometheus = f'    prometheus: {{url: "{url}"}}\n    dcgm:'
    file.write_text(lived.text.replace("    dcgm:", with_prometheus), encoding="utf-8")
    configuration = load_configuration(file, {})
    span = lived.span
    with new_ledger(folder / "history") as ledger:
        declare(ledger, configuration, START_MS - HOUR_MS)
        with backfill_of(configuration, configuration.clusters[0].name) as work:
            done = work.run(
                ledger, (START_MS, span.read_ms), span.end_ms + HOUR_MS, lambda _at, _samples: None
            )
        assert [told.source for told in done.told] == ["labels"]
        usage, money = books(ledger, span)
        holdings = ledger.query("select count(*) as n from holdings")["n"].item()
        gpus = ledger.query("select count(distinct gpu_uuid) as n from devices")["n"].item()
        assert checks.run(ledger) == []
    return Read(usage, money, holdings, gpus)


def test_the_bill_of_the_same_pages_is_the_same_bill(
    prometheus: Callable[..., PrometheusServer], lived: Lived, tmp_path: Path
) -> None:
    """Usage to the millisecond and the bill to its last digit."""
    server = prometheus()
    lived.same.send(server.url)
    read = read_back(server.url, lived, tmp_path)
    assert lived.usage["held"].sum() > 25 * lived.span.hours * PARTS * HOUR_MS
    assert lived.money["amount"].sum() > 0
    assert read.usage.equals(lived.usage)
    assert read.money.equals(lived.money)


def test_the_bill_is_the_live_ones_within_what_the_interval_allows(
    prometheus: Callable[..., PrometheusServer], lived: Lived, tmp_path: Path
) -> None:
    """Each beginning and end of a holding is seen at another page, up to an interval apart; and the first page of
    each node is 13 s later. That is all that the two bills differ by."""
    server = prometheus()
    lived.later.send(server.url)
    read = read_back(server.url, lived, tmp_path)
    first_pages_pms = read.gpus * OFFSET_MS * PARTS
    allowed_pms = 2 * read.holdings * lived.span.interval_ms * PARTS + first_pages_pms
    both = lived.usage.join(read.usage, on="team", suffix="_history", how="full", coalesce=True).fill_null(0)
    apart = {name: (both[name] - both[f"{name}_history"]).abs().sum() for name in SUMS}
    assert int(lived.usage["capacity"].sum()) - int(read.usage["capacity"].sum()) == first_pages_pms
    assert {name: pms for name, pms in apart.items() if pms > allowed_pms} == {}
    bills = lived.money.join(read.money, on="team", suffix="_history", how="full", coalesce=True).fill_null(0)
    difference = float((bills["amount"] - bills["amount_history"]).abs().sum())
    assert 0 < difference <= DEAREST * allowed_pms / (PARTS * HOUR_MS)
    assert difference < 0.01 * float(lived.money["amount"].sum())
