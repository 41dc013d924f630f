"""Whom a reverse proxy says it is: believed from its own addresses alone, and with its secret if it has one. Pure."""

import hmac
import ipaddress
from collections.abc import Iterable

from dashboards.granted import Identity
from dashboards.guard.headers import Header
from quartermaster.config.dashboards import ProxyPart

VOUCHER = "x-quartermaster-secret"
_LONGEST = 300
_MOST_GROUPS = 500


def is_listed(part: ProxyPart, peer: str | None) -> bool:
    """Whether the address that connects is one of the proxy's."""
    try:
        address = ipaddress.ip_address(peer or "")
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return any((mapped or address) in ipaddress.ip_network(each) for each in part.addresses)


def said_by(part: ProxyPart, peer: str | None, headers: Iterable[Header]) -> Identity | None:
    """Who is there. None where it is not the proxy that says so, or where it says nobody, or two."""
    told = list(headers)
    if not is_listed(part, peer):
        return None
    if part.secret is not None:
        given = _one(told, VOUCHER) or ""
        if not hmac.compare_digest(given.encode("latin-1"), part.secret.reveal().encode()):
            return None
    person = _one(told, part.headers.person)
    if not person:
        return None
    groups = (_one(told, part.headers.groups) or "").split(",")
    return Identity(
        person,
        _one(told, part.headers.mail) or "",
        _one(told, part.headers.name) or "",
        frozenset(each.strip() for each in groups[:_MOST_GROUPS] if each.strip()),
    )


def spoken_for(part: ProxyPart) -> frozenset[str]:
    """The headers by which it speaks; no page gets them."""
    headers = part.headers
    return frozenset({VOUCHER, headers.person, headers.mail, headers.name, headers.groups})


def _one(headers: Iterable[Header], name: str) -> str | None:
    """The only value of a header: where it stands twice, one may be a stranger's."""
    found = [value for key, value in headers if key == name.encode()]
    if len(found) != 1:
        return None
    try:
        text = found[0].decode("utf-8").strip()
    except UnicodeDecodeError:
        return None
    return text if len(text) <= _LONGEST or name.endswith("groups") else None
