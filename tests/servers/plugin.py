"""The real servers as pytest fixtures; what is left out without them is said at the end, and fails in CI."""

import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NoReturn

import pytest

from tests.servers.controlplane import PROGRAMS, ControlPlane, start_control_plane
from tests.servers.fleet import Ground, make_ground
from tests.servers.kueue import start_kueue
from tests.servers.postgres import PostgresServer, postgres_programs, start_postgres
from tests.servers.process import Process
from tests.servers.prometheus import GENERATIONS, HOW, PrometheusServer, prometheus_program, start_prometheus
from tests.servers.recipes import program
from tests.servers.s3 import S3Server, start_s3

MARKS = {
    "postgres_server": "postgres",
    "prometheus": "prometheus",
    "control_plane": "controlplane",
    "api_server": "controlplane",
    "kueue": "kueue",
    "s3_server": "s3",
    "hub": "hub",
    "nvml_library": "nvml",
    "slurm": "slurm",
}
_LEFT_OUT = "left out: "


def leave_out(what: str, how: str) -> NoReturn:
    """Skip the test, for want of a server and with how to get it; in CI that is a failure."""
    (pytest.fail if os.environ.get("CI") else pytest.skip)(f"{_LEFT_OUT}{what} is not here ({how})")


def need(*programs: str) -> None:
    """Leave the test out unless all of these programs are built."""
    for name in programs:
        if program(name) is None:
            leave_out(name, "make servers")


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A PostgreSQL server for this test process."""
    programs = postgres_programs()
    if programs is None:
        leave_out("PostgreSQL", "apt-get install postgresql")
    # Not pytest's folder: its parents are closed to the server's user, and its path is long.
    folder = Path(tempfile.mkdtemp(prefix="qm-pg-"))
    server = start_postgres(folder, programs)
    yield server
    server.stop()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A Kubernetes control plane with fake kubelets for this test process."""
    need(*PROGRAMS)
    plane = start_control_plane(tmp_path_factory.mktemp("controlplane"))
    yield plane
    plane.stop()


@pytest.fixture
def ground(control_plane: ControlPlane) -> Iterator[Ground]:
    """A namespace of the test's own, and a maker of fake GPU nodes and pods in it."""
    made = make_ground(control_plane)
    yield made
    made.remove()


@pytest.fixture(scope="session")
def kueue(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """A Kueue on this test process' control plane: for Jobs that name a queue."""
    need("kueue")
    process = start_kueue(control_plane, tmp_path_factory.mktemp("kueue"))
    yield process
    process.kill()


@pytest.fixture(params=GENERATIONS)
def prometheus(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[..., PrometheusServer]]:
    """Starts a Prometheus of each generation, with what `start_prometheus` takes after the folder."""
    generation = request.param
    if prometheus_program(generation) is None:
        leave_out(f"Prometheus {generation}.x", HOW[generation])
    with ExitStack() as stack:

        def start(*arguments: Any, **settings: Any) -> PrometheusServer:
            folder = Path(tempfile.mkdtemp(dir=tmp_path, prefix="prometheus-"))
            server = start_prometheus(generation, folder, *arguments, **settings)
            stack.callback(server.process.stop)
            return server

        yield start


@pytest.fixture(scope="session")
def s3_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """An S3 server for this test process; a test makes a bucket of its own."""
    need("weed")
    server = start_s3(tmp_path_factory.mktemp("s3"))
    yield server
    server.stop()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test with the servers it needs, so that `-m "not controlplane"` is always right."""
    for item in items:
        for name in getattr(item, "fixturenames", ()):
            if name in MARKS:
                item.add_marker(MARKS[name])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failed test that needs servers shows the end of what they wrote, and where all of it is."""
    report = yield
    if report.failed and any(item.get_closest_marker(mark) for mark in MARKS.values()):
        for process in Process.running:
            report.sections.append((f"the end of {process.log}", process.tail(20)))
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say which tests were left out for want of a server, and how to get it."""
    left_out: Counter[tuple[str, str]] = Counter()
    for report in terminalreporter.stats.get("skipped", ()):
        reason = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
        if _LEFT_OUT in reason:
            left_out[reason.partition(_LEFT_OUT)[2], report.nodeid.partition("::")[0]] += 1
    if not left_out:
        return
    terminalreporter.section("NOT TESTED: servers are missing", sep="!", red=True, bold=True)
    for reason in sorted({reason for reason, _ in left_out}):
        terminalreporter.write_line(reason, bold=True)
        for (other, file), count in sorted(left_out.items()):
            if other == reason:
                terminalreporter.write_line(f"  {count:3} in {file}")
