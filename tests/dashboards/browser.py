"""A page in a headless Chromium: what it does that it should not, when it is drawn, and a server to look at."""

import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, sync_playwright

from analytics.reports import theme

READY = """() => {
  const app = document.querySelector('[data-testid=stApp]');
  if (document.querySelector('[data-testid=stException]')) return true;
  return app?.dataset.testConnectionState === 'CONNECTED' && app.dataset.testScriptState === 'notRunning'
    && !document.querySelector('[data-testid=stSkeleton], [data-stale=true]')
    && document.querySelector('.qm')
    && [...document.querySelectorAll('.stVegaLiteChart')].every(chart => chart.querySelector('canvas, svg'));
}"""
SIDEWAYS = """() => [document.documentElement, ...document.querySelectorAll('[data-testid=stMain]')]
  .filter(e => e.scrollWidth > e.clientWidth + 1).length"""
# Streamlit asks for these below a page's own address first, and then where they are.
_ASKED_TWICE = re.compile(r"/_stcore/(health|host-config)$")


@dataclass
class Seen:
    """What a page did that it should not do."""

    errors: list[str] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)


@contextmanager
def a_chromium() -> Generator[Browser]:
    """A headless Chromium of this machine. Without one tests are skipped, in CI they fail."""
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(
            "no Chromium is installed (apt-get install chromium)"
        )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield browser
        browser.close()


def open_page(chromium: Browser, width: int, tone: theme.Tone, role: str = "") -> tuple[Page, Seen]:
    """A new page, looked at by somebody of the role where `served_as` serves it."""
    page = chromium.new_page(viewport={"width": width, "height": 900}, color_scheme=tone)
    if role:
        page.context.add_cookies([{"name": "role", "value": role, "url": "http://127.0.0.1"}])
    seen = Seen()
    page.on("pageerror", lambda error: seen.errors.append(str(error)))
    page.on("console", lambda message: _complained(message, seen))
    page.on("request", lambda request: None if is_home(request.url) else seen.strangers.append(request.url))
    return page, seen


def _complained(message: ConsoleMessage, seen: Seen) -> None:
    if message.type == "error" and not _ASKED_TWICE.search(message.location.get("url", "")):
        seen.errors.append(message.text)


def is_home(url: str) -> bool:
    """Whether a request stays on this machine."""
    parts = urlsplit(url)
    return parts.scheme in {"file", "data", "blob"} or parts.hostname == "127.0.0.1"


def settle(page: Page) -> None:
    """Wait until all is drawn; fail at once on an exception."""
    page.wait_for_function(READY, timeout=60_000)
    page.wait_for_timeout(300)
    page.wait_for_function(READY, timeout=60_000)
    assert not page.query_selector("[data-testid=stException], [role=dialog]")


def ground(page: Page, selector: str) -> str:
    """The colour behind an element, as `#rrggbb`."""
    rgb = page.eval_on_selector(selector, "e => getComputedStyle(e).backgroundColor")
    return "#" + "".join(f"{int(channel):02x}" for channel in re.findall(r"\d+", rgb)[:3])


def free_port() -> int:
    """A port of loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def serve(configuration: Path) -> Generator[str]:
    """The address of `quartermaster dashboard` over the configuration's ledger."""
    port = free_port()
    command = ["-m", "cli", "--config", str(configuration), "dashboard", "--no-browser", "-p", str(port)]
    with subprocess.Popen([sys.executable, "-P", *command], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        assert "The dashboard is at" in server.stdout.readline()
        yield f"http://127.0.0.1:{port}"
        server.terminate()


@contextmanager
def served_as(configuration: Path) -> Generator[str]:
    """The address of the pages without the guard, where the cookie `role` says whose group looks."""
    port = free_port()
    command = ["-m", "tests.dashboards.as_role", str(port)]
    root = Path(__file__).parents[2]
    environment = os.environ | {"QUARTERMASTER_CONFIG": str(configuration), "PYTHONPATH": str(root)}
    with subprocess.Popen(
        [sys.executable, *command],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as server:
        try:
            _await(server, f"http://127.0.0.1:{port}/_stcore/health")
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()


def _await(server: "subprocess.Popen[bytes]", url: str) -> None:
    give_up_at = time.monotonic() + 60
    while time.monotonic() < give_up_at and server.poll() is None:
        try:
            with urlopen(url, timeout=1):
                return
        except (URLError, OSError):
            time.sleep(0.1)
    raise AssertionError("the pages' server did not start")
