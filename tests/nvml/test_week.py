"""A pretended host through NVIDIA's binding, the stand-in library and the collector's loop on a stepped clock: the
ledger, the roll-up and the bill against the script's own account."""

import asyncio
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from analytics.usage import roll_up
from cli.main import app
from collector.batch import Batch, Census, Opening, Span, commit
from collector.cluster import Surroundings
from collector.health import Metrics
from collector.log import Log
from collector.nvml.configured import host_loop
from collector.round import Outcome
from quartermaster.clock import from_iso
from quartermaster.config.load import load_configuration
from quartermaster.parts import GPU_PARTS
from sql import checks
from sql.declare import declare
from sql.ledger import Ledger, open_ledger
from sql.upgrade import upgrade
from sql.writer import Writer
from tests.nvml.host import Script, Tree

T0 = from_iso("2026-11-16T00:00:00Z")  # a Monday
MINUTE = 60_000
EVERY = 5  # minutes between looks
# Debian's own users: daemon is 1, www-data 33; each has a group of its name.
YAML = """
ledger: {path: ledger}
clusters:
  - name: lab
    holders: nvml
    nvml: {host: lab1, interval: 5m, proc: host/proc, cgroup: host/cgroup}
teams: [{name: vision}, {name: speech}]
team_rules: [{team: vision, unix_user: "daem*"}, {team: speech, unix_group: www-data}]
rate_cards: [{card: one, currency: EUR, prices: [{gpu_hour: "2"}]}]
"""


@dataclass
class Lab:
    """The host, its collector (which may begin anew), and its ledger."""

    folder: Path
    script: Script
    tree: Tree
    ledger: Ledger
    now_ms: int = T0
    writer: Writer = field(default_factory=lambda: Writer("test", 1))
    log: io.StringIO = field(default_factory=io.StringIO)
    waiting: Batch | None = None

    def begin(self) -> None:
        """A new life of the collector."""
        self.flush()
        configuration = load_configuration(self.folder / "quartermaster.yaml", {})
        declare(self.ledger, configuration, T0)
        around = Surroundings(Log(stream=self.log), Metrics(), lambda: self.now_ms, self.hand_on)
        (self.folder / "spool").mkdir(exist_ok=True)
        loop = host_loop(configuration.clusters[0], configuration, around)
        assert loop is not None
        self.loop = loop
        self.loop._begin()

    async def hand_on(
        self, outcome: Outcome, openings: tuple[Opening, ...], censuses: tuple[Census, ...] = ()
    ) -> None:
        span = Span(outcome.cluster, outcome.source, outcome.start_at, outcome.complete_until_at)
        batch = Batch(self.writer.next_key(), self.now_ms, outcome.frames, (span,), openings, censuses)
        self.waiting = batch if self.waiting is None else batch.after(self.waiting)

    def flush(self) -> None:
        """Commit what waits: a commit a look would take most of the test's time."""
        if self.waiting is not None:
            commit(self.ledger, self.waiting)
            self.waiting = None

    def at(self, minute: int) -> None:
        """It is so many minutes after the beginning."""
        self.now_ms = T0 + minute * MINUTE
        self.tree.uptime_s = 100_000.0 + minute * 60
        self.tree.write()
        self.script.write()

    def process(self, pid: int, uid: int, minute: int, cgroup: str = "") -> None:
        """A process that began at that minute."""
        self.tree.process(
            pid, uid=uid, age_s=self.tree.uptime_s - 100_000 - minute * 60, cgroup=cgroup or "0::/"
        )

    def rows(self, sql: str) -> list[dict[str, Any]]:
        return self.ledger.query(sql).to_dicts()


def pretended(library: Path, folder: Path) -> Iterator[Lab]:
    (folder / "quartermaster.yaml").write_text(YAML)
    script = Script(folder / "gpus.txt")
    with open_ledger(folder / "ledger") as ledger, pytest.MonkeyPatch.context() as patch:
        patch.setenv("LD_LIBRARY_PATH", str(library))
        patch.setenv("NVML_STANDIN", str(script.file))
        upgrade(ledger)
        yield Lab(folder, script, Tree(folder / "host"), ledger)


@pytest.fixture
def lab(nvml_library: Path, tmp_path: Path) -> Iterator[Lab]:
    yield from pretended(nvml_library, tmp_path)


