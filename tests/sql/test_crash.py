"""The crash campaign: what was acknowledged is there once and whole, whatever is killed or full meanwhile."""

import contextlib
import multiprocessing
import os
import random
import resource
import signal
import subprocess
import time
from collections.abc import Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from quartermaster.clock import HOUR_MS, now_ms
from quartermaster.errors import LedgerError
from quartermaster.lean import without_pandas
from sql import revision
from sql.ledger import Ledger, open_ledger
from sql.upgrade import upgrade
from sql.upkeep import compact
from sql.writer import key
from tests.depth import deep
from tests.ledgers import tend

SPAWN = multiprocessing.get_context("spawn")
ROWS = 120
SEED = int(os.environ.get("CRASH_SEED", "0")) or random.SystemRandom().randrange(1, 10**6)


def rows_of(writer: int, number: int) -> dict[str, pl.DataFrame]:
    """A batch: a file of samples and one row that stays in the catalog."""
    samples = pl.DataFrame(
        {
            "cluster": [f"w{writer}"] * ROWS,
            "series_id": range(ROWS),
            "sampled_at": [number] * ROWS,
            "power_dw": [number % 5000] * ROWS,
        }
    )
    return {"samples": samples, "cuts": pl.DataFrame({"cut_at": [number], "reason": [f"w{writer}"]})}


def write_on(folder: Path, catalog: str, writer: int, acknowledged: Path) -> None:
    """Write batch after batch and note each that was acknowledged; the first may have been sent before."""
    without_pandas()
    with open_ledger(folder, catalog) as ledger, acknowledged.open("ab", buffering=0) as notes:
        number = len(acknowledged.read_bytes()) + 1
        while True:
            with contextlib.suppress(LedgerError):
                ledger.append(key(f"w{writer}", 1, number), rows_of(writer, number))
                notes.write(b".")
                number += 1


def look_after(folder: Path, catalog: str, begun: Any) -> None:
    """Compact again and again, as if time flew, so that files are removed too."""
    without_pandas()
    with open_ledger(folder, catalog) as ledger:
        later = now_ms()
        while True:
            with contextlib.suppress(LedgerError):
                compact(ledger, later, everything=True, budget_s=2)
            begun.set()
            later += 7 * HOUR_MS
            time.sleep(0.2)


class Campaign:
    """Two writers and upkeep on one ledger; any of them is killed at random and starts again."""

    def __init__(self, folder: Path, catalog: str, notes: Path) -> None:
        self.place = (folder, catalog)
        self.notes = {writer: notes / f"acknowledged-{writer}" for writer in (1, 2)}
        for path in self.notes.values():
            path.touch()
        self.looked_after = SPAWN.Event()
        self.processes: dict[int, BaseProcess] = {}
        self.random = random.Random(SEED)

    def start(self, who: int) -> None:
        if who == 0:
            process = SPAWN.Process(target=look_after, args=(*self.place, self.looked_after))
        else:
            process = SPAWN.Process(target=write_on, args=(*self.place, who, self.notes[who]))
        process.start()
        self.processes[who] = process

    def count(self) -> int:
        return sum(path.stat().st_size for path in self.notes.values())

    def run(self, kills: int) -> None:
        """Kill `kills` times at random moments of work, and end all at last."""
        try:
            for who in (0, 1, 2):
                self.start(who)
            for _ in range(kills):
                self.wait_for_work()
                time.sleep(self.random.uniform(0, 0.3))
                who = self.random.choice([0, 1, 1, 2])
                self.kill(who)
                self.start(who)
            self.wait_for_work()
        finally:
            for who in self.processes:
                self.kill(who)

    def wait_for_work(self) -> None:
        """Wait until something was acknowledged after now, by whoever lives."""
        before, until = self.count(), time.monotonic() + 60
        while self.count() < before + 3:
            assert time.monotonic() < until, "nothing was acknowledged for a minute"
            time.sleep(0.01)

    def kill(self, who: int) -> None:
        process = self.processes[who]
        if process.pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
        process.join()

    def judge(self) -> None:
        """None lost, none doubled, none torn, and the ledger is open again at once."""
        begun = time.monotonic()
        with open_ledger(*self.place) as ledger:
            ledger.query("select count(*) from samples")
            assert time.monotonic() - begun <= 2, (
                f"reopening took {time.monotonic() - begun:.2f} s (seed {SEED})"
            )
            for writer, path in self.notes.items():
                judge_writer(ledger, writer, path.stat().st_size)
            assert ledger.append(f"after/1/{now_ms()}", rows_of(9, 1))


def judge_writer(ledger: Ledger, writer: int, acknowledged: int) -> None:
    """Each acknowledged batch is there once and whole; the one after may be there, whole."""
    samples = ledger.query(
        "select epoch_ms(sampled_at) as n, count(*), count(distinct series_id) "
        "from samples where cluster = $w group by 1 order by 1",
        {"w": f"w{writer}"},
    ).rows()
    cuts = ledger.query(
        "select epoch_ms(cut_at) as n, count(*) from cuts where reason = $w group by 1 order by 1",
        {"w": f"w{writer}"},
    ).rows()
    told = f"writer {writer}, {acknowledged} acknowledged, seed {SEED}"
    assert len(samples) in {acknowledged, acknowledged + 1}, told
    assert samples == [(number, ROWS, ROWS) for number in range(1, len(samples) + 1)], told
    assert cuts == [(number, 1) for number in range(1, len(samples) + 1)], told


