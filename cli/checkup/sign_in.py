"""How people get in: whether a provider of OpenID Connect answers, and secrets are there."""

import json
from collections.abc import Iterator
from typing import Any, cast
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from cli.checkup.line import Line, ok, trouble, warning
from quartermaster.config.dashboards import DashboardsPart
from quartermaster.text import visible

_WELL_KNOWN = "/.well-known/openid-configuration"
_LARGEST, _TIMEOUT_S = 1 << 20, 10
_NEEDED = ("authorization_endpoint", "token_endpoint", "jwks_uri")


def sign_in(part: DashboardsPart) -> Iterator[Line]:
    """What the pages' sign-in needs. Raises ConfigurationError for a secret that is not there."""
    subject = "sign-in"
    if part.sign_in == "local":
        yield ok(subject, f"the pages are for this machine alone ({part.listen}), and show everything")
        return
    if not part.access:
        yield warning(
            subject, "no rule of dashboards.access lets anybody see anything", "write one: docs/sign-in.md"
        )
    if part.proxy is not None and part.proxy.secret is not None:
        part.proxy.secret.reveal()
    if part.oidc is None:
        yield ok(subject, f"a proxy at {', '.join(part.proxy.addresses if part.proxy else ())} is believed")
        return
    part.oidc.client_secret.reveal()
    why = _answers(part.oidc.issuer)
    if why:
        yield trouble(
            subject, f"{part.oidc.issuer}: {why}", "see to dashboards.oidc.issuer, and the network to it"
        )
        return
    yield ok(subject, f"{part.oidc.issuer} answers; it sends people back to {part.address}/oauth2callback")


def _answers(issuer: str) -> str:
    """ "" where the provider tells what it can do, as itself; else why not."""
    try:
        request = Request(issuer + _WELL_KNOWN, headers={"User-Agent": "quartermaster"})  # noqa: S310 - http or https
        with urlopen(request, timeout=_TIMEOUT_S) as answer:  # noqa: S310
            told: Any = json.loads(answer.read(_LARGEST))
    except HTTPError as error:
        return f"it answers {error.code} at {_WELL_KNOWN}"
    except (OSError, ValueError) as error:
        return visible(str(error))[:200] or type(error).__name__
    found = cast(dict[str, object], told) if isinstance(told, dict) else {}
    missing = [name for name in _NEEDED if not found.get(name)]
    if missing:
        return f"it does not name its {', '.join(missing)}"
    if str(found.get("issuer", "")).rstrip("/") != issuer:
        return f"it calls itself {visible(str(found.get('issuer', ''))[:200])!r}"
    return ""
