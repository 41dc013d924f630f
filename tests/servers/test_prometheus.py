"""Both generations of Prometheus scrape the simulator's pages and answer a query of what was scraped."""

import re
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.servers.process import Process
from tests.servers.prometheus import PrometheusServer


@pytest.fixture
def simulated_page(tmp_path: Path) -> Iterator[str]:
    """The URL of one page of a simulated cluster."""
    command = [sys.executable, "-m", "cli", "simulate", "serve", "--port", "0", "--quick"]
    process = Process("simulator", command, tmp_path)
    try:
        listed = re.compile(r"listed at (http://127\.0\.0\.1:\d+)/")
        process.wait_for(lambda: bool(listed.search(process.tail())), "a line with its address")
        found = listed.search(process.tail())
        assert found
        yield f"{found[1]}/h100-0/metrics"
    finally:
        process.stop()


def test_scraped_samples_are_answered(
    prometheus: Callable[..., PrometheusServer], simulated_page: str
) -> None:
    server = prometheus([simulated_page])
    end = time.monotonic() + 20
    while not (found := server.query("count by (__name__) (DCGM_FI_DEV_GPU_UTIL)")):
        assert time.monotonic() < end, server.process.tail()
        time.sleep(0.1)
    assert found[0]["metric"]["__name__"] == "DCGM_FI_DEV_GPU_UTIL"
    assert int(found[0]["value"][1]) == 8
