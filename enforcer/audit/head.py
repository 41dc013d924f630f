"""The chain's head put where the ledger is not: a cut-off tail leaves no trace in what is left of a chain."""

import os
import re
from pathlib import Path

import orjson

from collector.log import Log
from enforcer.audit.row import Head
from quartermaster.clock import to_iso
from quartermaster.errors import InputError, LedgerError

_HEAD = re.compile(r"(?:(?P<number>\d{1,18}):)?(?P<hash>[0-9a-f]{64})")


def announce(head: Head, cluster: str, at_ms: int, file: Path | None, log: Log) -> None:
    """Put the head into the log, and into the file where one is configured. Raises LedgerError."""
    log.info("audit head", cluster=cluster, number=head.number, row_hash=head.row_hash)
    if file is not None:
        publish(file, cluster, head, at_ms)


def publish(file: Path, cluster: str, head: Head, at_ms: int) -> None:
    """Add the head to the file, a line of JSON, on the disk when it returns. Raises LedgerError.

    Lines are only added, so a file that is kept where nobody can change it holds every head that was published.
    """
    line = {"at": to_iso(at_ms), "cluster": cluster, "number": head.number, "row_hash": head.row_hash}
    try:
        with file.open("ab", buffering=0) as opened:
            opened.write(orjson.dumps(line) + b"\n")
            os.fsync(opened.fileno())
    except OSError as error:
        raise LedgerError(
            f"the audit's head cannot be written to {file}: {error.strerror}",
            "see to the file named by policy.acting.audit_file",
        ) from error


def published(file: Path, cluster: str) -> dict[int, str]:
    """The heads of a cluster in such a file, by number; the first of each. Raises InputError.

    A line that is none, as a full disk or a crash leaves it, is passed over: taking it out would be as easy.
    """
    found: dict[int, str] = {}
    try:
        with file.open("rb") as opened:
            for line in opened:
                head = _read(line, cluster)
                if head is not None:
                    found.setdefault(head.number, head.row_hash)
    except OSError as error:
        raise InputError(
            f"{file} cannot be read: {error.strerror}", "it is the configuration's policy.acting.audit_file"
        ) from error
    return found


def parse(text: str) -> Head:
    """A head as `Head.text` writes it, or a hash alone (number 0). Raises InputError."""
    told = _HEAD.fullmatch(text.strip())
    if told is None:
        raise InputError(
            f"{text[:100]!r} is no head of an audit", "it looks like 12:9f86d0…, or the 64 digits alone"
        )
    return Head(int(told["number"] or 0), told["hash"])


def _read(line: bytes, cluster: str) -> Head | None:
    try:
        told = orjson.loads(line)
        return Head(int(told["number"]), str(told["row_hash"])) if told["cluster"] == cluster else None
    except (ValueError, KeyError, TypeError):
        return None
