"""What the pages look at, and who looks: the ledger of the configuration, and the teams a viewer may see.

The pages are served on loopback to people of this machine, who all see all teams.
"""

import getpass
import os
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from analytics.scope import ALL, Scope
from quartermaster.config.load import load_configuration
from quartermaster.errors import ConfigurationError, LedgerError
from quartermaster.role import Role
from sql.ledger import Ledger, open_ledger

CONFIGURATION = "QUARTERMASTER_CONFIG"


@dataclass(frozen=True)
class Place:
    """Where the ledger is and whose days it counts: `born` changes when another ledger takes its place."""

    folder: Path
    catalog: str
    time_zone: str
    born: int


@dataclass(frozen=True)
class Viewer:
    """A person in front of a page: what they are called in the audit, what they may do, whose figures are theirs."""

    name: str
    roles: frozenset[Role]
    scope: Scope


@dataclass(frozen=True)
class _Opened:
    ledger: Ledger
    closing: ExitStack


def place() -> Place:
    """The place that the configuration names, read anew each time.

    Raises ConfigurationError; LedgerError for a ledger in memory, which no other process can see.
    """
    path = os.environ.get(CONFIGURATION)
    if not path:
        raise ConfigurationError(
            f"{CONFIGURATION} is not set", "start the pages with quartermaster dashboard"
        )
    configuration = load_configuration(Path(path), os.environ)
    catalog = configuration.ledger.catalog.reveal()
    if catalog == "memory":
        raise LedgerError(
            "the ledger is in memory, where only its own process sees it",
            "set ledger.catalog to sqlite in the configuration",
        )
    folder = configuration.ledger.path
    file = folder / "catalog.sqlite"
    born = file.stat().st_ino if file.exists() else 0
    return Place(folder, catalog, configuration.business.time_zone, born)


def ledger(where: Place) -> Ledger:
    """The ledger, opened once for all viewers and only for reading; each query has its own cursor.

    Raises LedgerError when there is none or it cannot be read.
    """
    return _open(where).ledger


def viewer() -> Viewer:
    """Who looks at the page."""
    return Viewer(getpass.getuser(), frozenset(Role), ALL)


@st.cache_resource(show_spinner=False, max_entries=4, on_release=lambda opened: opened.closing.close())
def _open(where: Place) -> _Opened:
    closing = ExitStack()
    return _Opened(closing.enter_context(open_ledger(where.folder, where.catalog, read_only=True)), closing)
