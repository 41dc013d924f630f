"""The loop of a host with readers that hang or fail: it ends when told, and loses nothing that was seen."""

import asyncio
import io
from pathlib import Path

import pytest

from collector.batch import Census, Opening
from collector.cluster import Surroundings
from collector.dcgm.fetch import Failure
from collector.health import Metrics
from collector.log import Log
from collector.nvml import host
from collector.nvml.host import Host, HostLoop
from collector.nvml.look import Gpu, Look
from collector.nvml.settings import Settings
from collector.round import Outcome
from quartermaster.config.clusters import ClusterPart


class Reader:
    """Gives what it has, in order; then it hangs."""

    def __init__(self, *answers: Look | Failure) -> None:
        self.answers = list(answers)
        self.closed = 0

    async def fetch(self, pids: set[int]) -> Look | Failure:
        del pids
        if not self.answers:
            await asyncio.sleep(600)
        return self.answers.pop(0)

    async def close(self) -> None:
        self.closed += 1


class Taken:
    """What was handed on, slowly."""

    def __init__(self) -> None:
        self.outcomes: list[Outcome] = []
        self.log = io.StringIO()
        self.began, self.finished = asyncio.Event(), asyncio.Event()

    async def hand_on(
        self, outcome: Outcome, openings: tuple[Opening, ...], censuses: tuple[Census, ...] = ()
    ) -> None:
        del openings, censuses
        self.began.set()
        await asyncio.sleep(0.05)
        self.outcomes.append(outcome)
        self.finished.set()

    def loop(self, reader: Reader, folder: Path) -> HostLoop:
        around = Surroundings(Log(stream=self.log), Metrics(), lambda: 1_800_000_000_000, self.hand_on)
        settings = Settings("lab", "n1", interval_ms=100, person_key=b"sixteen bytes ok")
        part = ClusterPart.model_construct(name="lab")
        return HostLoop(Host(part, settings, folder / "memory.json"), reader, around)


LOOK = Look(1_800_000_000_000, "b", 0, gpus=(Gpu(0, "GPU-a", "NVIDIA H100", 0),))


async def test_a_reader_that_hangs_does_not_hold_up_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(host, "_PATIENCE_S", 0.1)
    taken, reader = Taken(), Reader(LOOK)
    loop = taken.loop(reader, tmp_path)
    await loop.start()
    await taken.finished.wait()
    await asyncio.sleep(0.15)  # now it hangs
    async with asyncio.timeout(5):
        await loop.stop()
    loop.check()
    assert reader.closed == 1
    assert [outcome.samples for outcome in taken.outcomes] == [1]


async def test_what_is_being_handed_on_at_the_end_is_handed_on(tmp_path: Path):
    taken = Taken()
    loop = taken.loop(Reader(LOOK, LOOK, LOOK), tmp_path)
    await loop.start()
    await taken.began.wait()
    await loop.stop()
    assert len(taken.outcomes) == 1
    assert (tmp_path / "memory.json").exists()


async def test_a_failure_is_said_once_and_its_next_step_too(tmp_path: Path):
    taken, failure = Taken(), Failure("driver not loaded", "modprobe nvidia")
    loop = taken.loop(Reader(failure, failure, LOOK, failure), tmp_path)
    loop._begin()
    assert [await loop.look() for _ in range(4)] == [1, 1, 0, 1]
    told = taken.log.getvalue()
    assert told.count("modprobe nvidia") == 2
    assert told.count("gap begins") == 4  # telemetry and holders, twice
    assert told.count("gap ends") == 2
    missed = [dict(outcome.missed) for outcome in taken.outcomes]
    assert missed == [{"driver not loaded": 1}, {"driver not loaded": 1}, {}, {"driver not loaded": 1}]


async def test_a_loop_that_breaks_says_so(tmp_path: Path):
    taken, reader = Taken(), Reader()

    async def broken(pids: set[int]) -> Look:
        del pids
        raise RuntimeError("a fault of ours")

    reader.fetch = broken
    loop = taken.loop(reader, tmp_path)
    await loop.start()
    await asyncio.sleep(0.05)
    with pytest.raises(RuntimeError, match="a fault of ours"):
        loop.check()


async def test_a_memory_that_cannot_be_written_or_read_is_said(tmp_path: Path):
    taken = Taken()
    loop = taken.loop(Reader(LOOK), tmp_path / "nowhere")
    loop._begin()
    await loop.look()
    assert "memory cannot be written" in taken.log.getvalue()
    (tmp_path / "memory.json").write_text("{")
    other = Taken()
    other.loop(Reader(LOOK), tmp_path)._begin()
    assert "memory is lost" in other.log.getvalue()
