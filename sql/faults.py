"""What errors of DuckDB, its catalogs and the disk mean: whether to try again, and what to tell."""

import errno
import re
from dataclasses import dataclass

import duckdb

from quartermaster.errors import LedgerBusyError, LedgerError

_SECRET = re.compile(r"(password\s*=\s*)('(?:[^'\\]|\\.)*'|[^\s'\"]+)", re.IGNORECASE)


@dataclass(frozen=True)
class Fault:
    """An error understood: `error` is what a person is told; `transient`: the same may work in a moment."""

    error: LedgerError
    transient: bool


@dataclass(frozen=True)
class _Kind:
    """Errors that mean the same, by errno or by text: DuckDB hands on neither errno nor SQLSTATE."""

    codes: frozenset[int]
    texts: tuple[str, ...]
    says: str
    hint: str
    transient: bool = False
    busy: bool = False

    def fits(self, code: int | None, text: str) -> bool:
        return code in self.codes or any(part in text for part in self.texts)


_KINDS = (
    _Kind(
        frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG}),
        ("no space left", "disk is full", "disk full", "quota exceeded", "file too large"),
        "the disk of the ledger in {where} is full",
        "free space there and try again; nothing of this write was kept",
    ),
    _Kind(
        frozenset({errno.EACCES, errno.EPERM, errno.EROFS}),
        (
            "permission denied",
            "read-only file system",
            "readonly database",
            "read-only database",
            "unable to open database file",
            "operation not permitted",
            "attached in read-only mode",
        ),
        "the ledger in {where} may not be written: {line}",
        "let the user write to the ledger's folder, even to read: SQLite keeps its log there",
    ),
    _Kind(
        frozenset({errno.EIO, errno.ESTALE}),
        ("disk i/o error", "input/output error", "stale file handle"),
        "the disk of the ledger in {where} fails: {line}",
        "see whether the disk is full, over a quota, away or failing; nothing of this write was kept",
    ),
    _Kind(
        frozenset(),
        ("file is not a database", "disk image is malformed", "no magic bytes", "not a parquet"),
        "the ledger in {where} is damaged: {line}",
        "quartermaster ledger restore brings back a backup",
    ),
    _Kind(
        frozenset(),
        (
            "connection refused",
            "server closed the connection",
            "the database system is",
            "terminating connection",
            "connection to server",
            "could not connect",
            "no connection to the server",
            "unable to connect",
            "connection not open",
            "connection reset",
            "broken pipe",
            "connection has been closed",
            "connection was lost",
        ),
        "the catalog of the ledger in {where} does not answer: {line}",
        "see that PostgreSQL runs and takes this user; nothing is acknowledged that was not committed",
        transient=True,
    ),
    _Kind(
        frozenset(),
        (
            "transaction conflict",
            "database is locked",
            "database table is locked",
            "conflict resolution",
            "maximum retry count",
            "could not serialize",
            "deadlock detected",
            "duplicate key value",
            "unique constraint failed",
        ),
        "others write to the ledger in {where} all the time: {line}",
        "try again later",
        transient=True,
        busy=True,
    ),
    _Kind(
        frozenset({errno.ENOENT}),
        ("no such file or directory",),
        "a file of the ledger in {where} is missing: {line}",
        "bring it back; or quartermaster ledger restore brings back a backup",
    ),
)
_OTHER = _Kind(
    frozenset(), (), "the ledger in {where} refused: {line}", "quartermaster ledger status shows its state"
)


def understand(cause: duckdb.Error | OSError, where: str, did: str) -> Fault:
    """The fault behind an error while `did` was done to the ledger at `where`."""
    line = _shortened(without_secrets(str(cause)))
    code = cause.errno if isinstance(cause, OSError) else None
    text = " ".join(str(cause).split()).lower()
    kind = next((kind for kind in _KINDS if kind.fits(code, text)), _OTHER)
    error = LedgerBusyError if kind.busy else LedgerError
    return Fault(error(f"{did}: {kind.says.format(where=where, line=line)}", kind.hint), kind.transient)


def without_secrets(text: str) -> str:
    """The text with the passwords of connection strings masked."""
    return _SECRET.sub(r"\1***", text)


def _shortened(text: str) -> str:
    line = " ".join(text.split()) or "no reason given"
    return line if len(line) <= 400 else f"{line[:400]}…"
