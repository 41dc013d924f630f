"""`quartermaster collect` as a process: real exporters, a real ledger, real signals."""

import asyncio
import contextlib
import os
import re
import signal
import socket
import sys
import time
from collections.abc import AsyncGenerator, Callable, Generator
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import pytest

from collector.identity import only_collector
from quartermaster.errors import InputError
from sql.ledger import Ledger, open_ledger

from .conftest import Server, hang, page

PATIENCE_S = 60


@dataclass
class Collector:
    """A `quartermaster collect` in a folder with its configuration, and the lines of its log."""

    folder: Path
    port: int
    process: asyncio.subprocess.Process | None = None
    lines: list[str] = field(default_factory=list)
    _reading: asyncio.Task[None] | None = None

    def configure(self, targets: list[str], more: str = "") -> None:
        urls = ", ".join(f'"{url}"' for url in targets)
        (self.folder / "quartermaster.yaml").write_text(
            f"clusters:\n  - name: demo\n    dcgm: {{interval: 1s, timeout: 800ms, targets: [{urls}]}}\n"
            f'collector: {{listen: "127.0.0.1:{self.port}"}}\n{more}'
        )

    async def start(self, *arguments: str) -> None:
        self.process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "cli", "collect", *arguments),
            cwd=self.folder,
            env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
            stderr=asyncio.subprocess.PIPE,
        )
        self._reading = asyncio.create_task(self._read(self.process))

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stderr is not None
        async for line in process.stderr:
            self.lines.append(line.decode().rstrip("\n"))

    async def until(self, condition: Callable[[], bool]) -> None:
        give_up = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < give_up, "\n".join(self.lines)
            assert self.process is not None
            assert self.process.returncode is None, "\n".join(self.lines)
            await asyncio.sleep(0.02)

    def acknowledged(self, how: str = "committed|in the spool") -> list[str]:
        found = (re.search(rf" (?:{how}) key=(\S+)", line) for line in self.lines)
        return [match[1] for match in found if match]

    def said(self, text: str) -> bool:
        return any(text in line for line in self.lines)

    async def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        assert self.process is not None
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(number)
        code = await asyncio.wait_for(self.process.wait(), PATIENCE_S)
        if self._reading is not None:
            await self._reading
        return code

    async def get(self, path: str) -> tuple[int, str]:
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"http://127.0.0.1:{self.port}{path}") as response,
        ):
            return response.status, await response.text()


@pytest.fixture
async def collector(tmp_path: Path) -> AsyncGenerator[Collector]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    made = Collector(tmp_path, port)
    yield made
    if made.process is not None and made.process.returncode is None:
        await made.end(signal.SIGKILL)


def moving(server: Server, *names: str) -> None:
    """Pages whose energy moves with each request."""
    for name in names:

        async def answer(writer: asyncio.StreamWriter, _: dict[str, str], name: str = name) -> None:
            body = page(name, energy_mj=int(time.monotonic() * 1_000_000))
            writer.write(
                b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n" % len(body)
                + body
            )

        server.answers[f"/{name}"] = answer


@contextlib.contextmanager
def ledger_of(collector: Collector) -> Generator[Ledger]:
    with open_ledger(collector.folder / "ledger", read_only=True) as opened:
        yield opened


def doubled(ledger: Ledger) -> int:
    return ledger.query("select count(*) - count(distinct (series_id, sampled_at)) as n from samples")[
        "n"
    ].item()


@pytest.mark.patient
async def test_it_collects_shows_itself_reloads_and_finishes(server: Server, collector: Collector) -> None:
    moving(server, "n1", "n2")
    server.answers["/slow"] = hang
    collector.configure([server.url("/n1"), server.url("/slow")])
    await collector.start()
    await collector.until(lambda: len(collector.acknowledged()) >= 2)
    assert collector.said("collecting clusters=demo ledger=")
    assert collector.said("watching cluster=demo targets=2")
    assert (await collector.get("/healthz"))[0] == (await collector.get("/readyz"))[0] == 200
    _, metrics = await collector.get("/metrics")
    assert 'quartermaster_collector_targets{cluster="demo"} 2.0' in metrics
    assert "quartermaster_collector_config_ok 1.0" in metrics

    collector.configure([server.url("/n1")], more="teams: [{nam: vision}]\n")
    assert collector.process is not None
    collector.process.send_signal(signal.SIGHUP)
    await collector.until(lambda: collector.said("the old configuration stays in force"))
    _, metrics = await collector.get("/metrics")
    assert "quartermaster_collector_config_ok 0.0" in metrics
    assert re.search(r'missed_visits_total\{cluster="demo",reason="timeout"\} [1-9]', metrics)

    collector.configure([server.url("/n1"), server.url("/n2")])
    collector.process.send_signal(signal.SIGHUP)
    await collector.until(lambda: collector.said("the new configuration is in force"))
    seen = len(collector.acknowledged())
    await collector.until(lambda: len(collector.acknowledged()) >= seen + 3)
    assert await collector.end(signal.SIGTERM) == 0
    assert collector.said("ended batches_waiting=0 finished=True")

    with ledger_of(collector) as ledger:
        nodes = ledger.query(
            "select distinct node from samples join series using (cluster, series_id) order by node"
        )
        assert nodes["node"].to_list() == ["n1", "n2"]
        assert doubled(ledger) == 0
        slow = ledger.query("select reason, end_at from gaps where node = '127.0.0.1'")
        assert all(reason.startswith("timeout") for reason in slow["reason"])
        assert slow.height > 0
        assert slow["end_at"].null_count() == 0, "who is watched no more leaves no open gap"
        open_targets = ledger.query("select target from targets where end_at is null order by target")[
            "target"
        ]
        assert open_targets.to_list() == [server.url("/n1"), server.url("/n2")]
        keys = ledger.query(
            "select commit_extra_info as key from lake.snapshots() where commit_extra_info like 'collector-%'"
        )
        assert set(collector.acknowledged()) == set(keys["key"])


