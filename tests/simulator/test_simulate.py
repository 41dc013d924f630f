"""`quartermaster simulate`: serve, replay and quirks as a person types them."""

import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.main import app
from quartermaster.errors import InputError
from simulator.quirks import NAMES
from sql.ledger import open_ledger

NODES = "sn,cpu_milli,memory_mib,gpu,model\nn0,96000,393216,2,T4\n"
PODS = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
    "p-a-0,1000,1024,1,1000,,BE,Succeeded,0,7200,60\n"
)


@pytest.mark.patient
def test_replay_makes_a_ledger_and_a_configuration(tmp_path: Path):
    (tmp_path / "nodes.csv").write_text(NODES)
    (tmp_path / "pods.csv").write_text(PODS)
    arguments = [
        "simulate",
        "replay",
        "--trace",
        str(tmp_path),
        "--dir",
        str(tmp_path / "out"),
        "--interval",
        "10m",
    ]
    said = CliRunner().invoke(app, [*arguments, "--json"])
    assert said.exit_code == 0, said.output
    assert '"samples": 11' in said.output
    with open_ledger(tmp_path / "out" / "ledger") as ledger:
        assert ledger.query("select count(*) as n from allocations")["n"].item() == 1
        assert ledger.query("select count(*) as n from teams")["n"].item() == 7
    again = CliRunner().invoke(app, arguments)
    assert isinstance(again.exception, InputError)
    assert "is there already" in again.exception.what


@pytest.mark.parametrize("more", [["--interval", "often"], ["--start", "some day"], ["--copies", "5000"]])
def test_replay_refuses_what_it_does_not_understand(tmp_path: Path, more: list[str]):
    said = CliRunner().invoke(app, ["simulate", "replay", "--trace", "x", "--dir", str(tmp_path), *more])
    assert said.exit_code != 0
    assert not list(tmp_path.iterdir())


def test_quirks_are_listed():
    said = CliRunner().invoke(app, ["simulate", "quirks"])
    assert all(name in said.output for name in NAMES)
    assert "1.7, 2.4" in said.output


@pytest.mark.patient
def test_serve_until_it_is_told_to_stop(tmp_path: Path):
    file = tmp_path / "sim.yaml"
    options = [
        "--port",
        "0",
        "--quick",
        "--labels",
        "3.1",
        "--quirk",
        "t4-0=refuse",
        "--configuration",
        str(file),
    ]
    command = [sys.executable, "-m", "cli", "simulate", "serve", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        try:
            line = child.stdout.readline()
            base_url = re.findall(r"http://127\.0\.0\.1:\d+", line)[0]
            assert file.name in child.stdout.readline()
            with urllib.request.urlopen(f"{base_url}/t4-1/metrics", timeout=60) as answer:
                assert b'pod=""' in answer.read()
            with pytest.raises(ConnectionError):
                urllib.request.urlopen(f"{base_url}/t4-0/metrics", timeout=60)
        finally:
            child.send_signal(signal.SIGINT)
            _, errors = child.communicate(timeout=60)
    assert child.returncode == 0, errors
    assert f"{base_url}/t4-1/metrics" in file.read_text()


@pytest.mark.parametrize(
    "wrong", [["--quirk", "sulk"], ["--labels", "0"], ["--quirk", "n9=hang"], ["--start", "soon"]]
)
def test_serve_refuses_names_that_are_not_known(wrong: list[str]):
    said = CliRunner().invoke(app, ["simulate", "serve", *wrong])
    assert isinstance(said.exception, InputError)


def test_a_configuration_that_somebody_wrote_is_not_written_over(tmp_path: Path):
    file = tmp_path / "quartermaster.yaml"
    file.write_text("clusters: []  # mine\n", encoding="utf-8")
    told = CliRunner().invoke(app, ["simulate", "serve", "--port", "0", "--configuration", str(file)])
    assert isinstance(told.exception, InputError)
    assert file.read_text(encoding="utf-8") == "clusters: []  # mine\n"
