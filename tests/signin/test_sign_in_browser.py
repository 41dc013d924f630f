"""Signing in as people do it: a real provider, a real browser, the command as it is started."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, sync_playwright

from tests.dashboards.conftest import _FLEET, _fill
from tests.ledgers import new_ledger

pytestmark = [pytest.mark.browser, pytest.mark.patient]
READY = """() => {
  const app = document.querySelector('[data-testid=stApp]');
  return document.querySelector('[data-testid=stException]') || (app?.dataset.testConnectionState === 'CONNECTED'
    && app.dataset.testScriptState === 'notRunning' && document.querySelector('.qm h1'));
}"""
PEOPLE = (
    {"sub": "alice", "email": "alice@example.org", "name": "Alice", "groups": ["vision"]},
    {"sub": "root", "email": "root@example.org", "name": "Root", "groups": ["admins"]},
    {"sub": "eve", "email": "eve@example.org", "name": "<b>Eve</b>", "groups": []},
)
CONFIGURATION = """
business: {{time_zone: UTC}}
clusters: [{{name: demo}}]
teams: [{{name: vision}}, {{name: speech}}]
dashboards:
  listen: 127.0.0.1:{port}
  sign_in: oidc
  address: http://localhost:{port}
  oidc:
    issuer: http://localhost:{provider}
    client_id: quartermaster
    client_secret: ${{env:QM_TEST_SECRET}}
    scope: openid profile email groups
  access:
    - {{groups: [admins], roles: [admin]}}
    - {{groups: [vision], teams: [vision]}}
"""
OTHERS = {name for team, _, space, name, *_ in _FLEET if team != "vision" for name in (space, name)} | {
    "robotics"
}


@dataclass
class Site:
    """Where the pages are, and a browser."""

    url: str
    chromium: Browser

    @contextmanager
    def visit(self) -> Generator[tuple[BrowserContext, Page, list[str]]]:
        """A browser that nobody has used, and what went wrong in it."""
        context = self.chromium.new_context()
        page, wrong = context.new_page(), list[str]()
        page.set_default_timeout(60_000)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda message: self._note(message, wrong))
        try:
            yield context, page, wrong
        finally:
            context.close()

    def _note(self, message: ConsoleMessage, wrong: list[str]) -> None:
        """An error of a page of ours; that a path below a page's has no health of its own is Streamlit's way."""
        where = message.location.get("url", "")
        if message.type == "error" and where.startswith(self.url) and "/_stcore/" not in where:
            wrong.append(f"{message.text} {where}")

    def sign_in(self, page: Page, who: str, path: str = "/") -> None:
        """From a page of ours to the provider and back."""
        page.goto(self.url + path)
        page.get_by_role("link", name="Sign in").click()
        page.locator("input[name=sub]").fill(who)
        page.get_by_role("button", name="Authorize").click()
        page.wait_for_function(READY)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def running(command: list[str], folder: Path) -> Generator["subprocess.Popen[str]"]:
    environment = os.environ | {"HOME": str(folder), "QM_TEST_SECRET": "s" * 24, "PYTHONWARNINGS": "ignore"}
    process = subprocess.Popen(
        [sys.executable, *command],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    patience = threading.Timer(240, process.kill)
    patience.start()
    try:
        yield process
    finally:
        patience.cancel()
        process.terminate()
        process.communicate(timeout=30)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Generator[Site]:
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("no Chromium is installed")
    folder = tmp_path_factory.mktemp("signin")
    port, provider = free_port(), free_port()
    (folder / "quartermaster.yaml").write_text(CONFIGURATION.format(port=port, provider=provider))
    with new_ledger(folder / "ledger") as ledger:
        _fill(ledger, str, prices=True)
    people = [word for each in PEOPLE for word in ("--user-claims", json.dumps(each))]
    with (
        running(["-m", "oidc_provider_mock", "-p", str(provider), *people], folder),
        running(["-P", "-m", "cli", "dashboard", "--no-browser"], folder) as server,
        sync_playwright() as playwright,
    ):
        assert server.stdout
        assert server.stdout.readline() == f"The dashboard is at http://localhost:{port} (Ctrl-C ends it)\n"
        chromium = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield Site(f"http://localhost:{port}", chromium)
        chromium.close()


def test_a_person_signs_in_lands_where_they_wished_sees_their_team_and_signs_out(site: Site) -> None:
    with site.visit() as (context, page, wrong):
        site.sign_in(page, "alice", "/?week=2026-W48&team=speech")
        assert "week=2026-W48" in page.url
        said = page.inner_text("body")
        assert "Alice" in said
        assert {name for name in OTHERS if re.search(rf"\b{re.escape(name)}\b", said)} == set()
        kept = {str(each.get("name")): each for each in context.cookies()}
        assert not any(name.startswith("_streamlit_user") for name in kept)
        (session,) = (each for name, each in kept.items() if name.startswith("quartermaster-"))
        assert (session.get("httpOnly"), session.get("sameSite")) == (True, "Lax")
        copied = context.storage_state()
        assert wrong == []
        page.get_by_role("button", name="Sign out").click()
        page.wait_for_url("**/oauth2/end_session**")
    thief = site.chromium.new_context(storage_state=copied)
    stolen = thief.new_page()
    stolen.goto(site.url)
    assert stolen.get_by_role("link", name="Sign in").is_visible()
    assert thief.request.get(f"{site.url}/static/x.js").status == 401
    thief.close()


def test_a_download_is_for_whom_it_was_offered_to(site: Site) -> None:
    with site.visit() as (context, page, _):
        site.sign_in(page, "root", "/?week=2026-W48")
        addresses: list[str] = []
        context.on(
            "request", lambda request: addresses.append(request.url) if "/media/" in request.url else None
        )
        with page.expect_download() as given:
            page.get_by_role("button", name="Report").first.click()
        assert "vision" in Path(given.value.path()).read_text(encoding="utf-8")
        address = given.value.url if "/media/" in given.value.url else addresses[0]
        assert context.request.get(address).status == 200
        with site.visit() as (other, another, _):
            assert other.request.get(address).status == 401
            site.sign_in(another, "alice")
            assert other.request.get(address).status == 404


def test_whom_nothing_is_for_is_told_so(site: Site) -> None:
    with site.visit() as (_, page, wrong):
        site.sign_in(page, "eve")
        said = page.inner_text("body")
        assert "There is nothing here for you yet" in said
        assert "<b>Eve</b>" in said  # a name is text
        assert "vision" not in said
        assert wrong == []


def test_the_server_s_own_doors_are_shut(site: Site) -> None:
    with site.visit() as (context, page, _):
        asked = context.request
        for path in ("/_stcore/metrics", "/_stcore/agent/openapi.json", "/_stcore/upload_file/a/b"):
            assert asked.get(site.url + path).status == 404
        assert asked.get(f"{site.url}/app/static/inter.woff2").status == 401
        assert asked.get(site.url, headers={"host": "evil.example"}).status == 421
        site.sign_in(page, "alice")
        assert asked.get(f"{site.url}/app/static/inter.woff2").status == 200
        assert asked.get(f"{site.url}/_stcore/metrics").status == 404
