"""From pages to holders in a real ledger, where nothing but pod labels tells who holds."""

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field

import pytest

from collector.batch import Batch, commit
from collector.dcgm.fetch import Failure, Fetched
from collector.holders import read_labels
from collector.round import Round
from collector.targets import Target
from quartermaster.clock import DAY_MS, HOUR_MS
from quartermaster.pool import PoolRule
from sql.ledger import Ledger, memory_ledger

from .conftest import page

START = 1_796_000_000_000
STEP = 60_000
POOLS = [PoolRule("training", ("*H100*",))]


@pytest.fixture(scope="module")
def ledger() -> Generator[Ledger]:
    with memory_ledger() as opened:
        yield opened


@dataclass
class Pages:
    """A fetcher that answers with what was laid ready."""

    ready: dict[str, bytes] = field(default_factory=dict)

    async def fetch(self, target: Target) -> Fetched | Failure:
        body = self.ready.get(target.name)
        return Failure("timeout") if body is None else Fetched(body, "text/plain")


@dataclass
class Site:
    """A cluster of one node on a stepped clock."""

    ledger: Ledger
    cluster: str
    read_every: int = 0
    pages: Pages = field(default_factory=Pages)

    def __post_init__(self) -> None:
        self.round = Round(self.cluster, STEP, self.pages)
        self.moved = self.rounds = 0

    async def at(self, minute: float, body: bytes | None) -> None:
        now_ms = START + int(minute * STEP)
        self.pages.ready = {} if body is None else {"http://n1:9400/metrics": body}
        outcome = await self.round.collect([Target(self.cluster, "http://n1:9400/metrics", "n1")], now_ms)
        commit(self.ledger, Batch(f"{self.cluster}/1/{now_ms}", now_ms, outcome.frames))
        self.rounds += 1
        if self.read_every and self.rounds % self.read_every == 0:
            self.read()

    def read(self) -> None:
        read_labels(self.ledger, self.cluster, POOLS, START)

    def page(self, pod: str = "", uid: str = "", gpus: int = 2) -> bytes:
        self.moved += 5_000_000
        return page("n1", gpus, energy_mj=self.moved, pod=pod, uid=uid)

    def rows(self, view: str, columns: str) -> list[tuple[object, ...]]:
        """Rows of a view; instants in minutes since the start."""
        chosen = ", ".join(
            f"(epoch_ms({name}) - {START}) / {STEP} as {name}" if name.endswith("_at") else name
            for name in columns.split(", ")
        )
        return self.ledger.query(
            f"select {chosen} from {view} where cluster = ? order by all", [self.cluster]
        ).rows()


@pytest.mark.patient
async def test_a_pod_from_its_first_page_to_the_first_without_it(ledger: Ledger) -> None:
    site = Site(ledger, "one")
    for minute, pod in enumerate(["", "train-0", "train-0", "", "", "other-0", "other-0"]):
        await site.at(minute, site.page(pod))
    await site.at(7, None)
    site.read()
    assert site.rows("nodes", "start_at, end_at, node, pool, model, gpu_count, sharing") == [
        (0, None, "n1", "training", "NVIDIA H100 80GB HBM3", 2, "none")
    ]
    assert site.rows("devices", "start_at, end_at, kind, parts, device_index, evidence") == [
        (0, None, "gpu", 168_000, 0, "telemetry"),
        (0, None, "gpu", 168_000, 1, "telemetry"),
    ]
    assert site.rows(
        "allocations", "start_at, end_at, sure_end_at, source, namespace, pod, gpu_parts, end_evidence"
    ) == [
        (1, 3, 2, "labels", "vision", "train-0", 168_000, "label gone"),
        (5, None, None, "labels", "vision", "other-0", 168_000, ""),
    ]
    assert site.rows("holdings", "start_at, end_at, parts, evidence") == [
        (1, 3, 168_000, "label"),
        (5, None, 168_000, "label"),
    ]
    assert site.rows("workloads", "kind, namespace, name") == [
        ("Pod", "vision", "other-0"),
        ("Pod", "vision", "train-0"),
    ]
    assert site.rows("authority", "source, start_at, end_at, rank") == [("labels", 0, None, 90)]
    assert max(site.rows("watermarks", "source, complete_until_at"), key=str)[0] == "labels"


