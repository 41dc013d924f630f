"""The chain's head put where the ledger is not: a cut-off tail leaves no trace in what is left of a chain."""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import orjson

from collector.log import Log
from enforcer.audit.chain import Chain
from enforcer.audit.row import Head
from quartermaster.clock import to_iso
from quartermaster.errors import InputError, LedgerError

_HEAD = re.compile(r"(?:(?P<number>\d{1,18}):)?(?P<hash>[0-9a-f]{64})")


@dataclass
class Herald:
    """Puts a chain's head into the log, the file if there is one, and wherever `also` puts its text."""

    chain: Chain
    log: Log
    file: Path | None = None
    also: Callable[[str], None] | None = None
    _told: Head | None = None

    def tell(self, at_ms: int) -> None:
        """Tell where the chain ends, if this process wrote to it since it was told last. Raises LedgerError: then it is
        told the next time."""
        written = self.chain.written
        if written == self._told:
            return
        head = self.chain.head()
        self.log.info("audit head", cluster=self.chain.cluster, number=head.number, row_hash=head.row_hash)
        if self.also is not None:
            self.also(head.text)
        if self.file is not None:
            publish(self.file, self.chain.cluster, head, at_ms)
        self._told = written


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
