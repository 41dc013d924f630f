"""The guard before an open house, in each way of signing in."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from dashboards.guard.entrance import entrance
from dashboards.guard.gate import Gate
from dashboards.guard.sessions import Sessions
from quartermaster.config.dashboards import DashboardsPart
from quartermaster.config.load import parse_configuration
from quartermaster.config.secret import Surroundings
from tests.signin.client import TestClient
from tests.signin.open_house import COOKIE_SECRET, NOW, OpenHouse

SITE = "https://gpu.example.org"
COOKIE = "__Host-quartermaster"
WAYS = {
    "local": "{}",
    "oidc": f"{{sign_in: oidc, address: '{SITE}', oidc: {{issuer: 'https://id.example.org', client_id: qm, "
    "client_secret: '${env:SECRET}'}, access: [{groups: [vision], teams: [vision]}]}",
    "proxy": f"{{sign_in: proxy, address: '{SITE}', proxy: {{addresses: [10.0.0.0/24], secret: '${{env:SECRET}}'}}, "
    "access: [{groups: [vision], teams: [vision]}]}",
}
SECRET = "s" * 20


@dataclass
class Guarded:
    """A guard whose clock the test sets, and a browser's client for it."""

    house: OpenHouse
    gate: Gate
    sessions: Sessions
    client: TestClient
    now_ms: int = NOW

    def another(self, **cookies: str) -> TestClient:
        """Another browser, with these cookies."""
        client = TestClient(
            self.gate,
            base_url=str(self.client.base_url),
            follow_redirects=False,
            client=("10.0.0.7", 50_000),
        )
        for name, value in cookies.items():
            client.cookies.set(name, value, domain=self.client.base_url.host)
        return client

    def copy(self) -> TestClient:
        """Another browser, to which this one's session was copied."""
        return self.another(**{COOKIE: self.client.cookies[COOKIE]})

    def sign_in(self, client: TestClient | None = None) -> None:
        """Go the whole way: the page, the provider, and back."""
        client = client or self.client
        client.get("/")
        assert client.get("/oauth2callback?code=1&state=2").status_code == 302


def part_of(way: str, more: str = "") -> DashboardsPart:
    """The configuration's part for a way of signing in."""
    text = f"clusters: [{{name: c}}]\nteams: [{{name: vision}}, {{name: speech}}]\ndashboards: {WAYS[way]}\n{more}"
    return (
        parse_configuration(text, "q.yaml", Surroundings({"SECRET": SECRET}, Path(), str)).need().dashboards
    )


@pytest.fixture
def guarded() -> Callable[..., Guarded]:
    """Makes a guard for a way of signing in."""

    def make(way: str = "oidc", peer: str = "10.0.0.7", **headers: str) -> Guarded:
        house, sessions = OpenHouse(), Sessions()
        base = "http://127.0.0.1:8501" if way == "local" else SITE
        gate = Gate(
            house.app,
            entrance(part_of(way), 8501, COOKIE_SECRET),
            sessions,
            "default-src 'self'",
            now_ms=lambda: made.now_ms,
            login=lambda: "/auth/login?provider=x",
        )
        client = TestClient(
            gate, base_url=base, follow_redirects=False, client=(peer, 50_000), headers=headers
        )
        made = Guarded(house, gate, sessions, client)
        return made

    return make
