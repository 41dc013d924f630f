"""The dashboards' part of the configuration: where pages are served, who is let in, and whose figures each sees."""

import ipaddress
import re
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, field_validator, model_validator

from quartermaster.clock import DAY_MS, MINUTE_MS
from quartermaster.config.fields import DurationMs, Glob, HeaderSecret, Name, Part, Text, as_written
from quartermaster.role import Role

SignIn = Literal["local", "oidc", "proxy"]
_HEADER = re.compile(r"[A-Za-z0-9-]{1,64}")
_LOOPBACK_ONLY = (
    "sign_in: local knows nobody and shows everything to whoever reaches it, so it listens on loopback alone; "
    "write 127.0.0.1 or [::1], or take sign_in: oidc or proxy"
)


def _address(value: str) -> str:
    parts = urlsplit(value)
    plain = parts.scheme in {"http", "https"} and parts.hostname and not (parts.username or parts.password)
    if not plain or parts.query or parts.fragment or parts.path not in {"", "/"}:
        raise ValueError("write where people find the pages, as https://gpu.example.org")
    if parts.scheme == "http" and not is_loopback(parts.hostname or ""):
        raise ValueError("over plain http whoever listens gets in too: write https://")
    return value.rstrip("/")


def _issuer(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment:
        raise ValueError("write the provider's address, as https://login.example.org/realms/lab")
    if parts.scheme == "http" and not is_loopback(parts.hostname):
        raise ValueError("whoever sits between could sign in as anybody: write https://")
    return value.rstrip("/")


def _header(value: str) -> str:
    if not _HEADER.fullmatch(value):
        raise ValueError("a header's name has letters, digits and -")
    return value.lower()


def _role(value: object) -> Role:
    try:
        return Role(str(value))
    except ValueError as error:
        raise ValueError(f"a role is {', '.join(each.value for each in Role)}") from error


def is_loopback(host: str) -> bool:
    """Whether a host's name or address is this machine alone."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


WebAddress = Annotated[str, AfterValidator(_address)]
Issuer = Annotated[str, AfterValidator(_issuer)]
Header = Annotated[str, AfterValidator(_header)]
RoleName = Annotated[Role, BeforeValidator(_role, json_schema_input_type=str)]


class ClaimsPart(Part):
    """Which claims of the ID token say who somebody is."""

    person: Name = "email"
    """Who it is, in one word that does not change: what the cluster calls its users too, if it can be had, so that a
    person finds their own workloads."""
    mail: Name = "email"
    """Their address. One that the provider calls unverified (`email_verified: false`) counts as none."""
    name: Name = "name"
    """What to call them on their own pages; it is kept nowhere."""
    groups: Name = "groups"
    """The groups that they are in, a list."""


class OidcPart(Part):
    """A provider of OpenID Connect. It sends people back to `/oauth2callback` of our address."""

    issuer: Issuer
    """Its address; what it can do is asked at `/.well-known/openid-configuration` below it."""
    client_id: Name
    """What it calls us."""
    client_secret: HeaderSecret
    """The secret that it gave us, by reference."""
    scope: Text = "openid profile email"
    """What is asked for. Many providers put groups into the token only when `groups` is asked for too."""
    claims: ClaimsPart = as_written({})
    """Which claims say who somebody is."""
    beyond_token: bool = False
    """Whether one stays signed in when the ID token has run out, up to `session`: for providers whose tokens last
    minutes. Off, a session ends with its token, and who was locked out there is out here."""


class HeadersPart(Part):
    """The headers in which a proxy says who somebody is."""

    person: Header = "x-forwarded-user"
    """Who it is, in one word that does not change."""
    mail: Header = "x-forwarded-email"
    """Their address."""
    name: Header = "x-forwarded-preferred-username"
    """What to call them on their own pages."""
    groups: Header = "x-forwarded-groups"
    """The groups that they are in, with commas between."""


class ProxyPart(Part):
    """A reverse proxy that signs people in, and says in headers who they are."""

    addresses: tuple[Text, ...] = Field(min_length=1)
    """From where it connects: addresses or networks (10.0.0.7, 10.1.0.0/24). Whoever connects from elsewhere is
    refused, whatever they say."""
    secret: HeaderSecret | None = None
    """What it sends in the header `X-Quartermaster-Secret`, by reference; needed where others may connect from its
    addresses too, as from loopback."""
    headers: HeadersPart = as_written({})
    """The headers in which it says who somebody is. It must not pass on what a browser sends under these names."""

    @field_validator("addresses")
    @classmethod
    def _are_networks(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for each in value:
            try:
                network = ipaddress.ip_network(each)
            except ValueError as error:
                raise ValueError(f"{each!r} is no address and no network") from error
            if network.prefixlen == 0:
                raise ValueError(f"{each} is everybody: list the proxy's own addresses")
        return value

    @model_validator(mode="after")
    def _is_told_from_others(self) -> "ProxyPart":
        networks = [ipaddress.ip_network(each) for each in self.addresses]
        if self.secret is None and any(each.is_loopback for each in networks):
            raise ValueError(
                "secret: everybody on this machine connects from loopback, so the proxy needs one"
            )
        return self


class AccessRulePart(Part):
    """What some people may see and do. All rules that match somebody count; whom none matches sees nothing."""

    groups: tuple[Glob, ...] = ()
    """Patterns of which one of the person's groups matches at least one."""
    mails: tuple[Glob, ...] = ()
    """Patterns of which the person's address matches at least one; either this or `groups` is enough."""
    roles: tuple[RoleName, ...] = Field(default=(Role.VIEWER,), min_length=1)
    """`viewer` sees the figures, `owner` keeps and gives back workloads too, `manager` sees what lies between teams,
    `finance` sees all teams' money, `admin` sees everything, approves, freezes and restores."""
    teams: tuple[Glob, ...] = ()
    """Patterns for the teams that these roles are for; `*` for all. `finance` and `admin` are for all teams by
    themselves."""
    departments: tuple[Glob, ...] = ()
    """Patterns for departments, whose teams they are for too."""

    @model_validator(mode="after")
    def _is_of_somebody(self) -> "AccessRulePart":
        if not self.groups and not self.mails:
            raise ValueError("groups: a rule names groups or mails; all who sign in are mails: ['*']")
        return self


class DashboardsPart(Part):
    """The pages for people."""

    listen: Text = Field(default="127.0.0.1:8501", pattern=r"^(\[[0-9A-Fa-f:.]+\]|[^\s:\[\]/]+):[0-9]{1,5}$")
    """Address and port to listen on."""
    sign_in: SignIn = "local"
    """How people are known: `local` knows nobody and serves this machine alone, where everybody sees everything; `oidc`
    asks a provider; `proxy` believes a reverse proxy."""
    address: WebAddress | None = None
    """Where people find the pages (https://gpu.example.org); no other name is answered to. Needed unless `sign_in` is
    `local`. TLS ends in front of us."""
    session_ms: DurationMs = as_written("10h", alias="session")
    """How long somebody stays signed in at most."""
    oidc: OidcPart | None = None
    """The provider, with `sign_in: oidc`."""
    proxy: ProxyPart | None = None
    """The proxy, with `sign_in: proxy`."""
    access: tuple[AccessRulePart, ...] = ()
    """Who may see and do what."""

    @field_validator("listen")
    @classmethod
    def _port_there_can_be(cls, value: str) -> str:
        if not 0 < int(value.rpartition(":")[2]) <= 65535:
            raise ValueError("a port is between 1 and 65535")
        return value

    @field_validator("session_ms")
    @classmethod
    def _a_session_there_can_be(cls, value: int) -> int:
        if not MINUTE_MS <= value <= 30 * DAY_MS:
            raise ValueError("a session lasts between 1m and 30d")
        return value

    @model_validator(mode="after")
    def _whole(self) -> "DashboardsPart":
        if self.sign_in == "local":
            if not is_loopback(self.listen.rpartition(":")[0]):
                raise ValueError(f"listen: {_LOOPBACK_ONLY}")
            return self
        if self.address is None:
            raise ValueError(
                f"address: sign_in {self.sign_in} needs the address at which people find the pages"
            )
        if self.sign_in == "oidc" and self.oidc is None:
            raise ValueError("oidc: sign_in oidc needs a provider")
        if self.sign_in == "proxy" and self.proxy is None:
            raise ValueError("proxy: sign_in proxy needs the proxy's addresses")
        return self
