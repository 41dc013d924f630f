"""The entrance: how people are known here, to which names we answer, and for how long somebody stays. Values alone."""

import getpass
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from dashboards.granted import Identity
from dashboards.guard.headers import Header
from dashboards.guard.proxied import said_by, spoken_for
from quartermaster.clock import DAY_MS
from quartermaster.config.dashboards import DashboardsPart

HANDED_ON = "x-quartermaster-pass"
_LOCAL_MS = 30 * DAY_MS


@dataclass(frozen=True)
class Entrance:
    """What the guard goes by; made once, when the server begins."""

    part: DashboardsPart
    origins: frozenset[str]  # scheme://host:port as browsers send it
    cookie: str
    secure: bool
    cookie_secret: str = ""  # what Streamlit signs with; random, and gone with the process

    @property
    def hosts(self) -> frozenset[str]:
        """The names that we answer to."""
        return frozenset(urlsplit(each).netloc for each in self.origins)

    @property
    def asks(self) -> bool:
        """Whether people sign in here themselves."""
        return self.part.sign_in == "oidc"

    def identity(self, peer: str | None, headers: Iterable[Header]) -> Identity | None:
        """Who is there, before anybody is asked; None where nobody can tell."""
        if self.part.sign_in == "local":
            return Identity(getpass.getuser())
        if self.part.sign_in == "proxy" and self.part.proxy is not None:
            return said_by(self.part.proxy, peer, headers)
        return None

    def stays_ms(self) -> int:
        """How long a session lasts that began without asking."""
        return _LOCAL_MS if self.part.sign_in == "local" else self.part.session_ms

    def dropped(self) -> frozenset[str]:
        """The headers that no stranger may bring to a page."""
        proxy = self.part.proxy
        return frozenset({HANDED_ON}) | (spoken_for(proxy) if proxy is not None else frozenset[str]())


def entrance(part: DashboardsPart, port: int, cookie_secret: str) -> Entrance:
    """The entrance that the configuration describes; `port` is where we listen."""
    if part.address is None:
        origins = frozenset(f"http://{host}:{port}" for host in ("127.0.0.1", "localhost", "[::1]"))
        return Entrance(part, origins, f"quartermaster-{port}", secure=False, cookie_secret=cookie_secret)
    split = urlsplit(part.address)
    secure = split.scheme == "https"
    cookie = "__Host-quartermaster" if secure else f"quartermaster-{port}"
    origin = f"{split.scheme}://{split.netloc.lower()}"
    return Entrance(part, frozenset({origin}), cookie, secure, cookie_secret)