@pytest.mark.patient
def test_killed_while_writing_and_compacting(place: Any, tmp_path: Path) -> None:
    campaign = Campaign(place.folder, place.catalog, tmp_path)
    campaign.run(kills=deep(4, 2))
    campaign.judge()


@pytest.mark.soak
def test_killed_for_a_long_time(place: Any, tmp_path: Path) -> None:
    campaign = Campaign(place.folder, place.catalog, tmp_path)
    for _ in range(10):
        campaign.run(kills=20)
        campaign.judge()


def bring_up(folder: Path, catalog: str, begun: Any) -> None:
    """Make the ledger and bring it up, after everything is imported."""
    without_pandas()
    import alembic.command
    import duckdb_engine

    assert alembic.command
    assert duckdb_engine
    begun.set()
    with open_ledger(folder, catalog) as ledger:
        upgrade(ledger)


def kill_upgrades(folder: Path, catalog: str, times: int) -> None:
    for turn in range(times):
        begun = SPAWN.Event()
        process = SPAWN.Process(target=bring_up, args=(folder, catalog, begun))
        process.start()
        assert begun.wait(60)
        time.sleep(random.Random(SEED + turn).uniform(0, 0.5))
        process.kill()
        process.join()
        opened = time.monotonic()
        with open_ledger(folder, catalog) as ledger:
            assert time.monotonic() - opened <= 2
            assert ledger.revision() in {"", revision.newest()}
    with open_ledger(folder, catalog) as ledger:
        upgrade(ledger)
        assert ledger.append("w/1/1", rows_of(1, 1))
        for view in revision.view_texts():
            ledger.query(f"select * from {view}")


@pytest.mark.patient
def test_killed_while_upgrading(empty_place: Any) -> None:
    kill_upgrades(empty_place.folder, empty_place.catalog, 3)


@pytest.mark.soak
def test_killed_while_upgrading_many_times(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    server = request.getfixturevalue("postgres_server")
    for turn in range(25):
        kill_upgrades(tmp_path / f"s{turn}", "sqlite", 2)
        kill_upgrades(tmp_path / f"p{turn}", f"postgres:{server.database()}", 2)


# a full disk ------------------------------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 8 MiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", folder], check=False, capture_output=True
    )
    if mounted.returncode:
        pytest.skip("this user may not mount a small file system; the file-size limit stands in for it")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


@pytest.mark.patient
def test_a_full_disk_loses_nothing_and_says_what_to_do(small_disk: Path) -> None:
    with open_ledger(small_disk) as ledger:
        upgrade(ledger)
        written, told = write_until_full(ledger)
        assert "is full" in told.what
        assert "free space" in told.hint
        judge_writer(ledger, 1, written)
        with pytest.raises(LedgerError, match="is full"):
            tend(ledger, now_ms(), everything=True)
        judge_writer(ledger, 1, written)
    subprocess.run(["mount", "-o", "remount,size=64m", small_disk], check=True)
    with open_ledger(small_disk) as ledger:
        judge_writer(ledger, 1, written)
        for number in range(written, written + 3):
            ledger.append(key("w1", 1, number), rows_of(1, number))
        judge_writer(ledger, 1, written + 2)
        tend(ledger, now_ms(), everything=True)
        judge_writer(ledger, 1, written + 2)


def write_until_full(ledger: Ledger) -> tuple[int, LedgerError]:
    """How many batches were acknowledged, and why no more."""
    for number in range(1, 2000):
        try:
            ledger.append(key("w1", 1, number), rows_of(1, number) | {"label_refs": noise_of(number)})
        except LedgerError as error:
            return number - 1, error
    raise AssertionError("the disk is never full")


def noise_of(number: int, rows: int = 4000) -> pl.DataFrame:
    """Rows that do not compress, so that the disk fills soon."""
    source = random.Random(number)
    names = [source.randbytes(40).hex() for _ in range(rows)]
    return pl.DataFrame({"cluster": ["c"] * len(names), "pod": names})


def write_against_a_limit(folder: Path, told: Any) -> None:
    """Write until a file would be larger than the limit allows: what a quota does."""
    with open_ledger(folder) as ledger:
        upgrade(ledger)
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (3_000_000, 3_000_000))
        for number in (1, 2, 3):
            ledger.append(key("w1", 1, number), rows_of(1, number))
        try:
            ledger.append(key("w1", 1, 4), rows_of(1, 4) | {"label_refs": noise_of(4, 100_000)})
        except LedgerError as error:
            told.put((error.what, error.hint))
        ledger.append(key("w1", 1, 4), rows_of(1, 4))


@pytest.mark.patient
def test_a_file_size_limit_loses_nothing(tmp_path: Path) -> None:
    told = SPAWN.Queue()
    process = SPAWN.Process(target=write_against_a_limit, args=(tmp_path / "ledger", told))
    process.start()
    what, hint = told.get(timeout=100)
    process.join()
    assert process.exitcode == 0
    assert "disk" in what
    assert "nothing of this write was kept" in hint
    with open_ledger(tmp_path / "ledger") as ledger:
        judge_writer(ledger, 1, 4)


@pytest.mark.patient
def test_a_lock_is_free_again_when_its_holder_is_killed(place: Any, tmp_path: Path) -> None:
    campaign = Campaign(place.folder, place.catalog, tmp_path)
    campaign.start(1)
    campaign.wait_for_work()
    campaign.kill(1)
    with open_ledger(place.folder, place.catalog) as ledger:
        begun = time.monotonic()
        ledger.append("w/1/1", rows_of(3, 1))
        assert time.monotonic() - begun < 5
