"""The headers that every answer has, and the cookies that leave. Pure but for `policy`, which reads a page."""

import base64
import hashlib
from collections.abc import Iterable
from html.parser import HTMLParser
from pathlib import Path

from typing_extensions import override

Header = tuple[bytes, bytes]
STREAMLITS = ("_streamlit_user", "_streamlit_user_tokens")  # the cookies that would outlive a sign-out
_PASSED_ON = ("_streamlit_xsrf", "_streamlit_session")


def policy() -> str:
    """The Content-Security-Policy, with the hashes of the scripts that stand in Streamlit's own page, as it is
    installed."""
    import streamlit

    page = Path(streamlit.__file__).parent / "static" / "index.html"
    hashes = (
        f"'sha256-{base64.b64encode(hashlib.sha256(each.encode()).digest()).decode()}'"
        for each in inline_scripts(page.read_text(encoding="utf-8"))
    )
    return "; ".join(
        (
            "default-src 'self'",
            " ".join(("script-src 'self'", *hashes)),
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "font-src 'self' data:",
            "connect-src 'self'",
            "worker-src 'self' blob:",
            "frame-ancestors 'none'",
            "form-action 'self'",
            "object-src 'none'",
            "base-uri 'self'",
        )
    )


def inline_scripts(page: str) -> list[str]:
    """The scripts that stand in a page itself, as they are written."""
    reader = _Scripts()
    reader.feed(page)
    return reader.found


def security(csp: str, *, secure: bool) -> list[Header]:
    """What every answer says to browsers."""
    told = {
        "content-security-policy": csp,
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        "referrer-policy": "same-origin",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "permissions-policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
    }
    if secure:
        told["strict-transport-security"] = "max-age=31536000"
    return [(name.encode(), value.encode()) for name, value in told.items()]


def cookies(headers: Iterable[Header]) -> dict[str, str]:
    """The cookies of a request; the first of a name counts."""
    found: dict[str, str] = {}
    for name, value in headers:
        if name == b"cookie":
            for pair in value.decode("latin-1").split(";"):
                key, equals, content = pair.strip().partition("=")
                if equals:
                    found.setdefault(key, content)
    return found


def inwards(
    headers: Iterable[Header], dropped: Iterable[str], more: Iterable[Header], kept: dict[str, str]
) -> list[Header]:
    """The headers of a request as Streamlit gets them: of the cookies those that it needs, without what a stranger may
    have made up under a name that we, or the proxy, speak by."""
    told, gone = list(headers), {name.encode() for name in dropped} | {b"cookie"}
    passed = {name: value for name, value in cookies(told).items() if name in _PASSED_ON} | kept
    out = [each for each in told if each[0] not in gone]
    if passed:
        out.append(
            (b"cookie", "; ".join(f"{name}={value}" for name, value in passed.items()).encode("latin-1"))
        )
    return [*out, *more]


def outwards(headers: Iterable[Header], more: Iterable[Header], *, secure: bool) -> list[Header]:
    """The headers of an answer as browsers get them: Streamlit's cookies of people stay here, the others are Secure
    behind TLS, and what we say takes the place of what it says."""
    ours = list(more)
    said = {name for name, _ in ours if name != b"set-cookie"}
    out: list[Header] = []
    for name, value in headers:
        if name == b"set-cookie":
            if not is_of_people(value):
                out.append((name, _secured(value) if secure else value))
        elif name not in said and name != b"server":
            out.append((name, value))
    return out + ours


def is_of_people(set_cookie: bytes) -> bool:
    """Whether it is one of the cookies in which Streamlit keeps who somebody is, or a piece of one."""
    return set_cookie.startswith(STREAMLITS[0].encode())


def _secured(set_cookie: bytes) -> bytes:
    return set_cookie if b"; secure" in set_cookie.lower() else set_cookie + b"; Secure"


class _Scripts(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.found: list[str] = []
        self._inside = False

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside = tag == "script" and "src" not in dict(attrs)

    @override
    def handle_data(self, data: str) -> None:
        if self._inside:
            self.found.append(data)

    @override
    def handle_endtag(self, tag: str) -> None:
        self._inside = False
