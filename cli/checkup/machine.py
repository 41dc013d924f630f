"""This machine: what is installed, and the disks that the ledger, the spool and the books lie on."""

import os
import platform
import shutil
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from cli.checkup.line import Line, ok, trouble, warning
from quartermaster.config.model import Configuration

GIB = 1024**3
_LEAST, _LITTLE, _LITTLE_PERCENT = 1 * GIB, 5 * GIB, 5


def versions() -> Iterator[Line]:
    """What runs here; DuckDB and its extensions are locked together."""
    import duckdb

    from sql.catalog import extension_file

    ours, python = version("gpu-quartermaster"), platform.python_version()
    yield ok("versions", f"Quartermaster {ours}, Python {python}, DuckDB {duckdb.__version__}")
    for name in ("ducklake", "sqlite_scanner", "postgres_scanner"):
        if not extension_file(name).is_file():
            yield trouble(
                "versions",
                f"DuckDB {duckdb.__version__} has no {name} of its version",
                "install Quartermaster's locked packages again: they go together",
            )


def disks(configuration: Configuration) -> Iterator[Line]:
    """How much is free where something is written, a line a folder."""
    written = {"the spool": configuration.collector.spool.path, "the books": configuration.business.books}
    if configuration.ledger.catalog.reference != "memory":
        written = {"the ledger": configuration.ledger.path, **written}
    for what, folder in written.items():
        yield _disk(what, folder)


def _disk(what: str, folder: Path) -> Line:
    there = folder
    while not os.path.exists(there) and there != there.parent:  # noqa: PTH110 - also where one may not look
        there = there.parent
    if not os.access(there, os.W_OK):
        return trouble(
            "disk",
            f"{what} ({folder}): {there} may not be written",
            "give the folder to the user who runs the parts",
        )
    disk = shutil.disk_usage(there)
    free = f"{what} ({folder}): {disk.free / GIB:.1f} GiB of {disk.total / GIB:.0f} are free"
    if disk.free < _LEAST:
        return trouble("disk", free, "make room: batches go to the spool, and then are dropped")
    if disk.free < min(_LITTLE, disk.total * _LITTLE_PERCENT // 100):
        return warning("disk", free, "make room, or keep samples for less long (retention.samples)")
    return ok("disk", free)
