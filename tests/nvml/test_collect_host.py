"""`quartermaster collect --nvml` as a process, on a machine without any configuration and with one."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator, Mapping
from ctypes.util import find_library
from dataclasses import dataclass
from pathlib import Path

import pytest

from quartermaster.config.load import load_configuration
from sql.ledger import open_ledger
from tests.nvml.host import Script

HOST = socket.gethostname().partition(".")[0]
PATIENCE_S = 60


@dataclass
class Machine:
    """A user's home, and the environment of its commands."""

    home: Path
    environment: Mapping[str, str]

    def run(self, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "cli", *arguments]
        environment = {**self.environment, **more}
        return subprocess.run(
            command, cwd=self.home, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )  # fmt: skip

    @contextlib.contextmanager
    def running(self, *arguments: str) -> Generator[subprocess.Popen[str]]:
        command = [sys.executable, "-m", "cli", *arguments]
        with subprocess.Popen(
            command, cwd=self.home, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process:  # fmt: skip
            try:
                yield process
            finally:
                process.kill()

    @property
    def file(self) -> Path:
        return self.home / ".config" / "quartermaster" / "quartermaster.yaml"


@pytest.fixture
def machine(tmp_path: Path, unused_tcp_port: int) -> Machine:
    home = tmp_path / "home"
    home.mkdir()
    gone = {"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"}
    environment = {key: value for key, value in os.environ.items() if key not in gone}
    root = Path(__file__).parents[2]
    return Machine(
        home, {**environment, "HOME": str(home), "PYTHONPATH": str(root), "NO_COLOR": "1", "COLUMNS": "200"}
    )


@pytest.fixture
def unused_tcp_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


@pytest.mark.patient
def test_a_machine_without_any_configuration(script: Script, machine: Machine):
    """The real /proc: the process on the GPU is a real one."""
    with subprocess.Popen(["sleep", "60"]) as real:
        began_ms = time.time_ns() // 1_000_000
        try:
            script.gpu(0)
            script.gpu(1)
            script.processes = {0: [str(real.pid)]}
            script.write()
            time.sleep(0.1)
            first = machine.run("collect", "--nvml", "--once")
            assert first.returncode == 0, first.stderr
            assert f"{machine.file} is written" in first.stdout
            again = machine.run("collect", "--nvml", "--once")
            assert again.returncode == 0, again.stderr
            assert "is written" not in again.stdout
            assert "goes_on=True" in again.stderr
        finally:
            real.kill()
    data = machine.home / ".local" / "share" / "quartermaster" / "ledger"
    with open_ledger(data) as ledger:
        devices = ledger.query("select gpu_uuid, node, kind from devices order by 1").rows()
        assert devices == [("GPU-0", HOST, "gpu"), ("GPU-1", HOST, "gpu")]
        rows = ledger.query(
            "select a.source, w.person_id is not null as known, epoch_ms(h.start_at) as s, d.gpu_uuid "
            "from holdings as h inner join devices as d using (cluster, device_id) "
            "inner join allocations as a using (cluster, allocation_id) "
            "inner join workloads as w on a.cluster = w.cluster and a.workload_id = w.workload_id"
        ).to_dicts()
        (row,) = rows
        assert (row["source"], row["known"], row["gpu_uuid"]) == ("nvml", True, "GPU-0")
        assert row["s"] >= began_ms  # the first look; the process is older than that
        assert ledger.query("select count(*) as n from samples where power_dw = 3000").item() == 4
        assert ledger.query("select count(distinct series_id) as n from samples").item() == 2
    configuration = load_configuration(machine.file, {})
    assert configuration.clusters[0].name == HOST
    assert machine.run("config", "check").returncode == 0
    assert machine.run("status").returncode == 0


@pytest.mark.skipif(find_library("nvidia-ml") is not None, reason="this machine has NVIDIA's library")
@pytest.mark.patient
def test_without_a_library_it_says_so_and_writes_nothing(machine: Machine):
    result = machine.run("collect", "--nvml", LD_LIBRARY_PATH=str(machine.home))
    assert result.returncode == 5
    assert "has no NVML: libnvidia-ml.so.1 cannot be loaded" in result.stderr
    assert "install NVIDIA's driver" in result.stderr
    assert not machine.file.exists()


@pytest.mark.patient
def test_a_configuration_that_does_not_know_the_host(script: Script, machine: Machine):
    script.write()
    (machine.home / "quartermaster.yaml").write_text(
        "clusters: [{name: other, holders: nvml, nvml: {host: somewhere-else}}]\n"
    )
    result = machine.run("collect", "--nvml", "--once")
    assert result.returncode == 3
    assert f"no cluster is this host ({HOST})" in result.stderr
    assert f"{{name: {HOST}, holders: nvml, nvml: {{host: {HOST}}}}}" in result.stderr


@pytest.mark.patient
def test_a_configuration_of_its_own_rounds_of_a_second_and_an_end(
    script: Script, machine: Machine, unused_tcp_port: int
):
    script.gpu(0)
    script.write()
    (machine.home / "quartermaster.yaml").write_text(
        f"collector: {{listen: '127.0.0.1:{unused_tcp_port}', log: json}}\n"
        "clusters:\n"
        f"  - {{name: lab, holders: nvml, nvml: {{host: {HOST}, interval: 500ms, timeout: 400ms}}}}\n"
        "  - {name: other, holders: nvml, nvml: {host: somewhere-else}}\n"
    )
    with machine.running("collect", "--nvml") as process:
        assert process.stdout is not None
        committed, lines = 0, list[str]()
        for line in process.stdout:
            lines.append(line)
            committed += json.loads(line)["event"] == "committed"
            if committed == 3:
                script.lines = ["init 9", "fail nvmlDeviceGetCount_v2 9"]
                script.write()
            if json.loads(line)["event"] == "gap begins":
                script.lines = []
                script.write()
            if json.loads(line)["event"] == "gap ends":
                break
        process.send_signal(signal.SIGTERM)
        lines += process.stdout.readlines()
        assert process.wait(PATIENCE_S) == 0
    events = [json.loads(line) for line in lines]
    assert [each["node"] for each in events if each["event"] == "watching this host"] == [HOST]
    assert any("modprobe nvidia" in str(each.get("what")) for each in events)
    with open_ledger(machine.home / "ledger") as ledger:
        gaps = ledger.query(
            "select covers, reason, end_at > start_at as ended from gaps order by covers"
        ).rows()
        assert gaps == [("holders", "driver not loaded", True), ("telemetry", "driver not loaded", True)]
        assert ledger.query("select count(*) as n from samples").item() >= 3
        assert ledger.query("select list(distinct cluster) as c from nodes").item().to_list() == ["lab"]