@pytest.fixture(scope="module")
def told(nvml_library: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A lab after its four hours, rolled up."""
    for lab in pretended(nvml_library, tmp_path_factory.mktemp("lab")):
        asyncio.run(four_hours(lab))
        roll_up(lab.ledger, T0 + 300 * MINUTE)
        yield lab


JOB = "devices/slurm/uid_33/job_7"


async def four_hours(lab: Lab) -> None:
    """Looks every five minutes. What happens, in minutes:

    GPU 0   daemon computes from 10, seen last at 115; www-data shares it from 60, seen last at 85
    GPU 1   www-data's Slurm job 7 from 30, seen last at 175, without a process; lost from 190, back at 215
    driver  away from 225, back at 235; the collector itself is down from 100 (last look) to 110 (first)
    """
    lab.script.gpu(0)
    lab.script.gpu(1, gr=0, sm_util=0, tensor=0, dram=0, util=0, mem_util=0)
    lab.begin()
    for minute in range(0, 251, EVERY):
        if minute == 105:
            await lab.loop.stop()
            continue
        if minute in {80, 200}:
            lab.flush()
            roll_up(lab.ledger, lab.now_ms)
        lab.at(minute)
        if minute == 110:
            lab.begin()
        on0: list[str] = []
        if 10 < minute < 120:
            lab.process(501, 1, 10)
            on0.append("501")
        if 60 < minute < 90:
            lab.process(502, 33, 60)
            on0.append("502")
        if 30 < minute < 180:
            lab.process(700, 33, 30)
            lab.tree.job(JOB, 700, devices="c 195:1 rwm\nc 195:255 rwm\n")
        elif minute == 180:
            lab.tree.end(700)
        lab.script.gpus[1]["error"] = 15 if 190 <= minute < 215 else 0
        lab.script.gpus[0]["energy"] = 1_000_000 + minute * 60 * 300_000
        lab.script.lines = ["init 9", "fail nvmlDeviceGetCount_v2 9"] if 225 <= minute < 235 else []
        lab.script.processes = {0: on0}
        lab.script.write()
        await lab.loop.look()
    await lab.loop.stop()
    lab.flush()


def minute(instant_ms: int) -> float:
    return (instant_ms - T0) / MINUTE


def expected() -> Mapping[str, dict[str, int]]:
    """By team the part-minutes held, and of capacity what nobody held, walked minute by minute."""
    found: dict[str, dict[str, int]] = {}

    def add(who: str, what: str, parts: int) -> None:
        found.setdefault(who, {}).setdefault(what, 0)
        found[who][what] += parts

    for minute in range(240):
        on0 = ["vision"] * (10 <= minute < 120) + ["speech"] * (60 <= minute < 90)
        on1 = ["speech"] * (30 <= minute < 180)
        dark = 225 <= minute < 235  # nobody could tell
        down = 100 <= minute < 110  # the collector was not there
        for gpu, on in ((0, on0), (1, on1)):
            for team in on:
                add(team, "held", GPU_PARTS // len(on))
            if not on:
                lost = gpu == 1 and 190 <= minute < 215
                what = "unavailable" if lost else "unobserved" if dark or down else "unallocated"
                add("nobody", what, GPU_PARTS)
    return found


@pytest.mark.patient
def test_every_part_of_every_minute_is_the_scripts_own(told: Lab):
    measures = ("held", "unallocated", "unavailable", "unobserved")
    sums = ", ".join(f"sum({each}_pms)::bigint as {each}" for each in measures)
    rows = told.rows(f"select coalesce(team, '') as team, {sums} from usage_hourly group by 1")
    found = {
        row["team"] or "nobody": {name: row[name] // MINUTE for name in measures if row[name]} for row in rows
    }
    assert found == expected()
    assert sum(sum(each.values()) for each in found.values()) == 240 * 2 * GPU_PARTS
    assert checks.run(told.ledger) == []


@pytest.mark.patient
def test_rolled_up_bit_by_bit_or_at_once_it_is_the_same(told: Lab):
    everything = "select * from usage_hourly order by all"
    before = told.rows(everything)
    roll_up(told.ledger, T0 + 300 * MINUTE, everything=True)
    assert told.rows(everything) == before


def test_what_the_gpus_did_while_they_were_held(told: Lab):
    """One computed, the other was idle; what happened while the collector was down nobody knows."""
    measures = ("computing", "idle", "unknown", "estimated")
    sums = ", ".join(f"sum({each}_pms) / {MINUTE * GPU_PARTS} as {each}" for each in measures)
    rows = told.rows(f"select team, {sums} from usage_hourly where team is not null group by team")
    minutes = {row.pop("team"): row for row in rows}
    assert minutes["vision"] == {"computing": 85, "idle": 0, "unknown": 10, "estimated": 10}
    assert minutes["speech"] == {"computing": 15, "idle": 140, "unknown": 10, "estimated": 15}


def test_who_held_from_when_to_when(told: Lab):
    rows = told.rows(
        "select epoch_ms(start_at) as s, epoch_ms(end_at) as e, end_evidence as why from allocations"
    )
    lives = sorted((minute(row["s"]), minute(row["e"]), row["why"]) for row in rows)
    assert lives == [(10, 120, "gone"), (30, 180, "gone"), (60, 90, "gone")]


def test_what_was_not_seen_is_a_gap_and_never_a_zero(told: Lab):
    rows = told.rows("select covers, node, reason, epoch_ms(start_at) as s, epoch_ms(end_at) as e from gaps")
    gaps = sorted(
        (minute(row["s"]), minute(row["e"]), row["covers"], row["node"], row["reason"]) for row in rows
    )
    assert gaps == [
        (100, 110, "holders", "", "collector down"),
        (100, 110, "telemetry", "", "collector down"),
        (190, 215, "telemetry", "lab1 GPU 1", "GPU is lost"),
        (225, 235, "holders", "lab1", "driver not loaded"),
        (225, 235, "telemetry", "lab1", "driver not loaded"),
    ]
    rows = told.rows(
        "select epoch_ms(sampled_at) as instant, gr_engine_permille as gr, power_dw from samples "
        "inner join series using (cluster, series_id) where gpu_uuid = 'GPU-1'"
    )
    spoken = {minute(row["instant"]): (row["gr"], row["power_dw"]) for row in rows}
    assert spoken[190] == (None, None)  # the last sample ends where the GPU was lost
    assert not [at for at in spoken if 190 < at < 215]


@pytest.mark.patient
def test_the_bill_by_the_command(told: Lab):
    options = ["--config", str(told.folder / "quartermaster.yaml")]
    for command in (["rollup"], ["report", "--week", "2026-W47", "--json"]):
        result = CliRunner().invoke(app, [*options, *command])
        assert result.exit_code == 0, result.output
    bill = json.loads(result.stdout)
    teams = {row["team"]: row["split"]["held"] for row in bill["by_team"]}
    for team in ("vision", "speech"):
        hours = expected()[team]["held"] / 60 / GPU_PARTS
        assert (teams[team]["gpu_hours"], float(teams[team]["cost"])) == pytest.approx(
            (hours, 2 * hours), abs=1e-6
        )
    assert "daemon" not in json.dumps(bill)
    assert "www-data" not in json.dumps(bill)
    assert "daemon" not in told.log.getvalue()


@pytest.mark.patient
def test_a_mig_host_and_an_xid(lab: Lab):
    """GPU 0 is cut into 3g.40gb, which daemon computes on from the beginning, and 1g.10gb, which www-data holds idle
    up to the look at 30; at 60 it is cut otherwise. GPU 1 has an XID 48 in the look at 30."""

    async def two_hours() -> None:
        lab.script.gpu(0, mig=1)
        lab.script.gpu(1)
        lab.begin()
        for minute in range(0, 131, EVERY):
            lab.at(minute)
            lab.process(501, 1, -10)
            lab.process(502, 33, -10)
            lab.script.instances = []
            if minute < 60:
                lab.script.instance(0, 1, "3g.40gb", gr=80, sm_util=70, tensor=60, dram=50, used=1000)
                lab.script.instance(0, 3, "1g.10gb", gr=0, sm_util=0, tensor=0, dram=0, used=10)
                lab.script.processes = {0: ["501 1", "502 3"] if minute < 30 else ["501 1"]}
            else:
                lab.script.instance(0, 2, "7g.80gb", gr=0, sm_util=0, tensor=0, dram=0, used=10)
                lab.script.processes = {}
            lab.script.gpus[0]["energy"] = 1_000_000 + minute * 60 * 300_000
            lab.script.lines = ["xid 1 48 1"] if minute == 30 else []
            lab.script.write()
            await lab.loop.look()
        await lab.loop.stop()
        lab.flush()

    asyncio.run(two_hours())
    roll_up(lab.ledger, T0 + 300 * MINUTE)
    seventh = GPU_PARTS // 7
    rows = lab.rows(
        "select d.kind, d.profile, u.team, sum(held_pms)::bigint as held, sum(computing_pms)::bigint as computing, "
        "sum(idle_pms)::bigint as idle, sum(unallocated_pms)::bigint as free, sum(unavailable_pms)::bigint as bad, "
        "sum(energy_j)::bigint as energy from usage_hourly as u "
        "inner join (select distinct device_id, kind, profile from devices) as d using (device_id) group by all"
    )
    told = {
        (row["kind"], row["profile"], row["team"]): {
            name: row[name] / MINUTE for name in ("held", "computing", "idle", "free", "bad") if row[name]
        }
        for row in rows
    }
    # GPM needs two samples: in its first five minutes an instance that computes is not known to.
    assert told == {
        ("mig", "3g.40gb", "vision"): {"held": 60 * 3 * seventh, "computing": 55 * 3 * seventh},
        ("mig", "1g.10gb", "speech"): {"held": 30 * seventh, "idle": 25 * seventh},
        ("mig", "1g.10gb", None): {"free": 30 * seventh},
        ("uncarved", "", None): {"free": 60 * 3 * seventh},
        ("mig", "7g.80gb", None): {"free": 60 * GPU_PARTS},
        ("gpu", "", None): {"free": 30 * GPU_PARTS, "bad": 90 * GPU_PARTS},
    }
    energy = {row["profile"]: row["energy"] for row in rows if row["team"]}
    assert energy["3g.40gb"] == pytest.approx(300 * 3600 * 3 / 7, rel=0.001)  # the GPU's, by parts
    assert checks.run(lab.ledger) == []


@pytest.mark.patient
def test_a_ledger_that_lost_the_memory_ends_what_it_cannot_find(lab: Lab):
    lab.script.gpu(0)
    lab.script.gpu(1)
    lab.script.processes = {0: ["501"]}
    lab.at(0)
    lab.process(501, 1, -10)
    lab.begin()
    asyncio.run(_look(lab))
    (lab.folder / "spool" / "nvml-lab.json").unlink()
    lab.at(30)
    del lab.script.gpus[1]
    lab.script.processes = {}
    lab.script.write()
    lab.begin()
    asyncio.run(_look(lab))
    (life,) = lab.rows(
        "select epoch_ms(end_at) as e, epoch_ms(sure_end_at) as sure, end_evidence from allocations"
    )
    assert life == {"e": T0 + 30 * MINUTE, "sure": T0, "end_evidence": "missed"}
    assert lab.rows("select count(*) as n from holdings where end_at is null") == [{"n": 0}]
    assert lab.rows("select gpu_uuid from devices where end_at is null") == [{"gpu_uuid": "GPU-0"}]
    assert checks.run(lab.ledger) == []


@pytest.mark.patient
def test_a_life_that_dies_before_its_batch_is_committed(lab: Lab):
    """What it saw is in its memory and told by the next life: the batch costs its samples alone."""
    lab.script.gpu(0)
    lab.script.gpu(1)
    for now, on in ((0, {}), (30, {0: ["501"], 1: ["502"]}), (60, {0: ["501"]})):
        lab.at(now)
        lab.process(501, 1, 10)
        lab.process(502, 33, 20)
        lab.script.processes = on
        lab.script.write()
        lab.begin()
        asyncio.run(_look(lab, lost=now == 30))
    rows = lab.rows(
        "select w.person_id is not null as known, epoch_ms(a.start_at) as start_ms, epoch_ms(a.end_at) as end_ms "
        "from allocations as a "
        "inner join workloads as w on a.cluster = w.cluster and a.workload_id = w.workload_id"
    )
    told = sorted(
        (minute(row["start_ms"]), row["end_ms"] and minute(row["end_ms"]), row["known"]) for row in rows
    )
    assert told == [(10, None, True), (20, 60, True)]
    assert lab.rows("select count(*) as n from holdings where end_at is null") == [{"n": 1}]
    assert checks.run(lab.ledger) == []


async def _look(lab: Lab, *, lost: bool = False) -> None:
    await lab.loop.look()
    await lab.loop.stop()
    if lost:
        lab.waiting = None
    lab.flush()
