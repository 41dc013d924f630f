"""Which door a request knocks at, by its path alone. Pure."""

import re
from enum import Enum, auto

SIGN_IN, LOGIN, CALLBACK, SIGN_OUT = "/sign-in", "/auth/login", "/oauth2callback", "/auth/logout"
STREAM = "/_stcore/stream"
_HEALTH = "/_stcore/health"
_MEDIA = "/media/"
_PARTS = ("/static/", "/app/static/", "/component/", "/_stcore/bidi-components/")
_ASKED = ("/_stcore/host-config", "/favicon.png", "/manifest.json")
_HELD = (
    "/_stcore",
    "/auth",
    "/media",
    "/app",
    "/component",
)  # Streamlit's own; what is not named above stays shut
_LONGEST = 8_192
_UNSAFE = re.compile(r"[\x00-\x20\x7f\\]|^//|/\.\.(/|$)")
_HASH = "|".join(
    f"[0-9a-f]{{{signs}}}" for signs in (64, 56, 40, 32)
)  # whichever Streamlit names its files by
_FILE = re.compile(rf"({_HASH})(\.[A-Za-z0-9]{{1,10}})?")
_OFFERED = re.compile(rf"/media/({_HASH})".encode())


class Door(Enum):
    """What is behind a path, and so who may come in."""

    HEALTH = auto()  # anybody: whether the server runs
    SIGN_IN = auto()  # anybody: the way to the provider
    LOGIN = auto()
    CALLBACK = auto()
    SIGN_OUT = auto()
    PAGE = auto()  # who is signed in; others are shown the way
    STREAM = auto()  # who is signed in
    PARTS = auto()  # who is signed in: what a page is made of
    MEDIA = auto()  # whom it was offered to
    SHUT = auto()  # nobody: metrics, uploads, agents, whatever a later Streamlit adds


def door_of(path: str) -> Door:
    """The door of a path."""
    exact = {
        _HEALTH: Door.HEALTH,
        SIGN_IN: Door.SIGN_IN,
        LOGIN: Door.LOGIN,
        CALLBACK: Door.CALLBACK,
        SIGN_OUT: Door.SIGN_OUT,
        STREAM: Door.STREAM,
    } | dict.fromkeys(_ASKED, Door.PARTS)
    if path in exact:
        return exact[path]
    if path.startswith(_MEDIA):
        return Door.MEDIA
    if path.startswith(_PARTS):
        return Door.PARTS
    if any(path == held or path.startswith(f"{held}/") for held in _HELD):
        return Door.SHUT
    return Door.SHUT if "/_stcore/" in path else Door.PAGE


def is_odd(path: str, query: str) -> bool:
    """Whether no browser of ours asks like this: signs that some server takes for a border, or too long."""
    return len(path) + len(query) > _LONGEST or not path.startswith("/") or bool(_UNSAFE.search(path))


def leads_home(location: str) -> bool:
    """Whether a redirection stays here: a path, and not what a browser takes for another host."""
    return location.startswith("/") and not _UNSAFE.search(location.partition("?")[0])


def file_of(path: str) -> str | None:
    """The download that a path under /media names, without its ending; None where it names none."""
    found = _FILE.fullmatch(path.removeprefix(_MEDIA))
    return found.group(1) if found else None


def offered(payload: bytes) -> set[str]:
    """The downloads that a message to a browser names."""
    return {found.decode() for found in _OFFERED.findall(payload)} if b"/media/" in payload else set()
