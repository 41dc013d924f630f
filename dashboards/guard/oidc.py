"""What Streamlit's own sign-in is given, and what its answer says of who somebody is."""

import json
from collections.abc import Callable, Mapping
from typing import Any, cast

from dashboards.granted import Identity
from quartermaster.config.dashboards import ClaimsPart, DashboardsPart
from quartermaster.errors import ConfigurationError

_LONGEST = 300


def secrets_of(part: DashboardsPart, cookie_secret: str) -> dict[str, Any]:
    """Streamlit's section `auth`. Raises ConfigurationError for a secret whose reference leads nowhere."""
    if part.oidc is None or part.address is None:
        raise ConfigurationError("dashboards.oidc is not there", "name the provider that people sign in at")
    return {
        "auth": {
            "redirect_uri": f"{part.address}/oauth2callback",
            "cookie_secret": cookie_secret,
            "client_id": part.oidc.client_id,
            "client_secret": part.oidc.client_secret.reveal(),
            "server_metadata_url": f"{part.oidc.issuer}/.well-known/openid-configuration",
            "client_kwargs": {"scope": part.oidc.scope},
        }
    }


def claims_of(cookies: Mapping[str, str], cookie_secret: str) -> dict[str, Any] | None:
    """The claims of the ID token, from the cookies in which Streamlit would keep them. None where there are none."""
    from streamlit.auth_util import get_cookie_with_chunks
    from streamlit.web.server.starlette.starlette_app_utils import decode_signed_value

    def one(name: str) -> bytes | None:
        value = cookies.get(name)
        return decode_signed_value(cookie_secret, name, value) if value else None

    content = get_cookie_with_chunks(cast(Callable[[str], bytes | None], one), "_streamlit_user")
    told: object = json.loads(content) if content else None
    return cast(dict[str, Any], told) if isinstance(told, dict) else None


def identity_of(claims: Mapping[str, Any], part: ClaimsPart) -> Identity | None:
    """Who the claims are of; None where the claim for the person is not there."""
    person = _text(claims.get(part.person))
    mail = "" if claims.get("email_verified") is False else _text(claims.get(part.mail))
    if not person or (part.person == part.mail and not mail):
        return None
    groups = claims.get(part.groups)
    listed = cast(list[object], groups) if isinstance(groups, list) else [groups]
    return Identity(person, mail, _text(claims.get(part.name)), frozenset(filter(None, map(_text, listed))))


def until_ms(claims: Mapping[str, Any], part: DashboardsPart, now_ms: int) -> int:
    """Until when a session of these claims lasts: `session` after the person signed in at the provider, where it says
    when, and no longer than the token, unless the configuration lets it. It may be over already."""
    signed_in = claims.get("auth_time")
    since_ms = min(now_ms, signed_in * 1000) if isinstance(signed_in, int) else now_ms
    end_ms = since_ms + part.session_ms
    expires = claims.get("exp")
    if part.oidc is not None and part.oidc.beyond_token:
        return end_ms
    return min(end_ms, int(expires) * 1000) if isinstance(expires, int | float) else now_ms


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) and len(value) <= _LONGEST else ""
