"""The server: real pages over real HTTP, steered over its pipe, and wrong in every way there is."""

import contextlib
import gzip
import http.client
import socket
import urllib.error
import urllib.request
from collections.abc import Generator

import pytest

from quartermaster.clock import DAY_MS, HOUR_MS, from_iso
from quartermaster.errors import InputError, SourceError
from simulator.quirks import OTHER_PAGE
from simulator.scenario import demo
from simulator.server import Plan, SimulatorServer

START_MS = from_iso("2026-11-23")
PLAN = Plan(11, START_MS, START_MS + DAY_MS, quick=True)


@pytest.fixture(scope="module")
def server() -> Generator[SimulatorServer]:
    with SimulatorServer(PLAN) as running:
        running.advance(START_MS + HOUR_MS)
        yield running


@pytest.fixture
def healthy(server: SimulatorServer) -> Generator[SimulatorServer]:
    yield server
    server.switch("*", [])


def get(url: str, **headers: str) -> tuple[int, bytes, dict[str, str]]:
    request = urllib.request.Request(url, headers=headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return answer.status, answer.read(), dict(answer.headers)


@pytest.mark.patient
def test_each_node_has_the_page_that_the_simulation_gives(server: SimulatorServer):
    simulation = demo(PLAN.seed, PLAN.start_ms, PLAN.end_ms, quick=True)
    simulation.advance(START_MS + HOUR_MS)
    assert server.nodes == simulation.nodes
    for node in server.nodes:
        status, body, headers = get(server.url(node))
        assert (status, body) == (200, simulation.page(node, START_MS + HOUR_MS))
        assert headers["Content-Type"].startswith("text/plain; version=0.0.4")
        assert headers["Date"] == "Mon, 23 Nov 2026 01:00:00 GMT"


def test_the_truth_and_the_configuration_come_over_the_pipe(server: SimulatorServer):
    simulation = demo(PLAN.seed, PLAN.start_ms, PLAN.end_ms, quick=True)
    simulation.advance(START_MS + HOUR_MS)
    assert server.truth() == simulation.truth()
    assert server.truth(START_MS + HOUR_MS).keys() == {"watermarks"}
    assert server.configuration() == simulation.configuration(server.base_url)
    assert "holders: labels" in server.configuration("labels")


def test_one_connection_serves_many_requests(server: SimulatorServer):
    host, _, port = server.base_url.removeprefix("http://").partition(":")
    assert host == "127.0.0.1"
    with contextlib.closing(http.client.HTTPConnection(host, int(port), timeout=30)) as connection:
        for node in server.nodes:
            connection.request("GET", f"/{node}/metrics")
            assert connection.getresponse().read()
    with socket.create_connection((host, int(port)), timeout=30) as raw:
        raw.sendall(b"GET /t4-0/metrics HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\nConnection: close\r\n\r\n")
        both = b"".join(iter(lambda: raw.recv(65536), b""))
    assert both.count(b"HTTP/1.1 200 OK") == 2
    assert both.endswith(b"/t4-1/metrics\n")


@pytest.mark.parametrize(
    ("path", "status"), [("/nobody/metrics", 404), ("/h100-0", 404), ("/h100-0/secrets", 404)]
)
def test_what_is_not_there_is_404(server: SimulatorServer, path: str, status: int):
    with pytest.raises(urllib.error.HTTPError) as caught:
        get(server.base_url + path)
    assert caught.value.code == status
    caught.value.close()


def test_only_get_is_answered(server: SimulatorServer):
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(urllib.request.Request(server.url("t4-0"), method="POST"), timeout=30)
    assert caught.value.code == 405
    caught.value.close()


def test_error_500(healthy: SimulatorServer):
    healthy.switch("t4-0", ["error-500"])
    with pytest.raises(urllib.error.HTTPError) as caught:
        get(healthy.url("t4-0"))
    assert caught.value.code == 500
    caught.value.close()
    assert get(healthy.url("t4-1"))[0] == 200


def test_half_a_page(healthy: SimulatorServer):
    healthy.switch("t4-0", ["half-page"])
    with pytest.raises(http.client.IncompleteRead):
        get(healthy.url("t4-0"))


def test_refused(healthy: SimulatorServer):
    healthy.switch("t4-0", ["refuse"])
    with pytest.raises(ConnectionError):
        get(healthy.url("t4-0"))


def test_hang(healthy: SimulatorServer):
    healthy.switch("t4-0", ["hang"])
    with pytest.raises(TimeoutError), urllib.request.urlopen(healthy.url("t4-0"), timeout=0.2):
        pass


def test_another_exporters_page(healthy: SimulatorServer):
    healthy.switch("t4-0", ["other-exporter"])
    assert get(healthy.url("t4-0"))[1] == OTHER_PAGE


def test_slow_drip_sends_some_and_not_all(healthy: SimulatorServer):
    healthy.switch("h100-0", ["slow-drip"])
    host, _, port = healthy.base_url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=0.5) as raw:
        raw.sendall(b"GET /h100-0/metrics HTTP/1.1\r\n\r\n")
        first = raw.recv(65536) + raw.recv(65536)
    assert b"Content-Length" in first
    assert len(first) < 8_000


def test_gzip_where_it_is_taken(healthy: SimulatorServer):
    _, plain, _ = get(healthy.url("t4-0"))
    healthy.switch("t4-0", ["gzip"])
    _, packed, headers = get(healthy.url("t4-0"), **{"Accept-Encoding": "gzip"})
    assert headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed) == plain
    assert get(healthy.url("t4-0"))[1] == plain


def test_wrong_names_come_back_as_errors(server: SimulatorServer):
    with pytest.raises(InputError, match="'sulk' is no quirk") as caught:
        server.switch("*", ["sulk"])
    assert "hang" in caught.value.hint
    with pytest.raises(InputError, match="no label generation"):
        server.speak("t4-0", "0.1")


@pytest.mark.patient
def test_a_wrong_plan_is_told_on_entry():
    with (
        pytest.raises(InputError, match="ends before it starts"),
        SimulatorServer(Plan(1, START_MS, START_MS)),
    ):
        pass


@pytest.mark.patient
def test_a_taken_port_is_told_on_entry(server: SimulatorServer):
    port = int(server.base_url.rpartition(":")[2])
    with pytest.raises(SourceError, match=f"127.0.0.1:{port}"), SimulatorServer(PLAN, port=port):
        pass


@pytest.mark.patient
def test_the_child_is_gone_afterwards_and_a_running_clock_runs():
    with SimulatorServer(Plan(2, START_MS, START_MS + DAY_MS, quick=True, speed=100_000.0)) as running:
        url = running.url("l40s-0")
        first, second = get(url)[1], get(url)[1]
        assert first != second, "the clock stands"
        child = running._process
        assert child is not None
        assert child.is_alive()
    with pytest.raises(urllib.error.URLError):
        get(url)
    with pytest.raises(SourceError, match="not running"):
        running.advance(START_MS)


@pytest.mark.patient
def test_a_child_that_dies_at_its_start_is_told_on_entry():
    plan = Plan(-1, 0, DAY_MS, quick=True)  # a seed that no generator takes
    with pytest.raises(SourceError, match="has died"), SimulatorServer(plan):
        pass