@pytest.mark.patient
async def test_killed_again_and_again_nothing_acknowledged_is_lost_or_doubled(
    server: Server, collector: Collector
) -> None:
    moving(server, "n1", "n2", "n3")
    collector.configure([server.url(f"/n{i}") for i in (1, 2, 3)])
    for life in range(2):
        await collector.start()
        before = len(collector.acknowledged())
        await collector.until(lambda before=before, life=life: len(collector.acknowledged()) > before + life)
        await collector.end(signal.SIGKILL)
    await collector.start("--for", "2s")
    assert collector.process is not None
    assert await asyncio.wait_for(collector.process.wait(), PATIENCE_S) == 0
    with ledger_of(collector) as ledger:
        keys = ledger.query(
            "select commit_extra_info as key from lake.snapshots() where commit_extra_info like 'collector-%'"
        )["key"].to_list()
        assert len(keys) == len(set(keys))
        assert set(collector.acknowledged()) <= set(keys), "acknowledged is there"
        assert doubled(ledger) == 0
        down = ledger.query("select node from gaps where reason = 'collector down' and end_at > start_at")
        assert down.height == 2, "the time between two lives is a gap of the whole cluster"
        assert set(down["node"]) == {""}
        series = ledger.query("select count(*) as n, count(distinct series_id) as ids from series")
        assert series.rows() == [(6, 6)], "a new life tells no series twice"


@pytest.mark.patient
async def test_a_ledger_that_is_moved_away_gets_everything_when_it_is_back(
    server: Server, collector: Collector
) -> None:
    moving(server, "n1")
    collector.configure([server.url("/n1")])
    await collector.start()
    await collector.until(lambda: len(collector.acknowledged()) >= 2)
    (collector.folder / "ledger").rename(collector.folder / "elsewhere")
    await collector.until(lambda: collector.said("the ledger is away"))
    await collector.until(lambda: sum("in the spool" in line for line in collector.lines) >= 3)
    assert await collector.end(signal.SIGTERM) == 0, "it ends in peace while the ledger is away"
    assert not (collector.folder / "ledger").exists(), "no new ledger is made in the place of the old one"
    await collector.start()
    spooled = len(collector.acknowledged())
    await collector.until(lambda: len(collector.acknowledged()) > spooled)
    (collector.folder / "elsewhere").rename(collector.folder / "ledger")
    await collector.until(lambda: collector.said("the ledger is back"))
    await collector.until(lambda: set(collector.acknowledged()) == set(collector.acknowledged("committed")))
    assert await collector.end(signal.SIGINT) == 0
    with ledger_of(collector) as ledger:
        keys = ledger.query(
            "select commit_extra_info as key from lake.snapshots() where commit_extra_info like 'collector-%'"
        )["key"]
        assert set(collector.acknowledged()) == set(keys)
        assert doubled(ledger) == 0
        assert ledger.query("select count(*) as n from series")["n"].item() == 2
        marks = ledger.query("select epoch_ms(complete_until_at) as t from watermarks")["t"].to_list()
        assert len(marks) == len(set(collector.acknowledged()))
    assert not list((collector.folder / "spool").glob("*.arrow"))


@pytest.mark.patient
async def test_one_round_and_what_stands_in_the_way(server: Server, collector: Collector) -> None:
    server.answers["/n1"] = page("n1")
    collector.configure([server.url("/n1"), server.url("/none")])
    await collector.start()
    await collector.until(lambda: len(collector.acknowledged()) >= 2)
    second = Collector(collector.folder, collector.port)
    await second.start("--once")
    assert second.process is not None
    assert await asyncio.wait_for(second.process.wait(), PATIENCE_S) == 2
    assert await collector.end() == 0
    assert second.said("another collector")
    await collector.start("--once")
    assert collector.process is not None
    assert await asyncio.wait_for(collector.process.wait(), PATIENCE_S) == 1, "a target gave nothing"


@pytest.mark.patient
async def test_a_reload_that_comes_before_there_is_anything_to_reload_does_not_end_it(
    server: Server, collector: Collector
) -> None:
    server.answers["/n1"] = page("n1")
    collector.configure([server.url("/n1")])
    await collector.start()
    await collector.until(lambda: collector.said("collecting"))
    assert collector.process is not None
    collector.process.send_signal(signal.SIGHUP)
    await collector.until(lambda: bool(collector.acknowledged()))
    assert await collector.end() == 0


def test_a_spool_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(InputError, match=r"spool .* cannot be written: Not a directory") as caught,
        only_collector(tmp_path / "file" / "spool"),
    ):
        pass
    assert "collector.spool.path" in caught.value.hint
