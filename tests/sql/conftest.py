"""Ledgers for the tests of this room, on each of the three catalogs."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sql.ledger import Ledger, open_ledger
from sql.upgrade import upgrade
from tests.ledgers import lay_ledger

CATALOGS = ["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]
SHARED_CATALOGS = CATALOGS[1:]


@dataclass(frozen=True)
class Place:
    """Where a ledger is: what `open_ledger` takes."""

    folder: Path
    catalog: str


def place_of(request: pytest.FixtureRequest, kind: str, folder: Path) -> Place:
    """An empty place for a ledger on a catalog of the kind."""
    if kind == "postgres":
        return Place(folder / "ledger", f"postgres:{request.getfixturevalue('postgres_server').database()}")
    return Place(folder / "ledger", kind)


@pytest.fixture(params=CATALOGS)
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ledger]:
    """An open ledger at the newest revision, on each catalog."""
    place = place_of(request, request.param, tmp_path)
    if place.catalog == "sqlite":
        lay_ledger(place.folder)
    with open_ledger(place.folder, place.catalog) as opened:
        upgrade(opened)
        yield opened


@pytest.fixture(params=SHARED_CATALOGS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """The place of a ledger at the newest revision that several processes may open."""
    return laid_place(request, request.param, tmp_path)


def laid_place(request: pytest.FixtureRequest, kind: str, folder: Path) -> Place:
    """The place of a new ledger at the newest revision, on a catalog of the kind."""
    found = place_of(request, kind, folder)
    if found.catalog == "sqlite":
        lay_ledger(found.folder)
        return found
    with open_ledger(found.folder, found.catalog) as opened:
        upgrade(opened)
    return found


@pytest.fixture(params=SHARED_CATALOGS)
def empty_place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """A place where no ledger is yet."""
    return place_of(request, request.param, tmp_path)


@pytest.fixture
def place_on_own_server(tmp_path: Path, postgres_server: Any) -> Iterator[tuple[Any, Path, str]]:
    """A PostgreSQL server that the test may stop and start, and an empty place on it."""
    server = postgres_server
    yield server, tmp_path / "ledger", f"postgres:{server.database()}"
    server.start_if_down()
