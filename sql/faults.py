"""What errors of DuckDB, its catalogs and the disk mean: whether to try again, and what to tell."""

import errno
import re
from dataclasses import dataclass

import duckdb

from quartermaster.errors import LedgerBusyError, LedgerError

# DuckDB hands on no SQLSTATE and no errno: its text is all there is.
_CONFLICT = re.compile(
    r"Transaction conflict|database is locked|database table is locked|conflict resolution|"
    r"maximum retry count|could not serialize|deadlock detected|duplicate key value|UNIQUE constraint failed",
    re.IGNORECASE,
)
_AWAY = re.compile(
    r"Connection refused|server closed the connection|the database system is|terminating connection|"
    r"connection to server|could not connect|no connection to the server|Unable to connect|"
    r"connection not open|Connection reset|Broken pipe|SSL connection has been closed|connection was lost",
    re.IGNORECASE,
)
_FULL = re.compile(r"No space left|disk is full|disk full|Disk quota exceeded|File too large", re.IGNORECASE)
_FORBIDDEN = re.compile(
    r"Permission denied|Read-only file system|readonly database|read-only database|"
    r"unable to open database file|attempt to write a readonly|permission denied for|Operation not permitted",
    re.IGNORECASE,
)
_BROKEN = re.compile(
    r"file is not a database|database disk image is malformed|No magic bytes|not a Parquet", re.IGNORECASE
)
_SECRET = re.compile(r"(password\s*=\s*)('(?:[^'\\]|\\.)*'|[^\s'\"]+)", re.IGNORECASE)


@dataclass(frozen=True)
class Fault:
    """An error understood: `error` is what a person is told; `transient`: the same may work in a moment."""

    error: LedgerError
    transient: bool


def understand(cause: duckdb.Error | OSError, where: str, did: str) -> Fault:
    """The fault behind an error while `did` was done to the ledger at `where`."""
    text = without_secrets(str(cause)).strip()
    code = cause.errno if isinstance(cause, OSError) else None
    line = _first_line(text)
    if code in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG} or _FULL.search(text):
        return Fault(
            LedgerError(
                f"{did}: the disk of the ledger in {where} is full",
                "free space there and try again; nothing of this write was kept",
            ),
            transient=False,
        )
    if code in {errno.EACCES, errno.EPERM, errno.EROFS} or _FORBIDDEN.search(text):
        hint = "let the user write to the ledger's folder, even to read: SQLite keeps its log there"
        return Fault(
            LedgerError(f"{did}: the ledger in {where} may not be written: {line}", hint), transient=False
        )
    if _BROKEN.search(text):
        return Fault(
            LedgerError(
                f"{did}: the ledger in {where} is damaged: {line}",
                "quartermaster ledger restore brings back a backup",
            ),
            transient=False,
        )
    if _AWAY.search(text):
        hint = "see that PostgreSQL runs and takes this user; nothing is acknowledged that was not committed"
        return Fault(
            LedgerError(f"{did}: the catalog of the ledger in {where} does not answer: {line}", hint),
            transient=True,
        )
    if _CONFLICT.search(text):
        return Fault(
            LedgerBusyError(
                f"{did}: others write to the ledger in {where} all the time: {line}", "try again later"
            ),
            transient=True,
        )
    return Fault(
        LedgerError(
            f"{did}: the ledger in {where} refused: {line}", "quartermaster ledger status shows its state"
        ),
        transient=False,
    )


def without_secrets(text: str) -> str:
    """The text with the passwords of connection strings masked."""
    return _SECRET.sub(r"\1***", text)


def _first_line(text: str) -> str:
    line = next((line.strip() for line in text.splitlines() if line.strip()), "no reason given")
    return line if len(line) <= 300 else line[:300] + "…"
