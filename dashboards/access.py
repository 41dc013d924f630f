"""What the pages look at, and who looks: the ledger of the configuration, and the teams a viewer may see.

Both are found out anew at each run of a page: a rule that is taken out of the configuration counts from the next click.
"""

import getpass
import os
from contextlib import ExitStack
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import streamlit as st

from dashboards.granted import Identity, Viewer, everybody, viewer_of
from dashboards.guard.entrance import HANDED_ON
from dashboards.guard.standing import STANDING
from quartermaster.clock import MINUTE_MS, now_ms
from quartermaster.config.load import load_configuration
from quartermaster.config.model import Configuration
from quartermaster.errors import ConfigurationError, InputError, LedgerError
from sql.ledger import Ledger, open_ledger

__all__ = ["CONFIGURATION", "Place", "Viewer", "configuration", "ledger", "place", "viewer"]
CONFIGURATION = "QUARTERMASTER_CONFIG"


@dataclass(frozen=True)
class Place:
    """Where the ledger is and whose days it counts: `born` changes when another ledger takes its place."""

    folder: Path
    catalog: str
    time_zone: str
    born: int


@dataclass(frozen=True)
class _Opened:
    ledger: Ledger
    closing: ExitStack


def configuration() -> Configuration:
    """The configuration as its file is now, its references as of this minute. Raises ConfigurationError."""
    path = os.environ.get(CONFIGURATION)
    if not path:
        raise ConfigurationError(
            f"{CONFIGURATION} is not set", "start the pages with quartermaster dashboard"
        )
    file = Path(path)
    try:
        found = file.stat()
    except OSError:
        return load_configuration(file, os.environ)  # it says what is wrong
    return _loaded(file, (found.st_mtime_ns, found.st_size, found.st_ino), now_ms() // MINUTE_MS)


@lru_cache(maxsize=2)
def _loaded(file: Path, _written: tuple[int, int, int], _minute: int) -> Configuration:
    return load_configuration(file, os.environ)


def place() -> Place:
    """The place that the configuration names, read anew each time.

    Raises ConfigurationError; LedgerError for a ledger in memory, which no other process can see.
    """
    told = configuration()
    catalog = told.ledger.catalog.reveal()
    if catalog == "memory":
        raise LedgerError(
            "the ledger is in memory, where only its own process sees it",
            "set ledger.catalog to sqlite in the configuration",
        )
    folder = told.ledger.path
    file = folder / "catalog.sqlite"
    born = file.stat().st_ino if file.exists() else 0
    return Place(folder, catalog, told.business.time_zone, born)


def ledger(where: Place) -> Ledger:
    """The ledger, opened once for all viewers and only for reading; each query has its own cursor.

    Raises LedgerError when there is none or it cannot be read.
    """
    return _open(where).ledger


def viewer() -> Viewer:
    """Who looks at the page, and what the configuration's rules give them now.

    Raises ConfigurationError where the guard stands for another way of signing in than the configuration now says;
    InputError for who is signed out.
    """
    told = configuration()
    part = told.dashboards
    if STANDING.sign_in not in {None, part.sign_in}:
        raise ConfigurationError(
            "dashboards.sign_in was changed while the pages were served",
            "start quartermaster dashboard again",
        )
    if part.sign_in == "local":
        if STANDING.sign_in is None and st.context.headers.get(
            "Host"
        ):  # a browser, and no guard that let it in
            raise InputError(
                "the pages are served by Streamlit alone", "serve them by quartermaster dashboard"
            )
        return everybody(getpass.getuser())
    identity = _identity()
    if identity is None:
        raise InputError("you are not signed in, or not any more", "reload the page")
    return viewer_of(identity, part.access, told.teams)


def _identity() -> Identity | None:
    """Whom the guard let in on the stream that this page runs for."""
    return STANDING.who(st.context.headers.get(HANDED_ON), now_ms())


@st.cache_resource(show_spinner=False, max_entries=4, on_release=lambda opened: opened.closing.close())
def _open(where: Place) -> _Opened:
    closing = ExitStack()
    return _Opened(closing.enter_context(open_ledger(where.folder, where.catalog, read_only=True)), closing)
