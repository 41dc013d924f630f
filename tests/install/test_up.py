"""`quartermaster up` with a simulated cluster's exporters: every part lives, comes back when killed, and ends."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from tests.install.apart import alone, beside

ROOT = Path(__file__).parents[2]
CLI = (sys.executable, "-P", "-m", "cli")
PATIENCE_S = 120.0


def until(holds: Callable[[], bool], what: Callable[[], str]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < end, what()
        time.sleep(0.7)


class Machine:
    """A machine: a network of its own, a simulated cluster's exporters on it, and `up`."""

    def __init__(self, folder: Path, without: tuple[str, ...]) -> None:
        self.folder = folder
        self.environment = os.environ | {"PYTHONPATH": str(ROOT), "HOME": str(folder)}
        # one process a child of the other would end with it: the simulator makes the network and stays
        simulate = (*CLI, "simulate", "serve", "--quick", "--configuration", "quartermaster.yaml")
        self.simulator = self.start(alone(simulate), "simulator.log")
        until((folder / "quartermaster.yaml").exists, lambda: self.log("simulator.log"))
        self.up = self.start(
            beside(
                self.simulator.pid, (*CLI, "up", *(word for each in without for word in ("--without", each)))
            ),
            "up.log",
        )

    def start(self, command: list[str], log: str) -> "subprocess.Popen[bytes]":
        with (self.folder / log).open("wb") as file:
            return subprocess.Popen(command, cwd=self.folder, env=self.environment, stdout=file, stderr=file)

    def log(self, name: str) -> str:
        return (self.folder / name).read_text(encoding="utf-8", errors="replace")

    def get(self, address: str) -> tuple[int, str]:
        script = (
            "import sys, urllib.request, urllib.error\n"
            "try:\n  a = urllib.request.urlopen(sys.argv[1], timeout=5); print(a.status); print(a.read().decode())\n"
            "except urllib.error.HTTPError as e: print(e.code); print(e.read().decode())\n"
            "except OSError as e: print(0); print(e)\n"
        )
        command = beside(self.simulator.pid, (sys.executable, "-S", "-c", script, address))
        told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        status, _, body = told.partition("\n")
        return int(status), body

    def parts(self) -> dict[str, dict[str, Any]]:
        status, body = self.get("http://127.0.0.1:9505/status")
        return {each["part"]: each for each in json.loads(body)["parts"]} if status == 200 else {}


ALL = {"collect", "rollup", "findings", "enforce", "dashboard", "metrics"}
FEW = ("rollup", "findings", "metrics", "dashboard")  # what CI does without


@pytest.fixture
def machine(tmp_path: Path, request: pytest.FixtureRequest) -> Generator[Machine]:
    made = Machine(tmp_path, request.param)
    yield made
    for process in (made.up, made.simulator):
        if process.poll() is None:
            process.kill()
        process.wait()


def running(folder: Path) -> list[str]:
    """Processes that have to do with the folder."""
    found: list[str] = []
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = each.read_bytes().replace(b"\0", b" ").decode(errors="replace")
            where = str((each.parent / "cwd").readlink())
        except OSError:
            continue
        if where.startswith(str(folder)) and words:
            found.append(words)
    return found


@pytest.mark.parametrize(
    ("machine", "names", "killed"),
    [
        pytest.param(FEW, ALL - set(FEW), {"collect"}, marks=pytest.mark.patient),
        pytest.param((), ALL, {"collect", "dashboard"}, marks=pytest.mark.soak),
    ],
    indirect=["machine"],
    ids=["few parts", "all parts"],
)
def test_every_part_lives_comes_back_and_ends(
    machine: Machine, names: set[str], killed: set[str], tmp_path: Path
) -> None:
    until(lambda: machine.parts().keys() == names, lambda: machine.log("up.log"))
    until(lambda: all(each["running"] for each in machine.parts().values()), lambda: machine.log("up.log"))
    for name, each in machine.parts().items():
        until(
            lambda of=each: machine.get(of["health"])[0] == 200,
            lambda of=name: f"{of}\n{machine.log('up.log')}",
        )
    assert machine.get("http://127.0.0.1:9505/healthz") == (200, "ok\n\n")
    before = machine.parts()
    for name in killed:
        os.kill(before[name]["process"], signal.SIGKILL)

    def back() -> bool:
        now = machine.parts()
        return all(now[name]["restarts"] == 1 and now[name]["running"] for name in killed)

    until(back, lambda: machine.log("up.log"))
    for name in killed:
        until(lambda of=name: machine.get(before[of]["health"])[0] == 200, lambda: machine.log("up.log"))
    again = r"^collect +\| it ended by itself \(signal 9\), and is started again in 1 s$"
    assert re.search(again, machine.log("up.log"), re.MULTILINE)
    for name in names - killed:
        assert machine.parts()[name]["process"] == before[name]["process"], "the others went on"
    counted = machine.get("http://127.0.0.1:9505/metrics")[1]
    assert 'quartermaster_up_part_restarts_total{part="collect"} 1' in counted
    machine.up.send_signal(signal.SIGTERM)
    assert machine.up.wait(PATIENCE_S) == 0, machine.log("up.log")
    machine.simulator.kill()
    machine.simulator.wait()
    until(lambda: not running(tmp_path), lambda: "\n".join(running(tmp_path)))
    assert (tmp_path / "ledger" / "catalog.sqlite").exists()


@pytest.mark.patient
@pytest.mark.parametrize("machine", [FEW], indirect=True)
def test_killed_with_the_one_above_nothing_is_left_running(machine: Machine, tmp_path: Path) -> None:
    until(lambda: "collecting" in machine.log("up.log"), lambda: machine.log("up.log"))
    machine.up.kill()
    machine.up.wait()
    machine.simulator.kill()
    machine.simulator.wait()
    until(lambda: not running(tmp_path), lambda: "\n".join(running(tmp_path)))
