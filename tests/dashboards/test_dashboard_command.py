"""`quartermaster dashboard`: served to loopback alone, ended by Ctrl-C, and what it says when it cannot."""

import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.ledgers import lay_ledger


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(folder: Path, *arguments: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-P", "-m", "cli", "dashboard", "--no-browser", *arguments]
    environment = os.environ | {"HOME": str(folder)}
    return subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def first_line(server: "subprocess.Popen[str]") -> str:
    assert server.stdout
    return server.stdout.readline()


@pytest.fixture
def a_folder(tmp_path: Path) -> Path:
    (tmp_path / "quartermaster.yaml").write_text("clusters: [{name: demo}]\n")
    lay_ledger(tmp_path / "ledger")
    return tmp_path


@pytest.mark.parametrize(("ending", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, 143)])
@pytest.mark.patient
def test_it_serves_until_it_is_told_to_end(a_folder: Path, ending: signal.Signals, code: int) -> None:
    port = free_port()
    server = start(a_folder, "--port", str(port))
    patience = threading.Timer(90, server.kill)
    patience.start()
    try:
        assert first_line(server) == f"The dashboard is at http://127.0.0.1:{port} (Ctrl-C ends it)\n"
        with urlopen(f"http://127.0.0.1:{port}/") as answer:
            assert b"streamlit" in answer.read().lower()
        assert listening_on(port) == {"0100007F"}
        server.send_signal(ending)
        _, complaint = server.communicate()
    finally:
        patience.cancel()
        server.kill()
    assert server.returncode == code
    assert "Traceback" not in complaint
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0


def listening_on(port: int) -> set[str]:
    """The addresses, as in /proc/net/tcp, on which the port is open."""
    lines = [
        *Path("/proc/net/tcp").read_text().splitlines(),
        *Path("/proc/net/tcp6").read_text().splitlines(),
    ]
    places = [
        line.split()[1].split(":") for line in lines[1:] if len(line.split()) > 3 and line.split()[3] == "0A"
    ]
    return {address for address, number in places if int(number, 16) == port}


def complaint_of(folder: Path, *arguments: str) -> tuple[int, str]:
    server = start(folder, *arguments)
    _, complaint = server.communicate(timeout=60)
    return server.returncode, complaint


def test_a_port_in_use_is_said_at_once(a_folder: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code, complaint = complaint_of(a_folder, "--port", str(port))
    assert code == 2
    assert f"port {port} of 127.0.0.1 cannot be used" in complaint
    assert "--port" in complaint


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "there is no quartermaster.yaml"),
        ("clusters: [{nam: demo}]\n", "nam"),
    ],
    ids=["no configuration", "a broken one"],
)
def test_a_wrong_configuration_is_said_before_anything_is_served(
    a_folder: Path, text: str | None, said: str
) -> None:
    file = a_folder / "quartermaster.yaml"
    if text is None:
        file.unlink()
    else:
        file.write_text(text)
    code, complaint = complaint_of(a_folder)
    assert code == 3
    assert said in complaint