@pytest.mark.patient
async def test_reading_step_by_step_gives_what_reading_once_gives(ledger: Ledger) -> None:
    story: Mapping[float, str | None] = {
        0: "", 1: "a-0", 2: "a-0", 3: "", 4: "a-0", 5: None, 6: None, 7: "a-0", 8: "b-0", 9: "",
        45: "b-0", 46: "", 90: "b-0", 91: "b-0"
    }  # fmt: skip
    sites = [Site(ledger, "steps", read_every=4), Site(ledger, "once")]
    for site in sites:
        for minute, pod in story.items():
            await site.at(minute, None if pod is None else site.page(pod))
    sites[0].read()
    sites[1].read()
    columns = {
        "nodes": "start_at, end_at, node, gpu_count",
        "devices": "start_at, end_at, gpu_uuid, parts",
        "allocations": "start_at, started_at, end_at, sure_end_at, pod, gpu_parts, end_evidence",
        "holdings": "start_at, end_at, parts",
    }
    for view, chosen in columns.items():
        assert sites[0].rows(view, chosen) == sites[1].rows(view, chosen), view
    assert sites[0].rows("allocations", "start_at, end_at, pod") == [
        (1, 8, "a-0"),
        (8, 9, "b-0"),
        (45, 46, "b-0"),
        (90, None, "b-0"),
    ]
    assert sites[0].rows("gaps", "covers, source, start_at, end_at, reason") == [
        ("holders", "labels", 5, 7, "timeout"),
        ("telemetry", "dcgm", 5, 7, "timeout"),
    ]
    assert read_labels(ledger, "once", POOLS, START) is None, "nothing new"


@pytest.mark.parametrize("read_every", [0, 3])
@pytest.mark.patient
async def test_a_node_lives_until_a_day_after_its_last_page(ledger: Ledger, read_every: int) -> None:
    site = Site(ledger, f"gone-{read_every}", read_every)
    await site.at(0, site.page("a-0"))
    await site.at(1, site.page("a-0"))
    for hour in (12, 24, 25):
        await site.at(hour * HOUR_MS / STEP, None)
    back, end = 26 * HOUR_MS / STEP, 1 + DAY_MS / STEP
    await site.at(back, site.page("a-0"))
    await site.at(back + 1, site.page("a-0"))
    site.read()
    assert site.rows("nodes", "start_at, end_at") == [(0, end), (back, None)]
    assert site.rows("devices", "start_at, end_at") == [(0, end), (0, end), (back, None), (back, None)]
    assert site.rows("allocations", "start_at, end_at") == [(0, end), (back, None)]
    assert site.rows("holdings", "start_at, end_at") == [(0, end), (back, None)]


def mig(node: str, energy_mj: int, instances: dict[str, tuple[str, str]]) -> bytes:
    """A page of one GPU that is cut: instances by id, each with its profile and pod."""
    lines: list[str] = []
    for name, value in (
        ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", "0.5"),
        ("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", str(energy_mj)),
    ):
        for gi, (profile, pod) in instances.items():
            held = f',container="main",namespace="nlp",pod="{pod}"' if pod else ""
            lines.append(
                f'{name}{{gpu="0",UUID="GPU-{node}-0",device="nvidia0",Hostname="{node}",'
                f'modelName="NVIDIA H100 80GB HBM3",'
                f'GPU_I_PROFILE="{profile}",GPU_I_ID="{gi}"{held}}} {value}'
            )
    return ("\n".join(lines) + "\n").encode()


@pytest.mark.patient
async def test_a_gpu_that_is_cut_and_cut_otherwise(ledger: Ledger) -> None:
    site = Site(ledger, "mig")
    await site.at(0, site.page("", gpus=1))
    for minute, instances in enumerate(
        [
            {"1": ("3g.40gb", "m-1"), "2": ("3g.40gb", "")},
            {"1": ("3g.40gb", "m-1"), "2": ("3g.40gb", "m-2")},
            {"1": ("3g.40gb", "m-1"), "7": ("1g.10gb", "m-3"), "8": ("1g.10gb", "")},
            {"1": ("3g.40gb", "m-1"), "7": ("1g.10gb", "m-3"), "8": ("1g.10gb", "")},
            {"1": ("3g.40gb", "m-1"), "7": ("1g.10gb", "m-3"), "8": ("1g.10gb", "")},
        ],
        start=1,
    ):
        await site.at(minute, mig("n1", 7_000_000 * minute, instances))
    site.read()
    seventh = 24_000
    devices = site.rows("devices", "start_at, end_at, kind, gi_id, parts")
    assert [row for row in devices if row[2] == "gpu"] == [(0, 1, "gpu", "", 7 * seventh)]
    assert (1, None, "mig", "1", 3 * seventh) in devices
    open_parts = sum(int(str(row[4])) for row in devices if row[1] is None)
    assert open_parts == 7 * seventh, "at each instant a GPU has its parts, cut or not"
    holders = site.rows("holdings join allocations using (cluster, allocation_id)", "pod, parts")
    assert holders == [("m-1", 3 * seventh), ("m-2", 3 * seventh), ("m-3", seventh)]
