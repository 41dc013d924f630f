"""Without a server's programs its tests are left out loudly; in CI that is a failure."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

TEST = "tests/servers/test_s3.py"


def run(tmp_path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """One test's run with an empty cache of servers."""
    kept = {name: value for name, value in os.environ.items() if name != "CI" and "COV" not in name}
    command = [sys.executable, "-m", "pytest", TEST, "-n0", "--no-cov", "-p", "no:cacheprovider"]
    return subprocess.run(
        command,
        env=kept | {"QUARTERMASTER_SERVERS": str(tmp_path)} | environment,
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.patient
def test_the_summary_says_what_is_left_out_and_how_to_get_it(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert done.returncode == 0, done.stdout
    told = done.stdout.partition("NOT TESTED: servers are missing")[2]
    assert "weed is not here (make servers)" in told
    assert f"2 in {TEST}" in told


@pytest.mark.patient
def test_in_ci_it_is_a_failure(tmp_path: Path) -> None:
    done = run(tmp_path, CI="true")
    assert done.returncode == 1
    assert "weed is not here (make servers)" in done.stdout


def test_a_server_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    """Also when that is killed and cleans nothing up."""
    script = (
        "import os, pathlib, signal, time\n"
        "from tests.servers.process import Process\n"
        f"server = Process('sleeper', ['sleep', '60'], pathlib.Path({str(tmp_path)!r}))\n"
        "name = pathlib.Path(f'/proc/{server.pid}/comm')\n"
        "while name.read_text() != 'sleep\\n': time.sleep(0.01)  # what guards it is in place by then\n"
        "print(server.pid, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    killed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    pid = int(killed.stdout)
    state = ""
    for _ in range(200):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return
        if state == "Z":  # ended, but nobody has asked for its result
            return
        time.sleep(0.02)
    pytest.fail(f"process {pid} still runs: {state}")
